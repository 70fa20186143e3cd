"""The last uses of keys: noted at once, written at intervals, and dropped rather than in the way."""

import logging

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors.clock import DAY_MS, SECOND_MS
from actors.kernel.supervision import running
from actors.keys.last_uses import KeyUses
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.doubles.keys import MemoryKeys
from tests.doubles.tables import Memory
from tests.fakes import Script, TrioClock

START_MS = 20_000 * DAY_MS
AWAY = StorageUnavailable("away")


def uses(memory: Memory, *, capacity: int = 100, batch: int = 10, skew_ms: int = 0) -> KeyUses:
    clock = TrioClock(START_MS, skew_ms)
    return KeyUses(MemoryKeys(memory), clock, write_seconds=30.0, capacity=capacity, batch=batch)


def at(seconds: float) -> int:
    return START_MS + int(seconds * SECOND_MS)


async def test_a_use_is_known_here_at_once_and_written_at_the_next_interval() -> None:
    memory = Memory()
    noting = uses(memory)
    async with running([noting]):
        await trio.sleep(1)
        noting.note("key_1")
        assert await noting.last(["key_1", "key_2"]) == {"key_1": at(1)}
        await trio.sleep(28)
        assert memory.key_uses == {}
        await trio.sleep(2)
        assert memory.key_uses == {"key_1": at(1)}
        assert await noting.last(["key_1"]) == {"key_1": at(1)}
        assert len(noting) == 0


async def test_what_is_noted_is_written_on_closing() -> None:
    memory = Memory()
    noting = uses(memory)
    async with running([noting]):
        for number in range(25):
            noting.note(f"key_{number}")
    assert memory.key_uses == dict.fromkeys([f"key_{number}" for number in range(25)], at(0))


async def test_of_too_many_those_used_longest_ago_are_forgotten() -> None:
    memory = Memory()
    noting = uses(memory, capacity=3)
    async with running([noting]):
        for name in ("a", "b", "c", "a", "d"):
            noting.note(name)
        assert len(noting) == 3
    assert memory.key_uses.keys() == {"a", "c", "d"}


async def test_a_use_while_one_is_written_is_written_the_next_time() -> None:
    memory = Memory(before=Script([2.0]))
    noting = uses(memory)
    async with running([noting]):
        noting.note("key_1")
        await trio.sleep(31)
        noting.note("key_1")
        await trio.sleep(2)
        assert memory.key_uses == {"key_1": at(0)}
        assert await noting.last(["key_1"]) == {"key_1": at(31)}
    assert memory.key_uses == {"key_1": at(31)}


@pytest.mark.parametrize("error", [AWAY, Contended("met"), OutcomeUnknown("cut")])
async def test_what_the_store_did_not_take_is_written_later_and_said_once(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    memory = Memory(before=Script([error, error]))
    noting = uses(memory)
    async with running([noting]):
        noting.note("key_1")
        await trio.sleep(40)
        noting.note("key_2")
        await trio.sleep(55)
        assert memory.key_uses == {"key_1": at(0), "key_2": at(40)}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_a_store_that_stays_away_does_not_hold_up_the_end() -> None:
    memory = Memory(before=Script([AWAY] * 9))
    noting = uses(memory)
    async with running([noting]):
        noting.note("key_1")
        await wait_all_tasks_blocked()
    assert trio.current_time() < 1
    assert memory.key_uses == {}


async def test_of_two_nodes_the_later_use_is_kept() -> None:
    memory = Memory()
    here, there = uses(memory), uses(memory, skew_ms=-5 * SECOND_MS)
    async with running([here, there]):
        here.note("key_1")
        await trio.sleep(1)
        there.note("key_1")
        await trio.sleep(60)
    assert memory.key_uses == {"key_1": at(0)}
