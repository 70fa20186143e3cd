"""Callers waiting for an actor's reply, with their deadlines.

One task serves all callers of an actor, because a cancel scope per caller would cost more than handling the message.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

import trio

from actors.kernel.mailbox import Envelope

M = TypeVar("M")
R = TypeVar("R")


class WaitingCallers(Generic[M, R]):
    """Envelopes without a reply yet, earliest deadline first. `fail_expired` has to run beside it."""

    def __init__(self) -> None:
        # Nearly all deadlines come in the order of the calls. Those that come earlier go into the heap.
        self._in_order: deque[Envelope[M, R]] = deque()
        self._by_deadline: list[tuple[float, int, Envelope[M, R]]] = []
        self._serial = count()
        self._added = trio.lowlevel.ParkingLot()
        self._next_deadline = inf

    def add(self, envelope: Envelope[M, R]) -> None:
        due = envelope.due
        if not self._in_order or self._in_order[-1].due <= due:
            self._in_order.append(envelope)
        else:
            heappush(self._by_deadline, (due, next(self._serial), envelope))
        if due < self._next_deadline:
            self._added.unpark()

    async def fail_expired(self, fail: Callable[[Envelope[M, R]], None]) -> None:
        """Call `fail` with each envelope whose deadline passes without a reply. Runs until cancelled."""
        while True:
            self.forget_answered()
            in_order = self._in_order[0].due if self._in_order else inf
            self._next_deadline = min(in_order, self._by_deadline[0][0] if self._by_deadline else inf)
            with trio.move_on_at(self._next_deadline):
                await self._added.park()
            now = trio.current_time()
            while self._in_order and self._in_order[0].due <= now:
                _fail(self._in_order.popleft(), fail)
            while self._by_deadline and self._by_deadline[0][0] <= now:
                _fail(heappop(self._by_deadline)[2], fail)

    def forget_answered(self) -> None:
        """Drop answered envelopes from the front. Replies come in about the order of the calls."""
        while self._in_order and self._in_order[0].given:
            self._in_order.popleft()
        while self._by_deadline and self._by_deadline[0][2].given:
            heappop(self._by_deadline)

    def __len__(self) -> int:
        return len(self._in_order) + len(self._by_deadline)


def _fail(envelope: Envelope[M, R], fail: Callable[[Envelope[M, R]], None]) -> None:
    if not envelope.given:
        fail(envelope)
