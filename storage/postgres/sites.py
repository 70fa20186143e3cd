"""The store of websites over Postgres."""

from collections.abc import Mapping, Sequence

from actors.events.messages import Kind, SiteDelivered
from actors.events.sightings import LIFE_MS, MAX_SIGHTINGS, STAYS_MS, WORKING, Sighting
from storage.connection.pool import Connection, Store
from storage.rows.statements import statements

SQL = statements("sites")


class PostgresSites(Store):
    """`event_sites`, `site_sightings`, and `event_site_counts` as the event store fills it."""

    async def sites(self) -> Mapping[str, int]:
        return {row["host"]: row["number"] for row in await self._database.fetch(SQL.sites)}

    async def name(self, hosts: Sequence[str]) -> None:
        await self._database.transact(lambda connection: connection.execute(SQL.name, sorted(hosts)))

    async def admit(self, hosts: Sequence[str], most: int) -> bool:
        async def work(connection: Connection) -> bool:
            await connection.execute(SQL.lock)
            await connection.execute(SQL.admit, hosts, most)
            return bool(await connection.fetchval(SQL.has_room, most))

        return await self._database.transact(work)

    async def of_booking(self, booking_id: str) -> Sequence[SiteDelivered]:
        return [SiteDelivered(**row) for row in await self._database.fetch(SQL.of_booking, booking_id)]

    async def between(self, first_day: int, last_day: int) -> Sequence[SiteDelivered]:
        samples = [row["number"] for row in await self._database.fetch(SQL.samples)]
        return [SiteDelivered(**row) for row in await self._database.fetch(SQL.between, first_day, last_day, samples)]

    async def sighting(self, host: str, now_ms: int) -> Sighting | None:
        row = await self._database.fetchrow(SQL.sighting, host, now_ms - LIFE_MS)
        return None if row is None else Sighting(row["site"], Kind(row["kind"]), row["outcome"], row["seen_ms"])

    async def sight(self, sightings: Sequence[Sighting], now_ms: int) -> None:
        hosts, kinds, outcomes, seen = zip(
            *((each.host, each.kind, each.outcome, each.seen_ms) for each in sightings), strict=True
        )

        async def work(connection: Connection) -> None:
            await connection.execute(SQL.sight, hosts, kinds, outcomes, seen, list(WORKING), STAYS_MS)
            await connection.execute(SQL.forget_sightings, now_ms - LIFE_MS, MAX_SIGHTINGS)

        await self._database.transact(work)
