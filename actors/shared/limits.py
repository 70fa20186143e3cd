"""Rate limits in memory: fixed windows that open with a key's first request.

Each node counts for itself and allows its share, so the limit over all nodes is approximate.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from actors.times import SECOND_MS


@dataclass(frozen=True, slots=True)
class Allowance:
    """The state of a window on this node: `remaining` requests until `reset_seconds` from now, or a refusal. `limit` is
    the advertised limit of all nodes together."""

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: int


def share(limit: int, nodes: int) -> int:
    """The share of `limit` that one of `nodes` allows, rounded up so that evenly spread requests can use all of it.
    Together the nodes allow fewer than `nodes` requests too many."""
    assert limit >= 0
    assert nodes > 0
    return -(-limit // nodes)


def single_node() -> int:
    """The number of nodes when the process runs alone: 1."""
    return 1


class WindowLimiter:
    """At most `limit` hits per key and window of `window_seconds`, shared evenly by all of `nodes()`.

    Counts stay when the number of nodes changes. An empty window accepts up to the whole limit at once, because a batch
    larger than the share could never pass otherwise. For such batches all nodes together may allow the limit once per
    node.

    Remembers at most `capacity` keys and forgets the oldest windows first. That errs towards allowing requests, and an
    attacker with many addresses cannot grow memory.
    """

    def __init__(self, window_seconds: int, capacity: int = 100_000, *, nodes: Callable[[], int] = single_node) -> None:
        self._nodes = nodes
        self._window_ms = window_seconds * SECOND_MS
        self._capacity = capacity
        # key -> (end of its window, hits), in the order in which the windows opened. Not a plain dict: finding its
        # first key gets slower while the first ones are deleted (20 us a hit when most addresses are new).
        self._windows: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def hit(self, key: str, limit: int, now_ms: int, count: int = 1, *, least: int = 0) -> Allowance:
        """Count `count` requests of `key`, unless they are refused. This node's share is at least `least`."""
        here = max(least, share(limit, self._nodes()))
        end_ms, hits = self._window(key, now_ms)
        allowed = hits + count <= here or (not hits and count <= limit)
        if allowed:
            hits += count
            self._windows[key] = (end_ms, hits)
        reset_seconds = max(1, -(-(end_ms - now_ms) // SECOND_MS))
        return Allowance(allowed, limit, max(0, here - hits), reset_seconds)

    def count_up_to(self, key: str, limit: int, now_ms: int, count: int = 1) -> int:
        """Count up to `count` requests of `key`, as many as this node's share has room for. Returns how many."""
        end_ms, hits = self._window(key, now_ms)
        counted = min(count, share(limit, self._nodes()) - hits)
        if counted <= 0:
            return 0
        self._windows[key] = (end_ms, hits + counted)
        return counted

    def _window(self, key: str, now_ms: int) -> tuple[int, int]:
        """The end and the hits of the window of `key`; of a new one, which is not stored yet, if it has none."""
        window = self._windows.get(key)
        # A clock that is set back by less than a window's time must not open all windows anew.
        if window is not None and now_ms < window[0] <= now_ms + 2 * self._window_ms:
            return window
        self._windows.pop(key, None)
        self._make_room(now_ms)
        return now_ms + self._window_ms, 0

    def subtract(self, key: str, now_ms: int, count: int = 1) -> None:
        """Subtract `count` hits of `key`, if their window is still open."""
        end_ms, hits = self._windows.get(key, (0, 0))
        if end_ms > now_ms:
            self._windows[key] = (end_ms, max(0, hits - count))

    def _make_room(self, now_ms: int) -> None:
        """Drop ended windows, oldest first, and open ones beyond the capacity. Constant work per hit."""
        for _ in range(2):
            oldest = next(iter(self._windows), None)
            if oldest is None:
                return
            if self._windows[oldest][0] > now_ms and len(self._windows) < self._capacity:
                return
            del self._windows[oldest]

    def __len__(self) -> int:
        return len(self._windows)


PORTIONS = 10
"""One network may use one of so many equal parts of a shared total."""


class SharedTotal:
    """A limit of all clients together that does not let a few of them shut out the others.

    Up to `limit` hits in a window pass, at most a tenth of them for one network, but at least one. Beyond `limit`, a network
    passes once if it had no hit in its window yet, up to `factor` times `limit` hits in all. Many networks can therefore use
    everything up, but a network of its own is needed for each hit beyond it. Remembers at most `capacity` networks, and
    forgets the oldest first.
    """

    def __init__(self, window_seconds: int, capacity: int = 100_000, *, nodes: Callable[[], int] = single_node) -> None:
        self._totals = WindowLimiter(window_seconds, nodes=nodes)
        self._networks = WindowLimiter(window_seconds, capacity)
        self._portions = WindowLimiter(window_seconds, capacity, nodes=nodes)

    def hit(self, network: str, limit: int, factor: int, now_ms: int) -> Allowance:
        """Count one hit of `network`, unless it is refused."""
        portion = self._portions.hit(network, max(1, limit // PORTIONS), now_ms)
        if not portion.allowed:
            return portion
        first = self._networks.count_up_to(network, 1, now_ms)
        allowance = self._totals.hit("all", limit, now_ms)
        if allowance.allowed:
            return allowance
        if first and self._totals.count_up_to("first ones", (factor - 1) * limit, now_ms):
            return replace(allowance, allowed=True)
        self._portions.subtract(network, now_ms)
        if first:
            self._networks.subtract(network, now_ms)
        return allowance

    def subtract(self, network: str, now_ms: int) -> None:
        """Subtract a hit of `network` that came to nothing."""
        self._portions.subtract(network, now_ms)
        self._networks.subtract(network, now_ms)
        self._totals.subtract("all", now_ms)
