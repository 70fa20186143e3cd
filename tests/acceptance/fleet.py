"""Nodes over one Postgres that are killed while they are at work, and come back where they were."""

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
"""Of a load with its kills: a bound, on a machine with much else to do."""

_COMPLAINT = re.compile(r"Traceback|^\S+ (error|critical) ", re.MULTILINE)


class Fleet:
    """Nodes over one database, each at an address that it keeps. `lives` are all processes that there ever were."""

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
        """kill -9 of a node, and a new life at the same address; returns when that serves."""
        self.nodes[number].process.kill()
        await trio.to_thread.run_sync(self.nodes[number].wait)
        service = self._started(self._places[number], self.nodes[number].url.removeprefix("http://"))
        self.lives.append(service)
        await trio.to_thread.run_sync(service.wait_ready)
        self.nodes[number] = service

    def stop(self) -> None:
        """Stop all nodes that run, in order."""
        self._services.close()

    def complaints(self) -> list[str]:
        """What the logs of all lives say of errors, each with the lines that follow it."""
        logs = [life.log() for life in self.lives]
        return [log[found.start() :][:2_000] for log in logs for found in _COMPLAINT.finditer(log)]

    def _started(self, place: Path, bind: str) -> Service:
        return self._services.enter_context(serving(place, self._settings, bind=bind, wait=False))


@dataclass(frozen=True, order=True, slots=True)
class Kill:
    """After how many answers a node dies, and how long after the last of them, so that any moment of a batch is met."""

    answers: int
    node: int
    pause_seconds: float

    @classmethod
    def drawn(cls, chance: random.Random, answers: range, node: int) -> "Kill":
        return cls(chance.choice(answers), node, chance.uniform(0, 0.01))


class Kills:
    """kill -9 of nodes while there is load, each once. A killed node comes back at once, and the next one dies whether it is
    back by then or not."""

    def __init__(self, fleet: Fleet, plan: Iterable[Kill] = ()) -> None:
        self._fleet = fleet
        self._plan = deque(sorted(plan))
        self._due, self._dying = trio.open_memory_channel[Kill](len(self._plan))
        self._answered = self.done = 0

    @classmethod
    def of_each_node(cls, fleet: Fleet, chance: random.Random, answers: int) -> "Kills":
        """In the order of chance, spread over the first nine tenths of so many answers."""
        count = len(fleet.nodes)
        share = answers * 9 // 10 // count
        order = chance.sample(range(count), count)
        ranges = [range(share * turn + share // 10, share * (turn + 1)) for turn in range(count)]
        return cls(fleet, [Kill.drawn(chance, *each) for each in zip(ranges, order, strict=True)])

    def note(self) -> None:
        """Somebody has got an answer."""
        self._answered += 1
        while self._plan and self._answered >= self._plan[0].answers:
            self._due.send_nowait(self._plan.popleft())

    async def during(self, load: Callable[[], Awaitable[object]]) -> None:
        """Returns when the load has ended, all kills are done and all nodes are back; fails when that takes too long."""
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
    """How many the server has ended in a database whose nodes have stopped: their sessions have told by then."""
    found = postgres.ask(f"select deadlocks from pg_stat_database where datname = '{database}'", database="postgres")
    return int(found[0]["deadlocks"])
