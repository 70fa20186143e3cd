"""The store of websites in memory."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from actors.events.messages import OTHER_NAME, SiteDelivered
from actors.events.sightings import LIFE_MS, MAX_SIGHTINGS, Sighting, newer
from tests.doubles.tables import MemoryStore


class MemorySites(MemoryStore):
    """Websites with their numbers, and what was counted by website."""

    async def sites(self) -> Mapping[str, int]:
        await self._memory.before()
        return {host: number for host, (number, _) in self._memory.sites.items()}

    async def name(self, hosts: Sequence[str]) -> None:
        await self._memory.before()
        for host in sorted(hosts):
            self._add(host, named=True)
        await self._memory.after()

    async def admit(self, hosts: Sequence[str], most: int) -> bool:
        await self._memory.before()
        for host in hosts:
            if host not in self._memory.sites and self._earned() < most:
                self._add(host, named=False)
        room = self._earned() < most
        await self._memory.after()
        return room

    async def of_booking(self, booking_id: str) -> Sequence[SiteDelivered]:
        await self._memory.before()
        return self._sums(place for place in self._memory.site_days if place[0] == booking_id)

    async def between(self, first_day: int, last_day: int) -> Sequence[SiteDelivered]:
        await self._memory.before()
        bookings = self._memory.bookings
        return self._sums(
            place
            for place in self._memory.site_days
            if first_day <= place[1] <= last_day and place[0] in bookings and not bookings[place[0]].demo
        )

    async def sighting(self, host: str, now_ms: int) -> Sighting | None:
        await self._memory.before()
        found = self._memory.sightings.get(host)
        return found if found and found.seen_ms > now_ms - LIFE_MS else None

    async def sight(self, sightings: Sequence[Sighting], now_ms: int) -> None:
        await self._memory.before()
        kept = self._memory.sightings
        for each in sightings:
            kept[each.host] = newer(kept.get(each.host), each)
        newest = sorted(kept.values(), key=lambda each: -each.seen_ms)[:MAX_SIGHTINGS]
        self._memory.sightings = {each.host: each for each in newest if each.seen_ms > now_ms - LIFE_MS}
        await self._memory.after()

    def _earned(self) -> int:
        return sum(not named for _, named in self._memory.sites.values())

    def _add(self, host: str, *, named: bool) -> None:
        number, _ = self._memory.sites.get(host, (len(self._memory.sites) + 1, named))
        self._memory.sites[host] = number, named

    def _sums(self, places: Iterable[tuple[str, int, int]]) -> list[SiteDelivered]:
        hosts = {number: host for host, (number, _) in self._memory.sites.items()}
        impressions, clicks = Counter[str](), Counter[str]()
        for place in places:
            site, counts = hosts.get(place[2], OTHER_NAME), self._memory.site_days[place]
            impressions[site] += counts[0]
            clicks[site] += counts[1]
        found = [SiteDelivered(site, impressions[site], clicks[site]) for site in impressions]
        return sorted(found, key=lambda each: (-each.impressions, each.site))
