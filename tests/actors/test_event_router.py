"""The event router: each event goes to its section, answers keep their order, and outcomes are counted."""

from collections.abc import Mapping
from functools import partial

import pytest
import trio

from actors.events.filtered import FilteredCounts
from actors.events.messages import Event, FilteredRow
from actors.events.router import EventOutcome, EventRouter
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.values import Filtered, Overloaded, StorageUnavailable
from tests.actors.events import DAY, NOON_MS, Even, a_memory, clicked, deduper, kept, seen
from tests.doubles.events import MemoryEvents
from tests.doubles.tables import Memory
from tests.fakes import HandClock, after, kinds, now, together

AWAY = StorageUnavailable("away")
SECTIONS = 3
BOOKINGS = range(1, 40)


def router(*memories: Memory, limits: ActorLimits | None = None) -> EventRouter:
    """A router with a deduper over each of these stores, which a test can make fail one by one."""
    dedupers = [deduper(memory, section=section, limits=limits) for section, memory in enumerate(memories)]
    filtered = FilteredCounts(MemoryEvents(memories[0]), HandClock(NOON_MS), node="one")
    return EventRouter(dedupers, filtered, Even(len(dedupers)) if len(dedupers) > 1 else None)


def section_of(event: Event) -> int:
    """The section of an event, by its key."""
    [key] = deduper(a_memory()).keyed((event,)).keys
    return key[0] % SECTIONS


def seen_in(section: int, visitor: int) -> Event:
    """An event of a visitor that belongs to a section."""
    return next(event for event in (seen(visitor, booking) for booking in BOOKINGS) if section_of(event) == section)


@pytest.mark.parametrize("sections", [1, 2, 3])
async def test_answers_come_in_the_order_of_the_events(sections: int) -> None:
    memory = a_memory()
    events = router(*[memory] * sections)
    many = [seen(visitor, booking) for visitor in range(3) for booking in BOOKINGS]
    again = [many[7], clicked(1, 1), many[7], many[0], seen(9, 9), clicked(1, 1)]
    async with running(events.dedupers):
        assert await events.record_all(many) == [EventOutcome.RECORDED] * len(many)
        outcomes = await events.record_all(again)
    assert [outcome is EventOutcome.RECORDED for outcome in outcomes] == [False, True, False, False, True, False]
    assert events.outcomes == {EventOutcome.RECORDED: len(many) + 2, EventOutcome.DUPLICATE: 4}
    assert events.filtered.sums.take() == [
        FilteredRow("bok_1", DAY, Filtered(duplicate=2)),
        FilteredRow("bok_8", DAY, Filtered(duplicate=2)),
    ]
    assert kept(memory) == {DAY: len(many) + 2}


async def test_a_booking_spreads_over_all_sections_and_each_event_has_one() -> None:
    memories = [a_memory() for _ in range(SECTIONS)]
    events = router(*memories)
    many = [seen(visitor) for visitor in range(30)]
    async with running(events.dedupers):
        await events.record_all(many)
        assert [await events.record(event) for event in many] == [EventOutcome.DUPLICATE] * len(many)
    for section, memory in enumerate(memories):
        assert kept(memory) == {DAY: sum(section_of(event) == section for event in many)}


async def test_sections_commit_at_the_same_time() -> None:
    events = router(*(a_memory(before=[2.0]) for _ in range(SECTIONS)))
    async with running(events.dedupers):
        started = trio.current_time()
        await events.record_all([seen(1, booking) for booking in BOOKINGS])
        assert trio.current_time() - started == 2


async def test_where_one_section_fails_its_events_are_told_so_and_the_others_recorded() -> None:
    memories = [a_memory(), a_memory(before=[AWAY]), a_memory(before=[1.0])]
    events = router(*memories)
    many = [seen_in(section, 1) for section in (0, 1, 1, 2)]
    async with running(events.dedupers):
        assert await events.record_all(many) == [
            EventOutcome.RECORDED,
            EventOutcome.UNAVAILABLE,
            EventOutcome.UNAVAILABLE,
            EventOutcome.RECORDED,
        ]
        assert [kept(memory) for memory in memories] == [{DAY: 1}, {}, {DAY: 1}], "the slow one was waited for"
        assert events.outcomes == {EventOutcome.RECORDED: 2, EventOutcome.UNAVAILABLE: 2}
        assert await events.record_all(many) == [
            EventOutcome.DUPLICATE,
            EventOutcome.RECORDED,
            EventOutcome.DUPLICATE,
            EventOutcome.DUPLICATE,
        ]


