"""Lanes: an actor with several batches under way, each under its own batch ids."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import trio

from actors.kernel.actor import Actor, ActorLimits
from actors.kernel.supervision import running
from actors.values import ActorFailed, BatchId, OutcomeUnknown, StorageUnavailable
from tests.fakes import after, kinds, now, together

LIMITS = ActorLimits(mailbox=20, batch=4, lanes=2, gather=3)


class Book(Actor[int, int]):
    """Commits each batch in a second and records it: its owner, number, messages and begin. Scripted messages fail.
    A message of 100 or more weighs its hundreds."""

    def __init__(self, limits: ActorLimits = LIMITS) -> None:
        super().__init__("book", "one", limits)
        self.commits: list[tuple[str, int, list[int], float]] = []
        self.errors: dict[int, list[Exception]] = {}
        self.done: list[int] = []

    def weigh(self, message: int) -> int:
        return message // 100 if message >= 100 else 1

    async def commit(self, batch_id: BatchId, messages: Sequence[int]) -> Sequence[int]:
        self.commits.append((batch_id.owner, batch_id.seq, list(messages), trio.current_time()))
        await trio.sleep(1)
        for error in [each for message in messages for each in self.errors.get(message, [])[:1]]:
            self.errors[messages[0]].pop(0)
            raise error
        self.done += messages
        return messages

    @property
    def batches(self) -> list[list[int]]:
        return [messages for _, _, messages, _ in self.commits]


def asked(book: Book, *messages: int) -> list[Any]:
    return [after(0.1 * number, book.ask, message) for number, message in enumerate(messages)]


async def test_a_second_batch_begins_once_enough_has_gathered() -> None:
    book = Book()
    async with running([book]):
        assert await together(*asked(book, 1, 2, 3, 4)) == [1, 2, 3, 4]
    assert book.batches == [[1], [2, 3, 4]]
    first, second = [begun for *_, begun in book.commits]
    assert second - first == pytest.approx(0.3), "while the first commit is under way"


async def test_less_than_that_waits_for_the_first_commit() -> None:
    book = Book()
    async with running([book]):
        await together(*asked(book, 1, 2, 3))
    assert book.batches == [[1], [2, 3]]
    first, second = [begun for *_, begun in book.commits]
    assert second - first == 1


async def test_nothing_waits_for_a_large_batch() -> None:
    book = Book()
    async with running([book]):
        await together(now(book.ask, 300), after(0.1, book.ask, 1), after(0.2, book.ask, 2))
    begun = {messages[0]: start - book.commits[0][3] for _, _, messages, start in book.commits}
    assert begun == {300: 0, 1: pytest.approx(0.1), 2: pytest.approx(1.1)}, "the last one waits for a small batch"


async def test_no_more_batches_are_under_way_than_lanes() -> None:
    book = Book()
    async with running([book]):
        await together(*[now(book.ask, message) for message in range(16)])
    begun = [start for *_, start in book.commits]
    assert [begun.count(start) for start in sorted(set(begun))] == [2, 2]
    assert sorted(book.done) == list(range(16))


async def test_what_one_lane_leaves_is_taken_by_the_next_free_one_at_once() -> None:
    book = Book(ActorLimits(mailbox=20, batch=4, lanes=3, gather=3))

    async with running([book]):
        await together(*asked(book, 1, 2, 3), after(0.5, book.ask, 400))
    assert [(messages, begun - book.commits[0][3]) for _, _, messages, begun in book.commits] == [
        ([1], 0),
        ([2, 3], 0.5),
        ([400], 0.5),
    ]


async def test_at_low_load_the_same_lane_serves_all() -> None:
    book = Book()
    async with running([book]):
        for message in range(3):
            await book.ask(message)
    assert [(owner, seq) for owner, seq, *_ in book.commits] == [("one/book", 1), ("one/book", 2), ("one/book", 3)]


async def test_a_failure_restarts_the_actor_while_its_other_lanes_are_idle(caplog: pytest.LogCaptureFixture) -> None:
    book = Book()
    book.errors[1] = [ValueError("a bug")]
    async with running([book]):
        assert kinds(await together(now(book.ask, 1))) == [ActorFailed]
        await trio.sleep(1)
        assert book.statistics().restarts == 1
        assert book.accepting


async def test_lanes_have_batch_ids_of_their_own() -> None:
    book = Book()
    async with running([book]):
        await together(*[now(book.ask, message) for message in range(16)])
    assert sorted((owner, seq) for owner, seq, *_ in book.commits) == [
        ("one/book", 1),
        ("one/book", 2),
        ("one/book-lane-1", 1),
        ("one/book-lane-1", 2),
    ]


async def test_each_lane_settles_its_own_batch_under_its_own_id() -> None:
    book = Book()
    book.errors[1] = [OutcomeUnknown("lost")]
    async with running([book]):
        assert await together(*asked(book, 1, 2, 3, 4)) == [1, 2, 3, 4]
    tried = [(owner, seq) for owner, seq, messages, _ in book.commits if messages == [1]]
    assert tried == [tried[0]] * 2
    assert book.statistics().settled == 1
    assert book.done == [2, 3, 4, 1], "the other lane did not wait"


async def test_a_lane_that_fails_leaves_the_batch_of_the_other_and_the_queue_unharmed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    book = Book()
    book.errors[1] = [ValueError("a bug")]
    async with running([book]):
        results = await together(*asked(book, 1, 2, 3, 4), after(0.5, book.ask, 5))
    assert kinds(results) == [ActorFailed, int, int, int, int]
    assert book.done == [2, 3, 4, 5]
    assert book.statistics().restarts == 1
    numbers = [(owner, seq) for owner, seq, *_ in book.commits]
    assert len(set(numbers)) == len(numbers), "a batch id is never used twice"


async def test_a_caller_that_gives_up_is_withdrawn_from_the_queue_of_all_lanes() -> None:
    book = Book(ActorLimits(mailbox=20, batch=4, answer_seconds=0.5, lanes=2, gather=3))
    async with running([book]):
        results = await together(*asked(book, 1, 2))
        await trio.sleep(5)
    assert kinds(results) == [StorageUnavailable] * 2
    assert book.batches == [[1]]


async def test_closing_commits_what_is_queued_in_all_lanes() -> None:
    book = Book()

    async def close() -> None:
        book.close()

    async with running([book]):
        results = await together(*asked(book, 1, 2, 3), after(0.5, close))
    assert results[:3] == [1, 2, 3]
    assert book.batches == [[1], [2, 3]]
    first, second = [begun for *_, begun in book.commits]
    assert second - first == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [{"lanes": 0}, {"gather": 0}])
def test_an_actor_has_a_lane_and_waits_for_something(wrong: dict[str, int]) -> None:
    with pytest.raises(AssertionError):
        partial(ActorLimits, **wrong)()
