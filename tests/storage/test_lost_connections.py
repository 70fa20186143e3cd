"""A connection is lost if its server waits for the client that waits for it. The clock is virtual, and the server a fake."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import pytest
import trio
from trio.testing import MockClock

from actors.values import StorageUnavailable
from storage.connection.lost_connections import END, IDLE, LOOK_SECONDS, SUSPECT_SECONDS, LostConnections
from storage.connection.pool import Connection, PoolLimits, open_database
from storage.connection.target import Target
from tests.slow import repeats
from tests.storage.proxy import Weather, proxied

WAITS = {"pid": 7, "since": "12:00:00"}
BEFORE = {"pid": 7, "since": "11:59:59"}
GONE = {"pid": 7, "since": None}
LOCK = "select pg_advisory_xact_lock(7)"
AWAY = StorageUnavailable("no server listens there")


@dataclass(eq=False)
class FakeConnection:
    """In use, or one that asks. The last of its answers repeats."""

    answers: Sequence[Mapping[str, Any] | StorageUnavailable | None] = ()
    backend: int = 7
    asked: list[list[int]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    ends: bool = True
    terminated: int = 0

    @property
    def _transport(self) -> "FakeConnection":
        return self

    def get_extra_info(self, name: str) -> None:
        return None

    async def fetch(self, statement: str, backends: list[int], *since: list[str | None]) -> list[Mapping[str, Any]]:
        if statement == END:
            self.ended += backends
            if not self.ends:
                raise AWAY
            return []
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(backends)
        if isinstance(answer, StorageUnavailable):
            raise answer
        return [] if answer is None else [answer]

    def terminate(self) -> None:
        self.terminated += 1


@pytest.mark.parametrize(
    ("answers", "seconds", "lost"),
    [
        ([WAITS], 2.0, True),
        ([GONE], 2.0, True),
        ([None], 2.0, False),
        ([BEFORE, WAITS, None], 2.0, False),
        ([WAITS, AWAY, WAITS, AWAY], 2.0, False),
        ([AWAY, WAITS], 2.0, True),
        ([WAITS], SUSPECT_SECONDS, False),
    ],
    ids=["idle", "without a process", "busy", "idle in between", "unreachable", "reachable again", "not long enough"],
)
async def test_a_connection_is_given_up_if_its_server_says_twice_that_it_waits(
    answers: Sequence[Any], seconds: float, lost: bool, autojump_clock: MockClock
) -> None:
    given_up: list[Any] = []
    asking, used = FakeConnection(answers), FakeConnection()

    async def connect() -> FakeConnection:
        return asking

    watched = LostConnections(connect, given_up.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watched.watch)
        await trio.sleep(10 * LOOK_SECONDS)
        assert not asking.asked, "nobody asks while nothing waits"
        with watched.using(used):
            await trio.sleep(seconds)
        nursery.cancel_scope.cancel()
    assert given_up[:1] == [used] * lost
    assert asking.ended[:1] == [used.backend] * lost


async def test_a_server_that_cannot_end_a_transaction_is_asked_by_another_connection_from_then_on(
    autojump_clock: MockClock,
) -> None:
    given_up: list[Any] = []
    asking, used = FakeConnection([WAITS], ends=False), FakeConnection()

    async def connect() -> FakeConnection:
        return asking

    async with trio.open_nursery() as nursery:
        watched = LostConnections(connect, given_up.append)
        nursery.start_soon(watched.watch)
        with watched.using(used):
            await trio.sleep(20 * LOOK_SECONDS)
        assert given_up[0] is used
        assert 1 < len(asking.ended) <= asking.terminated
        nursery.cancel_scope.cancel()


async def test_only_a_transaction_that_waits_since_that_moment_is_ended(database_target: Target) -> None:
    async def work() -> None:
        connections = [await asyncpg.connect(**database_target.attempts()[0]) for _ in range(4)]
        asking, moved, idle, lost = connections
        try:
            for each in (moved, lost):
                await each.execute("begin")
            backends = [each.get_server_pid() for each in (moved, idle, lost)]
            since = {row["pid"]: row["since"] for row in await asking.fetch(IDLE, backends)}
            await moved.execute("select 1")
            ended = asyncio.Event()
            lost.add_termination_listener(lambda _: ended.set())
            await asking.fetch(END, backends, [since[each] for each in backends])
            await asyncio.wait_for(ended.wait(), 30)
            assert [await each.fetchval("select 1") for each in (moved, idle)] == [1, 1]
        finally:
            for each in connections:
                each.terminate()

    await trio.to_thread.run_sync(asyncio.run, work())


@repeats("the tests above, with a fake server")
async def test_a_statement_that_a_network_swallows_is_given_up_with_its_locks_once_the_network_is_back(
    database_target: Target,
) -> None:
    if database_target.host is None:
        pytest.skip("the proxy stands before a unix socket")
    limits = PoolLimits(lock_seconds=40.0, statement_seconds=50.0, command_seconds=60.0)
    async with proxied(database_target) as proxy, open_database(proxy.target, limits) as database:
        assert await database.fetchval("select 1 from pg_sleep(1.5)") == 1, "a slow statement is not lost"

        async def swallowed(connection: Connection) -> None:
            await connection.execute(LOCK)
            proxy.weather = Weather.SILENT
            await connection.execute("select 1")

        async def back() -> None:
            await trio.sleep(0.5)
            proxy.weather = Weather.FAIR

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(back)
            with pytest.raises(StorageUnavailable):
                await database.transact(swallowed)
        await database.fetchval(LOCK)
        assert trio.current_time() - began < 30.0
