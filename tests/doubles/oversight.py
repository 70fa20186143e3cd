"""Reads of administrators about the sponsorship area, in memory."""

from collections import Counter
from collections.abc import Sequence

from actors.bookings.records import (
    Booking,
    BookingLine,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
)
from actors.bookings.reports import Sale
from actors.bookings.store import (
    APPROVALS,
    REJECTIONS,
    Before,
    BookingFilter,
    ListCounts,
    MonthRevenue,
    Urgency,
    Waiting,
)
from tests.doubles import reports
from tests.doubles.conditions import has, in_trouble, is_in, is_listed, is_requested
from tests.doubles.tables import Memory, MemoryStore


def booking_view(tables: Memory, booking: Booking) -> BookingView:
    """A booking with its names and sums."""
    sponsor = tables.sponsors.get(booking.tenant_id)
    days = [sums for (booking_id, _), sums in tables.delivery_days.items() if booking_id == booking.id]
    campaign = tables.campaigns[booking.campaign_id]
    return BookingView(
        booking,
        campaign.name,
        None if sponsor is None else sponsor.name,
        sum(impressions for impressions, _ in days),
        sum(clicks for _, clicks in days),
        campaign.status,
    )


class MemoryOversight(MemoryStore):
    """The part of `SponsorshipStore` that administrators read."""

    async def filtered_bookings(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingView]:
        await self._memory.before()
        rows = [row for row in self._memory.bookings.values() if self._matches(row, wanted, now_ms)]
        rest = [row for row in rows if before is None or (row.created_ms, row.id) < before]
        listed = sorted(rest, key=lambda row: (row.created_ms, row.id), reverse=True)[:limit]
        return [booking_view(self._memory, row) for row in listed]

    async def booking_lines(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingLine]:
        return [reports.line_of(view, now_ms) for view in await self.filtered_bookings(wanted, now_ms, before, limit)]

    def _matches(self, row: Booking, wanted: BookingFilter, now_ms: int) -> bool:
        sponsor, text = self._memory.sponsors.get(row.tenant_id), wanted.text
        owners = (row.tenant_id, None if sponsor is None else sponsor.id)
        named = has(text, None if sponsor is None else sponsor.name, self._memory.slots[row.slot_id].name)
        return (
            (wanted.status is None or is_in(row, wanted.status, now_ms))
            and (wanted.week_ms is None or row.week_start_ms <= wanted.week_ms < row.week_end_ms)
            and (wanted.sponsor is None or wanted.sponsor in owners)
            and wanted.slot_id in (None, row.slot_id)
            and (named or text in (None, row.id, row.payment_id))
            and wanted.trouble in (None, in_trouble(row))
            and wanted.requested in (None, is_requested(row))
        )

    async def review_queue(
        self, now_ms: int, after: Urgency | None, limit: int, text: str | None = None
    ) -> Sequence[Waiting]:
        await self._memory.before()
        pending = [row for row in self._memory.campaigns.values() if row.waits and self._is_found(row, text)]
        waiting = sorted((self._waiting(row, now_ms) for row in pending), key=lambda each: each.urgency)
        return [each for each in waiting if after is None or each.urgency > after][:limit]

    def _waiting(self, campaign: Campaign, now_ms: int) -> Waiting:
        tables = self._memory
        booked = [row for row in tables.bookings.values() if row.campaign_id == campaign.id]
        paid = [row.week_start_ms for row in booked if row.status is BookingStatus.PAID and row.week_end_ms > now_ms]
        held = [row.week_start_ms for row in booked if row.is_open(now_ms)]
        own = {row.id for row in tables.campaigns.values() if row.tenant_id == campaign.tenant_id}
        record = Counter(row.action for row in tables.audits if row.target_id in own)
        sponsor = tables.sponsors.get(campaign.tenant_id)
        return Waiting(
            CampaignView(campaign, None if sponsor is None else sponsor.name),
            next((row.email for row in tables.accounts.values() if row.tenant_id == campaign.tenant_id), None),
            min(paid or held, default=None),
            bool(paid),
            sum(record[action] for action in APPROVALS),
            sum(record[action] for action in REJECTIONS),
        )

    async def revenue(self, from_ms: int, until_ms: int) -> Sequence[MonthRevenue]:
        await self._memory.before()
        return reports.revenue(self._memory, from_ms, until_ms)

    async def sales(self, from_ms: int, until_ms: int, most: int) -> Sequence[Sale]:
        await self._memory.before()
        return reports.sales(self._memory, from_ms, until_ms, most)

    async def list_counts(self, now_ms: int) -> ListCounts:
        await self._memory.before()
        tables = self._memory
        bookings = list(tables.bookings.values())
        return ListCounts(
            {status: sum(is_in(row, status, now_ms) for row in bookings) for status in BookingStatus},
            {status: sum(is_listed(row, status) for row in tables.campaigns.values()) for status in CampaignStatus},
            sum(map(in_trouble, bookings)),
            sum(map(is_requested, bookings)),
            len(tables.sponsors),
            sum(row.waits for row in tables.submissions.values()),
        )

    async def refundable(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[Booking]:
        await self._memory.before()
        rows = [
            row
            for row in self._memory.bookings.values()
            if row.tenant_id == tenant_id
            and row.status is BookingStatus.PAID
            and not row.disputed
            and row.week_end_ms > now_ms
        ]
        return sorted(rows, key=lambda row: (row.week_start_ms, row.id))[:limit]

    def _campaign_view(self, campaign: Campaign) -> CampaignView:
        sponsor = self._memory.sponsors.get(campaign.tenant_id)
        return CampaignView(campaign, None if sponsor is None else sponsor.name)

    def _is_found(self, row: Campaign, text: str | None) -> bool:
        names = row.name, row.content.target_url, self._campaign_view(row).sponsor_name
        return text in (None, row.id) or has(text, *names)
