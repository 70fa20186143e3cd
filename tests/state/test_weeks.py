"""Weeks start on Mondays at midnight UTC."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.times import FIRST_MONDAY_MS, WEEK_MS, is_week_start, week_of, weeks_from
from tests.fakes import utc_ms
from tests.state.ledger import DAY, MONDAY

steady = settings(derandomize=True, database=None, deadline=None)


def test_a_week_has_seven_days_and_the_first_monday_was_the_fifth() -> None:
    assert WEEK_MS == 7 * DAY
    assert utc_ms(1970, 1, 5) == FIRST_MONDAY_MS


@pytest.mark.parametrize(
    ("moment", "start"),
    [
        (utc_ms(2026, 11, 16), utc_ms(2026, 11, 16)),
        (utc_ms(2026, 11, 16) - 1, utc_ms(2026, 11, 9)),
        (utc_ms(2026, 11, 16) + 1, utc_ms(2026, 11, 16)),
        (utc_ms(2026, 11, 22, 23, 59, 59) + 999, utc_ms(2026, 11, 16)),
        (utc_ms(2027, 1, 1), utc_ms(2026, 12, 28)),
        (utc_ms(2028, 2, 29, 12), utc_ms(2028, 2, 28)),
        (0, utc_ms(1969, 12, 29)),
        (-1, utc_ms(1969, 12, 29)),
    ],
)
def test_a_moment_is_in_the_week_of_its_monday(moment: int, start: int) -> None:
    assert week_of(moment) == start


@steady
@given(st.integers(-(2**53), 2**53))
def test_a_week_starts_once_in_seven_days_and_holds_its_moments(moment: int) -> None:
    start = week_of(moment)
    assert is_week_start(start)
    assert start <= moment < start + WEEK_MS
    assert is_week_start(moment) == (moment == start)


@pytest.mark.parametrize("off", [1, -1, 1_000, DAY, 6 * DAY])
def test_what_is_no_monday_midnight_starts_no_week(off: int) -> None:
    assert is_week_start(MONDAY)
    assert not is_week_start(MONDAY + off)


def test_weeks_follow_each_other_without_a_gap() -> None:
    assert weeks_from(MONDAY, 1) == (MONDAY,)
    assert weeks_from(MONDAY, 3) == (MONDAY, MONDAY + WEEK_MS, MONDAY + 2 * WEEK_MS)
    assert weeks_from(MONDAY, 0) == ()


@steady
@given(st.integers(0, 3_000))
def test_every_week_start_is_a_monday_at_midnight(number: int) -> None:
    start = datetime.fromtimestamp((FIRST_MONDAY_MS + number * WEEK_MS) / 1_000, UTC)
    assert (start.weekday(), start.hour, start.minute, start.second) == (0, 0, 0, 0)
