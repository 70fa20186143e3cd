"""The event store over Postgres."""

from collections.abc import Collection, Mapping, Sequence

from actors.events.messages import NEVER, Kind, Row, Window
from actors.values import Contended, Turn
from actors.weeks import WEEK_MS
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("events")

LOCK = 7_206_341_120
"""The advisory lock that nodes take turns on when they make or drop partitions; an arbitrary number beside the others."""

DROP_LOCK = "100ms"
"""How long a drop waits for those who use the table."""

CHECK_VIOLATION = "23514"

KINDS = {Kind.IMPRESSION: 0, Kind.CLICK: 1}


class PostgresEvents:
    """The `events` table, partitioned by day, and `delivery_days`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Days whose partition this node has made, or found.
        self._days: set[int] = set()

    async def record(self, turn: Turn, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        if day not in self._days:
            await self.prepare([day])
        columns = [row.booking_id for row in rows], [row.key for row in rows], [KINDS[row.kind] for row in rows]

        async def work(connection: Connection) -> Collection[bytes]:
            try:
                kept = await connection.fetchrow(SQL.record, turn.owner, turn.seq, day, *columns)
            except Exception as error:
                if _has_no_partition(error):
                    self._days.discard(day)
                    raise Contended(f"another node has dropped day {day}") from error
                raise
            if kept["taken"]:
                turn.decided = kept["added"]
            added: Collection[bytes] = turn.decided
            return added

        return await self._database.transact(work)

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.windows, sorted(booking_ids)))
        return {row["id"]: _window(row["start_ms"], row["weeks"]) for row in rows}

    async def prepare(self, days: Sequence[int]) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            present = {row["day"] for row in await connection.fetch(SQL.partitions)}
            for day in sorted(set(days) - present):
                # Attaching waits for nobody who writes to other days, as making a partition in place would.
                await connection.execute(
                    f"create table events_{day:d} (like events including all);"
                    f"alter table events attach partition events_{day:d} for values in ({day:d})"
                )

        if not self._days.issuperset(days):
            await self._database.transact(work)
            self._days.update(days)

    async def drop_before(self, day: int) -> Sequence[int]:
        present = await self._database.read(lambda connection: connection.fetch(SQL.partitions))
        return [row["day"] for row in present if row["day"] < day and await self._drop(row["day"])]

    async def _drop(self, day: int) -> bool:
        """Drop one day; False where another node has done so meanwhile."""

        async def work(connection: Connection) -> bool:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval("select to_regclass($1) is not null", f"events_{day:d}"):
                return False
            # Whoever records waits behind a drop that waits, say for a backup: so it gives up soon.
            await connection.execute(f"set local lock_timeout = '{DROP_LOCK}'; drop table events_{day:d}")
            return True

        dropped = await self._database.transact(work)
        self._days.discard(day)
        return dropped


def _window(start_ms: int | None, weeks: int) -> Window:
    return NEVER if start_ms is None else Window(start_ms, start_ms + weeks * WEEK_MS)


def _has_no_partition(error: Exception) -> bool:
    """Whether a row found no partition: a check that was violated, and that has no name."""
    return getattr(error, "sqlstate", "") == CHECK_VIOLATION and getattr(error, "constraint_name", None) is None
