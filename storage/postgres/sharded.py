"""The event store over distributed tables: one transaction per shard, with the batch id, the keys and the counts."""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby

import trio

from actors.events.messages import Kind, Row
from actors.events.shards import ShardMap
from actors.values import BatchId, StorageUnavailable
from storage.pool import Connection, Database
from storage.postgres.events import PostgresEvents, packed
from storage.statements import statements

SQL = statements("sharded")

Added = Sequence[bytes]


class ShardedEvents(PostgresEvents):
    """`events`, `delivery_days` and `event_turns`, distributed by booking and colocated. The rest is as on one Postgres.

    A batch may span shards, though its actor sends one shard's rows at a time. Each shard's part commits or fails as a
    whole. If a part fails, the next attempt reads in each shard's journal which parts have committed.
    """

    def __init__(self, database: Database, shards: ShardMap) -> None:
        super().__init__(database)
        self.shards = shards
        # Events get half of the pool, however many shards there are. With several workers, one that hangs gets no more
        # than half of that half.
        room = max(1, database.limits.connections // 2)
        workers = {shard.worker for shard in shards.shards}
        self._room = trio.CapacityLimiter(room)
        self._workers = {each: trio.CapacityLimiter(max(1, room // min(2, len(workers)))) for each in workers}
        # A booking in each shard, because the journal row must lie in the shard it covers. It stays the same for the life
        # of the process, so that a batch id is looked up where it was written.
        self._places: dict[int, str] = {}

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        batch_id.decided = batch_id.decided or {}
        added: list[bytes] = []
        if not rows:
            await self.prepare([day])
        for shard, part in self._parts(rows):
            async with self._admitted(self.shards.shards[shard].worker):
                if day not in self._days:
                    await self.prepare([day])
                added += await self._record_part(batch_id, shard, day, part)
        return added

    def _parts(self, rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
        """The rows of each shard, still sorted."""

        def shard(row: Row) -> int:
            return self.shards.place_of(row.booking_id)

        return [(place, list(part)) for place, part in groupby(sorted(rows, key=shard), shard)]

    async def _record_part(self, batch_id: BatchId, shard: int, day: int, rows: Sequence[Row]) -> Added:
        """Write one shard's part in one transaction. Returns the keys it added, now or in an earlier attempt."""
        place = self._places.setdefault(shard, rows[0].booking_id)
        decided: dict[int, Added] = batch_id.decided

        async def work(connection: Connection) -> Added:
            if await connection.fetchval(SQL.record_batch, place, batch_id.owner, batch_id.seq) is None:
                return decided.get(shard, ())
            with self._partition(day):
                inserted = await connection.fetch(SQL.insert, day, *packed(rows))
            added = {row["key"] for row in inserted}
            if added:
                await connection.execute(SQL.count, day, *_counts([row for row in rows if row.key in added]))
            # Set before the commit, whose outcome may stay unknown.
            decided[shard] = [*added]
            return decided[shard]

        return await self._database.transact(work)

    @asynccontextmanager
    async def _admitted(self, worker: int) -> AsyncIterator[None]:
        """Wait for a free transaction among those that events may use on this worker and in total, as long as the pool
        would."""
        seconds = self._database.limits.wait_seconds
        async with AsyncExitStack() as stack:
            with trio.move_on_after(seconds) as waiting:
                # The worker's limiter first: waiting for a slow worker must not block the others.
                await stack.enter_async_context(self._workers[worker])
                await stack.enter_async_context(self._room)
            if waiting.cancelled_caught:
                raise StorageUnavailable(f"no connection for events became free within {seconds:g} s")
            yield

    def __repr__(self) -> str:
        return f"<ShardedEvents {self.shards!r}, {self._room.borrowed_tokens} of {self._room.total_tokens} busy>"


def _counts(rows: Sequence[Row]) -> tuple[list[str], list[int], list[int]]:
    """Bookings, in the order of the rows, with their impressions and clicks."""
    counts = Counter((row.booking_id, row.kind) for row in rows)
    bookings = list(dict.fromkeys(row.booking_id for row in rows))
    impressions, clicks = [[counts[booking, kind] for booking in bookings] for kind in (Kind.IMPRESSION, Kind.CLICK)]
    return bookings, impressions, clicks
