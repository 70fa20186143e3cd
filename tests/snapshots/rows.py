"""Rows for the tests of placements, and access to the tables in memory."""

from collections.abc import Iterator
from typing import Any

from actors.bookings.records import (
    OPEN,
    Booking,
    BookingStatus,
    Campaign,
    CampaignStatus,
    Content,
    Mode,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.store import TOPIC, Overview, SoldPlacement, UnavailableWeek
from actors.clock import DAY_MS, HOUR_MS
from actors.times import WEEK_MS, week_of, weeks_from
from tests.doubles.sponsorship import MemorySponsorship
from tests.doubles.tables import Memory

NOON_MS = 20_775 * DAY_MS + 12 * HOUR_MS
"""Wednesday, 18 November 2026, 12:00 UTC."""

SPONSOR = "Example Sponsor"

WEEK = week_of(NOON_MS)
"""The start of the week in which each test begins."""


def week(number: int) -> int:
    """The start of a week, relative to the current one."""
    return WEEK + number * WEEK_MS


def slot(slot_id: str = "left-1", **fields: Any) -> Slot:
    """A slot that is for sale, on the left by default."""
    shown: dict[str, Any] = {
        "name": f"Slot {slot_id}",
        "side": Side.LEFT,
        "week_price_cents": 25_000,
        "created_ms": NOON_MS - DAY_MS,
    }
    return Slot(slot_id, **(shown | fields))


def booking(booking_id: str, slot_id: str = "left-1", start: int = 0, weeks: int = 1, **fields: Any) -> Booking:
    """A paid booking that starts in week `start`, without a schedule."""
    made: dict[str, Any] = {
        "tenant_id": "ten_ann",
        "campaign_id": f"cmp_{booking_id}",
        "slot_name": f"Slot {slot_id}",
        "amount_cents": weeks * 25_000,
        "currency": "usd",
        "status": BookingStatus.PAID,
        "mode": Mode.TEST,
        "created_ms": NOON_MS - HOUR_MS,
        "hold_ms": NOON_MS - HOUR_MS,
        "next_step_ms": None,
    }
    return Booking(booking_id, slot_id=slot_id, week_start_ms=week(start), weeks=weeks, **(made | fields))


def hold(booking_id: str, until_ms: int, slot_id: str = "left-1", start: int = 0, weeks: int = 1) -> Booking:
    """A booking with a temporary hold on its weeks."""
    return booking(booking_id, slot_id, start, weeks, status=BookingStatus.RESERVED, hold_ms=until_ms)


def content(booking_id: str) -> Content:
    """The content of a booking's campaign."""
    return Content(f"Headline {booking_id}", "A body", "Learn more", f"https://example.com/{booking_id}", "AB")


class Rows(MemorySponsorship):
    """The store in memory, with access to its tables: slots, and bookings with approved campaigns."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.memory = memory

    def keep(self, *rows: Slot | Booking, silently: bool = False) -> None:
        """Commit new or changed rows and announce it. `silently`: lose the announcement."""
        for row in rows:
            if isinstance(row, Slot):
                self.memory.slots[row.id] = row
            else:
                self._keep_booking(row)
        self.memory.sponsorship_revision += 1
        if not silently:
            self.memory.announce([TOPIC])

    def _keep_booking(self, row: Booking) -> None:
        tables = self.memory
        shown = Campaign(row.campaign_id, row.tenant_id, "Shown", content(row.id), CampaignStatus.APPROVED, NOON_MS)
        tables.sponsors[row.tenant_id] = Sponsor(row.tenant_id, "spo_1", SPONSOR, "https://example.com/", NOON_MS)
        tables.campaigns[row.campaign_id] = shown
        tables.bookings[row.id] = row
        holds = row.status in (BookingStatus.PAID, *OPEN)
        for week_ms in weeks_from(row.week_start_ms, row.weeks):
            if holds:
                tables.slot_weeks[row.slot_id, week_ms] = row.id
            elif tables.slot_weeks.get((row.slot_id, week_ms)) == row.id:
                del tables.slot_weeks[row.slot_id, week_ms]


def overview_of(revision: int, from_week_ms: int, *rows: Slot | Booking) -> Overview:
    """The overview that a store reads from these rows, in their order."""
    slots = {row.id: row for row in rows if isinstance(row, Slot)}
    bookings = [row for row in rows if isinstance(row, Booking)]
    return Overview(
        revision=revision,
        slots=[each for each in slots.values() if each.retired_ms is None],
        taken=[each for row in bookings for each in _taken(row) if each.week_ms >= from_week_ms],
        placements=[
            SoldPlacement(
                booking_id=row.id,
                slot_id=row.slot_id,
                side=slots[row.slot_id].side,
                content=content(row.id),
                sponsor_name=SPONSOR,
                week_start_ms=row.week_start_ms,
                week_end_ms=row.week_end_ms,
                demo=row.demo,
            )
            for row in bookings
            if row.status is BookingStatus.PAID and row.week_end_ms > from_week_ms
        ],
    )


def _taken(row: Booking) -> Iterator[UnavailableWeek]:
    if row.status in (BookingStatus.PAID, *OPEN):
        until_ms = None if row.status is BookingStatus.PAID else row.hold_ms
        for week_ms in weeks_from(row.week_start_ms, row.weeks):
            yield UnavailableWeek(row.slot_id, week_ms, until_ms)
