"""A limit of concurrent work that networks and callers share fairly, however many requests each of them sends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from service.snapshots.turns import Searcher, Ticket, Turns


class FairLimiter:
    """Tasks that hold one of the turns, and tasks that wait for theirs."""

    def __init__(self, most: int, waiters: int, waiters_per_caller: int) -> None:
        self._most = most
        self._turns = Turns(most, waiters, waiters_per_caller)
        self._begun: dict[Ticket, trio.Event] = {}

    @asynccontextmanager
    async def turn(self, searcher: Searcher) -> AsyncIterator[None]:
        """Hold a turn for the block. Raises `CallerBusy` or `Overloaded` at once if there is no room to wait."""
        ticket = Ticket(searcher)
        begins = self._turns.ask(ticket)
        try:
            if not begins:
                begun = self._begun[ticket] = trio.Event()
                await begun.wait()
            yield
        finally:
            # If the wait was cancelled, the ticket leaves the queue, or passes on the turn that it was given meanwhile.
            self._begun.pop(ticket, None)
            for following in self._turns.end(ticket):
                self._begun[following].set()

    @property
    def waiting(self) -> int:
        return self._turns.waiting

    def __repr__(self) -> str:
        return f"<FairLimiter {self._turns.running} of {self._most} running, {self.waiting} waiting>"
