"""Moves the clock of a service for developers ahead, and does what falls due on the way in the order of time.

A move stops at each time at which something is due, where the background tasks do their rounds before it goes on. So a hold
that ends before a week begins has ended when it begins. Rows are pruned at the end: whenever that happens, the same ones go.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from actors.clock import MovableClock
from actors.kernel.periodic import PeriodicTask

MOVE_SECONDS = 20.0
"""Real time after which a move ends where it is. Receivers of webhooks may be slow."""

ROUNDS = 10
"""Rounds at one stop while something is still due. A round has a bounded number of rows."""


class ClockStore(Protocol):
    """By how much the clock of a database is ahead, and what is due. Methods raise `StorageUnavailable`."""

    async def ahead_ms(self) -> int:
        """Milliseconds by which the clock was moved; 0 for a database whose clock never was."""
        ...

    async def set_ahead(self, ahead_ms: int) -> None:
        """Store it. A smaller value than the stored one changes nothing."""
        ...

    async def next_due(self, after_ms: int, digest_ms: int) -> int | None:
        """The first time after `after_ms` at which a task has work: a hold, step, refund, deletion, or a mail or webhook to
        send. The digest of reviews is due `digest_ms` after the last one."""
        ...


class NextDue(Protocol):
    """The first due time after a moment."""

    def __call__(self, after_ms: int) -> Awaitable[int | None]: ...


@dataclass(slots=True)
class ClockMover:
    """Moves one clock. At each stop the tasks of `due` do a round, in this order; at the end those of `last`, too."""

    clock: MovableClock
    store: ClockStore
    next_due: NextDue
    due: Sequence[PeriodicTask]
    last: Sequence[PeriodicTask]
    seconds: float = MOVE_SECONDS
    moving: bool = False

    async def move(self, to_ms: int) -> int:
        """Move the clock to `to_ms`. Returns the time then, which is earlier if the move took longer than `seconds`. Only one
        move may run. Raises `StorageUnavailable`; the clock then stands where the move has come."""
        assert not self.moving, "moves do not overlap"
        self.moving = True
        try:
            with trio.move_on_after(self.seconds):
                await self._follow(to_ms)
        finally:
            self.moving = False
        return self.clock.now_ms()

    async def _follow(self, to_ms: int) -> None:
        due_ms = await self._work()
        while (now_ms := self.clock.now_ms()) < to_ms:
            stop_ms = to_ms if due_ms is None else min(to_ms, max(due_ms, now_ms))
            ahead_ms = self.clock.ahead_ms + stop_ms - now_ms
            # Stored before any row can be of that time, so that a restart never goes back.
            await self.store.set_ahead(ahead_ms)
            self.clock.ahead_ms = ahead_ms
            due_ms = await self._work()
        for task in self.last:
            await task.catch_up()

    async def _work(self) -> int | None:
        """Do all that is due now. Returns when something is due next."""
        for _ in range(ROUNDS):
            for task in self.due:
                await task.catch_up()
            due_ms = await self.next_due(-1)
            if due_ms is None or due_ms > self.clock.now_ms():
                return due_ms
        return await self.next_due(self.clock.now_ms())
