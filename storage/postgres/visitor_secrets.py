"""The store of the secrets of days over Postgres."""

from collections.abc import Mapping

from storage.connection.pool import Connection, Store
from storage.rows.statements import statements

SQL = statements("visitor_secrets")


class PostgresVisitorSecrets(Store):
    """`visitor_secrets`, on the coordinator of a distributed database. Writes only if something is missing or over."""

    async def agree(self, offered: Mapping[int, bytes], first_day: int) -> Mapping[int, bytes]:
        stored = await self._stored()
        days = sorted(offered.keys() - stored.keys())
        if not days and (not stored or min(stored) >= first_day):
            return stored

        async def work(connection: Connection) -> None:
            await connection.execute(SQL.add, days, [offered[day] for day in days])
            await connection.execute(SQL.remove, first_day)

        await self._database.transact(work)
        return await self._stored()

    async def _stored(self) -> Mapping[int, bytes]:
        return {row["day"]: row["secret"] for row in await self._database.fetch(SQL.secrets)}
