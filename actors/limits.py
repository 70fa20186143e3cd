"""Rate limits in memory: a fixed window that opens with a key's first request. Each node counts for itself and lets its
share through, so what all of them let through together is approximate."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from actors.clock import SECOND_MS


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a window on this node: `remaining` requests until `reset_seconds` from now, or a refusal. `limit` is
    that of all nodes together, which is what callers are promised."""

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: int


def share(limit: int, nodes: int) -> int:
    """What one of `nodes` lets through of `limit`: rounded up, so that all of it can be used where requests are spread evenly
    and a share of something is never nothing. Together they let through fewer than `nodes` too many."""
    assert limit >= 0
    assert nodes > 0
    return -(-limit // nodes)


def single_node() -> int:
    """The number of nodes where there is one."""
    return 1


class WindowLimiter:
    """At most `limit` hits per key in each window of `window_seconds` on all of `nodes()` together, which share it evenly.

    What was counted stays counted when their number changes. A window in which nothing was counted takes as many hits at once
    as the whole limit has: what is sent together could not pass otherwise, however long it waits. So of hits larger than a
    share all nodes together may let through as many times the limit as there are nodes.

    Remembers at most `capacity` keys; beyond it the oldest windows are forgotten first, which errs towards letting
    requests through and keeps an attacker with many addresses from growing memory.
    """

    def __init__(self, window_seconds: int, capacity: int = 100_000, *, nodes: Callable[[], int] = single_node) -> None:
        self.window_seconds = window_seconds
        self._nodes = nodes
        self._window_ms = window_seconds * SECOND_MS
        self._capacity = capacity
        # key -> (end of its window, hits); in the order in which windows opened. A plain dict finds its first key ever more
        # slowly while the first ones are deleted: 20 us a hit where most addresses are new.
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def hit(self, key: str, limit: int, now_ms: int, count: int = 1, *, least: int = 0) -> Allowance:
        """Count one request of `key`, or `count` at once; what is refused is not counted. This node's share of `limit` is at
        least `least`."""
        here = max(least, share(limit, self._nodes()))
        end_ms, hits = self._windows.get(key, (0, 0))
        if end_ms <= now_ms or end_ms > now_ms + self._window_ms:
            self._windows.pop(key, None)
            self._make_room(now_ms)
            end_ms, hits = now_ms + self._window_ms, 0
        allowed = hits + count <= here or (not hits and count <= limit)
        if allowed:
            hits += count
            self._windows[key] = (end_ms, hits)
        reset_seconds = max(1, -(-(end_ms - now_ms) // SECOND_MS))
        return Allowance(allowed, limit, max(0, here - hits), reset_seconds)

    def give_back(self, key: str, now_ms: int, count: int = 1) -> None:
        """Count `count` hits of `key` no longer, where the window that they fell into is still open."""
        end_ms, hits = self._windows.get(key, (0, 0))
        if end_ms > now_ms:
            self._windows[key] = (end_ms, max(0, hits - count))

    def _make_room(self, now_ms: int) -> None:
        """Forget windows that have ended, oldest first, and more where there is no room: constant work for each hit."""
        for _ in range(2):
            oldest = next(iter(self._windows), None)
            if oldest is None:
                return
            if self._windows[oldest][0] > now_ms and len(self._windows) < self._capacity:
                return
            del self._windows[oldest]

    def __len__(self) -> int:
        return len(self._windows)

    def __repr__(self) -> str:
        return f"<WindowLimiter {self.window_seconds} s, {len(self)} keys>"
