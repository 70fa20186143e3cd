"""Moves the clock of a service for developers ahead, and does what falls due on the way in the order of time.

A move stops at each time at which something is due, where the background tasks do their rounds before it goes on. So a hold
that ends before a week begins has ended when it begins. Rows are pruned at the end: whenever that happens, the same ones go.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import trio

from actors.clock import MovableClock
from actors.kernel.periodic import PeriodicTask

MOVE_SECONDS = 20.0
"""Real time after which a move ends where it is. Receivers of webhooks may be slow."""

ROUNDS = 10
"""Rounds at one stop while something is still due. A round has a bounded number of rows."""


@dataclass(slots=True)
class ClockMover:
    """Moves one clock. `save` stores by how many milliseconds it is ahead, and `next_due` finds the first time after another
    at which something is due. At each stop the tasks of `due` do a round, in this order; at the end those of `last`, too."""

    clock: MovableClock
    save: Callable[[int], Awaitable[None]]
    next_due: Callable[[int], Awaitable[int | None]]
    due: Sequence[PeriodicTask]
    last: Sequence[PeriodicTask]
    seconds: float = MOVE_SECONDS
    moving: bool = False

    async def move(self, to_ms: int) -> bool:
        """Move the clock to `to_ms`. Returns whether all is done: a move that takes longer than `seconds` ends where it is,
        and so does one that raises `StorageUnavailable`. Only one move may run."""
        assert not self.moving, "moves do not overlap"
        self.moving = True
        try:
            with trio.move_on_after(self.seconds) as bound:
                await self._follow(to_ms)
        finally:
            self.moving = False
        return not bound.cancelled_caught

    async def _follow(self, to_ms: int) -> None:
        due_ms = await self._work()
        while (now_ms := self.clock.now_ms()) < to_ms:
            stop_ms = to_ms if due_ms is None else min(to_ms, max(due_ms, now_ms))
            ahead_ms = self.clock.ahead_ms + stop_ms - now_ms
            # Stored before any row can be of that time, so that a restart never goes back.
            await self.save(ahead_ms)
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
