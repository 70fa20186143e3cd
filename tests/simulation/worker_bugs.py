"""Bugs to plant in the division of batches among workers, one at a time: see `key_bugs`. Worlds on one database hide them."""

from collections.abc import Collection, Mapping, Sequence

from actors.events.messages import Row
from actors.values import BatchId, StorageUnavailable
from storage.events.divided_batches import DividedBatches, Elsewhere, Part
from tests.simulation.planting import Bug, Plant, replaced, swapped
from tests.simulation.rules import Scene
from tests.simulation.workers import WorkerEvents


def _bug(sentence: str, plant: Plant) -> Bug:
    return Bug(sentence, plant, Scene.WEBSITES)


class _Trusting(WorkerEvents):
    """Workers do not check whether they hold the places of a part."""

    checks = False


class _Unsettled(WorkerEvents):
    """A part in doubt is divided anew at once, while an attempt of it may have committed."""

    async def settle_part(self, worker: int, part: Part, day: int) -> bool:
        return False


class _SettledOnce(WorkerEvents):
    """Takes an id that the settling has taken for a commit of the part."""

    async def settle_part(self, worker: int, part: Part, day: int) -> bool:
        at = self._at(worker, part)
        name = at.owner, at.seq
        before = name in self._cluster.settled
        return await super().settle_part(worker, part, day) or before


class _Forgetful(WorkerEvents):
    """Takes a part that a worker refused for one without new keys."""

    async def record_part(self, worker: int, part: Part, day: int) -> Collection[bytes]:
        try:
            return await super().record_part(worker, part, day)
        except Elsewhere:
            return []


async def _half(batches: DividedBatches, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
    try:
        return await _record(batches, batch_id, day, rows)
    except StorageUnavailable:
        added = [part.added for part in batches.plan(batch_id, rows).parts if part.added is not None]
        if not added:
            raise
        return [key for some in added for key in some]


async def _never_read(batches: DividedBatches, *, older_than: float = 0.0) -> bool:
    return True


async def _record_again(
    batches: DividedBatches, batch_id: BatchId, part: Part, day: int, errors: list[Exception]
) -> None:
    part.is_settling = False
    await _record_part(batches, batch_id, part, day, errors)


def _one_place(batches: DividedBatches, worker: int, owner: str, used: Collection[int]) -> int:
    return _free_place(batches, worker, owner, ())


_record, _record_part, _free_place = DividedBatches.record, DividedBatches._record_part, DividedBatches._free_place

BUGS: Mapping[str, Bug] = {
    "moved-places-not-checked": _bug(
        "A worker records places that have moved to another one.", swapped(workers=_Trusting)
    ),
    "doubt-divided-anew": _bug(
        "A part that may have committed is divided anew before it is settled.", swapped(workers=_Unsettled)
    ),
    "settled-taken-for-committed": _bug(
        "A part whose id was taken to settle it counts as committed.", swapped(workers=_SettledOnce)
    ),
    "settled-part-recorded-again": _bug(
        "A part is recorded under an id that may have been taken to settle it.",
        replaced(DividedBatches, "_record_part", _record_again),
    ),
    "elsewhere-taken-for-known": _bug("Refused parts are answered as duplicates.", swapped(workers=_Forgetful)),
    "half-a-batch-answered": _bug(
        "A batch is answered when some of its parts have committed.", replaced(DividedBatches, "record", _half)
    ),
    "journal-place-used-again": _bug(
        "A part that was divided anew is journalled in the place of an earlier one.",
        replaced(DividedBatches, "_free_place", _one_place),
    ),
    "map-never-read-again": _bug(
        "A node never learns that places moved.", replaced(DividedBatches, "_read_again", _never_read)
    ),
}
