"""Bugs to plant in the division of batches among workers, one at a time: see `key_bugs`. Worlds on one database hide them."""

from collections.abc import Collection, Sequence
from typing import Any

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

    async def settle_part(self, worker: int, part: Part, day: int) -> None:
        return None


@BUGS.part("workers")
class SettledTakenForCommitted(WorkerEvents):
    """A part whose id was taken to settle it counts as committed."""

    async def settle_part(self, worker: int, part: Part, day: int) -> Collection[bytes] | None:
        at = self._at(worker, part)
        before = (at.owner, at.seq) in self._cluster.settled
        added = await super().settle_part(worker, part, day)
        return [row.key for row in part.rows] if added is None and before else added


@BUGS.part("workers")
class ElsewhereTakenForKnown(WorkerEvents):
    """Refused parts are answered as duplicates."""

    async def record_part(self, worker: int, part: Part, day: int) -> Collection[bytes]:
        try:
            return await super().record_part(worker, part, day)
        except Elsewhere:
            return []


@BUGS.around(DividedBatches, "record")
async def half_a_batch_answered(
    right: Any, batches: DividedBatches, batch_id: BatchId, day: int, rows: Sequence[Row]
) -> Any:
    """A batch is answered when some of its parts have committed."""
    try:
        return await right(batches, batch_id, day, rows)
    except StorageUnavailable:
        added = [part.added for part in batches.plan(batch_id, rows).parts if part.added is not None]
        if not added:
            raise
        return [key for some in added for key in some]


@BUGS.function(DividedBatches, "_read_again")
async def map_never_read_again(batches: DividedBatches, *, older_than: float = 0.0) -> bool:
    """A node never learns that places moved."""
    return True


@BUGS.around(DividedBatches, "_record_part")
async def settled_part_recorded_again(
    right: Any, batches: DividedBatches, batch_id: BatchId, part: Part, day: int, errors: list[Exception]
) -> None:
    """A part is recorded under an id that may have been taken to settle it."""
    part.is_settling = False
    await right(batches, batch_id, part, day, errors)


@BUGS.around(DividedBatches, "_free_place")
def journal_place_used_again(
    right: Any, batches: DividedBatches, worker: int, owner: str, used: Collection[int]
) -> Any:
    """A part that was divided anew is journalled in the place of an earlier one."""
    return right(batches, worker, owner, ())
