"""Bugs to plant in the division of batches among workers, one at a time: see `key_bugs`. Worlds on one database hide them."""

from collections.abc import Collection, Sequence

from actors.events.messages import Row
from actors.values import BatchId, StorageUnavailable
from storage.events.divided_batches import DividedBatches, Elsewhere, Part
from tests.simulation.planting import Bugs
from tests.simulation.rules import Scene
from tests.simulation.workers import WorkerEvents

BUGS = Bugs(Scene.WEBSITES)


@BUGS.part("workers")
class MovedPlacesNotChecked(WorkerEvents):
    """A worker records places that have moved to another one."""

    checks = False


@BUGS.part("workers")
class DoubtDividedAnew(WorkerEvents):
    """A part that may have committed is divided anew before it is settled."""

    async def settle_part(self, worker: int, part: Part, day: int) -> bool:
        return False


@BUGS.part("workers")
class SettledTakenForCommitted(WorkerEvents):
    """A part whose id was taken to settle it counts as committed."""

    async def settle_part(self, worker: int, part: Part, day: int) -> bool:
        at = self._at(worker, part)
        name = at.owner, at.seq
        before = name in self._cluster.settled
        return await super().settle_part(worker, part, day) or before


@BUGS.part("workers")
class ElsewhereTakenForKnown(WorkerEvents):
    """Refused parts are answered as duplicates."""

    async def record_part(self, worker: int, part: Part, day: int) -> Collection[bytes]:
        try:
            return await super().record_part(worker, part, day)
        except Elsewhere:
            return []


@BUGS.function(DividedBatches, "record")
async def half_a_batch_answered(
    batches: DividedBatches, batch_id: BatchId, day: int, rows: Sequence[Row]
) -> Collection[bytes]:
    """A batch is answered when some of its parts have committed."""
    try:
        return await _record(batches, batch_id, day, rows)
    except StorageUnavailable:
        added = [part.added for part in batches.plan(batch_id, rows).parts if part.added is not None]
        if not added:
            raise
        return [key for some in added for key in some]


@BUGS.function(DividedBatches, "_read_again")
async def map_never_read_again(batches: DividedBatches, *, older_than: float = 0.0) -> bool:
    """A node never learns that places moved."""
    return True


@BUGS.function(DividedBatches, "_record_part")
async def settled_part_recorded_again(
    batches: DividedBatches, batch_id: BatchId, part: Part, day: int, errors: list[Exception]
) -> None:
    """A part is recorded under an id that may have been taken to settle it."""
    part.is_settling = False
    await _record_part(batches, batch_id, part, day, errors)


@BUGS.function(DividedBatches, "_free_place")
def journal_place_used_again(batches: DividedBatches, worker: int, owner: str, used: Collection[int]) -> int:
    """A part that was divided anew is journalled in the place of an earlier one."""
    return _free_place(batches, worker, owner, ())


_record, _record_part, _free_place = DividedBatches.record, DividedBatches._record_part, DividedBatches._free_place
