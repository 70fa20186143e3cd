"""Supervision: runs actors and background tasks around the server, restarts one that fails, drains all on exit."""

import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import trio

from actors.values import CallFailed

log = logging.getLogger(__name__)


class Member(Protocol):
    """An actor or background task that the supervisor can run. `run` returns after `close`."""

    name: str

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Intensity:
    """How many failures of one member within a window end the process (Erlang's restart intensity)."""

    failures: int = 5
    window_seconds: float = 60.0


class IntensityExceeded(Exception):
    """A member kept failing. Restarting it again would hide a bug."""


class ActorSupervisor:
    """The running members. `running` yields it."""

    def __init__(self, members: Sequence[Member], intensity: Intensity) -> None:
        self.members = members
        self._intensity = intensity
        self._scopes: list[trio.CancelScope] = []
        self._left = 0
        self._leaving = trio.lowlevel.ParkingLot()

    def kill(self) -> None:
        """Cancel every member without draining it, as the end of a process would."""
        for scope in self._scopes:
            scope.cancel()

    async def drain(self, seconds: float) -> None:
        """Close all members and wait until they are done or `seconds` have passed, even if the caller is cancelled."""
        for member in self.members:
            member.close()
        with trio.move_on_after(seconds, shield=True) as bound:
            while self._left:
                await self._leaving.park()
        if bound.cancelled_caught:
            names = ", ".join(member.name for member in self.members)
            log.error("of %s, some did not end within %g s (actors.drain_seconds), and are ended now", names, seconds)
            self.kill()

    async def supervise(self, member: Member, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run one member, and restart it after each failure, until it returns or exceeds the intensity."""
        # A task cancelled before its first step is not counted in `_left`, so `drain` would not wait for it: do not
        # start it.
        await trio.lowlevel.checkpoint_if_cancelled()
        started = _OnceStarted(task_status)
        failures: deque[float] = deque(maxlen=self._intensity.failures)
        # Shielded, so that cancelling the server does not cut members off. `drain` bounds them.
        with trio.CancelScope(shield=True) as scope:
            self._left += 1
            self._scopes.append(scope)
            try:
                while not await self._finishes(member, started, failures):
                    pass
            finally:
                member.abandon()
                self._left -= 1
                self._leaving.unpark_all()

    async def _finishes(self, member: Member, started: "_OnceStarted", failures: deque[float]) -> bool:
        try:
            await member.run(task_status=started)
        except Exception as error:
            failures.append(trio.current_time())
            if not started.done or self._too_many(failures):
                raise IntensityExceeded(f"{member.name} failed {len(failures)} times: {_words(error)}") from error
            log.error("%s restarts after a failure: %s", member.name, _words(error))
            return False
        except BaseExceptionGroup as group:
            # It failed while it was ended. The cancellation goes on alone, so that the failure does not end other members.
            failed, ended = group.split(Exception)
            if failed is None or ended is None:
                raise
            log.error("%s failed while it was ended: %s", member.name, _words(failed))
            raise ended from None
        return True

    def _too_many(self, failures: deque[float]) -> bool:
        window = self._intensity.window_seconds
        return len(failures) == self._intensity.failures and trio.current_time() - failures[0] <= window


def _words(error: Exception) -> str:
    """The text of an expected error. A bug also needs its class."""
    return str(error) if isinstance(error, CallFailed) else repr(error)


@asynccontextmanager
async def running(
    members: Sequence[Member], *, intensity: Intensity | None = None, drain_seconds: float = 10.0
) -> AsyncIterator[ActorSupervisor]:
    """Run `members` for the life of the block. All of them have loaded their state when the block begins.

    On exit the members drain for at most `drain_seconds`, also when the block was cancelled or raised. A member that
    exceeds `intensity` cancels the block and raises `IntensityExceeded` in an exception group.
    """
    supervisor = ActorSupervisor(members, intensity or Intensity())
    async with trio.open_nursery() as nursery:
        try:
            for member in members:
                # Not `nursery.start`: if that were cancelled, a shielded member would keep running and nobody would
                # drain it.
                loaded = _Loaded()
                nursery.start_soon(partial(supervisor.supervise, member, task_status=loaded))
                await loaded.wait()
            yield supervisor
        except BaseException:
            await supervisor.drain(drain_seconds)
            raise
        await supervisor.drain(drain_seconds)


class _Loaded(trio.TaskStatus[None]):
    """A task status that can be awaited."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def started(self, value: None = None) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


class _OnceStarted(trio.TaskStatus[None]):
    """A task status that reports only the first start, because restarts have nobody to report to."""

    def __init__(self, status: trio.TaskStatus[None]) -> None:
        self._status = status
        self.done = False

    def started(self, value: None = None) -> None:
        if not self.done:
            self.done = True
            self._status.started()


@asynccontextmanager
async def background_nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery that is cancelled when the block ends. An error of the block is raised as it is, not in a group.

    A cancellation from outside does not hide the error: a bug stays visible also while the process is stopping.
    """
    failed: Exception | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except Exception as error:
                failed = error
            nursery.cancel_scope.cancel()
    finally:
        if failed is not None:
            raise failed
