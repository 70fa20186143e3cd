"""The event store over Postgres."""

from collections.abc import Collection, Mapping, Sequence
from zlib import crc32

from actors.bookings.reports import LATE_DAYS
from actors.events.messages import NEVER, FilteredRow, Row, Window
from actors.times import WEEK_MS
from actors.values import BatchId
from storage.connection.pool import Connection, Database
from storage.events.packing import counted_by_site, keys_without, packed, rows_in_order
from storage.events.partitions import EventPartitions
from storage.rows.journal import record_batch
from storage.rows.statements import statements

SQL = statements("events")

UNIQUE_VIOLATION = "23505"

PLACES = 256
"""Places of keys: the values of their first byte."""

CAREFUL_BATCHES = 4
"""How many batches use the careful statement after one that contained a known key.

Normally all keys are new, because a node remembers the latest that it has committed. Others appear after its start, when a
visitor's events reach several nodes, or when they come again later than a node remembers. Of large batches, the careful
statement takes half as much time again."""


def home_of(owner: str) -> int:
    """The place of an owner's journal and counts. Owners have different ones, so their batches do not wait for each other."""
    return crc32(owner.encode()) % PLACES


class PostgresEvents:
    """`event_keys`, partitioned by day, `event_counts` and `event_journal`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._partitions = EventPartitions(database, "event_keys")
        self._numbers = BookingNumbers(database)
        self._careful = 0

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        # Each attempt offers the rows of the first one: the journal has positions in them.
        offered: Sequence[Row] = batch_id.decided or rows
        batch_id.decided = offered
        await self._partitions.prepare([day])
        with self._partitions.expected(day):
            return await self._record_at(self._database, home_of(batch_id.owner), batch_id, day, offered)

    async def _record_at(
        self, database: Database, place: int, batch_id: BatchId, day: int, rows: Sequence[Row]
    ) -> Collection[bytes]:
        """Record rows on one server, with journal and counts in this place. The day has a partition. Each statement is a
        transaction of its own, which the journal lets commit once."""
        numbers = await self._numbers.of({row.booking_id for row in rows})
        by_site = bool(rows) and rows[0].site is not None
        offered = place, batch_id.owner, batch_id.seq, day, *packed(rows, numbers)
        if not self._careful:
            sites = counted_by_site(rows, numbers) if by_site else ()
            if await self._record_new(database, offered, sites):
                return [row.key for row in rows]
        in_order = rows_in_order(rows)
        of_sites = [row.site or 0 for row in in_order] if by_site else []
        known = await database.commit(lambda connection: connection.fetchval(SQL.record, *offered, of_sites))
        self._careful = CAREFUL_BATCHES if known else max(0, self._careful - 1)
        return keys_without(in_order, known or ())

    async def _record_new(self, database: Database, offered: Sequence[object], sites: Sequence[object]) -> bool:
        """Write a batch, with its counts by website if there are `sites`. Returns False, and writes nothing, if the day
        already has one of its keys, or if the batch is in the journal."""

        async def work(connection: Connection) -> bool:
            statement = SQL.record_new_by_site if sites else SQL.record_new
            try:
                recorded: bool = await connection.fetchval(statement, *offered, *sites)
            except Exception as error:
                if getattr(error, "sqlstate", "") == UNIQUE_VIOLATION:
                    return False
                raise
            return recorded

        return await database.commit(work)

    async def add_filtered(self, batch_id: BatchId, rows: Sequence[FilteredRow]) -> None:
        booking_ids, days, filtered = zip(*rows, strict=True)

        async def work(connection: Connection) -> None:
            if await record_batch(connection, batch_id):
                reasons = map(list, zip(*filtered, strict=True))
                await connection.execute(SQL.add_filtered, list(booking_ids), list(days), *reasons, LATE_DAYS)

        await self._database.transact(work)

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        rows = await self._database.fetch(SQL.windows, sorted(booking_ids))
        return {row["id"]: _window(row["start_ms"], row["weeks"]) for row in rows}

    async def prepare(self, days: Sequence[int]) -> None:
        await self._partitions.prepare(days)

    async def drop_before(self, day: int) -> Sequence[int]:
        return await self._partitions.drop_before(day)


def _window(start_ms: int | None, weeks: int) -> Window:
    return NEVER if start_ms is None else Window(start_ms, start_ms + weeks * WEEK_MS)


REMEMBERED = 10_000
"""Bookings whose number a node remembers, about 200 bytes each."""


class BookingNumbers:
    """`event_bookings`. A booking gets its number before its first event; a number never changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, int] = {}

    async def of(self, booking_ids: Collection[str]) -> Mapping[str, int]:
        """The numbers of these bookings, and perhaps of others. Gives numbers to bookings that have none."""
        if any(each not in self._known for each in booking_ids):
            numbers = await self._database.read(lambda connection: _read(connection, sorted(booking_ids)))
            if len(self._known) + len(numbers) > REMEMBERED:
                self._known.clear()
            self._known.update(numbers)
        return self._known

    def __repr__(self) -> str:
        return f"<BookingNumbers of {len(self._known)}>"


async def _read(connection: Connection, booking_ids: list[str]) -> dict[str, int]:
    """The numbers of bookings, which are sorted. Runs outside a transaction: numbers that stay unused do no harm."""
    rows = await connection.fetch(SQL.numbers, booking_ids)
    if len(rows) < len(booking_ids):
        await connection.execute(SQL.number, booking_ids)
        rows = await connection.fetch(SQL.numbers, booking_ids)
    return {row["id"]: row["number"] for row in rows}
