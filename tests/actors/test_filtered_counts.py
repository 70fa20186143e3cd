"""What was filtered: added up in memory, written within a second, once, and when the process stops."""

import logging
from collections.abc import Iterable

import pytest
import trio

from actors.events.filtered import LAST_WRITES, FilteredCounts, FilteredSums
from actors.events.messages import FilteredRow
from actors.kernel.supervision import running
from actors.values import Contended, Filtered, OutcomeUnknown, StorageUnavailable
from tests.actors.events import DAY, MIDNIGHT_MS
from tests.doubles.events import MemoryEvents
from tests.doubles.tables import Memory
from tests.fakes import Script, Step, TrioClock

START_MS = MIDNIGHT_MS - 10_000
AWAY, LOST, BUSY = StorageUnavailable("away"), OutcomeUnknown("the connection broke"), Contended("deadlock")
DUPLICATE, CRAWLER, PREFETCH, CAPPED, INACTIVE = range(5)


class Written(MemoryEvents):
    """A store without bookings: what is written counts for any."""

    def _filter(self, rows: Iterable[FilteredRow]) -> None:
        for booking_id, day, filtered in rows:
            before = self._memory.filtered_days.get((booking_id, day), Filtered())
            self._memory.filtered_days[booking_id, day] = before.plus(filtered)


def counts(memory: Memory, *, capacity: int = 10, node: str = "one") -> FilteredCounts:
    return FilteredCounts(Written(memory), TrioClock(START_MS), node=node, capacity=capacity)


def a_memory(before: Iterable[Step] = (), after: Iterable[Step] = ()) -> Memory:
    return Memory(before=Script(before), after=Script(after))


def test_events_add_up_by_booking_day_and_reason_and_are_taken_once() -> None:
    sums = FilteredSums()
    for booking, day, reason in (("b", 2, CAPPED), ("b", 1, DUPLICATE), ("a", 2, INACTIVE), ("b", 1, DUPLICATE)):
        sums.add(booking, day, reason)
    assert len(sums) == 3
    assert sums.take() == [
        FilteredRow("a", 2, Filtered(inactive=1)),
        FilteredRow("b", 1, Filtered(duplicate=2)),
        FilteredRow("b", 2, Filtered(capped=1)),
    ]
    assert (sums.take(), len(sums)) == ([], 0)


def test_of_too_many_bookings_and_days_the_first_ones_count_and_the_others_are_left_out() -> None:
    sums = FilteredSums(capacity=2)
    for booking in "abcabc":
        sums.add(booking, DAY, CRAWLER)
    assert sums.left_out == 2
    assert sums.take() == [FilteredRow(each, DAY, Filtered(crawler=2)) for each in "ab"]
    assert sums.left_out == 0


async def test_what_was_filtered_is_written_within_a_second_under_the_day_on_which_it_was() -> None:
    memory = a_memory()
    filtered = counts(memory)
    async with running([filtered]):
        await trio.sleep(9.7)
        filtered.add("a", PREFETCH)
        await trio.sleep(1.0)
        assert memory.filtered_days == {("a", DAY): Filtered(prefetch=1)}
        filtered.add("a", PREFETCH)
        await trio.sleep(1.0)
    assert memory.filtered_days == {("a", DAY): Filtered(prefetch=1), ("a", DAY + 1): Filtered(prefetch=1)}


async def test_nothing_is_written_while_nothing_was_filtered() -> None:
    memory = a_memory()
    async with running([counts(memory)]):
        await trio.sleep(60)
    assert memory.journal == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([AWAY, AWAY, BUSY], []),
        ([LOST], []),
        ([], [LOST, LOST]),
        ([None, AWAY, None], [LOST]),
    ],
    ids=["nothing was written", "unknown and not kept", "unknown and kept", "unknown, then away"],
)
async def test_a_write_that_failed_counts_once_and_so_does_what_came_meanwhile(
    before: list[Step], after: list[Step]
) -> None:
    memory = a_memory(before, after)
    filtered = counts(memory)
    async with running([filtered]):
        for _ in range(10):
            filtered.add("a", CAPPED)
            await trio.sleep(0.3)
        await trio.sleep(3)
        assert memory.filtered_days == {("a", DAY): Filtered(capped=10)}


async def test_a_process_that_stops_writes_what_is_left_though_the_store_fails_a_few_times() -> None:
    memory = a_memory([AWAY, None, BUSY], [LOST])
    filtered = counts(memory)
    async with running([filtered]):
        filtered.add("a", INACTIVE)
    assert memory.filtered_days == {("a", DAY): Filtered(inactive=1)}


async def test_a_process_stops_though_the_store_stays_away() -> None:
    away = Script([AWAY] * 20)
    memory = Memory(before=away)
    filtered = counts(memory)
    with trio.fail_after(5):
        async with running([filtered]):
            filtered.add("a", INACTIVE)
    assert (memory.filtered_days, away.calls) == ({}, LAST_WRITES)


async def test_each_of_the_last_batches_has_all_attempts() -> None:
    memory = a_memory([AWAY] * 4 + [None] + [AWAY] * 4)
    filtered = counts(memory)
    async with running([filtered]):
        filtered.add("a", INACTIVE)
        await trio.sleep(0.6)
        filtered.add("b", INACTIVE)
    assert memory.filtered_days == {(each, DAY): Filtered(inactive=1) for each in "ab"}


async def test_what_is_left_out_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    filtered = counts(a_memory(), capacity=1)
    with caplog.at_level(logging.WARNING):
        async with running([filtered]):
            for booking in "aabb":
                filtered.add(booking, CRAWLER)
            await trio.sleep(1)
    assert [record.getMessage() for record in caplog.records] == [
        "2 filtered events are missing in the reports: more than 1 bookings and days had some since the last write"
    ]


async def test_two_processes_add_to_the_same_rows() -> None:
    memory = a_memory()
    one, other = counts(memory, node="one"), counts(memory, node="two")
    async with running([one, other]):
        one.add("a", DUPLICATE)
        other.add("a", DUPLICATE)
    assert memory.filtered_days == {("a", DAY): Filtered(duplicate=2)}
    assert memory.journal == {"one/filtered": 1, "two/filtered": 1}
