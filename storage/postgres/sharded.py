"""The event store over distributed tables: a transaction a shard, each with the turn, the keys and the counts."""

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
    """`events`, `delivery_days` and `event_turns`, distributed by booking and side by side; the rest as over one Postgres.

    A batch may lie in several shards, though the desk hands in one shard's at a time. Each part is kept whole or not at all;
    where one is not, the others may be, and the turn's next attempt finds out from the journal of each.
    """

    def __init__(self, database: Database, shards: ShardMap) -> None:
        super().__init__(database)
        self.shards = shards
        # The other half of the pool is for all that is not events, however many shards there are; and where there are more
        # workers than one, one that hangs takes no more than half of this half.
        room = max(1, database.limits.connections // 2)
        workers = {shard.worker for shard in shards.shards}
        self._room = trio.CapacityLimiter(room)
        self._workers = {each: trio.CapacityLimiter(max(1, room // min(2, len(workers)))) for each in workers}
        # For each shard a booking that lies there: the journal's row has to lie with what it vouches for. It stays the same
        # for as long as the owners of turns live, so that a turn is looked for where it was kept.
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
                added += await self._keep(batch_id, shard, day, part)
        return added

    def _parts(self, rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
        """The rows of each shard, which stay sorted."""

        def shard(row: Row) -> int:
            return self.shards.place_of(row.booking_id)

        return [(place, list(part)) for place, part in groupby(sorted(rows, key=shard), shard)]

    async def _keep(self, batch_id: BatchId, shard: int, day: int, rows: Sequence[Row]) -> Added:
        """One shard's part in one transaction; what it added, now or when it was kept before."""
        place = self._places.setdefault(shard, rows[0].booking_id)
        decided: dict[int, Added] = batch_id.decided

        async def work(connection: Connection) -> Added:
            if await connection.fetchval(SQL.take, place, batch_id.owner, batch_id.seq) is None:
                return decided.get(shard, ())
            with self._partition(day):
                kept = await connection.fetch(SQL.keep, day, *packed(rows))
            added = {row["key"] for row in kept}
            if added:
                await connection.execute(SQL.count, day, *_counts([row for row in rows if row.key in added]))
            # It is heard before the commit is sent, whose outcome may stay unknown.
            decided[shard] = [*added]
            return decided[shard]

        return await self._database.transact(work)

    @asynccontextmanager
    async def _admitted(self, worker: int) -> AsyncIterator[None]:
        """Wait for one of the transactions that events may have at once on this worker, and of those that they may have in
        all, as long as the pool would."""
        seconds = self._database.limits.wait_seconds
        async with AsyncExitStack() as stack:
            with trio.move_on_after(seconds) as waiting:
                # The worker's first: nobody who waits for it keeps one from the others.
                await stack.enter_async_context(self._workers[worker])
                await stack.enter_async_context(self._room)
            if waiting.cancelled_caught:
                raise StorageUnavailable(f"no transaction for events was free within {seconds:g} s")
            yield

    def __repr__(self) -> str:
        return f"<ShardedEvents {self.shards!r}, {self._room.borrowed_tokens} of {self._room.total_tokens} at work>"


def _counts(rows: Sequence[Row]) -> tuple[list[str], list[int], list[int]]:
    """Bookings, sorted as the rows are, with their impressions and clicks."""
    counts = Counter((row.booking_id, row.kind) for row in rows)
    bookings = list(dict.fromkeys(row.booking_id for row in rows))
    impressions, clicks = [[counts[booking, kind] for booking in bookings] for kind in (Kind.IMPRESSION, Kind.CLICK)]
    return bookings, impressions, clicks
