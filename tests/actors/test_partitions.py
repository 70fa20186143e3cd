"""The partition manager: creates days ahead, drops old ones, and retries when the store is unavailable."""

import logging

import pytest
import trio

from actors.clock import DAY_MS
from actors.events.partitions import RETRY_SECONDS, PartitionManager
from actors.events.state import EventRules, days_to_keep
from actors.kernel.supervision import running
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.actors.events import DAY, a_memory
from tests.doubles.events import MemoryEvents
from tests.doubles.tables import Memory
from tests.fakes import Script, TrioClock

RULES = EventRules()
SWEEP_SECONDS = 600.0
START_MS = DAY * DAY_MS
AWAY = StorageUnavailable("away")


def manager(memory: Memory, skew_ms: int = 0, rules: EventRules = RULES) -> PartitionManager:
    return PartitionManager(MemoryEvents(memory), TrioClock(START_MS, skew_ms), rules, sweep_seconds=SWEEP_SECONDS)


def ahead(day: int, days: int = RULES.ahead_days) -> list[int]:
    return list(range(day, day + days + 1))


async def test_partitions_are_made_for_today_and_a_week_ahead_at_once() -> None:
    memory = a_memory()
    async with running([manager(memory)]):
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(memory.events) == ahead(DAY)


async def test_there_is_a_partition_for_the_next_day_long_before_it_begins() -> None:
    memory = a_memory()
    async with running([manager(memory)]):
        for day in range(DAY, DAY + 30):
            await trio.sleep(1)
            assert set(ahead(day, RULES.ahead_days - 1)) <= memory.events.keys()
            await trio.sleep(DAY_MS / 1_000 - 1)


async def test_old_days_are_dropped_when_their_time_is_over_and_no_earlier() -> None:
    memory = a_memory()
    async with running([manager(memory)]):
        for day in range(DAY, DAY + 60):
            await trio.sleep(SWEEP_SECONDS)
            kept = days_to_keep(day * DAY_MS, RULES)
            assert sorted(memory.events) == list(range(max(DAY, kept.start), kept.stop))
            await trio.sleep(DAY_MS / 1_000 - SWEEP_SECONDS)
    assert min(memory.events) > DAY, "a first week has gone"


async def test_dropping_is_told_and_a_sweep_that_changes_nothing_is_not(caplog: pytest.LogCaptureFixture) -> None:
    memory = a_memory()
    memory.events = {DAY - 100: {}, DAY - 99: {}, DAY: {}}
    with caplog.at_level(logging.INFO, "actors.events"):
        async with running([manager(memory)]):
            await trio.sleep(5 * SWEEP_SECONDS)
    assert [record.getMessage() for record in caplog.records] == ["dropped the event keys of 2 days"]
    assert sorted(memory.events) == ahead(DAY)


async def test_many_nodes_may_keep_the_same_partitions() -> None:
    memory = a_memory()
    memory.events = {DAY - 100: {}}
    async with running([manager(memory, skew_ms) for skew_ms in (0, 5_000, -5_000)]):
        await trio.sleep(3 * DAY_MS / 1_000 + SWEEP_SECONDS + 5)
        assert set(ahead(DAY + 3)) <= memory.events.keys()
        assert DAY - 100 not in memory.events


@pytest.mark.parametrize("error", [AWAY, OutcomeUnknown("broken")])
async def test_a_store_that_is_away_is_asked_again_soon(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    memory = a_memory(before=[error, error])
    async with running([manager(memory)]):
        await trio.sleep(RETRY_SECONDS)
        assert not memory.events
        await trio.sleep(RETRY_SECONDS + 1)
        assert sorted(memory.events) == ahead(DAY)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_what_is_in_use_is_left_to_the_next_sweep() -> None:
    memory = a_memory(before=[None, Contended("a backup reads it")])
    memory.events = {DAY - 100: {}}
    async with running([manager(memory)]):
        await trio.sleep(SWEEP_SECONDS - 1)
        assert sorted(memory.events) == [DAY - 100, *ahead(DAY)]
        await trio.sleep(2)
        assert sorted(memory.events) == ahead(DAY)


async def test_a_slow_store_does_not_keep_the_node_from_starting() -> None:
    memory = Memory(before=Script([60.0]))
    async with running([manager(memory)], drain_seconds=120):
        assert trio.current_time() == 0
