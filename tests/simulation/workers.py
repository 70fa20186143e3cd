"""The workers of a distributed database, in some worlds: they hold the places of events, which move between them.

The rows are those of the one shared memory. A part of a batch reaches a worker, and counts only if its places are there at
that moment: rows that are written where their places are not are lost, as on the real engine.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, TypeVar

import trio

from actors.events.messages import FilteredRow, Kind, Row, Window
from actors.values import BatchId, OutcomeUnknown, StorageUnavailable
from storage.events.distribution import PlaceMap, Worker
from storage.events.divided_batches import DividedBatches, Elsewhere, Part
from storage.events.store import PLACES
from tests.doubles.tables import Memory
from tests.simulation.faults import Link, LinkedEvents, SimulatedBug, plainly

if TYPE_CHECKING:
    from tests.simulation.world import World

D = TypeVar("D")

SHARDS = 8


class Cluster:
    """The workers, numbered from 1, of which the first `used` hold shards at first. A shard has 32 places."""

    def __init__(self, count: int, used: int) -> None:
        self.workers = {number: Worker(number, "worker", number) for number in range(1, count + 1)}
        self.shards = [1 + shard % used for shard in range(SHARDS)]
        self.away_until = dict.fromkeys(self.workers, 0.0)
        self.settled: set[tuple[str, int]] = set()
        """Ids of parts that were used to settle them."""

    def read(self) -> PlaceMap:
        of = [self.worker_of(place) for place in range(PLACES)]
        return PlaceMap(of, {number: self.workers[number] for number in sorted(set(of))})

    def worker_of(self, place: int) -> int:
        return self.shards[place * SHARDS // PLACES]

    def move(self, chance: Random, place: int | None = None) -> None:
        """Move the shard of a place, or of any, and now and then all of its worker, which so leaves."""
        shard = chance.randrange(SHARDS) if place is None else place * SHARDS // PLACES
        to = chance.choice([worker for worker in sorted(self.workers) if worker != self.shards[shard]])
        left = self.shards[shard] if chance.random() < 0.4 else None
        self.shards = [to if each == shard or worker == left else worker for each, worker in enumerate(self.shards)]


class WorkerId(BatchId):
    """The id of a part, in the journal of its place. `worker` is where the present attempt goes."""

    __slots__ = ("place", "worker")

    def __init__(self, part: Part) -> None:
        super().__init__(f"{part.id.owner}-at-{part.place}", part.id.seq)
        self.place = part.place
        self.worker = 0


class WorkerEvents:
    """The event store of a node: divides batches as in production, over the node's link."""

    checks = True
    """Whether a worker refuses places that it does not hold."""

    def __init__(self, store: LinkedEvents, world: "World", cluster: Cluster) -> None:
        self._store = store
        self._world = world
        self._cluster = cluster
        self.batches = DividedBatches(self, cluster.read())
        self.count = len(self.batches.places.workers)
        self._ids: dict[tuple[str, int, int], WorkerId] = {}
        self._crashes: dict[tuple[str, int], int] = {}

    # The event store.

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        """Record a batch. Counts the crashes of its parts that it does not report: it reports one, and none if its node is
        killed before all parts are done."""
        self._world.tally.attempted(batch_id, self._world.history.tick(), trio.current_time())
        name, reported = (batch_id.owner, batch_id.seq), 0
        try:
            return await self.batches.record(batch_id, day, rows)
        except SimulatedBug:
            reported = 1
            raise
        finally:
            if hidden := self._crashes.pop(name, reported) - reported:
                self._world.count("crashes of parts that were not reported", hidden)

    async def add_filtered(self, batch_id: BatchId, rows: Sequence[FilteredRow]) -> None:
        await self._store.add_filtered(batch_id, rows)

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        return await self._store.windows(booking_ids)

    async def prepare(self, days: Sequence[int]) -> None:
        await self._store.prepare(days)

    async def drop_before(self, day: int) -> Sequence[int]:
        return await self._store.drop_before(day)

    def section_of(self, place: int) -> int:
        return self.batches.places.section_of(place, self.count)

    # The workers.

    async def record_part(self, worker: int, part: Part, day: int) -> Collection[bytes]:
        at = self._at(worker, part)
        if self._cluster.away_until[worker] > trio.current_time():
            self._world.count("part refused by a worker that is away")
            await trio.lowlevel.checkpoint()
            raise StorageUnavailable("simulated: the worker is away")
        try:
            self._reach(worker)
            return await self._store.record(at, day, part.rows)
        except SimulatedBug:
            name = part.id.owner, part.id.seq
            self._crashes[name] = self._crashes.get(name, 0) + 1
            raise
        except Elsewhere:
            self._world.count("part in doubt was elsewhere" if part.in_doubt else "part was elsewhere")
            raise
        except OutcomeUnknown:
            if self._world.faults.strikes("moved_in_doubt"):
                self._cluster.move(self._world.faults.stream("cluster"), part.place)
            raise

    async def settle_part(self, worker: int, part: Part, day: int) -> Collection[bytes] | None:
        self._reach(worker)
        at = self._at(worker, part)
        name, decided = (at.owner, at.seq), at.decided

        def take() -> Collection[bytes]:
            self._cluster.settled.add(name)
            added: Collection[bytes] = decided
            return added

        added = await self._link.transact(at, take)
        self._world.count("part settled: " + ("not committed" if name in self._cluster.settled else "committed"))
        return None if name in self._cluster.settled else added

    async def read_places(self) -> PlaceMap:
        await plainly(self._link.before())
        return self._cluster.read()

    def _reach(self, worker: int) -> None:
        """Raise `Elsewhere` if the worker has left the cluster, and so has no tables, not even a journal."""
        if worker not in self._cluster.shards:
            raise Elsewhere

    def _at(self, worker: int, part: Part) -> WorkerId:
        name = part.id.owner, part.id.seq, part.place
        if name not in self._ids:
            self._ids[name] = WorkerId(part)
            began = self._world.tally.batch_ids[part.id.owner, part.id.seq]
            self._world.tally.batch_ids[self._ids[name].owner, part.id.seq] = began
        self._ids[name].worker = worker
        return self._ids[name]

    @property
    def _link(self) -> Link:
        link = self._store._memory
        assert isinstance(link, Link)
        return link


