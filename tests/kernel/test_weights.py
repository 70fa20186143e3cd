"""Messages that carry several items: room in the mailbox and in a batch is counted by weight."""

import pytest
import trio

from actors.kernel.actor import ActorLimits
from actors.kernel.mailbox import Envelope, Mailbox
from actors.kernel.supervision import running
from actors.values import Overloaded, Stopped, StorageUnavailable
from tests.fakes import after, kinds, now, together
from tests.kernel.notebook import Notebook


class Scales(Notebook):
    """A notebook whose lines weigh their length."""

    def weigh(self, message: str) -> int:
        return len(message)


def filled(*weights: int, capacity: int = 10) -> Mailbox[int, str]:
    """A mailbox with messages named after their weights."""
    mailbox: Mailbox[int, str] = Mailbox(capacity)
    for weight in weights:
        mailbox.post(Envelope(weight, weight))
    return mailbox


async def taken(mailbox: Mailbox[int, str], limit: int) -> list[int]:
    return [envelope.message for envelope in await mailbox.take(limit)]


async def test_what_is_told_weighs_as_much_as_what_is_asked() -> None:
    book = Scales(before=[1.0], limits=ActorLimits(mailbox=4, batch=4))
    async with running([book]):
        assert book.tell("a")
        await trio.sleep(0.5)
        assert [book.tell("bbb"), book.tell("cc"), book.tell("dd"), book.tell("e")] == [True, False, False, True]
    assert book.batches == [["a"], ["bbb", "e"]]
    assert book.statistics().refused == 2


# The mailbox.


def test_a_mailbox_is_full_by_weight_and_not_by_number() -> None:
    mailbox = filled(4, 5)
    with pytest.raises(Overloaded):
        mailbox.post(Envelope(2, 2))
    mailbox.post(Envelope(1, 1))
    assert (mailbox.weight, len(mailbox), mailbox.peak) == (10, 3, 10)


def test_a_message_that_is_heavier_than_the_mailbox_is_refused_also_by_an_empty_one() -> None:
    mailbox = filled(capacity=3)
    with pytest.raises(Overloaded):
        mailbox.post(Envelope(4, 4))
    assert mailbox.weight == 0


@pytest.mark.parametrize(
    ("weights", "batches"),
    [
        pytest.param([2, 3, 1, 4], [[2, 3], [1, 4]], id="together they weigh no more than the limit"),
        pytest.param([3, 4, 1], [[3], [4, 1]], id="a light one does not overtake a heavy one that did not fit"),
        pytest.param([8, 1], [[8], [1]], id="one that is heavier than a batch is taken alone"),
    ],
)
async def test_messages_are_taken_by_weight(weights: list[int], batches: list[list[int]]) -> None:
    mailbox = filled(*weights)
    assert [await taken(mailbox, 5) for _ in batches] == batches


async def test_what_is_taken_makes_room_for_its_weight() -> None:
    mailbox = filled(6, 4)
    await mailbox.take(6)
    assert mailbox.weight == 4
    mailbox.post(Envelope(6, 6))
    with pytest.raises(Overloaded):
        mailbox.post(Envelope(1, 1))


async def test_a_taker_that_waits_for_more_is_left_alone_until_it_is_there() -> None:
    mailbox = filled(1)
    batches: list[list[int]] = []

    async def take() -> None:
        batches.append([envelope.message for envelope in await mailbox.take(10, lambda: 2)])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await trio.sleep(1)
        assert not batches
        mailbox.post(Envelope(1, 1))
    assert batches == [[1, 1]]


@pytest.mark.parametrize(("numbers", "weight"), [([0], 0), ([1, 2, 3], 1)])
async def test_each_message_wakes_a_taker_whatever_its_weight(numbers: list[int], weight: int) -> None:
    mailbox = filled()
    batches: list[list[int]] = []

    async def take() -> None:
        batches.append(await taken(mailbox, 10))

    async with trio.open_nursery() as nursery:
        for _ in numbers:
            nursery.start_soon(take)
        for number in numbers:
            await trio.sleep(1)
            mailbox.post(Envelope(number, weight))
    assert batches == [[number] for number in numbers]


