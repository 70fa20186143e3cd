"""Readiness: the database answers and accepts writes, every actor accepts messages, and the node is not stopping."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

import trio

from actors.kernel.statistics import ActorStatistics
from actors.values import StorageUnavailable, WritesRefused

log = logging.getLogger(__name__)

PING_SECONDS = 2.0

REPORT_SECONDS = 2.0
"""Maximum time for a node to report. Beyond it, the node counts as not ready."""


@dataclass(slots=True)
class Health:
    """The sources of readiness."""

    ping: Callable[[], Awaitable[None]]
    actors: Callable[[], Sequence[ActorStatistics]]
    write_age_seconds: Callable[[], float | None]
    """Seconds since the node last wrote to the database; None if it never did."""
    write_seconds: float
    """The maximum of that age in a node that is ready."""
    stopping: bool = False
    _pinging: trio.Lock = field(default_factory=trio.Lock)
    _checked: float = -1.0
    _problem: str | None = None

    async def database_problem(self) -> str | None:
        """The database's problem, if any. Pings it at most four times a second."""
        async with self._pinging:
            if trio.current_time() - self._checked >= 0.25 or self._checked < 0:
                self._problem = await self._ping()
                self._checked = trio.current_time()
            return self._problem

    async def _ping(self) -> str | None:
        with trio.move_on_after(PING_SECONDS):
            try:
                await self.ping()
            except WritesRefused as error:
                return f"the database accepts no writes: {error}"
            except StorageUnavailable as error:
                log.info("the database is not available: %s", error)
                return "the database is not available"
            return None
        return f"the database did not answer within {PING_SECONDS:g} s"


async def not_ready(health: Health) -> list[str]:
    """The reasons why the node is not ready; empty if it is."""
    problems = ["the node is stopping"] if health.stopping else []
    database = await health.database_problem()
    if database is not None:
        problems.append(database)
    elif (age := health.write_age_seconds()) is None or age > health.write_seconds:
        problems.append(f"the node has not been able to write to the database for {health.write_seconds:g} s")
    for actor in health.actors():
        if not actor.accepting:
            problems.append(f"the actor {actor.name} is {actor.state.value} with {actor.waiting} messages waiting")
    return problems


@dataclass(frozen=True, slots=True)
class Report:
    """A node's metrics in Prometheus text format, and the reasons why it is not ready; none if it is."""

    metrics: str
    problems: list[str]

    def line(self) -> bytes:
        """The report as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        return cls(**json.loads(line))


Reports = Callable[[], Awaitable[Mapping[int, Report | None]]]
"""Asks every node of this machine, by number. None stands for a node that did not answer."""
