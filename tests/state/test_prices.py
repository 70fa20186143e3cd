"""Prices: a running week costs its remaining days, and a refund is the share of the days that were not shown."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.bookings.prices import LEAST_CENTS, days_left, price, unshown_share
from actors.bookings.records import Booking, BookingStatus, Mode, Side, Slot
from tests.state.ledger import DAY, MONDAY, NOON, SLOT, booked, furnished

WEEK = 7 * DAY
SLOTS = st.builds(
    Slot,
    id=st.just("slt_any"),
    name=st.just("Any"),
    side=st.just(Side.LEFT),
    week_price_cents=st.integers(50, 10_000_000),
    created_ms=st.just(0),
    weeks=st.integers(1, 52),
)
WEEKS = st.integers(0, 100_000).map(lambda number: 4 * DAY + number * WEEK)
"""Week starts: 5 January 1970 was a Monday."""


def slot_of(cents: int, weeks: int = 1) -> Slot:
    return Slot("slt_any", "Any", Side.LEFT, cents, 0, weeks=weeks)


def booking_of(cents: int, weeks: int, created_ms: int) -> Booking:
    """A booking from MONDAY on."""
    kept = BookingStatus.PAID
    return Booking(
        "bok_1",
        "ten_1",
        "cmp_1",
        "slt_any",
        "Any",
        MONDAY,
        weeks,
        cents,
        "usd",
        kept,
        Mode.TEST,
        created_ms,
        created_ms,
    )


# Prices.

steady = settings(derandomize=True, database=None, deadline=None)


@pytest.mark.parametrize(
    ("now_ms", "cents"),
    [
        (MONDAY - 30 * DAY, 2_500),
        (MONDAY - 1, 2_500),  # Sunday, a millisecond before the week
        (MONDAY, 2_500),
        (MONDAY + DAY - 1, 2_500),
        (MONDAY + DAY, 2_142),  # 2500 * 6 / 7 = 2142.9
        (MONDAY + 2 * DAY, 1_785),
        (MONDAY + 3 * DAY - 1, 1_785),
        (MONDAY + 3 * DAY, 1_428),
        (MONDAY + 4 * DAY, 1_071),
        (MONDAY + 5 * DAY, 714),
        (MONDAY + 6 * DAY, 357),
        (MONDAY + 7 * DAY - 1, 357),  # Sunday, a millisecond before the end
    ],
)
def test_a_week_costs_its_remaining_days_from_midnight_to_midnight(now_ms: int, cents: int) -> None:
    assert price(slot_of(2_500), MONDAY, now_ms) == cents
    # Later weeks of a longer package cost their full price, and so does a package that begins later.
    assert price(slot_of(2_500, 4), MONDAY, now_ms) == cents + 3 * 2_500
    assert price(slot_of(2_500), MONDAY + WEEK, now_ms) == 2_500


def test_a_price_is_at_least_what_the_processor_takes() -> None:
    for day, cents in enumerate((100, 85, 71, 57, 50, 50, 50)):
        assert price(slot_of(100), MONDAY, MONDAY + day * DAY) == cents
    assert price(slot_of(100, 2), MONDAY, MONDAY + 6 * DAY) == 114, "later weeks count towards it"


@pytest.mark.parametrize("moment", ["2026-03-29T01:30", "2026-10-25T01:30", "2028-02-29T23:59", "2026-12-31T23:59"])
def test_days_are_those_of_utc_whatever_clocks_do_elsewhere(moment: str) -> None:
    when = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    now_ms = int(when.timestamp() * 1_000)
    midnight_ms = now_ms - now_ms % DAY
    assert days_left(midnight_ms - when.weekday() * DAY, now_ms) == 7 - when.weekday()


def test_a_week_that_is_over_has_no_days_left() -> None:
    assert [days_left(MONDAY, MONDAY + WEEK + later_ms) for later_ms in (-1, 0, WEEK)] == [1, 0, 0]


@steady
@given(SLOTS, WEEKS, st.integers(-400 * DAY, WEEK - 1))
def test_a_price_is_never_above_the_full_one_and_falls_only_at_midnight(
    slot: Slot, week_ms: int, after_ms: int
) -> None:
    now_ms = week_ms + after_ms
    full = slot.weeks * slot.week_price_cents
    cents = price(slot, week_ms, now_ms)
    assert LEAST_CENTS <= cents <= full
    if after_ms < DAY:
        assert cents == full
    else:
        # Within a cent of its days' share of the first week.
        days = (week_ms + WEEK - now_ms + DAY - 1) // DAY
        later = (slot.weeks - 1) * slot.week_price_cents
        assert cents == max(LEAST_CENTS, slot.week_price_cents * days // 7 + later)
        assert price(slot, week_ms, now_ms - now_ms % DAY) == cents <= price(slot, week_ms, now_ms - DAY)


def test_a_price_is_fixed_at_the_reservation() -> None:
    ledger = furnished()
    ledger.now_ms = MONDAY + 3 * DAY - 1
    message = ledger.reserve("b1")
    booking = booked(ledger.one(message))
    assert booking.amount_cents == ledger.slots[SLOT].week_price_cents * 5 // 7
    ledger.now_ms += 1
    assert price(ledger.slots[SLOT], MONDAY, ledger.now_ms) < booking.amount_cents
    again = booked(ledger.one(message))
    assert again == booking, "a repeated request returns the booking with the price of the first"


# Refunds of weeks that were not shown.


def test_all_weeks_unseen_are_all_of_the_amount_and_none_is_nothing() -> None:
    booking = booking_of(8_999, 3, MONDAY + 2 * DAY)
    starts = [MONDAY, MONDAY + WEEK, MONDAY + 2 * WEEK]
    assert unshown_share(booking, starts) == 8_999
    assert unshown_share(booking, []) == 0
    assert unshown_share(booking, [MONDAY - WEEK, MONDAY + 3 * WEEK]) == 0


def test_a_first_week_that_was_bought_while_it_ran_has_fewer_days() -> None:
    # Bought on Wednesday: 5 days of 7000 a week, and two whole weeks.
    booking = booking_of(5_000 + 14_000, 3, NOON)
    assert unshown_share(booking, [MONDAY]) == 5_000
    assert unshown_share(booking, [MONDAY + WEEK]) == 7_000
    early = booking_of(21_000, 3, MONDAY - DAY)
    assert unshown_share(early, [MONDAY]) == 7_000


def test_a_booking_that_was_made_after_its_weeks_was_never_shown() -> None:
    assert unshown_share(booking_of(1_000, 1, MONDAY + WEEK), [MONDAY]) == 1_000


def test_a_share_is_rounded_up() -> None:
    booking = booking_of(1_000, 3, MONDAY - DAY)
    assert unshown_share(booking, [MONDAY]) == 334
    assert unshown_share(booking, [MONDAY, MONDAY + 2 * WEEK]) == 667


@steady
@given(SLOTS, st.integers(-30 * DAY, WEEK - 1), st.data())
def test_shares_cover_what_was_paid_and_never_exceed_it(slot: Slot, after_ms: int, data: st.DataObject) -> None:
    now_ms = MONDAY + after_ms
    booking = booking_of(price(slot, MONDAY, now_ms), slot.weeks, now_ms)
    starts = [MONDAY + number * WEEK for number in range(slot.weeks)]
    unseen = data.draw(st.sets(st.sampled_from(starts)))
    share = unshown_share(booking, unseen)
    rest = unshown_share(booking, set(starts) - unseen)
    assert 0 <= share <= booking.amount_cents
    assert booking.amount_cents <= share + rest <= booking.amount_cents + 1
    # No sponsor gets back less than the days are worth, nor a cent more.
    days = sum((7 if each > MONDAY or now_ms < MONDAY else 7 - after_ms // DAY) for each in unseen)
    all_days = sum((7 if each > MONDAY or now_ms < MONDAY else 7 - after_ms // DAY) for each in starts)
    assert 0 <= share * all_days - booking.amount_cents * days < all_days
    assert unshown_share(replace(booking, status=BookingStatus.REFUNDING), unseen) == share
