"""Large histories of a model of the service: the judge finds nothing in clean ones, and each planted bug by its promise."""

import io

import pytest

from tests.judge.judging import CHECKS, judge, report
from tests.judge.large import BUGS, large
from tests.judge.lines import line_of, read_history
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
    assert sum(promise in broken(made(2_500, seed, bug)) for seed in range(3)) >= 2


def test_a_report_tells_what_is_broken_and_who_saw_it() -> None:
    history = made(800, 1, "recorded")
    stream = io.BytesIO(b"".join([line_of(history.header), *(line_of(each) for each in history.operations)]))
    lines = list(report(history, judge(read_history(stream))))
    assert lines[0].endswith("operations of a whole and fresh history by a model")
    assert any(line.startswith("5. ") and line.endswith("1 broken") for line in lines)
    at = lines.index("Promise 5 is broken: an event is recorded once a day.")
    assert lines[at + 1].endswith("was recorded twice in one day.")
    assert all(line.startswith("    2026-11-18T12:00:0") and "recorded" in line for line in lines[at + 2 : at + 4])
