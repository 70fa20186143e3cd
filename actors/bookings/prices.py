"""What weeks cost. Pure; source: ADR 0081."""

from collections.abc import Collection

from actors.bookings.records import Booking
from actors.times import DAY_MS, day_of
from actors.weeks import WEEK_MS

DAYS = WEEK_MS // DAY_MS


def unshown_share(booking: Booking, unseen_weeks: Collection[int]) -> int:
    """The part of a booking's amount in cents that was paid for these weeks (their starts), rounded up. All weeks: all of
    it. The days before a booking was made were not sold."""
    gone = max(0, day_of(booking.created_ms) - day_of(booking.week_start_ms))
    sold = booking.weeks * DAYS - gone
    unseen = len(unseen_weeks) * DAYS - (gone if booking.week_start_ms in unseen_weeks else 0)
    return -(-booking.amount_cents * unseen // sold)