async def test_a_withdrawn_message_makes_room_once() -> None:
    mailbox = filled(2)
    heavy: Envelope[int, str] = Envelope(7, 7)
    mailbox.post(heavy)
    mailbox.remove(heavy)
    mailbox.remove(heavy)
    assert (mailbox.weight, len(mailbox)) == (2, 1)
    assert await taken(mailbox, 10) == [2]


async def test_withdrawing_what_was_taken_makes_no_room() -> None:
    mailbox = filled(2)
    [envelope] = await mailbox.take(10)
    mailbox.post(Envelope(5, 5))
    mailbox.remove(envelope)
    assert mailbox.weight == 5


class Unsought(Envelope[int, str]):
    """An envelope that raises when compared, which catches any search of the mailbox."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the mailbox was searched")

    __hash__ = object.__hash__


async def test_withdrawing_what_was_taken_does_not_search_what_waits() -> None:
    mailbox = filled(2)
    [envelope] = await mailbox.take(10)
    mailbox.post(Unsought(5, 5))
    mailbox.remove(envelope)
    assert len(mailbox) == 1


def test_failing_all_leaves_an_empty_mailbox_that_weighs_nothing() -> None:
    mailbox = filled(2, 7)
    mailbox.fail_all(Stopped())
    assert (mailbox.weight, len(mailbox), mailbox.peak) == (0, 0, 9)


def test_a_mailbox_says_how_heavy_it_is() -> None:
    assert repr(filled(2, 7)) == "<Mailbox 9/10>"


# The actor.


async def test_a_message_without_room_is_refused_at_once_and_a_lighter_one_is_not() -> None:
    book = Scales(before=[5.0], limits=ActorLimits(mailbox=5, batch=5))
    async with running([book]):
        started = trio.current_time()
        results = await together(
            now(book.ask, "a"), after(1, book.ask, "bbbb"), after(2, book.ask, "cc"), after(3, book.ask, "d")
        )
    assert kinds(results) == [str, str, Overloaded, str]
    assert trio.current_time() - started == 5
    assert book.statistics().refused == 1


async def test_a_message_that_waited_too_long_gives_its_room_back() -> None:
    limits = ActorLimits(mailbox=5, batch=5, answer_seconds=2)
    book = Scales(before=[10.0], limits=limits)
    async with running([book]):
        results = await together(now(book.ask, "a"), after(1, book.ask, "bbbbb"), after(4, book.ask, "ccccc"))
        assert kinds(results) == [StorageUnavailable] * 3
        await trio.sleep(10)
        assert await book.ask("ddddd")
    assert book.batches == [["a"], ["ddddd"]]


async def test_statistics_and_the_observer_speak_of_weight() -> None:
    book = Scales(before=[1.0], limits=ActorLimits(mailbox=9, batch=9))
    observed: list[int] = []
    book.observer = lambda batch: observed.append(batch.size)
    async with running([book]):
        await together(now(book.ask, "aaa"), after(0.5, book.ask, "bbbb"), after(0.6, book.ask, "cc"))
        seen = book.statistics()
    assert observed == [3, 6]
    assert (seen.messages, seen.last_batch, seen.peak, seen.waiting, seen.capacity) == (9, 6, 6, 0, 9)


async def test_an_actor_accepts_until_its_mailbox_weighs_its_capacity() -> None:
    book = Scales(before=[5.0], limits=ActorLimits(mailbox=4, batch=4))
    accepting: list[bool] = []

    async def look() -> None:
        accepting.append(book.accepting)

    async with running([book]):
        await together(
            now(book.ask, "a"), after(1, book.ask, "bbb"), after(2, look), after(3, book.ask, "c"), after(4, look)
        )
    assert accepting == [True, False]
