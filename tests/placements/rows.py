"""Rows that the tests of placements share, and a small store over them that is held to the contract of the real ones."""

from collections.abc import Iterator
from typing import Any

from actors.bookings.records import OPEN, Booking, BookingStatus, Content, Mode, Side, Slot
from actors.bookings.store import TOPIC, Overview, SoldPlacement, SponsorshipStore, TakenWeek
from actors.bookings.weeks import WEEK_MS, week_of, weeks_from
from actors.clock import DAY_MS, HOUR_MS
from storage.memory.tables import Memory

NOON_MS = 20_775 * DAY_MS + 12 * HOUR_MS
"""Wednesday, 18 November 2026, 12:00 UTC."""

WEEK = week_of(NOON_MS)
"""The start of the week in which each test begins."""


def week(number: int) -> int:
    """The start of a week, counted from the current one."""
    return WEEK + number * WEEK_MS


def slot(slot_id: str = "left-1", **fields: Any) -> Slot:
    """A slot that is sold, on the left unless something else is said."""
    shown = {"name": f"Slot {slot_id}", "side": Side.LEFT, "week_price_cents": 25_000, "created_ms": NOON_MS - DAY_MS}
    return Slot(slot_id, **(shown | fields))


def booking(booking_id: str, slot_id: str = "left-1", start: int = 0, weeks: int = 1, **fields: Any) -> Booking:
    """A booking that is paid for, from the week with the number `start` on."""
    made = {
        "tenant_id": "ten_ann",
        "campaign_id": f"cmp_{booking_id}",
        "slot_name": f"Slot {slot_id}",
        "amount_cents": weeks * 25_000,
        "currency": "usd",
        "status": BookingStatus.PAID,
        "mode": Mode.TEST,
        "created_ms": NOON_MS - HOUR_MS,
        "hold_ms": NOON_MS - HOUR_MS,
    }
    return Booking(booking_id, slot_id=slot_id, week_start_ms=week(start), weeks=weeks, **(made | fields))


def hold(booking_id: str, until_ms: int, slot_id: str = "left-1", start: int = 0, weeks: int = 1) -> Booking:
    """A booking that holds its weeks for a time."""
    return booking(booking_id, slot_id, start, weeks, status=BookingStatus.RESERVED, hold_ms=until_ms)


def content(booking_id: str) -> Content:
    """What the campaign of a booking shows."""
    return Content(f"Headline {booking_id}", "A body", "Learn more", f"https://example.com/{booking_id}", "AB")


class FakeSponsorship(SponsorshipStore):
    """What the snapshot needs of a store: slots and bookings, whose campaigns are approved. Nodes may share one."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._slots: dict[str, Slot] = {}
        self._bookings: dict[str, Booking] = {}
        self._revision = 0

    def keep(self, *rows: Slot | Booking, silently: bool = False) -> None:
        """Commit rows, new or changed, and announce that; `silently`: the announcement gets lost."""
        for row in rows:
            if isinstance(row, Slot):
                self._slots[row.id] = row
            else:
                self._bookings[row.id] = row
        self._revision += 1
        if not silently:
            self.memory.announce([TOPIC])

    async def revision(self) -> int:
        await self.memory.before()
        return self._revision

    async def overview(self, from_week_ms: int) -> Overview:
        await self.memory.before()
        read = overview_of(self._revision, from_week_ms, *self._slots.values(), *self._bookings.values())
        await self.memory.after()
        return read


def overview_of(revision: int, from_week_ms: int, *rows: Slot | Booking) -> Overview:
    """What a store reads of these rows, in their order."""
    slots = {row.id: row for row in rows if isinstance(row, Slot)}
    bookings = [row for row in rows if isinstance(row, Booking)]
    return Overview(
        revision=revision,
        slots=[each for each in slots.values() if each.retired_ms is None],
        taken=[each for row in bookings for each in _taken(row) if each.week_ms >= from_week_ms],
        placements=[
            SoldPlacement(
                booking_id=row.id,
                side=slots[row.slot_id].side,
                content=content(row.id),
                sponsor_name="Example Sponsor",
                week_start_ms=row.week_start_ms,
                week_end_ms=row.week_end_ms,
                demo=row.demo,
            )
            for row in bookings
            if row.status is BookingStatus.PAID and row.week_end_ms > from_week_ms
        ],
    )


def _taken(row: Booking) -> Iterator[TakenWeek]:
    if row.status in (BookingStatus.PAID, *OPEN):
        until_ms = None if row.status is BookingStatus.PAID else row.hold_ms
        for week_ms in weeks_from(row.week_start_ms, row.weeks):
            yield TakenWeek(row.slot_id, week_ms, until_ms)