def at_worker(world: "World", batch_id: BatchId, work: Callable[[], D]) -> Callable[[], D]:
    """`work`, as the worker does it to which this attempt of a part goes."""
    cluster = world.cluster
    if cluster is None or not isinstance(batch_id, WorkerId):
        return work
    worker, place = batch_id.worker, batch_id.place

    def done() -> D:
        known = {day: set(rows) for day, rows in world.memory.events.items()}
        decided = work()
        fresh = [
            (day, row)
            for day, rows in world.memory.events.items()
            for key, row in rows.items()
            if key not in known.get(day, ())
        ]
        away = [(day, row) for day, row in fresh if cluster.worker_of(row.key[0]) != worker]
        if (away or cluster.worker_of(place) != worker) and world.parts.workers.checks:
            _forget(world.memory, fresh)
            raise Elsewhere
        _forget(world.memory, away)
        return decided

    return done


def _forget(memory: Memory, rows: Sequence[tuple[int, Row]]) -> None:
    """Take rows and their counts back."""
    for day, row in rows:
        del memory.events[day][row.key]
        impressions, clicks = memory.delivery_days[row.booking_id, day]
        click = row.kind is Kind.CLICK
        counts = impressions - (not click), clicks - click
        if any(counts):
            memory.delivery_days[row.booking_id, day] = counts
        else:
            del memory.delivery_days[row.booking_id, day]
        if row.site is not None:
            place = row.booking_id, day, row.site
            impressions, clicks = memory.site_days[place]
            memory.site_days[place] = impressions - (not click), clicks - click
            if not any(memory.site_days[place]):
                del memory.site_days[place]
