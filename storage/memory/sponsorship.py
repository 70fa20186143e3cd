"""Reads of the sponsorship area in memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import gt, lt
from typing import Protocol, TypeVar

from actors.bookings.records import (
    OPEN,
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    Slot,
    Sponsor,
)
from actors.bookings.reports import BookingDelivered, DayDelivered, Days
from actors.bookings.store import (
    MOST_ENDED,
    Before,
    Overview,
    SlotReach,
    SoldPlacement,
    TakenWeek,
    reach_of,
)
from actors.values import AuditRecord
from storage.memory.tables import MemoryStore


class _Listed(Protocol):
    @property
    def created_ms(self) -> int: ...
    @property
    def id(self) -> str: ...


L = TypeVar("L", bound=_Listed)


class MemorySponsorship(MemoryStore):
    """The tables of the booking ledger, and the audit."""

    async def sponsor(self, tenant_id: str) -> Sponsor | None:
        await self._memory.before()
        return self._memory.sponsors.get(tenant_id)

    async def sponsors(self, before: Before | None, limit: int) -> Sequence[Sponsor]:
        await self._memory.before()
        return _page(self._memory.sponsors.values(), before, limit)

    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]:
        await self._memory.before()
        listed = (row for row in self._memory.campaigns.values() if tenant_id in (None, row.tenant_id))
        return [self._campaign_view(row) for row in _page(listed, before, limit)]

    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None:
        await self._memory.before()
        row = self._memory.campaigns.get(campaign_id)
        return self._campaign_view(row) if row is not None and tenant_id in (None, row.tenant_id) else None

    async def everybodys_campaigns(
        self, status: CampaignStatus | None, place: Before | None, limit: int, *, oldest: bool = False
    ) -> Sequence[CampaignView]:
        await self._memory.before()
        listed = [row for row in self._memory.campaigns.values() if status in (None, row.status)]
        return [self._campaign_view(row) for row in _page(listed, place, limit, oldest=oldest)]

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]:
        await self._memory.before()
        listed = (row for row in self._memory.bookings.values() if tenant_id in (None, row.tenant_id))
        return [self._booking_view(row) for row in _page(listed, before, limit)]

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        await self._memory.before()
        row = self._memory.bookings.get(booking_id)
        return self._booking_view(row) if row is not None and tenant_id in (None, row.tenant_id) else None

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        await self._memory.before()
        days = self._memory.delivery_days.items()
        return [DayDelivered(day, *sums) for (counted, day), sums in sorted(days) if counted == booking_id]

    async def deliveries(
        self, tenant_id: str, days: Days, after: Before | None, limit: int
    ) -> Sequence[BookingDelivered]:
        await self._memory.before()
        mine = (
            row
            for row in self._memory.bookings.values()
            if row.tenant_id == tenant_id and row.paid_ms is not None and days.touches(row)
        )
        counted = sorted(self._memory.delivery_days.items())
        return [
            BookingDelivered(
                row,
                self._memory.campaigns[row.campaign_id].name,
                tuple(DayDelivered(day, *sums) for (of, day), sums in counted if of == row.id and day in days),
            )
            for row in _page(mine, after, limit, oldest=True)
        ]

    async def slots(self) -> Sequence[Slot]:
        await self._memory.before()
        return self._slots()

    async def audit(self, before: Before | None, limit: int, target_id: str | None = None) -> Sequence[AuditRecord]:
        await self._memory.before()
        listed = (row for row in self._memory.audits if target_id in (None, row.target_id))
        return _page(listed, before, limit)

    async def revision(self) -> int:
        await self._memory.before()
        return self._memory.sponsorship_revision

    async def overview(self, from_week_ms: int) -> Overview:
        await self._memory.before()
        slots = [slot for slot in self._slots() if slot.retired_ms is None]
        taken = list(self._taken({slot.id for slot in slots}, from_week_ms))
        placements = list(self._placements(from_week_ms))
        picture = Overview(self._memory.sponsorship_revision, slots, taken, placements)
        await self._memory.after()
        return picture

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        await self._memory.before()
        ended = [
            row
            for row in self._memory.bookings.values()
            if row.status is BookingStatus.PAID
            and not row.disputed
            and not row.demo
            and row.mode == mode
            and row.week_end_ms <= ended_ms
        ]
        newest = sorted(ended, key=lambda row: (-row.week_end_ms, row.id))[:MOST_ENDED]
        views = [self._booking_view(row) for row in newest]
        return reach_of((view.booking.slot_id, view.booking.weeks, view.impressions, view.clicks) for view in views)

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        await self._memory.before()
        due = [row for row in self._memory.bookings.values() if row.status in OPEN and row.hold_ms <= now_ms]
        return [row.id for row in sorted(due, key=lambda row: (row.hold_ms, row.id))[:limit]]

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        await self._memory.before()
        due = [
            (row.refund_due_ms, row.id)
            for row in self._memory.bookings.values()
            if row.refund_due_ms is not None and row.refund_due_ms <= now_ms
        ]
        return [self._memory.bookings[booking_id] for _, booking_id in sorted(due)[:limit]]

    async def waiting_refunds(self, limit: int) -> int:
        await self._memory.before()
        return min(limit, sum(row.refund_due_ms is not None for row in self._memory.bookings.values()))

    def _campaign_view(self, campaign: Campaign) -> CampaignView:
        sponsor = self._memory.sponsors.get(campaign.tenant_id)
        return CampaignView(campaign, None if sponsor is None else sponsor.name)

    def _booking_view(self, booking: Booking) -> BookingView:
        sponsor = self._memory.sponsors.get(booking.tenant_id)
        days = [sums for (booking_id, _), sums in self._memory.delivery_days.items() if booking_id == booking.id]
        return BookingView(
            booking,
            self._memory.campaigns[booking.campaign_id].name,
            None if sponsor is None else sponsor.name,
            sum(impressions for impressions, _ in days),
            sum(clicks for _, clicks in days),
        )

    def _slots(self) -> list[Slot]:
        return sorted(self._memory.slots.values(), key=lambda slot: slot.id)

    def _taken(self, slot_ids: set[str], from_week_ms: int) -> Iterator[TakenWeek]:
        for (slot_id, week_ms), booking_id in sorted(self._memory.slot_weeks.items()):
            if slot_id in slot_ids and week_ms >= from_week_ms:
                holder = self._memory.bookings[booking_id]
                yield TakenWeek(slot_id, week_ms, holder.hold_ms if holder.status in OPEN else None)

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
            ):
                yield SoldPlacement(
                    booking_id=booking.id,
                    side=self._memory.slots[booking.slot_id].side,
                    content=campaign.content,
                    sponsor_name=campaign.shown_as or sponsor.name,
                    week_start_ms=booking.week_start_ms,
                    week_end_ms=booking.week_end_ms,
                    demo=booking.demo,
                )


def _page(rows: Iterable[L], place: Before | None, limit: int, *, oldest: bool = False) -> list[L]:
    """The rows strictly after a place, newest first or `oldest` first."""
    follows = gt if oldest else lt
    rest = [row for row in rows if place is None or follows((row.created_ms, row.id), place)]
    return sorted(rest, key=lambda row: (row.created_ms, row.id), reverse=not oldest)[:limit]
