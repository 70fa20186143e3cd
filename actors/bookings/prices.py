"""Prices of bookings. Pure.

A week that has begun costs its remaining days, the current day (UTC) included. A booking costs no less than the processor
takes. Amounts are whole cents, rounded in the sponsor's favour: a price down, a refund up. A price is fixed when its weeks
are reserved.
"""

from collections.abc import Collection

from actors.bookings.records import Booking, Slot
from actors.times import day_of, weeks_from

WEEK_DAYS = 7

LEAST_CENTS = 50
"""Stripe's smallest payment in US dollars. It opens no page for less, so such a booking could never be paid."""


def days_left(week_start_ms: int, now_ms: int) -> int:
    """The days of a week that are not over: 7 before it begins, 1 on its Sunday, 0 after it."""
    return max(0, min(WEEK_DAYS, WEEK_DAYS - (day_of(now_ms) - day_of(week_start_ms))))


def price(slot: Slot, week_start_ms: int, now_ms: int) -> int:
    """The cents of a booking that is made now and starts in a week that is not over; at least `LEAST_CENTS`."""
    first_week = slot.week_price_cents * days_left(week_start_ms, now_ms) // WEEK_DAYS
    return max(LEAST_CENTS, first_week + (slot.weeks - 1) * slot.week_price_cents)


def unshown_share(booking: Booking, unseen_week_starts: Collection[int]) -> int:
    """The cents of a booking's amount that belong to the weeks in which it was not shown; 0 for weeks of others.

    Every day that was sold has an equal share. The first week has fewer of them if the booking was made in it. The shares
    of all weeks are the amount.
    """
    days = {
        week_ms: days_left(week_ms, booking.created_ms) for week_ms in weeks_from(booking.week_start_ms, booking.weeks)
    }
    sold, unseen = sum(days.values()), sum(days[week_ms] for week_ms in days if week_ms in unseen_week_starts)
    # Nothing can be sold after its weeks. A row that says so was never shown.
    return -(-booking.amount_cents * unseen // sold) if sold else booking.amount_cents
