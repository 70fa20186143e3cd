"""The troupe: runs actors as a context around the server, restarts one that fails, drains all on leaving."""

import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import trio

log = logging.getLogger(__name__)


class Member(Protocol):
    """What the troupe can run: `run` ends by itself after `close`."""

    name: str

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Intensity:
    """How many failures of one member within a window end the whole process (Erlang's restart intensity)."""

    failures: int = 5
    window_seconds: float = 60.0


class IntensityExceeded(Exception):
    """A member of the troupe kept failing; starting it once more would hide a bug."""


class ActorSupervisor:
    """The running members; `running` yields it."""

    def __init__(self, members: Sequence[Member], intensity: Intensity) -> None:
        self.members = members
        self._intensity = intensity
        self._scopes: list[trio.CancelScope] = []
        self._left = 0
        self._leaving = trio.lowlevel.ParkingLot()

    def kill(self) -> None:
        """Cut every member off where it stands, without a drain: what the end of a process does."""
        for scope in self._scopes:
            scope.cancel()

    async def drain(self, seconds: float) -> None:
        """Close all mailboxes and wait, whatever is cancelled outside, until the members are done or time is up."""
        for member in self.members:
            member.close()
        with trio.move_on_after(seconds, shield=True) as bound:
            while self._left:
                await self._leaving.park()
        if bound.cancelled_caught:
            log.error("actors were not drained within %g s: %r", seconds, self.members)
            self.kill()

    async def supervise(self, member: Member, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run one member, again after each failure, until it ends by itself or exceeds the intensity."""
        # Who is cancelled before the first step was not counted, so nobody would drain it: do not begin.
        await trio.lowlevel.checkpoint_if_cancelled()
        started = _OnceStarted(task_status)
        failures: deque[float] = deque(maxlen=self._intensity.failures)
        # Shielded, so that a cancelled server leaves the drain to `drain`, which bounds it.
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
                raise IntensityExceeded(f"{member.name} failed {len(failures)} times: {error!r}") from error
            log.error("%s starts afresh after a failure: %r", member.name, error)
            return False
        return True

    def _too_many(self, failures: deque[float]) -> bool:
        window = self._intensity.window_seconds
        return len(failures) == self._intensity.failures and trio.current_time() - failures[0] <= window


@asynccontextmanager
async def running(
    members: Sequence[Member], *, intensity: Intensity | None = None, drain_seconds: float = 10.0
) -> AsyncIterator[ActorSupervisor]:
    """Run `members` for the life of the block; each has loaded its state when the block begins.

    On leaving, mailboxes close and the members drain for at most `drain_seconds`, also when the block was cancelled or
    raised. A member that exceeds `intensity` cancels the block and comes out as `IntensityExceeded` in a group.
    """
    supervisor = ActorSupervisor(members, intensity or Intensity())
    async with trio.open_nursery() as nursery:
        try:
            for member in members:
                # Not `nursery.start`: cancelled in it, nobody could drain a member that is shielded.
                loaded = _Loaded()
                nursery.start_soon(partial(supervisor.supervise, member, task_status=loaded))
                await loaded.wait()
            yield supervisor
        except BaseException:
            await supervisor.drain(drain_seconds)
            raise
        await supervisor.drain(drain_seconds)


class _Loaded(trio.TaskStatus[None]):
    """A task status that can be waited for."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def started(self, value: None = None) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


class _OnceStarted(trio.TaskStatus[None]):
    """A task status that tells the nursery of the first start only: a restart reports to nobody."""

    def __init__(self, status: trio.TaskStatus[None]) -> None:
        self._status = status
        self.done = False

    def started(self, value: None = None) -> None:
        if not self.done:
            self.done = True
            self._status.started()
