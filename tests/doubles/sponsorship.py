"""Reads of the sponsorship area in memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import gt, lt
from typing import Protocol, TypeVar

from actors.bookings.invoices import Invoice
from actors.bookings.records import (
    OPEN,
    BillingDetails,
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    DayDelivered,
    Slot,
    Sponsor,
)
from actors.bookings.reports import (
    ALL,
    BookingDelivered,
    BookingTotals,
    DayCounted,
    Days,
    MoneyOf,
    Only,
    Run,
    SharedReport,
    SlotReach,
    totals_of,
)
from actors.bookings.store import (
    Before,
    Overview,
    SoldPlacement,
    UnavailableWeek,
)
from actors.values import AuditRecord
from tests.doubles import invoices, reports
from tests.doubles.conditions import has
from tests.doubles.oversight import MemoryOversight, booking_view


def _is_present(booking: Booking, now_ms: int) -> bool:
    """Whether a booking is held, or paid with weeks that are not over."""
    status = booking.status_at(now_ms)
    return status in OPEN or (status is BookingStatus.PAID and now_ms < booking.week_end_ms)


def _by_week(booking: Booking) -> tuple[int, int, str]:
    return booking.week_start_ms, booking.created_ms, booking.id


class _Listed(Protocol):
    @property
    def created_ms(self) -> int: ...
    @property
    def id(self) -> str: ...


L = TypeVar("L", bound=_Listed)


class MemorySponsorship(MemoryOversight):
    """The tables of the booking ledger, and the audit."""

    async def sponsor(self, tenant_id: str) -> Sponsor | None:
        await self._memory.before()
        return self._memory.sponsors.get(tenant_id)

    async def billing_details(self, tenant_id: str) -> BillingDetails | None:
        await self._memory.before()
        return self._memory.billing_details.get(tenant_id)

    async def shared_reports(self, tenant_id: str) -> Sequence[SharedReport]:
        await self._memory.before()
        return self._memory.shared_of(tenant_id)

    async def shared_report(self, token_hash: bytes) -> SharedReport | None:
        await self._memory.before()
        tables = self._memory
        living = {row.tenant_id for row in tables.accounts.values() if row.suspended_ms is None}
        found = (row for row in tables.shared_reports.values() if row.token_hash == token_hash)
        return next((row for row in found if row.tenant_id in living), None)

    async def sponsors(self, before: Before | None, limit: int, text: str | None = None) -> Sequence[Sponsor]:
        await self._memory.before()
        listed = (
            row
            for row in self._memory.sponsors.values()
            if text in (None, row.id, row.tenant_id) or has(text, row.name, row.website)
        )
        return _page(listed, before, limit)

    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]:
        await self._memory.before()
        listed = (row for row in self._memory.campaigns.values() if tenant_id in (None, row.tenant_id))
        return [self._campaign_view(row) for row in _page(listed, before, limit)]

    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None:
        await self._memory.before()
        row = self._memory.campaigns.get(campaign_id)
        return self._campaign_view(row) if row is not None and tenant_id in (None, row.tenant_id) else None

    async def everybodys_campaigns(
        self,
        status: CampaignStatus | None,
        place: Before | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[CampaignView]:
        await self._memory.before()
        listed = [row for row in self._memory.campaigns.values() if _is_in(row, status) and self._is_found(row, text)]
        return [self._campaign_view(row) for row in _page(listed, place, limit, oldest=oldest)]

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]:
        await self._memory.before()
        listed = (row for row in self._memory.bookings.values() if tenant_id in (None, row.tenant_id))
        return [booking_view(self._memory, row) for row in _page(listed, before, limit)]

    async def present_bookings(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[BookingView]:
        await self._memory.before()
        listed = sorted(filter(lambda row: _is_present(row, now_ms), self._bookings_of(tenant_id)), key=_by_week)
        return [booking_view(self._memory, row) for row in listed[:limit]]

    async def past_bookings(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[BookingView]:
        await self._memory.before()
        paid = (row for row in self._bookings_of(tenant_id) if row.paid_ms is not None)
        listed = sorted((row for row in paid if not _is_present(row, now_ms)), key=_by_week, reverse=True)
        return [booking_view(self._memory, row) for row in listed[:limit]]

    async def totals(self, tenant_id: str, most: int) -> BookingTotals:
        await self._memory.before()
        views = [booking_view(self._memory, row) for row in _page(self._bookings_of(tenant_id), None, most)]
        rows = [each.booking for each in views]
        money = (
            MoneyOf(row.money_currency, row.paid_cents or row.amount_cents, row.refunded_cents, row.paid_ms, row.mode)
            for row in rows
        )
        return totals_of(money, sum(each.impressions for each in views), sum(each.clicks for each in views))

    async def count_bookings(self, tenant_id: str, most: int) -> int:
        await self._memory.before()
        return min(most, len(self._bookings_of(tenant_id)))

    def _bookings_of(self, tenant_id: str) -> list[Booking]:
        return [row for row in self._memory.bookings.values() if row.tenant_id == tenant_id]

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        await self._memory.before()
        row = self._memory.bookings.get(booking_id)
        return booking_view(self._memory, row) if row is not None and tenant_id in (None, row.tenant_id) else None

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        await self._memory.before()
        return [each.of_day for each in reports.counted(self._memory, [booking_id])]

    async def invoices(self, tenant_id: str, before: Before | None, limit: int) -> Sequence[Invoice]:
        await self._memory.before()
        return invoices.of_tenant(self._memory, tenant_id, before, limit)

    async def count_invoices(self, tenant_id: str, most: int) -> int:
        return len(await self.invoices(tenant_id, None, most))

    async def invoices_of(self, tenant_id: str, booking_id: str, limit: int) -> Sequence[Invoice]:
        await self._memory.before()
        return invoices.of_booking(self._memory, tenant_id, booking_id, limit)

    async def deliveries(
        self, tenant_id: str, days: Days, after: Before | None, limit: int, only: Only = ALL
    ) -> Sequence[BookingDelivered]:
        await self._memory.before()
        return reports.deliveries(self._memory, tenant_id, days, after, limit, only)

    async def runs(self, tenant_id: str, days: Days, most: int) -> Sequence[Run]:
        await self._memory.before()
        return reports.runs(self._memory, tenant_id, days, most)

    async def counted(self, booking_ids: Sequence[str], days: Days) -> Sequence[DayCounted]:
        await self._memory.before()
        return reports.counted(self._memory, booking_ids, days)

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        await self._memory.before()
        return reports.reach(self._memory, ended_ms, mode)

    async def slots(self) -> Sequence[Slot]:
        await self._memory.before()
        return self._slots()

    async def audit(
        self, before: Before | None, limit: int, target_id: str | None = None, actor_email: str | None = None
    ) -> Sequence[AuditRecord]:
        await self._memory.before()
        listed = (
            row
            for row in self._memory.audits
            if target_id in (None, row.target_id) and actor_email in (None, row.actor_email)
        )
        return _page(listed, before, limit)

    async def revision(self) -> int:
        await self._memory.before()
        return self._memory.sponsorship_revision

    async def ads_beside(self, slot_id: str, from_ms: int, until_ms: int, now_ms: int) -> Mapping[int, int]:
        await self._memory.before()
        slots, own = self._memory.slots, self._memory.slots.get(slot_id)
        return Counter(
            week_ms
            for (other_id, week_ms), booking_id in self._memory.slot_weeks.items()
            if own is not None and other_id != slot_id and slots[other_id].side is own.side
            if from_ms <= week_ms < until_ms
            if self._memory.bookings[booking_id].status_at(now_ms) in (BookingStatus.PAID, *OPEN)
        )

    async def overview(self, from_week_ms: int) -> Overview:
        await self._memory.before()
        slots = [slot for slot in self._slots() if slot.retired_ms is None]
        taken = list(self._taken({slot.id for slot in slots}, from_week_ms))
        placements = list(self._placements(from_week_ms))
        picture = Overview(self._memory.sponsorship_revision, slots, taken, placements)
        await self._memory.after()
        return picture

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        await self._memory.before()
        due = [row for row in self._memory.bookings.values() if row.status in OPEN and row.hold_ms <= now_ms]
        return [row.id for row in sorted(due, key=lambda row: (row.hold_ms, row.id))[:limit]]

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        await self._memory.before()
        due = [
            (row.refund_due_ms, row.id)
            for row in self._memory.bookings.values()
            if row.refund_due_ms is not None and row.refund_due_ms <= now_ms and not row.disputed
        ]
        return [self._memory.bookings[booking_id] for _, booking_id in sorted(due)[:limit]]

    async def due_steps(self, now_ms: int, limit: int) -> Sequence[str]:
        await self._memory.before()
        due = [
            (row.next_step_ms, row.id)
            for row in self._memory.bookings.values()
            if row.status is BookingStatus.PAID and not row.demo and row.next_step_ms is not None
        ]
        return [booking_id for step_ms, booking_id in sorted(due) if step_ms <= now_ms][:limit]

    async def digest_is_due(self, before_ms: int) -> bool:
        await self._memory.before()
        mailed_ms = self._memory.digest_mailed_ms
        waiting = (row for row in self._memory.campaigns.values() if row.waits and not row.demo)
        return mailed_ms <= before_ms and any((row.submitted_ms or 0) > mailed_ms for row in waiting)

    async def waiting_refunds(self, limit: int) -> int:
        await self._memory.before()
        return min(limit, sum(row.refund_due_ms is not None for row in self._memory.bookings.values()))

    def _slots(self) -> list[Slot]:
        return sorted(self._memory.slots.values(), key=lambda slot: slot.id)

    def _taken(self, slot_ids: set[str], from_week_ms: int) -> Iterator[UnavailableWeek]:
        for (slot_id, week_ms), booking_id in sorted(self._memory.slot_weeks.items()):
            if slot_id in slot_ids and week_ms >= from_week_ms:
                holder = self._memory.bookings[booking_id]
                yield UnavailableWeek(slot_id, week_ms, holder.hold_ms if holder.status in OPEN else None)

    def _placements(self, from_week_ms: int) -> Iterator[SoldPlacement]:
        held = Counter(self._memory.slot_weeks.values())
        for booking in sorted(self._memory.bookings.values(), key=lambda booking: booking.id):
            campaign = self._memory.campaigns[booking.campaign_id]
            sponsor = self._memory.sponsors.get(booking.tenant_id)
            if (
                booking.status is BookingStatus.PAID
                and not booking.disputed
                and campaign.status is CampaignStatus.APPROVED
                and booking.week_end_ms > from_week_ms
                and held[booking.id] == booking.weeks
                and sponsor is not None
                and not self._memory.is_suspended(booking.tenant_id)
            ):
                yield SoldPlacement(
                    booking_id=booking.id,
                    slot_id=booking.slot_id,
                    side=self._memory.slots[booking.slot_id].side,
                    content=campaign.content,
                    sponsor_name=campaign.shown_as or sponsor.name,
                    week_start_ms=booking.week_start_ms,
                    week_end_ms=booking.week_end_ms,
                    demo=booking.demo,
                )


def _is_in(campaign: Campaign, status: CampaignStatus | None) -> bool:
    """Whether a list of campaigns in a state has it. One whose edit waits for review counts as pending, too."""
    return status in (None, campaign.status) or (status is CampaignStatus.PENDING and campaign.edit is not None)


def _page(rows: Iterable[L], place: Before | None, limit: int, *, oldest: bool = False) -> list[L]:
    """The rows strictly after a place, newest first or `oldest` first."""
    follows = gt if oldest else lt
    rest = [row for row in rows if place is None or follows((row.created_ms, row.id), place)]
    return sorted(rest, key=lambda row: (row.created_ms, row.id), reverse=not oldest)[:limit]
