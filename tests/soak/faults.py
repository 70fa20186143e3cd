"""What goes wrong, one after the other: each fault is made, ends, and must be healed within a bound."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import trio

from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import Service
from tests.soak.websites import Answers, recorded_again
from tests.storage.proxy import Proxy, Weather

HEALED_SECONDS = 5.0
NODE_KILLS_SHARE = 0.5
"""How much of all faults is the kill -9 of a node."""


@dataclass(slots=True)
class Node:
    """One node. It comes back at the same address."""

    name: str
    service: Service
    restart: Callable[[], Service]

    @property
    def url(self) -> str:
        return self.service.url


@dataclass(slots=True)
class Stage:
    """What there is to break. The first node reaches Postgres by way of the proxy, the second one directly."""

    nodes: list[Node]
    postgres: PostgresServer
    proxy: Proxy
    bookings: list[str]
    answers: Answers
    chance: random.Random
    starter: ThreadPoolExecutor
    """One thread that lives as long as the stage: Postgres ends with the thread that has started it."""

    made: Counter[str] = field(default_factory=Counter)
    slowest_seconds: dict[str, float] = field(default_factory=dict)
    said: Callable[[str], None] = lambda line: None

    async def suffer(self, name: str) -> None:
        """Make one fault, end it, and wait until every node records events again. Raises `trio.TooSlowError`."""
        began = trio.current_time()
        await FAULTS[name](self)
        ended = trio.current_time()
        healed = [await recorded_again(node.url, self.bookings[0], self.answers, HEALED_SECONDS) for node in self.nodes]
        self.made[name] += 1
        self.slowest_seconds[name] = max(self.slowest_seconds.get(name, 0.0), *healed)
        self.said(f"{name}: lasted {ended - began:.1f} s, healed after {max(healed):.2f} s")

    async def _last(self, shortest: float, longest: float) -> None:
        await trio.sleep(self.chance.uniform(shortest, longest))

    async def kill_a_node(self) -> None:
        node = self.chance.choice(self.nodes)
        await self._last(0.0, 0.5)
        await trio.to_thread.run_sync(node.service.kill)
        node.service = await trio.to_thread.run_sync(node.restart)

    async def kill_postgres(self) -> None:
        await self._last(0.0, 0.5)
        await trio.to_thread.run_sync(self.postgres.kill)
        await self._last(0.1, 1.0)
        await trio.to_thread.run_sync(lambda: self.starter.submit(self.postgres.start).result())

    async def stop_postgres(self) -> None:
        self.postgres.freeze()
        await self._last(1.0, 4.0)
        self.postgres.thaw()

    async def terminate_connections(self) -> None:
        terminate = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'catalog'"
        for _ in range(3):
            await trio.to_thread.run_sync(self.postgres.ask, terminate)
            await self._last(0.0, 0.3)

    async def delay(self) -> None:
        await self._weather(Weather.SLOW, 1.0, 2.5)

    async def hold(self) -> None:
        await self._weather(Weather.HELD, 0.5, 3.0)

    async def drop_silently(self) -> None:
        await self._weather(Weather.SILENT, 0.5, 2.0)

    async def reset(self) -> None:
        for _ in range(5):
            await self.proxy.cut_all()
            await self._last(0.0, 0.2)

    async def cut_before_commits(self) -> None:
        await self._weather(Weather.CUT_BEFORE_COMMIT, 0.2, 1.0)

    async def cut_after_commits(self) -> None:
        await self._weather(Weather.CUT_AFTER_COMMIT, 0.2, 1.0)

    async def _weather(self, weather: Weather, shortest: float, longest: float) -> None:
        self.proxy.weather = weather
        await self._last(shortest, longest)
        self.proxy.weather = Weather.FAIR


FAULTS: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "kill -9 of a node": Stage.kill_a_node,
    "kill -9 of Postgres": Stage.kill_postgres,
    "SIGSTOP of Postgres": Stage.stop_postgres,
    "connections terminated": Stage.terminate_connections,
    "the network delays": Stage.delay,
    "the network holds": Stage.hold,
    "the network drops silently": Stage.drop_silently,
    "the network resets": Stage.reset,
    "cut before the commit": Stage.cut_before_commits,
    "cut after the commit": Stage.cut_after_commits,
}


def plan(chance: random.Random, count: int) -> list[str]:
    """About `count` faults in random order: half of them kill a node, of the others there is one of each at least."""
    first, *others = FAULTS
    kills = max(2, round(count * NODE_KILLS_SHARE))
    faults = [first] * kills + [others[number % len(others)] for number in range(max(len(others), count - kills))]
    chance.shuffle(faults)
    return faults
