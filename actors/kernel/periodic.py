"""Background tasks that repeat: do a round of work, pause, and do it again until closed. Knows nothing of the work."""

import logging
from abc import ABC, abstractmethod

import trio

from actors.kernel.statistics import State
from actors.values import CallFailed, Stopped, TransientStorageError


def shared_pause(seconds: float) -> float:
    """The time to the next multiple of `seconds`, so that the tasks of a node that repeat wake it together."""
    early = seconds / 100  # a time that is rounded down would be followed by a second round at once
    return seconds + early - (trio.current_time() + early) % seconds


class PeriodicTask(ABC):
    """Base class of the supervised background tasks. A subclass sets `name` and implements `_round`.

    Rounds never overlap. An error of a `tolerated` class is logged once per outage, and the round is retried after
    `retry_seconds` (at most `pause_seconds`, which is the default). Any other error leaves `run`, and the supervisor
    runs the task again.
    """

    name: str
    tolerated: tuple[type[Exception], ...] = (TransientStorageError,)

    def __init__(self, pause_seconds: float, *, retry_seconds: float | None = None) -> None:
        self.state = State.NEW
        self._pause_seconds = pause_seconds
        self._retry_seconds = pause_seconds if retry_seconds is None else min(retry_seconds, pause_seconds)
        self._closed = False
        self._failing = False
        self._restarts = 0
        self._woken = trio.Event()
        self._rounds_begun = self._rounds_ended = 0
        self._round_ended = trio.lowlevel.ParkingLot()
        # Named after the subclass, so that the log level can be set per task.
        self._log = logging.getLogger(type(self).__module__)

    # Provided by the subclass.

    @abstractmethod
    async def _round(self) -> float | None:
        """Do one round of work. Returns how many seconds to pause afterwards; None means `pause_seconds`."""

    async def _finish(self) -> None:  # noqa: B027 - an optional hook
        """Hook: called once after the last round, when the task has been closed."""

    def _is_ready(self) -> bool:
        """Whether the process may go on starting. Asked before the first round and after each one until it is true."""
        return True

    def _meanwhile(self) -> str:
        """Hook: how the service copes while rounds fail, for the log."""
        return ""

    # Used by the supervisor.

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work until closed. May be called again after an error."""
        self.state = State.RUNNING
        try:
            await self._repeat(task_status)
        except Exception:
            self.state = State.FAILED
            self._restarts += 1
            raise
        self.state = State.STOPPED

    def wake(self) -> None:
        """End the current pause, or skip the next one if a round is under way."""
        self._woken.set()

    async def catch_up(self) -> None:
        """Do a round now. Returns once one that began after this call has ended, or the task is closed."""
        wanted = self._rounds_begun + 1
        self.wake()
        while self._rounds_ended < wanted and not self._closed:
            await self._round_ended.park()

    def close(self) -> None:
        """Stop after the current round."""
        self._closed = True
        self._woken.set()
        self._round_ended.unpark_all()

    def abandon(self) -> None:
        """Close for good: the supervisor does not run this task again."""
        self.close()
        self.state = State.STOPPED

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.state.value}{' failing' if self._failing else ''}>"

    # The loop.

    async def _repeat(self, task_status: trio.TaskStatus[None]) -> None:
        ready = False
        while not self._closed:
            ready = ready or self._report_ready(task_status)
            pause_seconds = await self._attempt()
            ready = ready or self._report_ready(task_status)
            await self._pause(pause_seconds)
        if not ready:
            # Closed before it was ready: the process is shutting down, and nothing should wait for this task.
            task_status.started()
        await self._finish()

    def _report_ready(self, task_status: trio.TaskStatus[None]) -> bool:
        ready = self._is_ready()
        if ready:
            task_status.started()
        return ready

    async def _attempt(self) -> float:
        """Do one round and return how many seconds to pause."""
        self._rounds_begun += 1
        try:
            seconds = await self._round()
        except self.tolerated as error:
            self._on_error(error)
            return self._retry_seconds
        finally:
            self._rounds_ended = self._rounds_begun
            self._round_ended.unpark_all()
        if self._failing:
            self._log.info("the background task %s recovered", self.name)
        self._failing = False
        return self._pause_seconds if seconds is None else seconds

    def _on_error(self, error: Exception) -> None:
        """Log the first error of an outage; with a traceback if it is not a transient storage error.

        `Stopped` is not an outage: the process is shutting down, and the actor that the round asked has stopped first.
        """
        if isinstance(error, Stopped):
            return
        if not self._failing:
            unexpected = None if isinstance(error, TransientStorageError) else error
            meanwhile = self._meanwhile()
            self._log.warning(
                "the background task %s failed, retrying in %g s%s: %s",
                self.name,
                self._retry_seconds,
                f" ({meanwhile})" if meanwhile else "",
                error if isinstance(error, CallFailed) else "it met a bug",
                exc_info=unexpected,
            )
        self._failing = True

    async def _pause(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self._woken.wait()
        self._woken = trio.Event()
