"""The store of a moved clock over Postgres."""

from storage.connection.pool import Connection, Store
from storage.rows.statements import statements

SQL = statements("clock")


class PostgresClock(Store):
    """A column of `identity`, and the due times of all tables."""

    async def ahead_ms(self) -> int:
        return int(await self._database.fetchval(SQL.ahead) or 0)

    async def set_ahead(self, ahead_ms: int) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute(SQL.set_ahead, ahead_ms)

        await self._database.transact(work)

    async def next_due(self, after_ms: int, digest_ms: int) -> int | None:
        due_ms: int | None = await self._database.fetchval(SQL.next_due, after_ms, digest_ms)
        return due_ms
