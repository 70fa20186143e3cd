"""Supervises workers: starts a few at a time, restarts dead ones, replaces all one after the other, ends all together.

Knows nothing of processes, sockets and configuration: a `Launcher` starts the workers.
"""

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import trio

from service.observability.health import REPORT_SECONDS, Report

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupervisionLimits:
    """Limits of a supervisor. If one worker dies more than `restarts` times within the window, all are ended."""

    end_seconds: float
    """Time for a worker to exit before it is killed."""
    start_seconds: float = 60.0
    starts_at_once: int = 4
    restarts: int = 5
    restart_window_seconds: float = 60.0
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 5.0
    longest_refusal_pause_seconds: float = 60.0


@dataclass(slots=True)
class Deaths:
    """The recent deaths of the workers of one number."""

    limits: SupervisionLimits
    _at: deque[float] = field(default_factory=deque)

    def pause_after(self, now: float) -> float | None:
        """Record a death. Returns the seconds to wait before the next start, or None if the limit is exceeded."""
        while self._at and self._at[0] < now - self.limits.restart_window_seconds:
            self._at.popleft()
        earlier = len(self._at)
        self._at.append(now)
        if earlier >= self.limits.restarts:
            return None
        if not earlier:
            return 0.0
        return min(self.limits.longest_pause_seconds, self.limits.first_pause_seconds * 2.0 ** (earlier - 1))


def pause_after_refusals(refusals: int, limits: SupervisionLimits) -> float:
    """The pause before another start of a worker that was refused so often (at least once), while others serve."""
    return min(limits.longest_refusal_pause_seconds, limits.first_pause_seconds * 2.0 ** min(refusals, 32))


EXPECTED_EXITS = ("exited with code 0", "exited with code 130")
"""Exit statuses of a worker that was asked to stop."""


class WorkerFailed(Exception):
    """A worker did not become ready. The text is one line for the operator."""


class WorkerRefused(WorkerFailed):
    """A starting worker reported why it cannot serve, such as a missing certificate. It has not died."""


class TooManyRestarts(Exception):
    """A worker died too often to be restarted again. The text is one line for the operator."""


class Worker(Protocol):
    """One process."""

    async def until_ready(self) -> None:
        """Wait until it serves. Raises `WorkerFailed` if it reports an error or dies."""
        ...

    async def report(self) -> Report:
        """Ask a ready worker for its metrics and problems. Raises `WorkerFailed` if it has ended."""
        ...

    async def until_dead(self) -> str:
        """Wait until it exits, and return a description of how. Several tasks may wait."""
        ...

    def end(self) -> None:
        """Ask it to finish its requests and exit. A second call aborts them."""
        ...

    def retire(self) -> None:
        """The same as the first `end`, for a worker whose successor is ready: it need not wait for a balancer."""
        ...

    def kill(self) -> None:
        """Kill it at once."""
        ...


class Launcher(Protocol):
    """Starts workers. They are numbered from 1."""

    async def launch(self, number: int) -> Worker:
        """Start a worker without waiting until it is ready."""
        ...

    def give_up_queue(self, number: int) -> None:
        """Give the share of connections of this dead worker to the others until its replacement listens."""
        ...


@dataclass(slots=True)
class _Replacement:
    """A request to replace a live worker, and its outcome."""

    done: trio.Event = field(default_factory=trio.Event)
    failure: WorkerFailed | None = None


