"""The websites that send events: which of them are counted by name, and the book of their numbers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from actors.clock import Clock, day_of
from actors.events.messages import OTHER, Kind, SiteDelivered
from actors.events.sightings import Sighting, Sightings, newer
from actors.kernel.periodic import PeriodicTask

MAX_SITES = 200
"""Websites that can earn a place, over all time."""

CANDIDATES = 1_000
"""Websites without a place that are remembered: so many seen from one network, and so many seen from several."""

CHECK_SECONDS = 5.0
RETRY_SECONDS = 0.5
"""A process starts only when it knows the numbers."""

_ORIGIN = re.compile(r"https?://([a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+)\.?(?::\d{1,5})?", re.ASCII | re.IGNORECASE)
_LONGEST_HOST = 253


@lru_cache(1_024)
def host_of(origin: str) -> str:
    """The host of an `Origin` header in lower case, without its port. Empty if it is none that websites have: `null`, the
    origin of an extension, a name without a dot, an IPv6 address, or something longer than a name can be."""
    found = _ORIGIN.fullmatch(origin) if len(origin) <= _LONGEST_HOST + 20 else None
    host = found[1].lower() if found else ""
    return host if len(host) <= _LONGEST_HOST else ""


@dataclass(frozen=True, slots=True)
class SiteRules:
    """Whether events are counted by website. With `named`, only these are counted by name. Without, a website earns one of
    `most` places on the day on which one process has recorded events of it from visitors in so many `networks`."""

    count: bool = False
    named: Sequence[str] = ()
    networks: int = 20
    most: int = MAX_SITES


class SiteStore(Protocol):
    """The websites with a number, and what was counted by website. All methods raise `StorageUnavailable`."""

    async def sites(self) -> Mapping[str, int]:
        """The number of each host that has one, which never changes."""
        ...

    async def name(self, hosts: Sequence[str]) -> None:
        """Give numbers to hosts that the configuration names. These need no place. Can be repeated."""
        ...

    async def admit(self, hosts: Sequence[str], most: int) -> bool:
        """Give numbers to hosts, in this order, until `most` have earned one. Returns whether there is room for more. Can be
        repeated, and is exact if many nodes do it at once. Raises also `Contended` and `OutcomeUnknown`."""
        ...

    async def of_booking(self, booking_id: str) -> Sequence[SiteDelivered]:
        """The delivery of a booking by website: most impressions first, then by host."""
        ...

    async def between(self, first_day: int, last_day: int) -> Sequence[SiteDelivered]:
        """The delivery of all bookings but samples by website on these days, both included. In the same order."""
        ...

    async def sighting(self, host: str, now_ms: int) -> Sighting | None:
        """When a website was last seen to send an event, if that is at most `LIFE_MS` ago."""
        ...

    async def sight(self, sightings: Sequence[Sighting], now_ms: int) -> None:
        """Keep the newest sighting of each website as `newer` says, of the `MAX_SIGHTINGS` that were seen last, and none
        that is older than `LIFE_MS`. Can be repeated. Raises also `Contended` and `OutcomeUnknown`."""
        ...


class Candidates:
    """Websites without a place, with the networks of today's events. A network vouches for a website once, so one client
    cannot earn places. A website that was seen from one network only is forgotten first, so many made-up hosts push out
    each other and not those with visitors."""

    def __init__(self, networks: int, capacity: int = CANDIDATES) -> None:
        self.networks = networks
        self.capacity = capacity
        self._day = 0
        self._once: dict[str, str] = {}
        self._several: dict[str, set[str]] = {}

    def add(self, host: str, network: str, day: int) -> bool:
        """Note a recorded event. Returns whether the website has just earned a place."""
        if day != self._day:
            self._day, self._once, self._several = day, {}, {}
        seen_from = self._several.get(host)
        if seen_from is None:
            first = self._once.setdefault(host, network)
            if first == network and self.networks > 1:
                _forget_first(self._once, self.capacity)
                return False
            self._once.pop(host)
            seen_from = self._several[host] = {first}
            _forget_first(self._several, self.capacity)
        seen_from.add(network)
        if len(seen_from) < self.networks:
            return False
        del self._several[host]
        return True

    def __len__(self) -> int:
        return len(self._once) + len(self._several)


def _forget_first(some: dict[str, str] | dict[str, set[str]], capacity: int) -> None:
    if len(some) > capacity:
        del some[next(iter(some))]


class SiteBook(PeriodicTask):
    """Knows the numbers of websites, and asks the store for places of those that have earned one. Each process has one; the
    store keeps to the limit. A website that another process has admitted is known after `CHECK_SECONDS`."""

    name = "sites"

    def __init__(self, store: SiteStore, clock: Clock, rules: SiteRules) -> None:
        super().__init__(CHECK_SECONDS, retry_seconds=RETRY_SECONDS)
        self.rules = rules
        self.candidates = Candidates(rules.networks)
        self.sightings = Sightings()
        self.store = store
        self._clock = clock
        self._numbers: Mapping[str, int] = {}
        self._earned: dict[str, None] = {}
        self._full = False
        self._loaded = False

    def number_of(self, origin: str | None) -> int | None:
        """The number under which to count a request with this `Origin`. None if events are not counted by website."""
        if not self.rules.count:
            return None
        return self._numbers.get(host_of(origin), OTHER) if origin else OTHER

    def recorded(self, origin: str | None, network: str) -> None:
        """Note that an event of a website without a number was recorded. `network` is that of the client."""
        if self.rules.named or self._full or not origin or not (host := host_of(origin)):
            return
        if host not in self._numbers and self.candidates.add(host, network, day_of(self._clock.now_ms())):
            if len(self._earned) < self.rules.most:
                self._earned.setdefault(host)
            self.wake()

    def saw(self, origin: str | None, network: str, kind: Kind, outcome: str) -> None:
        """Note the outcome of an event that a page reported. Events without a website are left out."""
        if self.rules.count and origin and (host := host_of(origin)):
            self.sightings.add(Sighting(host, kind, outcome, self._clock.now_ms()), network)

    async def sighting(self, host: str) -> Sighting | None:
        """The last event of a website that any process has seen. What another process sees is known after
        `CHECK_SECONDS`. Raises `StorageUnavailable`."""
        written, waiting = await self.store.sighting(host, self._clock.now_ms()), self.sightings.of(host)
        return written if waiting is None else newer(written, waiting)

    async def _round(self) -> None:
        if not self._loaded and self.rules.named:
            await self.store.name(self.rules.named)
        if self._earned:
            earned = list(self._earned)
            self._full = not await self.store.admit(earned, self.rules.most)
            for host in earned:
                del self._earned[host]
        numbers = await self.store.sites()
        if self.rules.named:
            numbers = {host: numbers[host] for host in self.rules.named if host in numbers}
        self._numbers = numbers
        self._loaded = True
        if sightings := self.sightings.waiting():
            await self.store.sight(sightings, self._clock.now_ms())
            self.sightings.wrote(sightings)

    def _is_ready(self) -> bool:
        return self._loaded
