"""Which workers live: started a few at a time, replaced when they die, renewed one after the other, ended together.

Knows no process, socket or configuration: it is given what launches a worker.
"""

import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import trio

log = logging.getLogger(__name__)


class WorkerFailed(Exception):
    """A worker did not become ready; the text is one line for a person."""


class DiesTooOften(Exception):
    """A worker dies again and again, so that to start another would hide a fault; the text is one line for a person."""


class Worker(Protocol):
    """One process."""

    async def until_ready(self) -> None:
        """Wait until it serves. Raises `WorkerFailed` when it says why it does not, or is dead."""
        ...

    async def until_dead(self) -> str:
        """Wait for its end, and say in words how it ended. Several may wait."""
        ...

    def end(self) -> None:
        """Tell it to finish what it has begun, and end. Told again, it cuts off what it has begun."""
        ...

    def kill(self) -> None:
        """End it here and now."""
        ...


class Launcher(Protocol):
    """Where workers come from. They are numbered from 1."""

    async def launch(self, number: int) -> Worker:
        """Begin to start a worker, which is not ready yet."""
        ...

    def give_up_queue(self, number: int) -> None:
        """Let others have the share of connections of this worker, which is dead and has no successor yet."""
        ...


@dataclass(frozen=True, slots=True)
class SupervisionLimits:
    """Bounds of a supervisor. A worker that dies more than `restarts` times within the window ends them all."""

    end_seconds: float
    """How long a worker may take to end before it is killed."""
    start_seconds: float = 60.0
    starts_at_once: int = 4
    restarts: int = 5
    restart_window_seconds: float = 60.0
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 5.0


@dataclass(slots=True)
class Deaths:
    """When one worker and those in its place died lately."""

    limits: SupervisionLimits
    _at: deque[float] = field(default_factory=deque)

    def pause_after(self, now: float) -> float | None:
        """Note a death. How many seconds to wait before the next start, none at the first; None where it is one too many."""
        while self._at and self._at[0] < now - self.limits.restart_window_seconds:
            self._at.popleft()
        earlier = len(self._at)
        self._at.append(now)
        if earlier >= self.limits.restarts:
            return None
        if not earlier:
            return 0.0
        return min(self.limits.longest_pause_seconds, self.limits.first_pause_seconds * 2.0 ** (earlier - 1))


@dataclass(slots=True)
class _Renewal:
    """A request to put another worker in the place of one that lives, and what became of it."""

    done: trio.Event = field(default_factory=trio.Event)
    failure: WorkerFailed | None = None


