"""The plan of faults is determined by its seed, and contains every kind."""

from collections import Counter

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.plan import BREATH_SECONDS, LASTS, STEP_SECONDS, Kind, plan


@pytest.mark.parametrize("seed", range(20))
def test_two_minutes_hold_every_kind_and_more_than_thirty_faults(seed: int) -> None:
    faults = plan(seed, 120)
    assert {fault.kind for fault in faults} == set(Kind)
    assert len(faults) >= 30


def test_a_seed_gives_one_plan_and_another_seed_another() -> None:
    assert plan(1, 120) == plan(1, 120)
    assert plan(1, 120) != plan(2, 120)


def test_the_shortest_plan_holds_each_kind_once_and_a_longer_one_is_longer() -> None:
    assert Counter(fault.kind for fault in plan(3, 0)) == Counter(Kind)
    assert len(plan(3, 3_600)) == 1_200


def test_what_cannot_be_done_here_is_left_out_and_nothing_else() -> None:
    assert {fault.kind for fault in plan(4, 120, [Kind.DISK_FULL])} == set(Kind) - {Kind.DISK_FULL}


def test_faults_last_as_long_as_their_kind_may() -> None:
    for fault in plan(5, 3_600):
        shortest, longest = LASTS[fault.kind]
        assert shortest <= fault.lasting_seconds <= longest
        assert BREATH_SECONDS[0] <= fault.breath_seconds <= BREATH_SECONDS[1]
        assert fault.step_seconds in STEP_SECONDS


def test_nodes_are_killed_more_often_than_anything_else() -> None:
    counts = Counter(fault.kind for fault in plan(6, 3_600))
    assert counts.most_common(1)[0][0] is Kind.NODE_KILLED


def test_every_kind_can_be_made_and_lasts_for_a_time() -> None:
    assert FAULTS.keys() == LASTS.keys() == set(Kind)
