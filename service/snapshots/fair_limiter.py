"""A limit of concurrent work that callers share fairly, however many requests each of them sends."""

from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from actors.values import CallFailed, Overloaded


class CallerBusy(CallFailed):
    """This caller already has as many requests waiting as one caller may have. Others are not affected."""


class FairLimiter:
    """At most `most` turns at a time, and one of each caller.

    Callers that wait get the free turns in rotation, and one whose turn ended goes to the end. Each may have
    `waiters_per_caller` requests waiting, which keep their order, and all together `waiters`.
    """

    def __init__(self, most: int, waiters: int, waiters_per_caller: int) -> None:
        assert most > 0
        self._most = most
        self._waiters = waiters
        self._waiters_per_caller = waiters_per_caller
        self._running: set[str] = set()
        # The waiting requests of each caller. The first caller is the next to get a turn. A free turn is taken at once,
        # so each caller here is running, or all turns are taken.
        self._waiting: OrderedDict[str, deque[trio.Event]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Hold a turn for the block. Raises `CallerBusy` or `Overloaded` at once if there is no room to wait."""
        if caller in self._running or len(self._running) >= self._most:
            await self._wait(caller)
        else:
            self._running.add(caller)
        try:
            yield
        finally:
            self._end(caller)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def _wait(self, caller: str) -> None:
        if len(self._waiting.get(caller, ())) >= self._waiters_per_caller:
            raise CallerBusy
        if self.waiting >= self._waiters:
            raise Overloaded
        begun = trio.Event()
        self._waiting.setdefault(caller, deque()).append(begun)
        try:
            await begun.wait()
        except trio.Cancelled:
            if begun.is_set():
                # It was given a turn between its cancellation and here.
                self._end(caller)
            else:
                self._leave(caller, begun)
            raise

    def _leave(self, caller: str, begun: trio.Event) -> None:
        queue = self._waiting[caller]
        queue.remove(begun)
        if not queue:
            del self._waiting[caller]

    def _end(self, caller: str) -> None:
        """End a turn, and give it to the first waiting caller that has none. There is at most one to give."""
        self._running.discard(caller)
        if caller in self._waiting:
            self._waiting.move_to_end(caller)
        following = next((each for each in self._waiting if each not in self._running), None)
        if following is None:
            return
        self._running.add(following)
        begun = self._waiting[following][0]
        self._leave(following, begun)
        begun.set()

    def __repr__(self) -> str:
        return f"<FairLimiter {len(self._running)} of {self._most} running, {self.waiting} waiting>"