class Supervisor:
    """Keeps `workers` workers alive; `supervised` makes it and ends it."""

    def __init__(self, launcher: Launcher, workers: int, limits: SupervisionLimits) -> None:
        self._launcher = launcher
        self._limits = limits
        self._starts = trio.CapacityLimiter(limits.starts_at_once)
        self._living: set[Worker] = set()
        self._told: set[Worker] = set()
        """Those who have been told to end. Told once more they would cut off what they have begun."""
        self._serving: set[int] = set()
        self._all_serving = trio.Event()
        self._doors = {number: trio.open_memory_channel[_Renewal](1) for number in range(1, workers + 1)}

    def __repr__(self) -> str:
        return f"<Supervisor of {len(self._doors)} workers, {len(self._living)} processes>"

    async def renew(self) -> None:
        """Put a new worker in each one's place, one after the other; each is ready before the old one is told to end.

        Raises `WorkerFailed` when one does not become ready: the old ones that have no successor yet stay.
        """
        for number, (door, _) in self._doors.items():
            renewal = _Renewal()
            await door.send(renewal)
            await renewal.done.wait()
            if renewal.failure is not None:
                raise renewal.failure
            log.info("worker %d is renewed", number)

    def end(self) -> None:
        """Tell all workers to end; those who were told before cut off what they have begun."""
        for worker in self._living:
            worker.end()

    async def wait_all_serving(self) -> None:
        """Wait until each number has a worker that is ready."""
        await self._all_serving.wait()

    # The life of one place.

    async def keep(self, number: int) -> None:
        """See to it that there is always a worker of this number."""
        deaths, (_, renewals) = Deaths(self._limits), self._doors[number]
        worker = await self._started(number)
        async with trio.open_nursery() as leaving:
            while True:
                renewal = await _asked_or_dead(worker, renewals)
                if renewal is None:
                    worker = await self._successor_of_dead(number, worker, deaths)
                    continue
                try:
                    successor = await self._started(number)
                except WorkerFailed as failure:
                    renewal.failure = failure
                else:
                    leaving.start_soon(self._see_off, worker)
                    worker = successor
                renewal.done.set()

    async def _started(self, number: int) -> Worker:
        """A new worker that is ready. Raises `WorkerFailed`; of one that is not ready nothing is left."""
        async with self._starts:
            worker = await self._launcher.launch(number)
            self._living.add(worker)
            try:
                with trio.fail_after(self._limits.start_seconds):
                    await worker.until_ready()
            except BaseException as error:
                # Also who is cancelled: it serves nobody yet.
                await self._kill(worker)
                if isinstance(error, trio.TooSlowError):
                    seconds = self._limits.start_seconds
                    raise WorkerFailed(f"worker {number} was not ready within {seconds:g} s") from None
                raise
            self._serving.add(number)
            if len(self._serving) == len(self._doors):
                self._all_serving.set()
            return worker

    async def _successor_of_dead(self, number: int, worker: Worker, deaths: Deaths) -> Worker:
        """Start a worker in place of a dead one, again and again until one is ready. Raises `DiesTooOften`."""
        why = f"worker {number} {await worker.until_dead()}"
        self._forget(worker)
        self._serving.discard(number)
        while True:
            if self._serving:
                # Else who connects waits for the first who is back, which is better than a refusal.
                self._launcher.give_up_queue(number)
            pause = deaths.pause_after(trio.current_time())
            if pause is None:
                limits = self._limits
                raise DiesTooOften(
                    f"{why}: it died more than {limits.restarts} times within {limits.restart_window_seconds:g} s"
                )
            log.error("%s; another is started%s", why, f" in {pause:g} s" if pause else "")
            await trio.sleep(pause)
            try:
                successor = await self._started(number)
            except WorkerFailed as failure:
                why = str(failure)
            else:
                log.info("worker %d serves again", number)
                return successor

    # Ends.

    async def _kill(self, worker: Worker) -> None:
        worker.kill()
        with trio.CancelScope(shield=True):
            await worker.until_dead()
        self._forget(worker)

    def _forget(self, worker: Worker) -> None:
        self._living.discard(worker)
        self._told.discard(worker)

    async def _see_off(self, worker: Worker) -> None:
        """Tell a worker to end, if nobody has, and see to it that it does."""
        if worker not in self._told:
            self._told.add(worker)
            worker.end()
        with trio.move_on_after(self._limits.end_seconds):
            await worker.until_dead()
            self._forget(worker)
            return
        log.error("a worker did not end within %g s and is killed", self._limits.end_seconds)
        await self._kill(worker)

    async def end_all(self) -> None:
        """End all workers together, whatever is cancelled outside."""
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for worker in list(self._living):
                    nursery.start_soon(self._see_off, worker)


async def _asked_or_dead(worker: Worker, renewals: "trio.MemoryReceiveChannel[_Renewal]") -> _Renewal | None:
    """The next request for a renewal, or None once the worker is dead."""
    asked: _Renewal | None = None
    async with trio.open_nursery() as nursery:

        async def dies() -> None:
            await worker.until_dead()
            nursery.cancel_scope.cancel()

        nursery.start_soon(dies)
        asked = await renewals.receive()
        nursery.cancel_scope.cancel()
    return asked


@asynccontextmanager
async def supervised(launcher: Launcher, workers: int, limits: SupervisionLimits) -> AsyncIterator[Supervisor]:
    """All workers are ready when the block begins, and have ended when it is left.

    Raises `WorkerFailed` in a group where one does not become ready at first, and `DiesTooOften` where one keeps dying.
    """
    supervisor = Supervisor(launcher, workers, limits)
    try:
        async with trio.open_nursery() as nursery:
            for number in range(1, workers + 1):
                nursery.start_soon(partial(supervisor.keep, number))
            await supervisor.wait_all_serving()
            yield supervisor
            nursery.cancel_scope.cancel()
    finally:
        await supervisor.end_all()