class Supervisor:
    """Keeps `workers` workers alive. Use `supervised` to create one."""

    def __init__(self, launcher: Launcher, workers: int, limits: SupervisionLimits) -> None:
        self._launcher = launcher
        self._limits = limits
        self._starts = trio.CapacityLimiter(limits.starts_at_once)
        self._living: set[Worker] = set()
        self._draining: set[Worker] = set()
        """Workers that are stopping. Another `end` would make them abort their requests."""
        self._serving: dict[int, Worker] = {}
        self._all_serving = trio.Event()
        self._replacements = {number: trio.open_memory_channel[_Replacement](1) for number in range(1, workers + 1)}

    def __repr__(self) -> str:
        return f"<Supervisor of {len(self._replacements)} workers, {len(self._living)} processes>"

    async def replace_all(self) -> None:
        """Replace the workers one after the other. Each old worker serves until its replacement is ready.

        Raises `WorkerFailed` if a replacement does not become ready; workers not yet replaced stay.
        """
        for number, (requests, _) in self._replacements.items():
            replacement = _Replacement()
            await requests.send(replacement)
            await replacement.done.wait()
            if replacement.failure is not None:
                raise replacement.failure
            log.info("worker %d is replaced", number)

    def allow(self, limits: SupervisionLimits) -> None:
        """Let workers take as long to exit as a new configuration allows them, if that is longer."""
        self._limits = max(self._limits, limits, key=lambda each: each.end_seconds)

    def end(self) -> None:
        """Stop all workers. Those already stopping abort their requests."""
        for worker in self._living:
            worker.end()

    async def reports(self) -> dict[int, Report | None]:
        """Ask all workers at once, each for at most `REPORT_SECONDS`. None stands for one that does not answer."""
        reports: dict[int, Report | None] = dict.fromkeys(self._replacements)

        async def ask(number: int, worker: Worker) -> None:
            with trio.move_on_after(REPORT_SECONDS), suppress(WorkerFailed):
                reports[number] = await worker.report()

        async with trio.open_nursery() as nursery:
            for number, worker in self._serving.items():
                nursery.start_soon(ask, number, worker)
        return reports

    async def answers(self) -> bool:
        """Whether at least one worker answers within `REPORT_SECONDS`."""
        return any(report is not None for report in (await self.reports()).values())

    async def wait_all_serving(self) -> None:
        """Wait until each number has a ready worker."""
        await self._all_serving.wait()

    # The workers of one number.

    async def run_worker(self, number: int) -> None:
        """Keep a worker of this number running."""
        deaths, (_, requests) = Deaths(self._limits), self._replacements[number]
        worker = await self._started(number)
        async with trio.open_nursery() as draining:
            while True:
                replacement = await _replacement_or_death(worker, requests)
                if replacement is None:
                    worker = await self._successor_of_dead(number, worker, deaths)
                    continue
                try:
                    successor = await self._started(number)
                except WorkerFailed as failure:
                    replacement.failure = failure
                else:
                    draining.start_soon(self._drain, worker, worker.retire)
                    worker = successor
                replacement.done.set()

    async def _started(self, number: int) -> Worker:
        """Start a worker and wait until it is ready. One that fails is killed. Raises `WorkerFailed`."""
        async with self._starts:
            worker = await self._launcher.launch(number)
            self._living.add(worker)
            try:
                with trio.fail_after(self._limits.start_seconds):
                    await worker.until_ready()
            except BaseException as error:
                await self._kill(worker)  # on cancellation too: it has no requests yet
                if isinstance(error, trio.TooSlowError):
                    seconds = self._limits.start_seconds
                    raise WorkerFailed(f"worker {number} was not ready within {seconds:g} s") from None
                raise
            self._serving[number] = worker
            if len(self._serving) == len(self._replacements):
                self._all_serving.set()
            return worker

    async def _successor_of_dead(self, number: int, worker: Worker, deaths: Deaths) -> Worker:
        """Retry starting a worker in place of a dead one until one is ready. Raises `TooManyRestarts`."""
        why = f"worker {number} {await worker.until_dead()}"
        self._forget(worker)
        self._serving.pop(number, None)
        refusals = 0
        while True:
            pause: float | None
            if self._serving:  # if none serves, connections wait in the queue, which is better than a reset
                self._launcher.give_up_queue(number)
            if refusals and self._serving:
                pause = pause_after_refusals(refusals, self._limits)  # which should not end the others
            else:
                pause = deaths.pause_after(trio.current_time())
            if pause is None:
                limits = self._limits
                raise TooManyRestarts(
                    f"{why}: it died more than {limits.restarts} times within {limits.restart_window_seconds:g} s"
                )
            log.error("%s; restarting%s", why, f" in {pause:g} s" if pause else "")
            await trio.sleep(pause)
            try:
                successor = await self._started(number)
            except WorkerFailed as failure:
                why = str(failure)
                refusals += isinstance(failure, WorkerRefused)
            else:
                log.info("worker %d is ready again", number)
                return successor

    # Ends.

    async def _kill(self, worker: Worker) -> None:
        worker.kill()
        with trio.CancelScope(shield=True):
            await worker.until_dead()
        self._forget(worker)

    def _forget(self, worker: Worker) -> None:
        self._living.discard(worker)
        self._draining.discard(worker)

    async def _drain(self, worker: Worker, request_stop: Callable[[], None]) -> None:
        """Stop a worker by `request_stop`, unless it is already stopping. Kill it after `end_seconds`."""
        if worker not in self._draining:
            self._draining.add(worker)
            request_stop()
        with trio.move_on_after(self._limits.end_seconds):
            how = await worker.until_dead()
            self._forget(worker)
            if not how.endswith(EXPECTED_EXITS):
                log.error("a stopping worker %s", how)
            return
        log.error("killing a worker that did not exit within %g s", self._limits.end_seconds)
        await self._kill(worker)

    async def end_all(self) -> None:
        """End all workers together, even if the caller is cancelled."""
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                for worker in list(self._living):
                    nursery.start_soon(self._drain, worker, worker.end)


async def _replacement_or_death(
    worker: Worker, requests: "trio.MemoryReceiveChannel[_Replacement]"
) -> _Replacement | None:
    """The next request for a replacement, or None once the worker is dead."""
    request: _Replacement | None = None
    async with trio.open_nursery() as nursery:

        async def dies() -> None:
            await worker.until_dead()
            nursery.cancel_scope.cancel()

        nursery.start_soon(dies)
        request = await requests.receive()
        nursery.cancel_scope.cancel()
    return request


@asynccontextmanager
async def supervised(launcher: Launcher, workers: int, limits: SupervisionLimits) -> AsyncIterator[Supervisor]:
    """Run workers during the block: all are ready when it begins, and have ended when it is left.

    Raises, in a group, `WorkerFailed` if one of the first workers does not become ready, and `TooManyRestarts`.
    """
    supervisor = Supervisor(launcher, workers, limits)
    try:
        async with trio.open_nursery() as nursery:
            for number in range(1, workers + 1):
                nursery.start_soon(partial(supervisor.run_worker, number))
            await supervisor.wait_all_serving()
            yield supervisor
            nursery.cancel_scope.cancel()
    finally:
        await supervisor.end_all()
