"""The event store over distributed tables: each worker's part of a batch is one commit on that worker.

The coordinator takes no part, except for partitions, numbers of new bookings, and the map of places. A map may be
outdated: the functions that record refuse places that are elsewhere, and the map is read anew.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from zlib import crc32

import trio

from actors.events.messages import Row
from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable, TransientStorageError
from storage.distribution import COORDINATOR, DistributionError, PlaceMap, Worker, read_places
from storage.pool import Database
from storage.postgres.event_partitions import EventPartitions
from storage.postgres.events import PostgresEvents
from storage.statements import statements

SQL = statements("events")

log = logging.getLogger(__name__)

ELSEWHERE = ("CTG01", "42P01", "42883")
"""The errors of a worker that does not hold the places of a batch, or that has left the cluster and so lacks its tables or
functions: nothing was written."""

REREAD_SECONDS = 1.0
"""How often the map is read at most while a worker does not answer."""


@dataclass(eq=False, slots=True)
class Part:
    """The rows of one worker, which one commit writes and journals under `id` in `place`."""

    place: int
    id: BatchId
    rows: Sequence[Row]
    in_doubt: bool = False
    """Whether an attempt may have committed."""
    added: Collection[bytes] | None = None
    """The keys that the commit added."""


@dataclass(eq=False, slots=True)
class Plan:
    """The parts of a batch over all its attempts. `used` are the places of all, also of those that were split anew."""

    parts: list[Part]
    used: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.used = {part.place for part in self.parts}

    def replace(self, part: Part, parts: Sequence[Part]) -> None:
        self.parts.remove(part)
        self.parts.extend(parts)
        self.used.update(each.place for each in parts)


class DistributedEvents(PostgresEvents):
    """Events in tables that are distributed by place, side by side. The rest is as on one Postgres."""

    def __init__(self, database: Database, places: PlaceMap) -> None:
        super().__init__(database)
        self._partitions = EventPartitions(database, "event_keys", schema="undistributed")
        self._distributed = EventPartitions(database, "event_keys")
        self.places = places
        # Those of the workers at the start. A worker that is added later shares one.
        self.count = len(places.workers)
        self._pools: dict[Worker, Database] = {}
        self._reading = trio.Lock()
        self._read_at = trio.current_time()

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        if day < self.places.since:
            return await super().record(batch_id, day, rows)
        await self._distributed.prepare([day])
        plan = self.plan(batch_id, rows)
        errors: list[Exception] = []
        todo = [part for part in plan.parts if part.added is None]
        if len(todo) == 1:
            await self._record_part(batch_id, todo[0], day, errors)
        else:
            async with trio.open_nursery() as nursery:
                for part in todo:
                    nursery.start_soon(self._record_part, batch_id, part, day, errors)
        if errors:
            raise _worst(errors, in_doubt=any(part.in_doubt for part in plan.parts))
        return [key for part in plan.parts for key in part.added or ()]

    def section_of(self, place: int) -> int:
        return self.places.section_of(place, self.count)

    async def prepare(self, days: Sequence[int]) -> None:
        await super().prepare([day for day in days if day < self.places.since])
        await self._distributed.prepare([day for day in days if day >= self.places.since])

    async def drop_before(self, day: int) -> Sequence[int]:
        return sorted({*await super().drop_before(day), *await self._distributed.drop_before(day)})

    def plan(self, batch_id: BatchId, rows: Sequence[Row]) -> Plan:
        """The plan of a batch, made at its first attempt."""
        if batch_id.decided is None:
            batch_id.decided = Plan(self._parts(batch_id, rows, used=set()))
        plan: Plan = batch_id.decided
        return plan

    def _parts(self, batch_id: BatchId, rows: Sequence[Row], used: Collection[int]) -> list[Part]:
        """A part for each worker that holds places of these rows, in places that are not `used`. Raises
        `StorageUnavailable` if a worker has none."""
        parts: list[Part] = []
        by_worker: dict[int, list[Row]] = {}
        for row in rows:
            by_worker.setdefault(self.places.of[row.key[0]], []).append(row)
        for worker, some in by_worker.items():
            place = self._free_place(worker, batch_id.owner, used)
            parts.append(Part(place, BatchId(batch_id.owner, batch_id.seq), some))
        return parts

    def _free_place(self, worker: int, owner: str, used: Collection[int]) -> int:
        """A place of a worker for the journal and the counts of an owner: normally always the same."""
        held = self.places.places_of(worker)
        first = crc32(owner.encode()) % len(held)
        free = [place for place in (*held[first:], *held[:first]) if place not in used]
        if not free:
            raise StorageUnavailable("the places of a batch have moved too often")
        return free[0]

    async def _record_part(self, batch_id: BatchId, part: Part, day: int, errors: list[Exception]) -> None:
        """Record one part. Appends what went wrong to `errors`: each part is tried, whatever happens to the others."""
        worker = self.places.workers[self.places.of[part.place]]
        try:
            with self._distributed.expected(day):
                part.added = await self._record_at(self.pool(worker), part.place, part.id, day, part.rows)
            part.in_doubt = False
        except OutcomeUnknown as error:
            part.in_doubt = True
            errors.append(error)
        except Contended as error:
            errors.append(error)
        except StorageUnavailable as error:
            errors.append(error)
            await self._read_again(older_than=REREAD_SECONDS)
        except Exception as error:
            if not _is_elsewhere(error):
                errors.append(error)
                return
            errors.append(Contended(f"the places of a batch are no longer on worker {worker.number}"))
            await self._moved(batch_id, part, day, errors)

    async def _moved(self, batch_id: BatchId, part: Part, day: int, errors: list[Exception]) -> None:
        """Split a refused part by the present map. Before that, an attempt of it that may still commit is settled."""
        plan: Plan = batch_id.decided
        if not await self._read_again():
            return
        if part.in_doubt:
            # An empty batch under the same id: if it is new, none of the earlier attempts can commit any more.
            worker = self.places.workers[self.places.of[part.place]]
            try:
                fence = await self.pool(worker).commit(
                    lambda c: c.fetchval(SQL.record, part.place, part.id.owner, part.id.seq, day, [], [], [])
                )
            except Exception as error:
                if not _is_elsewhere(error):
                    errors.append(error)
                return
            if fence is None:
                part.added = part.id.decided
                part.in_doubt = False
                return
        try:
            plan.replace(part, self._parts(batch_id, part.rows, plan.used))
        except StorageUnavailable as error:
            errors.append(error)

    async def _read_again(self, *, older_than: float = 0.0) -> bool:
        """Read the map, unless it is young enough. Returns whether it was read; one reads for all that wait."""
        asked_at = trio.current_time()
        async with self._reading:
            if self._read_at >= asked_at or trio.current_time() - self._read_at < older_than:
                return True
            self._read_at = trio.current_time()
            try:
                self.places = await read_places(self._database)
            except (TransientStorageError, DistributionError) as error:
                log.warning("cannot read where the places of events are: %s", error)
                return False
            return True

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
            limits = self._database.limits
            self._pools[worker] = self._database.beside(
                target, replace(limits, connections=max(1, limits.connections // 2))
            )
        return self._pools[worker]

    def __repr__(self) -> str:
        return f"<DistributedEvents {self.places!r}>"


def _is_elsewhere(error: Exception) -> bool:
    return getattr(error, "sqlstate", "") in ELSEWHERE


def _worst(errors: Sequence[Exception], *, in_doubt: bool) -> Exception:
    """The error of a batch: a bug first; unknown if a part is in doubt; contended if nothing else keeps parts back."""
    for error in errors:
        if not isinstance(error, TransientStorageError):
            return error
    if in_doubt:
        return next((error for error in errors if isinstance(error, OutcomeUnknown)), OutcomeUnknown(str(errors[0])))
    return next((error for error in errors if isinstance(error, StorageUnavailable)), errors[0])
