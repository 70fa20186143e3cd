"""How far the clocks of this machine and of the database server may differ."""

import pytest

from actors.times import HOUR_MS
from service.config.clocks import Clocks, Exchange, clock_problems, exceeds_skew
from tests.fakes import utc_ms

NOON = utc_ms(2026, 3, 1, 12)


def apart(ahead_ms: int, *, round_trip_ms: int = 0) -> Clocks:
    """A server whose clock is so far ahead of ours, asked with the question and the answer taking equally long."""
    exchange = Exchange(NOON, NOON + round_trip_ms // 2 + ahead_ms, NOON + round_trip_ms)
    return Clocks([exchange], exchange.server_ms, None)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("ahead_ms", "warned", "refused"),
    [(0, False, False), (5_000, False, False), (5_001, True, False), (300_000, True, False), (300_001, True, True)],
)
def test_five_seconds_are_a_problem_and_five_minutes_refuse_a_start(
    sign: int, ahead_ms: int, warned: bool, refused: bool
) -> None:
    clocks = apart(sign * ahead_ms)
    assert bool(clock_problems(clocks)) == warned
    assert exceeds_skew(clocks) == refused


def test_the_problem_names_both_clocks_and_what_to_do() -> None:
    assert clock_problems(apart(360_000)) == [
        "the clock of this machine says 2026-03-01 12:00:00 UTC, and that of the database server says 2026-03-01 12:06:00 "
        "UTC, 360 s ahead: let both follow NTP"
    ]
    assert "2026-03-01 11:59:50 UTC, 10 s behind" in clock_problems(apart(-10_000))[0]


@pytest.mark.parametrize("ahead_ms", [4_000, -4_000])
def test_a_slow_answer_is_no_difference_of_clocks(ahead_ms: int) -> None:
    assert clock_problems(apart(ahead_ms, round_trip_ms=20_000)) == []


def test_only_what_the_round_trip_cannot_explain_counts() -> None:
    assert clock_problems(apart(9_000, round_trip_ms=8_000)) == []
    assert clock_problems(apart(9_001, round_trip_ms=8_000)) != []
    assert clock_problems(apart(-9_000, round_trip_ms=8_000)) == []
    assert clock_problems(apart(-9_001, round_trip_ms=8_000)) != []


def test_the_quickest_of_several_answers_is_believed() -> None:
    slow, quick = apart(0, round_trip_ms=60_000).exchanges[0], apart(6_000, round_trip_ms=2).exchanges[0]
    assert clock_problems(Clocks([slow, quick, slow], NOON, None)) != []
    assert clock_problems(Clocks([slow], NOON, None)) == []


def test_the_clock_of_the_embedded_postgres_is_that_of_the_machine() -> None:
    assert clock_problems(Clocks([], NOON, None)) == []
    assert not exceeds_skew(Clocks([], NOON, None))


@pytest.mark.parametrize(("ahead_ms", "wrong"), [(-HOUR_MS, False), (HOUR_MS, False), (HOUR_MS + 1, True)])
def test_a_row_of_more_than_an_hour_ahead_shows_that_the_clock_is_or_was_wrong(ahead_ms: int, wrong: bool) -> None:
    clocks = Clocks([], NOON, NOON + ahead_ms)
    assert bool(clock_problems(clocks)) == wrong
    assert not exceeds_skew(clocks)


def test_moments_that_no_calendar_has_are_still_told() -> None:
    [problem] = clock_problems(Clocks([], -1, 10**18))
    assert "is of 9999-12-31 23:59:59 UTC, and its clock says 1970-01-01 00:00:00 UTC" in problem
