"""The deduper over a store in memory: true once, correct whatever the store does, and across midnight."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial

import pytest
import trio

from actors.events.actor import RecentKeys
from actors.events.messages import Row
from actors.events.state import VisitorHasher
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable
from tests.actors.events import DAY, MIDNIGHT_MS, SECRET, a_memory, clicked, deduper, kept, seen
from tests.doubles.events import MemoryEvents
from tests.fakes import HandClock, Step, TrioClock, after, kinds, now, together

AWAY, LOST = StorageUnavailable("away"), OutcomeUnknown("broken")


# True once.


async def test_an_event_is_recorded_once_and_then_a_duplicate() -> None:
    memory = a_memory()
    events = deduper(memory)
    async with running([events]):
        assert [await events.record([seen(1)]) for _ in range(3)] == [[True], [False], [False]]
    assert memory.delivery_days == {("bok_1", DAY): (1, 0)}
    assert kept(memory) == {DAY: 1}


async def test_kinds_bookings_and_visitors_count_each_by_itself() -> None:
    memory = a_memory()
    events = deduper(memory)
    async with running([events]):
        assert await events.record([seen(1), clicked(1), seen(2), seen(1, booking=2)]) == [True] * 4
    assert memory.delivery_days == {("bok_1", DAY): (2, 1), ("bok_2", DAY): (1, 0)}
    assert kept(memory) == {DAY: 4}


async def test_of_equal_events_in_one_message_the_first_is_recorded() -> None:
    memory = a_memory()
    events = deduper(memory)
    async with running([events]):
        assert await events.record([seen(1), seen(2), seen(1), seen(1)]) == [True, True, False, False]
        assert await events.record([seen(3), seen(1), seen(3), seen(4)]) == [True, False, False, True]
    assert kept(memory) == {DAY: 4}


async def test_of_equal_events_of_many_callers_in_one_batch_one_is_recorded() -> None:
    memory = a_memory(before=[1.0])
    events = deduper(memory)
    async with running([events]):
        _, *answers = await together(now(events.record, [seen(9)]), *[after(0.5, events.record, [seen(1)])] * 20)
    assert sorted(answers) == [[False]] * 19 + [[True]]
    assert events.statistics().batches == 2
    assert kept(memory) == {DAY: 2}


async def test_of_two_nodes_one_records() -> None:
    memory = a_memory()
    nodes = [deduper(memory, node=node) for node in ("one", "other")]
    async with running(nodes):
        answers = await together(*(partial(node.record, [seen(visitor)]) for visitor in range(50) for node in nodes))
    assert all(sorted(one + other) == [False, True] for one, other in zip(answers[::2], answers[1::2], strict=True))
    assert kept(memory) == {DAY: 50}


async def test_no_events_are_no_batch() -> None:
    events = deduper(a_memory())
    async with running([events]):
        assert await events.record([]) == []
    assert events.statistics().batches == 0


# The memory of keys.


async def test_a_duplicate_is_answered_without_the_store() -> None:
    memory = a_memory(before=[None, AWAY])
    events = deduper(memory)
    async with running([events]):
        assert await events.record([seen(1), seen(2)]) == [True, True]
        assert await events.record([seen(2), seen(1), seen(2)]) == [False] * 3
        assert kinds(await together(now(events.record, [seen(3)]))) == [StorageUnavailable]
    assert events.statistics().batches == 2


async def test_only_what_is_not_known_weighs() -> None:
    events = deduper(a_memory())
    async with running([events]):
        await events.record([seen(1), seen(2)])
        await events.record([seen(2), seen(3), seen(1)])
    assert events.statistics().last_batch == 1
    assert events.statistics().messages == 3


async def test_what_another_node_recorded_is_remembered_once_it_was_met() -> None:
    memory = a_memory()
    one, other = deduper(memory, node="one"), deduper(memory, node="other")
    async with running([one, other]):
        await one.record([seen(1)])
        assert await other.record([seen(1)]) == [False]
        assert await other.record([seen(1)]) == [False]
    assert other.statistics().batches == 1


async def test_what_was_not_committed_is_not_remembered() -> None:
    memory = a_memory(before=[AWAY])
    events = deduper(memory)
    async with running([events]):
        assert kinds(await together(now(events.record, [seen(1)]))) == [StorageUnavailable]
        assert len(events.seen) == 0
        assert await events.record([seen(1)]) == [True]
    assert kept(memory) == {DAY: 1}


async def test_while_a_commit_is_under_way_nothing_is_known() -> None:
    """The second caller must not be told that the event counts, because the commit may still fail."""
    memory = a_memory(before=[2.0, AWAY])
    events = deduper(memory)
    memory.after = memory.before
    async with running([events]):
        results = await together(now(events.record, [seen(1)]), after(1, events.record, [seen(1)]))
    assert kinds(results) == [StorageUnavailable, list]
    assert results[1] == [False], "the store had kept it before it went away"


async def test_what_was_committed_while_it_was_queued_again_is_not_offered_to_the_store() -> None:
    memory, offered = a_memory(before=[2.0]), list[int]()

    class Store(MemoryEvents):
        async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
            offered.append(len(rows))
            return await super().record(batch_id, day, rows)

    events = deduper(memory, store=Store(memory))
    async with running([events]):
        first, *again = await together(
            now(events.record, [seen(1), seen(2)]),
            after(1, events.record, [seen(2), seen(3)]),
            after(1, events.record, [seen(1)]),
        )
    assert (first, again) == ([True, True], [[False, True], [False]])
    assert offered == [2, 1]
    assert kept(memory) == {DAY: 3}


async def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    memory = a_memory()
    events = deduper(memory, remember=4)
    async with running([events]):
        for visitor in range(5):
            assert await events.record([seen(visitor)]) == [True]
        assert len(events.seen) == 3
        batches = events.statistics().batches
        assert await events.record([seen(2), seen(3), seen(4)]) == [False] * 3
        assert events.statistics().batches == batches
        assert await events.record([seen(0)]) == [False]
        assert events.statistics().batches == batches + 1
    assert kept(memory) == {DAY: 5}


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 7, 30])
def test_the_memory_of_keys_holds_the_latest_ones_and_never_more_than_its_capacity(at_once: int) -> None:
    memory, keys = RecentKeys(11), [b"%d" % number for number in range(1_000)]
    for first in range(0, len(keys), at_once):
        end = min(first + at_once, len(keys))
        assert memory.contains_none(keys[first:end])
        memory.add(keys[first:end])
        assert len(memory) <= memory.capacity
        latest = keys[max(0, end - 3) : end]
        assert all(key in memory for key in latest)
        assert not any(memory.contains_none([key]) for key in latest)
    assert memory.contains_none(keys[:900])


def test_keys_that_are_added_again_are_forgotten_later_than_those_that_came_with_them() -> None:
    memory = RecentKeys(10)
    for keys in ([b"a", b"b", b"c"], [b"d", b"e"], [b"a"], [b"f", b"g", b"h"]):
        memory.add(keys)
    assert len(memory) == 9
    memory.add([b"i", b"j"])
    assert len(memory) == 6
    assert [each for each in b"abcdefghij" if bytes([each]) in memory] == list(b"afghij")


# Unknown outcomes.


@pytest.mark.parametrize("was_kept", [True, False])
async def test_an_unknown_outcome_is_settled_and_the_answer_is_the_truth(was_kept: bool) -> None:
    memory = a_memory(after=[None, LOST]) if was_kept else a_memory(before=[None, LOST])
    events = deduper(memory)
    async with running([events]):
        await events.record([seen(1)])
        assert await events.record([seen(1), seen(2), seen(3), seen(2)]) == [False, True, True, False]
        assert await events.record([seen(2)]) == [False]
    assert events.statistics().settled == 1
    assert kept(memory) == {DAY: 3}


@pytest.mark.parametrize("was_kept", [True, False])
async def test_a_batch_in_doubt_keeps_its_day_over_midnight(was_kept: bool) -> None:
    memory = a_memory(after=[LOST]) if was_kept else a_memory(before=[LOST])
    clock = TrioClock(MIDNIGHT_MS - 20)
    events = deduper(memory, clock)
    async with running([events]):
        assert await events.record([seen(1), clicked(1)]) == [True, True]
        assert clock.now_ms() >= MIDNIGHT_MS
        assert kept(memory) == {DAY: 2}
        assert await events.record([seen(1)]) == [True], "the new day has not counted it"
    assert kept(memory) == {DAY: 2, DAY + 1: 1}


async def test_a_batch_that_was_contended_runs_again_and_keeps_its_day() -> None:
    memory = a_memory(before=[Contended("another node"), Contended("another node")])
    events = deduper(memory, TrioClock(MIDNIGHT_MS - 20))
    async with running([events]):
        assert await events.record([seen(1)]) == [True]
    assert kept(memory) == {DAY: 1}


async def test_a_doubt_that_cannot_be_settled_is_refused_and_a_retry_hears_that_it_counts() -> None:
    memory = a_memory(before=[None, AWAY, AWAY], after=[LOST])
    events = deduper(memory, limits=ActorLimits(settle_attempts=3))
    async with running([events]):
        assert kinds(await together(now(events.record, [seen(1)]))) == [StorageUnavailable]
        assert len(events.seen) == 0, "whether it was kept was not known"
        assert await events.record([seen(1)]) == [False]
    assert kept(memory) == {DAY: 1}


@pytest.mark.parametrize("seed", range(5))
async def test_under_random_mishaps_every_answer_is_the_truth(seed: int) -> None:
    chance = random.Random(seed)
    mishaps: list[Step] = [None, None, 0.01, AWAY, LOST, Contended("another node")]
    memory = a_memory(*([chance.choice(mishaps) for _ in range(400)] for _ in range(2)))
    nodes = [deduper(memory, TrioClock(MIDNIGHT_MS - 500, 7 * node), node=str(node), remember=20) for node in range(3)]
    trues: Counter[int] = Counter()
    falses = refusals = 0

    def days_kept(visitor: int) -> int:
        keys = {day: VisitorHasher(SECRET).key(day, seen(visitor)) for day in memory.events}
        return sum(keys[day] in rows for day, rows in memory.events.items())

    async def visit(visitor: int) -> None:
        nonlocal falses, refusals
        for _ in range(4):
            await trio.sleep(chance.random())
            [answer] = await together(now(chance.choice(nodes).record, [seen(visitor)]))
            match answer:
                case [bool(recorded)]:
                    trues[visitor] += recorded
                    falses += not recorded
                    assert days_kept(visitor), "it counts when the answer is given"
                case _:
                    refusals += isinstance(answer, StorageUnavailable)

    async with running(nodes, drain_seconds=600):
        await together(*(partial(visit, number) for number in range(30)))
    assert all(times <= days_kept(visitor) for visitor, times in trues.items())
    assert kept(memory).keys() == {DAY, DAY + 1}
    assert min(trues.total(), falses, refusals, *(node.statistics().settled for node in nodes)) > 0


# Midnight.


async def test_what_came_in_before_midnight_and_is_committed_after_it_counts_for_the_new_day() -> None:
    memory = a_memory(before=[0.1])
    events = deduper(memory, TrioClock(MIDNIGHT_MS - 50))
    async with running([events]):
        # Both wait behind the first batch; the second was received after midnight.
        answers = await together(
            now(events.record, [seen(1)]),
            after(0.02, events.record, [seen(1), seen(2)]),
            after(0.07, events.record, [seen(2), seen(3)]),
        )
    assert answers[0] == [True]
    assert sorted(answers[1] + answers[2]) == [False, True, True, True]
    assert answers[1][0], "yesterday's impression does not count for today's"
    assert kept(memory) == {DAY: 1, DAY + 1: 3}


async def test_a_clock_that_steps_back_over_midnight_counts_nobody_twice() -> None:
    memory, clock = a_memory(), HandClock(MIDNIGHT_MS)
    events = deduper(memory, clock)
    async with running([events]):
        answers: list[bool] = []
        for step_ms in (-1, 1, -1, 1):
            events.seen = RecentKeys(2)
            answers += await events.record([seen(1)])
            clock.at_ms += step_ms
    assert answers == [True, True, False, False]
    assert kept(memory) == {DAY: 1, DAY + 1: 1}


# Refusals and cancelled callers.


async def test_without_its_store_events_are_refused_and_come_in_again_when_it_is_back() -> None:
    memory = a_memory(before=[AWAY])
    events = deduper(memory)
    async with running([events]):
        results = await together(now(events.record, [seen(1), seen(2)]), after(1, events.record, [seen(1)]))
    assert kinds(results) == [StorageUnavailable, list]
    assert results[1] == [True]
    assert kept(memory) == {DAY: 1}


async def test_the_events_of_a_cancelled_caller_are_counted_and_its_retry_is_told_so() -> None:
    memory = a_memory(before=[5.0])
    events = deduper(memory)
    async with running([events]):
        with trio.move_on_after(1):
            await events.record([seen(1)])
        assert await events.record([seen(1), seen(2)]) == [False, True]
    assert kept(memory) == {DAY: 2}


def test_sections_have_names_and_the_first_one_has_that_of_the_only_one() -> None:
    assert [deduper(a_memory(), section=section).name for section in range(3)] == ["events", "events-1", "events-2"]


async def test_of_equal_events_in_two_lanes_one_is_recorded() -> None:
    memory = a_memory(before=[2.0, 1.0])
    events = deduper(memory, limits=ActorLimits(lanes=2, gather=2))
    async with running([events]):
        results = await together(
            now(events.record, [seen(1), seen(2)]), after(0.1, events.record, [seen(1), seen(3), seen(4)])
        )
    assert results == [[False, True], [True, True, True]], "the second batch committed first"
    assert kept(memory) == {DAY: 4}


async def test_lanes_that_commit_around_midnight_have_days_of_their_own() -> None:
    unknown = OutcomeUnknown("lost")
    memory, clock = a_memory(before=[1.0, 0.0, 0.0], after=[None, unknown]), HandClock(MIDNIGHT_MS - 1)
    events = deduper(memory, clock, limits=ActorLimits(lanes=2, gather=1))

    async def pass_midnight() -> None:
        clock.at_ms += 10

    async with running([events]):
        await together(now(events.record, [seen(1)]), after(0.1, pass_midnight), after(0.2, events.record, [seen(2)]))
    assert kept(memory) == {DAY: 1, DAY + 1: 1}
