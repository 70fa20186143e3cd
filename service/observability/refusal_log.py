"""What the node remembers of itself for those who run it: since when it is up, and what it has refused of late.

It holds no address, no key, no id and no text of anybody: operations and codes are from their tables. Everything in it is
bounded, and a request that is not refused does not touch it.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from actors.clock import MINUTE_MS, Clock

RECENT = 100
MINUTES = 60

LEFT = 499
"""The status of a request whose client left before it was answered: nobody refused it."""


class Pool(Protocol):
    """A picture of the pool of connections to the database; counts are since it was opened."""

    @property
    def open(self) -> int: ...
    @property
    def busy(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def transactions(self) -> int: ...
    @property
    def contended(self) -> int: ...
    @property
    def unavailable(self) -> int: ...
    @property
    def unknown(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def loop_errors(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """One request that was not let through."""

    at_ms: int
    operation: str
    code: str
    status: int


class RefusalLog:
    """Fed by the edge with what was refused; read by the operation that tells how the node is."""

    def __init__(self, clock: Clock, node: str, pool: Callable[[], Pool]) -> None:
        self.node = node
        self.pool = pool
        self.started_ms = clock.now_ms()
        self._clock = clock
        self._recent: deque[Refusal] = deque(maxlen=RECENT)
        # A minute and what was refused in it, by operation and code.
        self._minutes: deque[tuple[int, Counter[tuple[str, str]]]] = deque(maxlen=MINUTES)

    def refused(self, operation: str, code: str, status: int) -> None:
        """One refusal more. `operation` and `code` are from their tables, never what a client wrote."""
        if status == LEFT:
            return
        now_ms = self._clock.now_ms()
        self._recent.append(Refusal(now_ms, operation, code, status))
        minute = now_ms // MINUTE_MS
        if not self._minutes or self._minutes[-1][0] != minute:
            self._minutes.append((minute, Counter()))
        self._minutes[-1][1][operation, code] += 1

    def recent(self) -> list[Refusal]:
        """The last refusals, the newest first."""
        return list(reversed(self._recent))

    def last_hour(self) -> Mapping[tuple[str, str], int]:
        """How many were refused in the last hour, by operation and code."""
        first = self._clock.now_ms() // MINUTE_MS - MINUTES + 1
        sums: Counter[tuple[str, str]] = Counter()
        for minute, counts in self._minutes:
            if minute >= first:
                sums.update(counts)
        return sums

    def __repr__(self) -> str:
        return f"<RefusalLog of {self.node}, {len(self._recent)} refusals>"
