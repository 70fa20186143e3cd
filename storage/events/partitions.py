"""The daily partitions of an event table: made ahead, dropped when they are old, and missed by writers at times."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from actors.values import Contended
from storage.connection.pool import Connection, Database
from storage.rows.statements import statements

SQL = statements("events")

LOCK = 7_206_341_120
"""The advisory lock that serializes the making and dropping of partitions. An arbitrary number, next to the others."""

DROP_LOCK = "100ms"
"""How long a drop waits for transactions that use the table."""

CHECK_VIOLATION = "23514"


class EventPartitions:
    """The partitions of `table`, named after it and their day, as `event_keys_20775`. `schema` is theirs."""

    def __init__(self, database: Database, table: str, *, schema: str = "public") -> None:
        self._database = database
        self._table = f"{schema}.{table}"
        # Days whose partition this node knows.
        self._days: set[int] = set()

    async def prepare(self, days: Sequence[int]) -> None:
        """Create the missing partitions of these days. Does nothing for days that this node knows."""
        # One transaction per day: over many shards each is slow, and finished ones must stay.
        for day in sorted(set(days) - self._days):
            await self._make(day)
            self._days.add(day)

    async def _make(self, day: int) -> None:
        """Make one day's partition, unless it exists."""
        table = self._table

        async def work(connection: Connection) -> None:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval(SQL.has_partition, table, day):
                # Attach instead of creating in place, which would wait for all writers of other days.
                await connection.execute(f"create table {table}_{day:d} (like {table} including all)")
                await connection.execute(
                    f"alter table {table} attach partition {table}_{day:d} for values in ({day:d})"
                )

        await self._database.transact(work)

    async def drop_before(self, day: int) -> Sequence[int]:
        """Drop the partitions of days before `day`, oldest first; returns the days that this call dropped."""
        present = await self._database.fetch(SQL.partitions, self._table)
        return [row["day"] for row in present if row["day"] < day and await self._drop(row["day"])]

    async def _drop(self, day: int) -> bool:
        """Drop one day. Returns False if another node has done so meanwhile."""

        async def work(connection: Connection) -> bool:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval(SQL.has_partition, self._table, day):
                return False
            # Writers queue behind a drop that itself waits, for example for a backup, so it gives up soon.
            await connection.execute(f"set local lock_timeout = '{DROP_LOCK}'; drop table {self._table}_{day:d}")
            return True

        dropped = await self._database.transact(work)
        self._days.discard(day)
        return dropped

    @contextmanager
    def expected(self, day: int) -> Iterator[None]:
        """Turn a missing partition into `Contended`, and forget that it was there."""
        try:
            yield
        except Exception as error:
            if _has_no_partition(error):
                self._days.discard(day)
                raise Contended(f"another node has dropped the partition of day {day}") from error
            raise


def _has_no_partition(error: Exception) -> bool:
    """Whether a row had no partition. Postgres reports this as a check violation without a constraint name."""
    return getattr(error, "sqlstate", "") == CHECK_VIOLATION and getattr(error, "constraint_name", None) is None
