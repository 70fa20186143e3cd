"""Secrets of days over a store in memory: made before midnight, one for all nodes, and never guessed."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import pytest
import trio

from actors.events.messages import Unit
from actors.events.secrets import VisitorSecrets
from actors.events.state import VisitorHasher
from actors.kernel.supervision import running
from actors.values import StorageUnavailable
from tests.actors.events import DAY, MIDNIGHT_MS, NOON_MS, SECRET, a_memory, deduper, kept, seen
from tests.doubles.tables import Memory
from tests.doubles.visitor_secrets import MemoryVisitorSecrets
from tests.fakes import HandClock, SeededEntropy, TrioClock, after, now, together


def secrets(memory: Memory, clock: HandClock | TrioClock, seed: int = 1) -> tuple[VisitorHasher, VisitorSecrets]:
    hasher = VisitorHasher(SECRET)
    return hasher, VisitorSecrets(MemoryVisitorSecrets(memory), hasher, clock, SeededEntropy(seed))


async def test_the_next_secret_is_made_six_hours_before_its_day_and_deleted_twelve_after_it() -> None:
    memory, clock = a_memory(), HandClock(NOON_MS)
    hasher, task = secrets(memory, clock)
    seen_at: dict[int, list[int]] = {}
    for hour in range(72):
        clock.at_ms = NOON_MS + hour * 3_600_000
        await task._round()
        for day in memory.visitor_secrets:
            seen_at.setdefault(day - DAY, []).append(hour - 12)
            assert hasher.secret_of(day) == memory.visitor_secrets[day]
    since_midnight = {day: (hours[0], hours[-1]) for day, hours in seen_at.items()}
    assert since_midnight == {0: (-12, 11), 1: (-6, 35), 2: (18, 59), 3: (42, 59)}


async def test_many_nodes_agree_and_a_lost_secret_comes_back_from_a_node_that_has_it() -> None:
    memory, clock = a_memory(), HandClock(NOON_MS)
    nodes = [secrets(memory, clock, seed) for seed in range(4)]
    async with running([task for _, task in nodes]):
        keys = {hasher.key(DAY, seen(1), Unit.DAY) for hasher, _ in nodes}
        assert len(keys) == 1
        memory.visitor_secrets.clear()
        await trio.sleep(12)
        assert {hasher.key(DAY, seen(1), Unit.DAY) for hasher, _ in nodes} == keys


async def test_over_midnight_an_event_gets_the_key_of_the_new_day_and_nothing_waits_for_a_secret() -> None:
    memory, clock = a_memory(before=[0.0, 0.1]), TrioClock(MIDNIGHT_MS - 50)
    hasher, task = secrets(memory, clock)
    events = deduper(memory, clock, hasher=hasher)

    def report(visitor: int) -> Callable[[], Awaitable[Sequence[bool]]]:
        return partial(events.record_keyed, events.keyed([seen(visitor)], unit=Unit.DAY))

    async with running([task, events]):
        waited = await together(now(report(1)), after(0.02, report(1)), after(0.02, report(2)))
        assert waited == [[True], [True], [True]], "the first is of the old day, the second of the new one"
        assert await report(1)() == [False]
        new = {hasher.key(DAY + 1, seen(each), Unit.DAY) for each in (1, 2)}
    assert memory.events[DAY + 1].keys() == new
    assert memory.events[DAY].keys() == {hasher.key(DAY, seen(1), Unit.DAY)}
    assert kept(memory) == {DAY: 1, DAY + 1: 2}


async def test_a_node_that_cannot_get_the_secret_refuses_instead_of_guessing_until_it_can() -> None:
    memory, clock = a_memory(), HandClock(NOON_MS)
    hasher, task = secrets(memory, clock)
    events = deduper(memory, clock, hasher=hasher)
    async with running([task, events]):
        memory.before = a_memory(before=[StorageUnavailable("away")] * 9).before
        clock.at_ms = MIDNIGHT_MS
        with pytest.raises(StorageUnavailable, match="the secret of the day"):
            events.keyed([seen(1)], unit=Unit.DAY)
        assert events.keyed([seen(1)]).day == DAY + 1
        await trio.sleep(30)
        assert events.keyed([seen(1)], unit=Unit.DAY).day == DAY + 1
