"""The refusal log: recently refused requests, for the operators of the node.

It holds no addresses, keys, ids or client texts, only operations and codes from their tables. Its size is limited.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from actors.clock import MINUTE_MS, Clock
from actors.stores import PoolStatistics

RECENT = 100
MINUTES = 60

LEFT = 499
"""The status of a request whose client disconnected before the response. It is not a refusal."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refused request."""

    at_ms: int
    operation: str
    code: str
    status: int


class RefusalLog:
    """The node's start time and refusals. Written by the request middleware, read by the operations page."""

    def __init__(self, clock: Clock, node: str, pool: Callable[[], PoolStatistics]) -> None:
        self.node = node
        self.pool = pool
        self.started_ms = clock.now_ms()
        self._clock = clock
        self._recent: deque[Refusal] = deque(maxlen=RECENT)
        # Minutes with their counts of refusals by operation and code.
        self._minutes: deque[tuple[int, Counter[tuple[str, str]]]] = deque(maxlen=MINUTES)

    def refused(self, operation: str, code: str, status: int) -> None:
        """Record a refusal. `operation` and `code` come from their tables, never from the client."""
        if status == LEFT:
            return
        now_ms = self._clock.now_ms()
        self._recent.append(Refusal(now_ms, operation, code, status))
        minute = now_ms // MINUTE_MS
        if not self._minutes or self._minutes[-1][0] != minute:
            self._minutes.append((minute, Counter()))
        self._minutes[-1][1][operation, code] += 1

    def recent(self) -> list[Refusal]:
        """The latest refusals, newest first."""
        return list(reversed(self._recent))

    def last_hour(self) -> Mapping[tuple[str, str], int]:
        """Refusals in the last hour by operation and code."""
        first = self._clock.now_ms() // MINUTE_MS - MINUTES + 1
        sums: Counter[tuple[str, str]] = Counter()
        for minute, counts in self._minutes:
            if minute >= first:
                sums.update(counts)
        return sums

    def __repr__(self) -> str:
        return f"<RefusalLog of {self.node}, {len(self._recent)} refusals>"
