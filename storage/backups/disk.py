"""File calls that a disk may hold up for ever, such as one on a network that is gone.

They run in threads, one at a time for each disk, so a disk that hangs holds up neither other tasks nor a stop, and never
occupies more than one thread. Must not know what is stored there.
"""

import errno
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import trio

DISK_SECONDS = 60.0
"""Time for one short call, such as listing a directory."""

PATIENT_SECONDS = 60.0
"""Time for removing temporary files after a command, whose user sees what it waits for."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Disk:
    """Calls about one directory. Cancelling a call abandons its thread, and the disk is not called again until it ends."""

    def __init__(self, directory: Path, *, cleanup_seconds: float = PATIENT_SECONDS) -> None:
        self._directory = directory
        self._cleanup_seconds = cleanup_seconds
        self._limiter = trio.CapacityLimiter(1)

    @property
    def hangs(self) -> bool:
        """Whether a call is under way, which nobody waits for if there is only one caller."""
        return self._limiter.borrowed_tokens > 0

    async def call(self, function: Callable[[*Ts], T], *args: *Ts, seconds: float = math.inf) -> T:
        """Run a function in a thread. If it takes long, it calls `trio.from_thread.check_cancelled` now and then.

        Raises `OSError` if an abandoned call still hangs, or if this one takes longer than `seconds`.
        """
        if self.hangs:
            raise OSError(errno.EBUSY, "an earlier backup still waits for the disk", self._directory)
        with trio.move_on_after(seconds):
            return await self._in_thread(function, *args)
        raise TimeoutError(errno.ETIMEDOUT, f"the disk did not answer within {seconds:g} s", self._directory)

    async def clean_up(self, function: Callable[[*Ts], object], *args: *Ts) -> None:
        """Run a function even if the caller is cancelled, but wait at most `cleanup_seconds` for it and the call before."""
        with trio.move_on_after(self._cleanup_seconds, shield=True):
            await self._in_thread(function, *args)

    async def _in_thread(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        return await trio.to_thread.run_sync(function, *args, abandon_on_cancel=True, limiter=self._limiter)
