"""Nodes on one Postgres that are killed under load and restarted at the same address."""

import random
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import trio

from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.processes import Service, Settings, serving

LONGEST_SECONDS = 120.0
"""Limit for a load with its kills, on a busy machine."""

_COMPLAINT = re.compile(r"Traceback|^\S+ (error|critical) ", re.MULTILINE)


class Fleet:
    """Nodes on one database, each with a fixed address. `lives` are all processes ever started."""

    def __init__(self, services: ExitStack, places: Sequence[Path], settings: Settings) -> None:
        self._services = services
        self._settings = settings
        self._places = places
        self.nodes = [self._started(place, f"127.0.0.1:{free_port()}") for place in places]
        self.lives = list(self.nodes)
        for node in self.nodes:
            node.wait_ready()

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    async def kill(self, number: int) -> None:
        """Kill -9 a node and restart it at the same address. Returns when it serves."""
        self.nodes[number].process.kill()
        await trio.to_thread.run_sync(self.nodes[number].wait)
        service = self._started(self._places[number], self.nodes[number].url.removeprefix("http://"))
        self.lives.append(service)
        await trio.to_thread.run_sync(service.wait_ready)
        self.nodes[number] = service

    def stop(self) -> None:
        """Stop all running nodes gracefully."""
        self._services.close()

    def complaints(self) -> list[str]:
        """The errors in all logs, each with the lines that follow it."""
        logs = [life.log() for life in self.lives]
        return [log[found.start() :][:2_000] for log in logs for found in _COMPLAINT.finditer(log)]

    def _started(self, place: Path, bind: str) -> Service:
        return self._services.enter_context(serving(place, self._settings, bind=bind, wait=False))


@dataclass(frozen=True, order=True, slots=True)
class Kill:
    """The number of responses after which a node is killed, and a random delay, so that kills hit any moment of a batch."""

    answers: int
    node: int
    pause_seconds: float

    @classmethod
    def drawn(cls, chance: random.Random, answers: range, node: int) -> "Kill":
        return cls(chance.choice(answers), node, chance.uniform(0, 0.01))


class Kills:
    """Kills nodes with kill -9 under load. A killed node restarts at once, and the next kill does not wait for it."""

    def __init__(self, fleet: Fleet, plan: Iterable[Kill] = ()) -> None:
        self._fleet = fleet
        self._plan = deque(sorted(plan))
        self._due, self._dying = trio.open_memory_channel[Kill](len(self._plan))
        self._answered = self.done = 0

    @classmethod
    def of_each_node(cls, fleet: Fleet, chance: random.Random, answers: int) -> "Kills":
        """Kills in random order, spread over the first nine tenths of this number of responses."""
        count = len(fleet.nodes)
        share = answers * 9 // 10 // count
        order = chance.sample(range(count), count)
        ranges = [range(share * turn + share // 10, share * (turn + 1)) for turn in range(count)]
        return cls(fleet, [Kill.drawn(chance, *each) for each in zip(ranges, order, strict=True)])

    def note(self) -> None:
        """Count a response."""
        self._answered += 1
        while self._plan and self._answered >= self._plan[0].answers:
            self._due.send_nowait(self._plan.popleft())

    async def during(self, load: Callable[[], Awaitable[object]]) -> None:
        """Run until the load has ended, all kills are done and all nodes serve again. Fails if that takes too long."""
        planned = len(self._plan)
        with trio.fail_after(LONGEST_SECONDS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(load)
                for _ in range(planned):
                    nursery.start_soon(self._carry_out, await self._dying.receive())

    async def _carry_out(self, kill: Kill) -> None:
        await trio.sleep(kill.pause_seconds)
        self.done += 1
        await self._fleet.kill(kill.node)


def deadlocks(postgres: PostgresServer, database: str) -> int:
    """The number of deadlocks in a database. Its nodes must have stopped, because sessions report at their end."""
    found = postgres.ask(f"select deadlocks from pg_stat_database where datname = '{database}'", database="postgres")
    return int(found[0]["deadlocks"])
