"""When a website was last seen to send an event, and what became of it, for owners who check their page. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.events.messages import Kind

MAX_SIGHTINGS = 2_000
"""Websites that are remembered. The one that was seen longest ago is forgotten first."""

LIFE_MS = DAY_MS
"""A website that was not seen for so long is forgotten."""

STAYS_MS = 10 * MINUTE_MS
"""For so long, an event that is not counted does not hide one that is: a monitor must not hide visitors."""

WORKING = frozenset({"recorded", "duplicate", "capped"})
"""The outcomes of events that the page of a website reports well."""

NEW_HOSTS = 10
"""Websites that one network of clients can add in an hour to the memory of a process, so it cannot push out all others."""

NETWORKS = 10_000
"""Networks whose new websites are counted."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """The last event of a website: its kind, its outcome, and when it arrived (epoch milliseconds)."""

    host: str
    kind: Kind
    outcome: str
    seen_ms: int

    @property
    def works(self) -> bool:
        return self.outcome in WORKING


def newer(before: Sighting | None, after: Sighting) -> Sighting:
    """The one to show of two sightings of a website, in any order."""
    if before is None:
        return after
    first, last = (before, after) if before.seen_ms <= after.seen_ms else (after, before)
    return first if first.works and not last.works and last.seen_ms - first.seen_ms < STAYS_MS else last


class Sightings:
    """The websites that this process has seen and not written yet. Clients choose the `Origin` that they send, so each
    network of clients can add a few websites an hour only."""

    def __init__(self, most: int = MAX_SIGHTINGS, new_hosts: int = NEW_HOSTS, networks: int = NETWORKS) -> None:
        self._most, self._new_hosts, self._networks = most, new_hosts, networks
        self._waiting: dict[str, Sighting] = {}
        self._hour = 0
        self._known: dict[str, None] = {}
        self._added: dict[str, int] = {}

    def add(self, sighting: Sighting, network: str) -> None:
        """Note an event that a client in a network reported."""
        host = sighting.host
        if host not in self._waiting and not self._may_add(host, network, sighting.seen_ms // HOUR_MS):
            return
        self._waiting[host] = newer(self._waiting.get(host), sighting)

    def _may_add(self, host: str, network: str, hour: int) -> bool:
        if hour != self._hour:
            self._hour, self._known, self._added = hour, {}, {}
        if host not in self._known:
            added = self._added.get(network, 0)
            if added >= self._new_hosts or (network not in self._added and len(self._added) >= self._networks):
                return False
            self._added[network] = added + 1
            self._known.setdefault(host)
            if len(self._known) > self._most:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._waiting.pop(oldest, None)
        return True

    def of(self, host: str) -> Sighting | None:
        return self._waiting.get(host)

    def waiting(self) -> Sequence[Sighting]:
        """The sightings that are not written yet, by host."""
        return [self._waiting[host] for host in sorted(self._waiting)]

    def wrote(self, sightings: Sequence[Sighting]) -> None:
        """Forget what was written, unless a newer one has come meanwhile."""
        for each in sightings:
            if self._waiting.get(each.host) is each:
                del self._waiting[each.host]
