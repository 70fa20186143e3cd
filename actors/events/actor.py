"""The event deduper: records and counts events, one transaction per batch, and answers after the commit."""

from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import trio

from actors.clock import Clock, day_of
from actors.events.messages import Event, Record, Unit
from actors.events.state import NO_SITES, VisitorHasher, rows_of
from actors.events.store import EventStore
from actors.kernel.actor import Actor, ActorLimits
from actors.values import BatchId


class RecentKeys:
    """A bounded memory of keys that are known to be committed: the latest ones, at least half of `capacity`. Keeps two sets
    and drops the older one when the newer one is full, so that adding and finding many keys is one call each."""

    def __init__(self, capacity: int) -> None:
        assert capacity > 1
        self.capacity = capacity
        self._half = capacity // 2
        self._newer: set[bytes] = set()
        self._older: set[bytes] = set()

    def add(self, keys: Sequence[bytes]) -> None:
        """Remember keys, which are distinct and mostly not known."""
        if len(self._newer) + len(keys) > self._half:
            self._older, self._newer = self._newer, set()
        self._newer.update(keys[-self._half :])

    def contains_none(self, keys: Sequence[bytes]) -> bool:
        return self._newer.isdisjoint(keys) and self._older.isdisjoint(keys)

    def __contains__(self, key: bytes) -> bool:
        return key in self._newer or key in self._older

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)


class EventDeduper(Actor[Record, Sequence[bool]]):
    """Records the events of one section. Dedupers of several nodes, and the lanes of one, share the table through its
    unique index: of two batches with the same key, the second waits until the first has committed."""

    def __init__(
        self,
        store: EventStore,
        clock: Clock,
        hasher: VisitorHasher,
        *,
        node: str,
        limits: ActorLimits,
        section: int = 0,
        remember: int = 100_000,
    ) -> None:
        super().__init__(f"events-{section}" if section else "events", node, limits)
        self._store = store
        self._clock = clock
        self._hasher = hasher
        self.seen = RecentKeys(remember)
        # Keys that were committed since the oldest queued event was compared with those seen.
        self._meanwhile: set[bytes] = set()
        # The batch under way of each owner, with its day.
        self._days: dict[str, tuple[BatchId, int]] = {}

    # Intents.

    async def record(self, events: Sequence[Event]) -> Sequence[bool]:
        """Record today's events, as `record_keyed` does."""
        return await self.record_keyed(self.keyed(events))

    def keyed(self, events: Sequence[Event], site: int | None = None, unit: Unit = Unit.DEVICE) -> Record:
        """Events of one website with their keys of today. Raises `StorageUnavailable` without the secret that they need."""
        day = day_of(self._clock.now_ms())
        return Record(events, day, self._hasher.keys(day, events, unit), site, unit)

    async def record_keyed(self, offered: Record) -> Sequence[bool]:
        """Record events. True for each event that is new on its day and now committed, False for duplicates. Raises
        as `Actor.ask` does; the events may or may not be committed then."""
        keys = offered.keys
        if keys and self.seen.contains_none(keys):
            return await self.ask(offered)
        new = [key not in self.seen for key in keys]
        if not any(new):
            await trio.lowlevel.checkpoint()
            return new
        answers = iter(await self.ask(offered.some([position for position, each in enumerate(new) if each])))
        return [each and next(answers) for each in new]

    # The batch.

    def weigh(self, message: Record) -> int:
        return len(message.events)

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        day = self._day_of(batch_id)
        batch = [self._keys_on(day, message) for message in messages]
        events = chain.from_iterable(message.events for message in messages)
        rows = rows_of(events, chain.from_iterable(batch), _sites_of(messages))
        keys = [row.key for row in rows]
        if not self._meanwhile.isdisjoint(keys):
            # The store is quick only if all keys are new.
            rows = [row for row in rows if row.key not in self._meanwhile]
            keys = [row.key for row in rows]
        if not self._mailbox or len(self._meanwhile) > self.seen.capacity:
            self._meanwhile.clear()
        added = set(await self._store.record(batch_id, day, rows))
        # Only now: a key that another lane has not committed yet is no duplicate.
        self.seen.add(keys)
        self._meanwhile.update(keys)
        if len(added) == sum(map(len, batch)):
            # Nearly always, all events are new and different.
            return [[True] * len(keys) for keys in batch]
        return [_firsts(keys, added) for keys in batch]

    def _day_of(self, batch_id: BatchId) -> int:
        """One day for the whole batch and its retries: events received before midnight and committed after it count
        for the new day."""
        known = self._days.get(batch_id.owner)
        if known is None or known[0] is not batch_id:
            known = batch_id, day_of(self._clock.now_ms())
            self._days[batch_id.owner] = known
        return known[1]

    def _keys_on(self, day: int, message: Record) -> Sequence[bytes]:
        """The message's keys on the batch's day, which nearly always is the day that they were made for. If it is not, and
        the secret of the new day is not known, the whole batch is unavailable."""
        if message.day == day:
            return message.keys
        return self._hasher.keys(day, message.events, message.unit)


def _sites_of(messages: Sequence[Record]) -> Iterable[int | None]:
    """The website of each event of these messages."""
    if messages[0].site is None:
        return NO_SITES
    return chain.from_iterable([repeat(message.site, len(message.events)) for message in messages])


def _firsts(keys: Sequence[bytes], added: set[bytes]) -> list[bool]:
    """Whether each of `keys` is in `added`, and is removed from it: of equal events, the first is the recorded one."""
    answer = []
    for key in keys:
        answer.append(key in added)
        added.discard(key)
    return answer
