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
"""The advisory lock that nodes take turns on when they make or drop partitions; an arbitrary number beside the others."""

DROP_LOCK = "100ms"
"""How long a drop waits for those who use the table."""

CHECK_VIOLATION = "23514"

UNIQUE_VIOLATION = "23505"

KINDS = {Kind.IMPRESSION: 0, Kind.CLICK: 1}

CAREFUL_BATCHES = 64
"""After a batch that met a key of its day, as many expect to. Keys that are new throughout are the rule: a node remembers
those that it has committed, and meets others after its start, or where a visitor's events reach several nodes."""


class PostgresEvents:
    """The `events` table, partitioned by day, and `delivery_days`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Days whose partition this node has made, or found.
        self._days: set[int] = set()
        self._careful = 0

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        if day not in self._days:
            await self.prepare([day])
        offered = batch_id.owner, batch_id.seq, day, *packed(rows)
        if batch_id.decided is None and not self._careful:
            # What such a batch adds is known before it is sent, so its statement may be its own transaction: should the
            # answer get lost, the next attempt learns from the journal whether this was kept.
            batch_id.decided = [row.key for row in rows]
            if await self._record_new(day, offered):
                return [row.key for row in rows]
            self._careful = CAREFUL_BATCHES
        self._careful = max(0, self._careful - 1)

        async def work(connection: Connection) -> Collection[bytes]:
            with self._partition(day):
                kept = await connection.fetchrow(SQL.record, *offered)
            if kept["taken"]:
                # It is heard before the commit is sent, whose outcome may stay unknown.
                batch_id.decided = _keys_in(kept["added"] or b"")
            added: Collection[bytes] = batch_id.decided
            return added

        return await self._database.transact(work)

    async def _record_new(self, day: int, offered: Sequence[object]) -> bool:
        """Keep a turn's first attempt whole; False where the day had one of its keys, and nothing was kept."""

        async def work(connection: Connection) -> bool:
            try:
                with self._partition(day):
                    taken: bool = await connection.fetchval(SQL.record_new, *offered)
            except Exception as error:
                if getattr(error, "sqlstate", "") == UNIQUE_VIOLATION:
                    return False
                raise
            assert taken, "a turn was kept before its first attempt"
            return True

        return await self._database.commit(work)

    @contextmanager
    def _partition(self, day: int) -> Iterator[None]:
        """Ask again about a day whose partition turns out to be gone."""
        try:
            yield
        except Exception as error:
            if _has_no_partition(error):
                self._days.discard(day)
                raise Contended(f"another node has dropped day {day}") from error
            raise

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.windows, sorted(booking_ids)))
        return {row["id"]: _window(row["start_ms"], row["weeks"]) for row in rows}

    async def prepare(self, days: Sequence[int]) -> None:
        # A transaction a day: over many shards one takes its time, and what is made stays made.
        for day in sorted(set(days) - self._days):
            await self._make(day)
            self._days.add(day)

    async def _make(self, day: int) -> None:
        """Make one day's partition, unless a node has done so."""

        async def work(connection: Connection) -> None:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval(SQL.is_there, f"events_{day:d}"):
                # Attaching waits for nobody who writes to other days, as making a partition in place would.
                await connection.execute(f"create table events_{day:d} (like events including all)")
                await connection.execute(f"alter table events attach partition events_{day:d} for values in ({day:d})")

        await self._database.transact(work)

    async def drop_before(self, day: int) -> Sequence[int]:
        present = await self._database.read(lambda connection: connection.fetch(SQL.partitions))
        return [row["day"] for row in present if row["day"] < day and await self._drop(row["day"])]

    async def _drop(self, day: int) -> bool:
        """Drop one day; False where another node has done so meanwhile."""

        async def work(connection: Connection) -> bool:
            await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
            if not await connection.fetchval(SQL.is_there, f"events_{day:d}"):
                return False
            # Whoever records waits behind a drop that waits, say for a backup: so it gives up soon.
            await connection.execute(f"set local lock_timeout = '{DROP_LOCK}'; drop table events_{day:d}")
            return True

        dropped = await self._database.transact(work)
        self._days.discard(day)
        return dropped


def packed(rows: Sequence[Row]) -> tuple[list[str], list[bytes], list[bytes]]:
    """Sorted rows as the statements take them: bookings, and for each its keys in one piece, and its kinds. An array with
    an element for each event would cost the driver more than all else does."""
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
    """Whether a row found no partition: a check that was violated, and that has no name."""
    return getattr(error, "sqlstate", "") == CHECK_VIOLATION and getattr(error, "constraint_name", None) is None
