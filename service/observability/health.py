"""Readiness: the database answers and accepts writes, every actor accepts messages, and the node is not stopping.

A node of a distributed database stays ready without its coordinator, as long as it can record events on a worker.
"""

import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

import trio

from actors.clock import MINUTE_MS, Clock, day_of
from actors.events.servers import ServerWatch
from actors.kernel.periodic import PeriodicTask
from actors.kernel.statistics import ActorStatistics, State
from actors.values import StorageUnavailable, WritesRefused
from service.observability.request_counts import LastHour

log = logging.getLogger(__name__)

PING_SECONDS = 2.0

COORDINATOR_SECONDS = 1.0
"""The time for the coordinator of a distributed database. A balancer that gives up after two seconds must get the answer of a
node that is ready without it."""

ONLY_EVENTS = (
    "the coordinator cannot be used ({}): events are recorded on the workers, all else that needs the database gets 503"
)

REPORT_SECONDS = 2.0
"""Maximum time for a node to report. Beyond it, the node counts as not ready."""


CHECK_SECONDS = 30.0
"""The pause between two checks of a node by itself, beside the probes of balancers."""

DAY_MINUTES = 24 * 60


class ReadinessHistory:
    """Whether the node was ready in each minute of the last 24 hours in which that was checked. A minute is ready if all its
    checks were. Lost when the process ends."""

    def __init__(self, clock: Clock) -> None:
        self.since_ms = clock.now_ms()
        self._clock = clock
        self._minutes: deque[tuple[int, bool]] = deque(maxlen=DAY_MINUTES)

    def record(self, *, ready: bool) -> None:
        minute = self._clock.now_ms() // MINUTE_MS
        if self._minutes and self._minutes[-1][0] >= minute:  # the clock of the system may go back
            minute, before = self._minutes.pop()
            ready = ready and before
        self._minutes.append((minute, ready))

    def minutes(self) -> list[tuple[int, bool]]:
        """The minutes since the epoch that were checked, oldest first, each with whether it was ready."""
        first = self._clock.now_ms() // MINUTE_MS - DAY_MINUTES
        return [each for each in self._minutes if each[0] > first]


@dataclass(slots=True)
class Health:
    """The sources of readiness."""

    ping: Callable[[], Awaitable[None]]
    actors: Callable[[], Sequence[ActorStatistics]]
    write_age_seconds: Callable[[], float | None]
    """Seconds since the node last wrote to the database; None if it never did."""
    write_seconds: float
    """The maximum of that age in a node that is ready."""
    event_servers: ServerWatch
    dedupers: Callable[[], Collection[str]]
    """The names of `actors` that record events: one for each worker of a distributed database."""
    clock: Clock
    stopping: bool = False
    history: ReadinessHistory = field(init=False)
    hour: LastHour = field(init=False)
    _pinging: trio.Lock = field(default_factory=trio.Lock)
    _checked: float = -1.0
    _problem: str | None = None

    def __post_init__(self) -> None:
        self.history, self.hour = ReadinessHistory(self.clock), LastHour(self.clock)

    async def database_problem(self) -> str | None:
        """The database's problem, if any. Pings it at most four times a second."""
        async with self._pinging:
            if trio.current_time() - self._checked >= 0.25 or self._checked < 0:
                self._problem = await self._ping()
                if self._problem is not None:
                    self.event_servers.wake()
                self._checked = trio.current_time()
            return self._problem

    def records_events(self) -> bool:
        """Whether a worker of a distributed database records the events of today."""
        today = day_of(self.clock.now_ms())
        return any(report.records(today) for report in self.event_servers.reports)

    async def _ping(self) -> str | None:
        seconds = COORDINATOR_SECONDS if self.event_servers.reports else PING_SECONDS
        with trio.move_on_after(seconds):
            try:
                await self.ping()
            except WritesRefused as error:
                return f"the database accepts no writes: {error}"
            except StorageUnavailable as error:
                log.info("the database is not available: %s", error)
                return "the database is not available"
            return None
        return f"the database did not answer within {seconds:g} s"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a node is ready, and what is wrong. Only a node of a distributed database is ready with problems."""

    ready: bool
    problems: list[str]


async def readiness_of(health: Health) -> Readiness:
    database = await _database_problem(health)
    only_events = database is not None and health.write_age_seconds() is not None and health.records_events()
    fatal = ["the node is stopping"] if health.stopping else []
    minor: list[str] = []
    if database is not None:
        (minor if only_events else fatal).append(ONLY_EVENTS.format(database) if only_events else database)
    actors, dedupers = health.actors(), health.dedupers()
    one_records = any(each.accepting for each in actors if each.name in dedupers)
    for actor in actors:
        if actor.accepting:
            continue
        # An unavailable server fills the mailboxes of what needs it: those of its own events, or all but those of events.
        bearable = one_records if actor.name in dedupers else only_events
        problem = f"the actor {actor.name} is {actor.state.value} with {actor.waiting} messages waiting"
        (minor if bearable and actor.state is State.RUNNING else fatal).append(problem)
    if not health.stopping:
        health.history.record(ready=not fatal)
    return Readiness(not fatal, fatal + minor)


class ReadinessWatch(PeriodicTask):
    """Checks the readiness of the node, so that its history has no gap where nothing else asks. Calls `sample`, which keeps
    its load."""

    name = "readiness"
    tolerated = (Exception,)

    def __init__(self, health: Health, sample: Callable[[], object]) -> None:
        super().__init__(CHECK_SECONDS)
        self._health = health
        self._sample = sample

    async def _round(self) -> None:
        self._sample()
        await readiness_of(self._health)


async def _database_problem(health: Health) -> str | None:
    problem = await health.database_problem()
    age = health.write_age_seconds()
    if problem is None and (age is None or age > health.write_seconds):
        return f"the node has not been able to write to the database for {health.write_seconds:g} s"
    return problem


@dataclass(frozen=True, slots=True)
class Report:
    """A node's metrics in Prometheus text format, what is wrong with it, and whether it is ready."""

    metrics: str
    problems: list[str]
    ready: bool = True

    def line(self) -> bytes:
        """The report as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        return cls(**json.loads(line))


Reports = Callable[[], Awaitable[Mapping[int, Report | None]]]
"""Asks every node of this machine, by number. None stands for a node that did not answer."""
