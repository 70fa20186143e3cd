"""Readiness: the database answers and accepts writes, every actor accepts messages, and the node is not stopping."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import trio

from actors.kernel.statistics import ActorStatistics
from actors.values import StorageUnavailable

log = logging.getLogger(__name__)

PING_SECONDS = 2.0


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
