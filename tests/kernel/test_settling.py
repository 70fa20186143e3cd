"""Stores that are unavailable, contended, or silent about a commit: the answers of callers, and that nothing commits
twice."""

from collections.abc import Iterable
from itertools import chain, repeat

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.fakes import Step, after, kinds, now, together
from tests.kernel.notebook import Notebook

AWAY, UNKNOWN, CONTENDED = StorageUnavailable("away"), OutcomeUnknown("broken"), Contended("met another")


class TestAway:
    async def test_callers_are_refused_nothing_is_tried_again_and_the_actor_goes_on_however_often(self) -> None:
        book = Notebook(before=[AWAY] * 20)
        async with running([book]):
            for number in range(20):
                assert kinds(await together(now(book.ask, "a"))) == [StorageUnavailable]
                assert len(book.attempts) == number + 1
            assert await book.ask("b") == "0: b"
        assert book.lines == ["b"]
        assert (book.statistics().restarts, book.statistics().unavailable) == (0, 20)

    async def test_each_caller_of_a_batch_gets_an_error_of_its_own(self) -> None:
        book = Notebook(before=[1.0, AWAY])
        async with running([book]):
            _, one, other = await together(now(book.ask, "a"), after(0.1, book.ask, "b"), after(0.2, book.ask, "c"))
        assert (str(one), str(other)) == ("away", "away")
        assert one is not other

    async def test_the_cause_is_handed_on(self) -> None:
        error = StorageUnavailable("away")
        error.__cause__ = ConnectionError("reset")
        book = Notebook(before=[error])
        async with running([book]):
            with pytest.raises(StorageUnavailable) as caught:
                await book.ask("a")
        assert repr(caught.value.__cause__) == "ConnectionError('reset')"


@pytest.mark.parametrize(
    ("before", "lost", "attempts"),
    [
        ([UNKNOWN], [], 2),
        ([], [UNKNOWN], 2),
        ([], [UNKNOWN] * 3, 4),
        ([None, AWAY, AWAY], [UNKNOWN], 4),
        ([CONTENDED, CONTENDED], [], 3),
        ([None, CONTENDED, AWAY], [UNKNOWN], 4),
    ],
    ids=["not stored", "stored", "several times", "then away", "contended", "then contended and away"],
)
async def test_a_batch_in_doubt_is_tried_again_under_its_id_and_stored_once(
    before: list[Step], lost: list[Step], attempts: int
) -> None:
    book = Notebook(before=before, after=lost)
    async with running([book]):
        assert await book.ask("a") == "0: a"
    assert book.lines == ["a"]
    assert book.attempts == [(1, ["a"])] * attempts
    assert book.statistics().settled == lost.count(UNKNOWN) + before.count(UNKNOWN)


@pytest.mark.parametrize(
    ("before", "settle_attempts", "attempts", "seconds", "words"),
    [
        (
            repeat(UNKNOWN),
            8,
            8,
            0.05 + 0.1 + 0.2 + 0.4 + 0.8 + 1 + 1,
            "could not learn the outcome of a batch in 8 attempts",
        ),
        (repeat(CONTENDED), 3, 3, 0.05 + 0.1, "could not learn the outcome of a batch in 3 attempts"),
        ([CONTENDED, AWAY], 8, 2, 0.05, "away"),
    ],
    ids=["unknown for ever", "contended for ever", "away, so that nothing was stored"],
)
async def test_a_batch_is_given_up_after_bounded_attempts_with_pauses_that_grow_to_a_bound(
    before: Iterable[Step], settle_attempts: int, attempts: int, seconds: float, words: str
) -> None:
    book = Notebook(before=before, limits=ActorLimits(settle_attempts=settle_attempts))
    async with running([book]):
        [error] = await together(now(book.ask, "a"))
    assert isinstance(error, StorageUnavailable)
    assert words in str(error)
    assert len(book.attempts) == attempts
    assert trio.current_time() == pytest.approx(seconds)


async def test_the_same_batch_id_and_messages_are_retried_while_new_ones_wait() -> None:
    book = Notebook(before=[1.0, 1.0], after=[UNKNOWN])
    async with running([book]):
        await together(now(book.ask, "a"), after(0.1, book.ask, "b"), after(1.5, book.ask, "c"))
    assert book.attempts == [(1, ["a"]), (1, ["a"]), (2, ["b", "c"])]


async def test_after_a_batch_that_could_not_be_settled_the_actor_goes_on() -> None:
    book = Notebook(before=[UNKNOWN] * 8)
    async with running([book]):
        await together(now(book.ask, "a"))
        assert await book.ask("b") == "0: b"
    assert book.statistics().restarts == 0


async def test_the_first_attempt_waits_for_nothing() -> None:
    book = Notebook()
    async with running([book]):
        await book.ask("a")
    assert trio.current_time() == 0


MISHAPS = st.lists(st.sampled_from([None, 0.01, 0.2, AWAY, UNKNOWN, CONTENDED]), max_size=40)


# After the commit only an unknown outcome is possible: a store that committed must not report that it is unavailable.
@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(before=MISHAPS, lost=st.lists(st.sampled_from([None, 0.05, UNKNOWN]), max_size=40), seed=st.integers(0, 99))
def test_whatever_the_store_does_an_answered_line_is_stored_once_and_no_line_twice(
    before: list[Step], lost: list[Step], seed: int
) -> None:
    book = Notebook(before=before, after=chain(lost), limits=ActorLimits(batch=3))
    lines = [str(number) for number in range(20)]

    async def main() -> None:
        async with running([book], drain_seconds=600):
            answers = await together(*[after((place * seed % 7) / 50, book.ask, x) for place, x in enumerate(lines)])
        assert len(set(book.lines)) == len(book.lines)
        for line, answer in zip(lines, answers, strict=True):
            if isinstance(answer, str):
                assert answer == f"{book.lines.index(line)}: {line}"
            else:
                assert isinstance(answer, StorageUnavailable)

    trio.run(main, clock=MockClock(autojump_threshold=0))