async def test_where_all_sections_of_a_batch_fail_it_fails_as_a_whole() -> None:
    events = router(a_memory(before=[AWAY]), a_memory(before=[AWAY]), a_memory())
    many = [seen_in(section, 1) for section in (1, 0)]
    async with running(events.dedupers):
        assert kinds(await together(now(events.record_all, many))) == [StorageUnavailable]
        assert not +events.outcomes
        assert await events.record_all(many) == [EventOutcome.RECORDED] * 2


async def test_overload_of_one_section_leaves_the_others_working() -> None:
    limits = ActorLimits(mailbox=1, batch=1)
    events = router(a_memory(before=[5.0]), a_memory(), a_memory(), limits=limits)

    async with running(events.dedupers):
        results = await together(
            now(events.record, seen_in(0, 1)),
            after(1, events.record, seen_in(0, 2)),
            after(2, events.record, seen_in(0, 3)),
            after(2, events.record, seen_in(1, 3)),
            after(3, events.record_all, [seen_in(0, 4), seen_in(2, 4)]),
        )
    assert kinds(results) == [EventOutcome, EventOutcome, Overloaded, EventOutcome, list]


async def test_a_cancelled_caller_is_gone_at_once_and_its_events_are_counted() -> None:
    memories = [a_memory(before=[5.0]) for _ in range(SECTIONS)]
    events = router(*memories)
    many = [seen_in(section, 1) for section in range(SECTIONS)]
    async with running(events.dedupers):
        started = trio.current_time()
        with trio.move_on_after(1) as bound:
            await events.record_all(many)
        assert bound.cancelled_caught
        assert trio.current_time() - started == 1
        assert not events.outcomes
        await trio.sleep(10)
        assert await events.record_all(many) == [EventOutcome.DUPLICATE] * SECTIONS


async def test_a_caller_cancelled_before_the_call_counts_nothing_as_answered() -> None:
    events = router(a_memory())
    async with running(events.dedupers):
        with trio.CancelScope() as scope:
            scope.cancel()
            await events.record_all([seen(1)])
        assert scope.cancelled_caught
        assert not events.outcomes


async def test_what_was_dropped_before_it_came_here_is_counted_too() -> None:
    events = router(a_memory())
    dropped: Mapping[EventOutcome, int] = {EventOutcome.INACTIVE: 2, EventOutcome.CRAWLER: 1, EventOutcome.PREFETCH: 3}
    for outcome, times in dropped.items():
        assert [events.count(outcome, "bok_1") for _ in range(times)] == [outcome] * times
    assert events.outcomes == dropped
    assert events.filtered.sums.take() == [FilteredRow("bok_1", DAY, Filtered(inactive=2, crawler=1, prefetch=3))]


async def test_hundreds_of_callers_at_once_on_several_sections_are_each_told_about_their_own() -> None:
    memory = a_memory(before=[0.003] * 1_000)
    events = router(*[memory] * SECTIONS)
    calls = [
        partial(events.record_all, [seen(visitor, booking) for visitor in (caller // 2, 1_000 + caller)])
        for caller in range(300)
        for booking in (caller // 2 % 12 + 1,)
    ]
    async with running(events.dedupers):
        answers = await together(*calls)
    # Two callers report the same first event, and each a second one of its own.
    for one, other in zip(answers[::2], answers[1::2], strict=True):
        assert sorted([one[0], other[0]]) == [EventOutcome.DUPLICATE, EventOutcome.RECORDED]
        assert one[1] is other[1] is EventOutcome.RECORDED
    assert kept(memory) == {DAY: 450}
    assert events.outcomes == {EventOutcome.RECORDED: 450, EventOutcome.DUPLICATE: 150}
