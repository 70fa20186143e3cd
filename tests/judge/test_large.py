"""Large histories of a model of the service: the judge finds nothing in clean ones, and each planted bug by its promise."""

import pytest

from tests.judge.judging import CHECKS, judge
from tests.judge.large import BUGS, large
from tests.judge.records import VERSION, Header, History
from tests.slow import repeats

PROMISES = (1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 8, 9, 9)
"""The promise that each bug breaks."""


def made(most: int, seed: int, bug: str | None = None) -> History:
    return History(Header(VERSION, "a model", whole=True, fresh=True), tuple(large(most, seed, bug)))


def broken(history: History) -> set[int]:
    return {number for number, verdict in enumerate(judge(history).values(), 1) if verdict.found}


@repeats("the tables of each check have clean histories")
def test_nothing_is_found_in_clean_histories() -> None:
    for seed in range(6):
        history = made(1_500, seed)
        verdicts = judge(history)
        assert [each for verdict in verdicts.values() for each in verdict.broken] == []
        assert all(verdict.judged for verdict in verdicts.values())
        for ordinary in (False, True):
            header = Header(VERSION, whole=ordinary)
            assert broken(History(header, history.operations)) == set()


@repeats("the tables of each check have broken histories")
@pytest.mark.parametrize(("bug", "promise"), list(zip(BUGS, PROMISES, strict=True)))
def test_a_planted_bug_is_found_by_its_promise(bug: str, promise: int) -> None:
    assert set(PROMISES) == set(range(1, 1 + len(CHECKS)))
    # A lost answer may hide a bug from every client.
    assert any(promise in broken(made(2_000, seed, bug)) for seed in range(3))
