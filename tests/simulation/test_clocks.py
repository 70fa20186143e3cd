"""The clocks of simulated nodes: set, drifting, and never further from the right time than the judge allows."""

from itertools import pairwise

import pytest

from tests.simulation.clocks import LEAD_MS, Lead, WallClock, are_moved, clocks_of, turn_of
from tests.simulation.recorder import HEADER
from tests.simulation.rules import MIDNIGHTS_MS, MONDAY_MS, Scene

BASE_MS, HEAL_AT = MONDAY_MS - 7_000, 14.0
SEEDS = range(10 * len(Scene))


def _clocks(seed: int) -> list[WallClock]:
    return clocks_of(seed, BASE_MS, MONDAY_MS, [-LEAD_MS, 0, LEAD_MS], HEAL_AT)


def test_a_clock_that_is_set_shows_both_times_at_that_moment() -> None:
    clock = WallClock(BASE_MS, (Lead(0.0, 500), Lead(3.0, -400)))
    assert [clock.at(seconds) - BASE_MS for seconds in (2.0, 3.0, 4.0)] == [2_500, 2_600, 3_600]
    assert clock.span(2.75, 3.25) == (BASE_MS + 2_600, BASE_MS + 3_500)
    assert clock.span(3.25, 3.5) == (BASE_MS + 2_850, BASE_MS + 3_100)
    assert clock.leads_ms() == (-400, 500)


def test_a_clock_that_drifts_goes_on() -> None:
    clock = WallClock(BASE_MS, (Lead(0.0, 0), Lead(2.0, 0, -300.0), Lead(5.0, -900)))
    assert [clock.at(seconds) - BASE_MS for seconds in (2.0, 3.0, 5.0, 6.0)] == [2_000, 2_700, 4_100, 5_100]
    assert clock.leads_ms() == (-900, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_clocks_stay_within_the_bound_of_the_judge_and_are_not_moved_once_faults_are_over(seed: int) -> None:
    for clock in _clocks(seed):
        assert max(map(abs, clock.leads_ms())) <= LEAD_MS < HEADER.clock_ms
        assert clock.leads[-1].since <= HEAL_AT
        assert not clock.leads[-1].drift
        assert are_moved(seed) or len(clock.leads) == 1


def test_a_clock_goes_back_only_when_it_is_set() -> None:
    for clock in (clock for seed in SEEDS for clock in _clocks(seed)):
        times = [clock.at(number / 100) for number in range(2_000)]
        backs = sum(after < before for before, after in pairwise(times))
        assert backs <= (len(clock.leads) == 2)


def test_some_nodes_begin_a_day_twice() -> None:
    twice = 0
    for clock in (clock for seed in SEEDS for clock in _clocks(seed)):
        days = [clock.at(number / 100) >= MONDAY_MS for number in range(2_000)]
        twice += sum(before and not after for before, after in pairwise(days))
    assert twice > 3


@pytest.mark.parametrize("drawn_ms", [*MIDNIGHTS_MS, MONDAY_MS])
def test_another_midnight_is_of_the_same_day_of_the_week(drawn_ms: int) -> None:
    turns = {turn_of(seed, drawn_ms) for seed in SEEDS}
    assert len(turns) > 1
    assert {(turn - drawn_ms) % (7 * 86_400_000) for turn in turns} == {0}
