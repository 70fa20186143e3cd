"""The event store over Postgres."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter

from actors.events.messages import NEVER, Kind, Row, Window
from actors.events.state import KEY_BYTES
from actors.values import BatchId, Contended
from actors.weeks import WEEK_MS
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("events")

LOCK = 7_206_341_120
"""The advisory lock that serializes the making and dropping of partitions. An arbitrary number, next to the others."""

DROP_LOCK = "100ms"
"""How long a drop waits for transactions that use the table."""

CHECK_VIOLATION = "23514"

UNIQUE_VIOLATION = "23505"

KINDS = {Kind.IMPRESSION: 0, Kind.CLICK: 1}

CAREFUL_BATCHES = 64
"""How many batches use the careful statement after one that contained a known key.

Normally all keys are new, because a node remembers those it has committed. Others appear after its start, or when a
visitor's events reach several nodes."""


class PostgresEvents:
    """The `events` table, partitioned by day, and `delivery_days`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Days whose partition this node has made or found.
        self._days: set[int] = set()
        self._careful = 0

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        if day not in self._days:
            await self.prepare([day])
        offered = batch_id.owner, batch_id.seq, day, *packed(rows)
        if batch_id.decided is None and not self._careful:
            # This statement adds all keys or fails, so it can be its own transaction: if its result is lost, the next
            # attempt reads in the journal whether it committed.
            batch_id.decided = [row.key for row in rows]
            if await self._record_new(day, offered):
                return [row.key for row in rows]
            self._careful = CAREFUL_BATCHES
        self._careful = max(0, self._careful - 1)

        async def work(connection: Connection) -> Collection[bytes]:
            with self._partition(day):
                row = await connection.fetchrow(SQL.record, *offered)
            if row["recorded"]:
                # Set before the commit, whose outcome may stay unknown.
                batch_id.decided = _keys_in(row["added"] or b"")
            added: Collection[bytes] = batch_id.decided
            return added

        return await self._database.transact(work)

    async def _record_new(self, day: int, offered: Sequence[object]) -> bool:
        """Write the first attempt of a batch. Returns False, and writes nothing, if the day already has one of its keys."""

        async def work(connection: Connection) -> bool:
            try:
                with self._partition(day):
                    recorded: bool = await connection.fetchval(SQL.record_new, *offered)
            except Exception as error:
                if getattr(error, "sqlstate", "") == UNIQUE_VIOLATION:
                    return False
                raise
            assert recorded, "the batch id was in the journal before the first attempt"
            return True

        return await self._database.commit(work)

    @contextmanager
    def _partition(self, day: int) -> Iterator[None]:
        """Turn a missing partition into `Contended`, and forget that it was there."""
        try:
            yield
        except Exception as error:
            if _has_no_partition(error):
                self._days.discard(day)
                raise Contended(f"another node has dropped the partition of day {day}") from error
            raise

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        rows = await self._database.fetch(SQL.windows, sorted(booking_ids))
        return {row["id"]: _window(row["start_ms"], row["weeks"]) for row in rows}

    async def prepare(self, days: Sequence[int]) -> None:
        # One transaction per day: over many shards each is slow, and finished ones must stay.
        for day in sorted(set(days) - self._days):
            await self._make(day)
            self._days.add(day)

    async def _make(self, day: int) -> None:
        """Make one day's partition, unless it exists."""

        async def work(connection: Connection) -> None:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval(SQL.has_partition, f"events_{day:d}"):
                # Attach instead of creating in place, which would wait for all writers of other days.
                await connection.execute(f"create table events_{day:d} (like events including all)")
                await connection.execute(f"alter table events attach partition events_{day:d} for values in ({day:d})")

        await self._database.transact(work)

    async def drop_before(self, day: int) -> Sequence[int]:
        present = await self._database.fetch(SQL.partitions)
        return [row["day"] for row in present if row["day"] < day and await self._drop(row["day"])]

    async def _drop(self, day: int) -> bool:
        """Drop one day. Returns False if another node has done so meanwhile."""

        async def work(connection: Connection) -> bool:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval(SQL.has_partition, f"events_{day:d}"):
                return False
            # Writers queue behind a drop that itself waits, for example for a backup, so it gives up soon.
            await connection.execute(f"set local lock_timeout = '{DROP_LOCK}'; drop table events_{day:d}")
            return True

        dropped = await self._database.transact(work)
        self._days.discard(day)
        return dropped


def packed(rows: Sequence[Row]) -> tuple[list[str], list[bytes], list[bytes]]:
    """Sorted rows as parameters: bookings, and for each its concatenated keys and its concatenated kinds.

    Arrays with an element per event would cost the driver more than everything else.
    """
    bookings, keys, kinds = [], [], []
    for booking_id, some in groupby(rows, itemgetter(0)):
        of_booking = list(some)
        bookings.append(booking_id)
        keys.append(b"".join([row.key for row in of_booking]))
        kinds.append(bytes([KINDS[row.kind] for row in of_booking]))
    return bookings, keys, kinds


def _keys_in(piece: bytes) -> list[bytes]:
    return [piece[at : at + KEY_BYTES] for at in range(0, len(piece), KEY_BYTES)]


def _window(start_ms: int | None, weeks: int) -> Window:
    return NEVER if start_ms is None else Window(start_ms, start_ms + weeks * WEEK_MS)


def _has_no_partition(error: Exception) -> bool:
    """Whether a row had no partition. Postgres reports this as a check violation without a constraint name."""
    return getattr(error, "sqlstate", "") == CHECK_VIOLATION and getattr(error, "constraint_name", None) is None
