"""Turns to search, which rotate by network, then by caller within the network. Pure."""

from collections import OrderedDict, deque
from dataclasses import dataclass

from actors.values import CallFailed, Overloaded


class CallerBusy(CallFailed):
    """This caller, or its network, already has as many requests waiting as it may have. Others are not affected."""


@dataclass(frozen=True, slots=True)
class Searcher:
    """One who asks for a turn: an account or an address, and the network from which it asks."""

    caller: str
    network: str


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One request for a turn. Each is distinct."""

    of: Searcher


class Turns:
    """At most `most` turns at a time, one of each caller, and a quarter of them of one network.

    Waiting networks get the free turns in rotation, and so do the callers of a network. All together have at most
    `waiters` requests waiting, one network half of them, and one caller `waiters_per_caller`, which keep their order. Parts
    are rounded down, but at least one.
    """

    def __init__(self, most: int, waiters: int, waiters_per_caller: int) -> None:
        assert most > 0
        self._most = most
        self._most_of_network = max(1, most // 4)
        self._waiters = waiters
        self._waiters_of_network = max(1, waiters // 2)
        self._waiters_per_caller = waiters_per_caller
        self._running: set[Ticket] = set()
        # The waiting requests by network and caller, without empty ones. The first network, and the first caller of it,
        # are the next to get a turn. Each request here waits for its caller, for its network, or for a free turn.
        self._waiting: OrderedDict[str, OrderedDict[str, deque[Ticket]]] = OrderedDict()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return sum(map(_length, self._waiting.values()))

    def ask(self, ticket: Ticket) -> bool:
        """Whether the turn begins at once; if not, the ticket waits. Raises `CallerBusy` or `Overloaded` if it cannot."""
        if self._may_run(ticket.of):
            self._running.add(ticket)
            return True
        caller, network = ticket.of.caller, ticket.of.network
        if sum(len(callers.get(caller, ())) for callers in self._waiting.values()) >= self._waiters_per_caller:
            raise CallerBusy
        if self.waiting >= self._waiters:
            raise Overloaded
        callers = self._waiting.get(network, OrderedDict())
        if _length(callers) >= self._waiters_of_network:
            raise CallerBusy
        callers.setdefault(caller, deque()).append(ticket)
        self._waiting[network] = callers
        return False

    def end(self, ticket: Ticket) -> list[Ticket]:
        """End a turn, or leave the queue. Returns the waiting tickets whose turns begin."""
        if ticket in self._running:
            self._running.remove(ticket)
            self._to_the_end(ticket.of)
        else:
            self._leave(ticket)
        return self._begin()

    def _may_run(self, who: Searcher) -> bool:
        if len(self._running) >= self._most or any(each.of.caller == who.caller for each in self._running):
            return False
        return sum(each.of.network == who.network for each in self._running) < self._most_of_network

    def _begin(self) -> list[Ticket]:
        """Give out the free turns. There may be several, because one that ends makes room for its caller and its network."""
        begun = []
        while (following := self._following()) is not None:
            self._leave(following)
            self._running.add(following)
            self._to_the_end(following.of)
            begun.append(following)
        return begun

    def _following(self) -> Ticket | None:
        first = (queue[0] for callers in self._waiting.values() for queue in callers.values())
        return next((ticket for ticket in first if self._may_run(ticket.of)), None)

    def _leave(self, ticket: Ticket) -> None:
        callers = self._waiting[ticket.of.network]
        queue = callers[ticket.of.caller]
        queue.remove(ticket)
        if not queue:
            del callers[ticket.of.caller]
        if not callers:
            del self._waiting[ticket.of.network]

    def _to_the_end(self, who: Searcher) -> None:
        callers = self._waiting.get(who.network)
        if callers is None:
            return
        self._waiting.move_to_end(who.network)
        if who.caller in callers:
            callers.move_to_end(who.caller)


def _length(callers: OrderedDict[str, deque[Ticket]]) -> int:
    return sum(map(len, callers.values()))
