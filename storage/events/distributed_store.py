"""The event store over distributed tables: each worker's part of a batch is one commit on that worker.

The coordinator takes no part, except for partitions, numbers of new bookings, and the map of places.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import trio

from actors.events.messages import Row
from actors.events.servers import ServerReport
from actors.values import BatchId, TransientStorageError
from storage.connection.pool import Connection, Database, worker_limits
from storage.events.distribution import COORDINATOR, PlaceMap, Worker, read_places
from storage.events.divided_batches import DividedBatches, Elsewhere, Part
from storage.events.packing import keys_without, rows_in_order
from storage.events.partitions import EventPartitions
from storage.events.store import PostgresEvents
from storage.rows.statements import statements
from storage.schema import room_for_connections, unsafe_settings

SQL, DISTRIBUTION = statements("events"), statements("distribution")

ELSEWHERE = ("CTG01", "42P01", "42883")
"""The errors of a worker that does not hold the places of a batch, or that has left the cluster and so lacks its tables or
functions: nothing was written."""


class DistributedEvents(PostgresEvents):
    """Events in tables that are distributed by place, side by side. The rest is as on one Postgres."""

    def __init__(self, database: Database, places: PlaceMap) -> None:
        super().__init__(database)
        self._partitions = EventPartitions(database, "event_keys", schema="undistributed")
        self._distributed = EventPartitions(database, "event_keys")
        self.batches = DividedBatches(self, places)
        # Those of the workers at the start. A worker that is added later shares one.
        self.count = len(places.workers)
        self._pools: dict[Worker, Database] = {}

    @property
    def places(self) -> PlaceMap:
        return self.batches.places

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        if day < self.places.since:
            return await super().record(batch_id, day, rows)
        await self._distributed.prepare([day])
        return await self.batches.record(batch_id, day, rows)

    def section_of(self, place: int) -> int:
        return self.places.section_of(place, self.count)

    async def prepare(self, days: Sequence[int]) -> None:
        await super().prepare([day for day in days if day < self.places.since])
        await self._distributed.prepare([day for day in days if day >= self.places.since])

    async def drop_before(self, day: int) -> Sequence[int]:
        return sorted({*await super().drop_before(day), *await self._distributed.drop_before(day)})

    # The workers.

    async def record_part(self, worker: int, part: Part, day: int) -> Collection[bytes]:
        with _elsewhere(), self._distributed.expected(day):
            return await self._record_at(self._pool_of(worker), part.place, part.id, day, part.rows)

    async def settle_part(self, worker: int, part: Part, day: int) -> Collection[bytes] | None:
        place, owner, seq, settled = part.place, part.id.owner, part.id.seq, f"{part.id.owner}-settled"

        async def work(connection: Connection) -> Sequence[int] | None:
            if await connection.fetchval(SQL.record_new, place, owner, seq, day, [], [], []):
                # For a repetition of this: the id was recorded here.
                await connection.fetchval(SQL.record_new, place, settled, seq, day, [], [], [])
                return None
            if await connection.fetchval(SQL.is_journalled, place, settled, seq):
                return None
            return await connection.fetchval(SQL.record, place, owner, seq, day, [], [], [], []) or ()

        with _elsewhere():
            known = await self._pool_of(worker).transact(work)
        return None if known is None else keys_without(rows_in_order(part.rows), known)

    async def read_places(self) -> PlaceMap:
        return await read_places(self._database)

    def _pool_of(self, worker: int) -> Database:
        return self.pool(self.places.workers[worker])

    def pool(self, worker: Worker) -> Database:
        """The connections to a worker; to the coordinator, those that all others use."""
        if worker.number == COORDINATOR:
            return self._database
        if worker not in self._pools:
            target = replace(
                self._database.target,
                host=worker.host,
                port=worker.port,
                application=f"catalog worker {worker.number}",
            )
            self._pools[worker] = self._database.separate_pool(target, worker_limits(self._database.limits))
        return self._pools[worker]

    def __repr__(self) -> str:
        return f"<DistributedEvents {self.places!r}>"


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Turn the refusal of a worker into `Elsewhere`."""
    try:
        yield
    except Exception as error:
        if getattr(error, "sqlstate", "") in ELSEWHERE:
            raise Elsewhere(str(error)) from error
        raise


async def ask_workers(events: DistributedEvents) -> Sequence[ServerReport]:
    """A report of each worker, all asked at once. Each is bounded by the time limits of the pool."""
    reports: dict[int, ServerReport] = {}

    async def ask(worker: Worker) -> None:
        reports[worker.number] = await _report(events, worker)

    async with trio.open_nursery() as nursery:
        for worker in events.places.workers.values():
            nursery.start_soon(ask, worker)
    return [reports[number] for number in sorted(reports)]


async def _report(events: DistributedEvents, worker: Worker) -> ServerReport:
    name, places = f"worker {worker.host}:{worker.port}", len(events.places.places_of(worker.number))
    database = events.pool(worker)
    try:
        unsafe = await unsafe_settings(database)
        lacks = await database.fetchval(DISTRIBUTION.lacks)
        prepared_seconds = await database.fetchval(DISTRIBUTION.prepared_seconds)
        room = await room_for_connections(database)
    except TransientStorageError as error:
        return ServerReport(worker.number, name, places, error=str(error))
    since = events.places.since
    return ServerReport(worker.number, name, places, "", unsafe, lacks or "", prepared_seconds, room, since)
