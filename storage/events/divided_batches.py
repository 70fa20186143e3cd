"""Divides batches of events among the workers of a distributed database: each worker's part is one commit.

The map of places may be outdated. A worker refuses places that are elsewhere; the map is then read anew, and the part is
divided by it. Knows nothing of SQL and connections: see `Workers`.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from zlib import crc32

import trio

from actors.events.messages import Row
from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable, TransientStorageError
from storage.events.distribution import DistributionError, PlaceMap

log = logging.getLogger(__name__)

REREAD_SECONDS = 1.0
"""How often the map is read at most while a worker does not answer."""


class Elsewhere(Exception):
    """A worker does not hold the places of a part, or has left the cluster. Nothing was written."""


@dataclass(eq=False, slots=True)
class Part:
    """The rows of one worker, which one commit writes and journals under `id` in `place`."""

    place: int
    id: BatchId
    rows: Sequence[Row]
    in_doubt: bool = False
    """Whether an attempt may have committed."""
    is_settling: bool = False
    """Whether its id may have been taken to settle it, so that finding the id in the journal does not show a commit."""
    added: Collection[bytes] | None = None
    """The keys that the commit added."""


@dataclass(eq=False, slots=True)
class Plan:
    """The parts of a batch over all its attempts. `used` are the places of all, also of those that were divided anew."""

    parts: list[Part]
    used: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.used = {part.place for part in self.parts}

    def replace(self, part: Part, parts: Sequence[Part]) -> None:
        self.parts.remove(part)
        self.parts.extend(parts)
        self.used.update(each.place for each in parts)


class Workers(Protocol):
    """The workers, by number. All methods raise as those of stores do; both of parts also `Elsewhere`."""

    async def record_part(self, worker: int, part: Part, day: int) -> Collection[bytes]:
        """Commit a part on a worker, unless its id is in the journal; returns the keys that were new."""
        ...

    async def settle_part(self, worker: int, part: Part, day: int) -> Collection[bytes] | None:
        """Returns the keys that were new if an attempt to record a part has committed. Otherwise None, and none can commit
        any more: its id is taken. Can be repeated if its own outcome is unknown."""
        ...

    async def read_places(self) -> PlaceMap:
        """Read where the places are. Raises also `DistributionError`."""
        ...


class DividedBatches:
    """Records batches on the workers that hold their places."""

    def __init__(self, workers: Workers, places: PlaceMap) -> None:
        self._workers = workers
        self.places = places
        self._reading = trio.Lock()
        self._read_at = trio.current_time()

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        """`EventStore.record`. Each part is tried, whatever happens to the others."""
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
        """Record one part. Appends what went wrong to `errors`."""
        if part.is_settling:
            errors.append(OutcomeUnknown("a part of a batch is not settled yet"))
            await self._divide_anew(batch_id, part, day, errors)
            return
        worker = self.places.of[part.place]
        try:
            part.added = await self._workers.record_part(worker, part, day)
            part.in_doubt = False
        except OutcomeUnknown as error:
            part.in_doubt = True
            errors.append(error)
        except StorageUnavailable as error:
            errors.append(error)
            await self._read_again(older_than=REREAD_SECONDS)
        except Elsewhere:
            errors.append(Contended(f"the places of a batch are no longer on worker {worker}"))
            await self._divide_anew(batch_id, part, day, errors)
        except Exception as error:
            errors.append(error)

    async def _divide_anew(self, batch_id: BatchId, part: Part, day: int, errors: list[Exception]) -> None:
        """Divide a refused part by the present map. Before that, an attempt of it that may still commit is settled."""
        plan: Plan = batch_id.decided
        if not await self._read_again():
            return
        try:
            part.is_settling = part.in_doubt
            if part.in_doubt:
                part.added = await self._workers.settle_part(self.places.of[part.place], part, day)
            if part.added is None:
                plan.replace(part, self._parts(batch_id, part.rows, plan.used))
            else:
                part.in_doubt = part.is_settling = False
        except Elsewhere:
            pass
        except Exception as error:
            errors.append(error)

    async def _read_again(self, *, older_than: float = 0.0) -> bool:
        """Read the map, unless it is young enough. Returns whether it was read; one reads for all that wait."""
        asked_at = trio.current_time()
        async with self._reading:
            if self._read_at >= asked_at or trio.current_time() - self._read_at < older_than:
                return True
            self._read_at = trio.current_time()
            try:
                self.places = await self._workers.read_places()
            except (TransientStorageError, DistributionError) as error:
                log.warning("cannot read where the places of events are: %s", error)
                return False
            return True

    def __repr__(self) -> str:
        return f"<DividedBatches {self.places!r}>"


def _worst(errors: Sequence[Exception], *, in_doubt: bool) -> Exception:
    """The error of a batch: a bug first; unknown if a part is in doubt; contended if nothing else keeps parts back."""
    for error in errors:
        if not isinstance(error, TransientStorageError):
            return error
    if in_doubt:
        return next((error for error in errors if isinstance(error, OutcomeUnknown)), OutcomeUnknown(str(errors[0])))
    return next((error for error in errors if isinstance(error, StorageUnavailable)), errors[0])
