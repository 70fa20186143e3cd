"""Delivery reports: what each booking of an account was shown and clicked, day by day. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from actors.bookings.records import Booking, DayDelivered
from actors.times import day_of

EPOCH = date(1970, 1, 1)

LATE_DAYS = 1
"""Events can be counted on so many days after a run ends."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days since the epoch, UTC, both included."""

    first: int
    last: int

    def __contains__(self, day: int) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True, slots=True)
class BookingDelivered:
    """A paid booking with its counts on some days, in order."""

    booking: Booking
    campaign_name: str
    counted: tuple[DayDelivered, ...]


def days_of(delivered: BookingDelivered, now_ms: int, within: Days | None = None) -> Iterator[DayDelivered]:
    """Every day that was bought up to today, and other days with counts."""
    booking = delivered.booking
    run = range(0)
    if booking.paid_ms is not None:
        run = range(day_of(booking.period_start_ms), min(day_of(booking.week_end_ms), day_of(now_ms) + 1))
    counted = {each.day: each for each in delivered.counted}
    for day in sorted({*run, *counted}):
        if within is None or day in within:
            yield counted.get(day) or DayDelivered(day, 0, 0)


@lru_cache(1_024)
def day_text(day: int) -> str:
    """`2026-11-18`."""
    return (EPOCH + timedelta(days=day)).isoformat()


MAX_ENDED = 1_000
"""The newest ended bookings that count as past ones."""


@dataclass(frozen=True, slots=True)
class SlotReach:
    """Sums over the ended bookings of a slot."""

    slot_id: str
    bookings: int
    weeks: int
    impressions: int
    clicks: int


def reach_of(ended: Iterable[tuple[str, int, int, int]]) -> list[SlotReach]:
    """The sums of ended bookings by slot, each given as its slot, weeks, impressions and clicks."""
    sums: dict[str, SlotReach] = {}
    for slot_id, weeks, impressions, clicks in ended:
        one = sums.get(slot_id, SlotReach(slot_id, 0, 0, 0, 0))
        sums[slot_id] = SlotReach(
            slot_id, one.bookings + 1, one.weeks + weeks, one.impressions + impressions, one.clicks + clicks
        )
    return [sums[slot_id] for slot_id in sorted(sums)]
