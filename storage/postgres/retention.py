"""The retention store over Postgres."""

from actors.retention.store import Rows
from storage.connection.pool import Store
from storage.rows.statements import statements

SQL = statements("retention")

PRUNING = {rows: getattr(SQL, rows.name.lower()) for rows in Rows}


class PostgresRetention(Store):
    """One statement for each kind of rows."""

    async def prune(self, rows: Rows, before_ms: int, limit: int) -> int:
        pruned = await self._prune(PRUNING[rows], before_ms, limit)
        if rows is Rows.JOURNAL:
            # Last, because it fails while a worker of a distributed database is away.
            await self._database.read(lambda connection: connection.execute(SQL.event_journal, before_ms))
        return pruned
