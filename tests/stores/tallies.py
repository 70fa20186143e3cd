"""Shared by the tests of the event stores: rows, batch ids, and reads of everything stored."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from actors.events.messages import Kind, Row
from actors.values import BatchId, Contended
from storage.events.distributed_store import DistributedEvents
from tests.doubles.tables import Memory
from tests.stores.conftest import Stores

Counts = dict[tuple[str, int], tuple[int, int]]
Keys = dict[int, dict[bytes, tuple[str, Kind]]]
KEYS_OF = "select id as booking_id, day, key, click from {} join event_bookings on number = booking"
PARTITIONS = """select substring(inhrelid::regclass::text from '[0-9]+$')::int as day from pg_inherits
where inhparent = $1::text::regclass"""
COUNTS = """select booking_id, day, sum(impressions)::int as impressions, sum(clicks)::int as clicks
from deliveries group by booking_id, day"""


def row(number: int, booking: int = 1, kind: Kind = Kind.IMPRESSION) -> Row:
    """A row whose key follows from the number, the booking and the kind."""
    name = f"bok_{booking}"
    return Row(name, blake2b(f"{number} {name} {kind}".encode(), digest_size=16).digest(), kind)


def rows(numbers: Iterable[int], booking: int = 1, kind: Kind = Kind.IMPRESSION) -> list[Row]:
    return sorted(row(number, booking, kind) for number in numbers)


def keys_of(some: Iterable[Row]) -> set[bytes]:
    return {each.key for each in some}


@dataclass
class Tally:
    """Drives the event store like a deduper, with one batch id per call."""

    stores: Stores
    owner: str = "one/events"
    batches: int = 0

    def next_batch_id(self) -> BatchId:
        self.batches += 1
        return BatchId(self.owner, self.batches)

    def abandoned(self, some: Sequence[Row]) -> BatchId:
        """A batch whose first attempt may still be under way."""
        batch_id = self.next_batch_id()
        if isinstance(self.stores.events, DistributedEvents):
            for part in self.stores.events.batches.plan(batch_id, some).parts:
                part.in_doubt = True
        return batch_id

    async def record(self, day: int, some: Sequence[Row], batch_id: BatchId | None = None) -> Collection[bytes]:
        """Record, and retry while contended, like an actor."""
        batch_id = batch_id or self.next_batch_id()
        for _ in range(20):
            try:
                return await self.stores.events.record(batch_id, day, some)
            except Contended:
                pass
        raise AssertionError("always contended")

    async def keys(self) -> Keys:
        """The keys of each day that has a partition, with booking and kind."""
        below = self.stores.below
        if isinstance(below, Memory):
            found = ((day, some.values()) for day, some in below.events.items())
            return {day: {each.key: (each.booking_id, each.kind) for each in some} for day, some in sorted(found)}
        tables = await below.fetch(
            "select relid::text as name from unnest(array[to_regclass('event_keys'), "
            "to_regclass('undistributed.event_keys')]) as relid where relid is not null"
        )
        keys: Keys = {}
        for table in (each["name"] for each in tables):
            keys |= {each["day"]: {} for each in await below.fetch(PARTITIONS, table)}
            for each in await below.fetch(KEYS_OF.format(table)):
                kind = Kind.CLICK if each["click"] else Kind.IMPRESSION
                keys[each["day"]][each["key"]] = each["booking_id"], kind
        return keys

    async def days(self) -> list[int]:
        """The days that have a partition."""
        return sorted(await self.keys())

    async def counts(self) -> Counts:
        """Impressions and clicks by booking and day."""
        below = self.stores.below
        if isinstance(below, Memory):
            return dict(below.delivery_days)
        found = await below.read(lambda c: c.fetch(COUNTS))
        return {(each["booking_id"], each["day"]): (each["impressions"], each["clicks"]) for each in found}


def counted(keys: Keys) -> Counts:
    """The counts that follow from the keys."""
    sums: dict[tuple[str, int], list[int]] = {}
    for day, some in keys.items():
        for booking_id, kind in some.values():
            sums.setdefault((booking_id, day), [0, 0])[kind is Kind.CLICK] += 1
    return {place: (impressions, clicks) for place, (impressions, clicks) in sums.items()}
