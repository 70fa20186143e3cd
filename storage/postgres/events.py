"""The event store over Postgres."""

from collections.abc import Collection, Mapping, Sequence

from actors.events.messages import NEVER, Kind, Row, Window
from actors.values import Turn
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("events")

LOCK = 7_206_341_119
"""The advisory lock that nodes take turns on when they make or drop partitions; an arbitrary number."""

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

        async def work(connection: Connection) -> Collection[bytes]:
            kept = await connection.fetchrow(
                SQL.record,
                turn.owner,
                turn.seq,
                day,
                [row.booking_id for row in rows],
                [row.key for row in rows],
                [KINDS[row.kind] for row in rows],
            )
            if kept["taken"]:
                turn.decided = kept["added"]
            added: Collection[bytes] = turn.decided
            return added

        return await self._database.transact(work)

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.windows, sorted(booking_ids)))
        return {row["id"]: NEVER if row["start_ms"] is None else Window(row["start_ms"], row["end_ms"]) for row in rows}

    async def prepare(self, days: Sequence[int]) -> None:
        async def work(connection: Connection) -> None:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            present = {row["day"] for row in await connection.fetch(SQL.partitions)}
            for day in days:
                if day not in present:
                    # Attaching waits for nobody who writes to other days, as making a partition in place would.
                    await connection.execute(
                        f"create table events_{day:d} (like events including all, check (day = {day:d}));"
                        f"alter table events attach partition events_{day:d} for values in ({day:d})"
                    )

        if not self._days.issuperset(days):
            await self._database.transact(work)
            self._days.update(days)

    async def drop_before(self, day: int) -> Sequence[int]:
        async def work(connection: Connection) -> Sequence[int]:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            old = [row["day"] for row in await connection.fetch(SQL.partitions) if row["day"] < day]
            for each in old:
                await connection.execute(f"drop table events_{each:d}")
            return old

        dropped = await self._database.transact(work)
        self._days.difference_update(dropped)
        return dropped
