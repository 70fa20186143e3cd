"""The event deduper: events become batches, each recorded and counted in one transaction, and answered after it."""

from collections import deque
from collections.abc import Sequence
from itertools import compress
from operator import not_

import trio

from actors.actor import Actor, ActorLimits
from actors.clock import Clock
from actors.events.messages import Bucket, Event, Record, Sealed
from actors.events.state import EventRules, Seals, bucket_of, rows_of
from actors.events.store import EventStore
from actors.values import Turn


class Seen:
    """A bounded memory of keys that are known to be committed; the oldest is forgotten first."""

    def __init__(self, capacity: int) -> None:
        assert capacity > 0
        self.capacity = capacity
        self._keys: set[bytes] = set()
        # Not the order of a dict: finding the first of its keys takes ever longer while the first ones are deleted.
        self._ages: deque[bytes] = deque()

    def add(self, key: bytes) -> None:
        if key in self._keys:
            return
        if len(self._keys) >= self.capacity:
            self._keys.remove(self._ages.popleft())
        self._keys.add(key)
        self._ages.append(key)

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<Seen {len(self)}/{self.capacity}>"


class EventDeduper(Actor[Record, Sequence[bool]]):
    """Records the events of one shard; other nodes' dedupers share the table by its primary key."""

    def __init__(
        self,
        store: EventStore,
        clock: Clock,
        seals: Seals,
        rules: EventRules,
        *,
        node: str,
        limits: ActorLimits,
        shard: int = 0,
        remember: int = 100_000,
    ) -> None:
        super().__init__(f"events-{shard}" if shard else "events", node, limits)
        self._store = store
        self._clock = clock
        self._seals = seals
        self._rules = rules
        self.seen = Seen(remember)
        self._turn: Turn | None = None
        self._bucket = Bucket(0, 0)

    # Intents.

    async def record(self, events: Sequence[Event]) -> list[bool]:
        """For each event whether it is recorded: True, at most once in its bucket, once it is committed; False when it
        counts already. Raises as `Actor.ask` does; whether the events were kept is not known then."""
        bucket = bucket_of(self._clock.now_ms(), self._rules.bucket_hours)
        sealed = self._seals.seal(bucket, events)
        known = [each.key in self.seen for each in sealed]
        if all(known):
            await trio.lowlevel.checkpoint()
            return [False] * len(sealed)
        answers = iter(await self.ask(Record(list(compress(sealed, map(not_, known))))))
        return [not duplicate and next(answers) for duplicate in known]

    # The batch.

    def weigh(self, message: Record) -> int:
        return len(message.sealed)

    async def commit(self, turn: Turn, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        if self._turn is not turn:
            # One moment for the whole batch, also when it is run again: what came in before midnight and is committed
            # after it counts for the new day.
            self._turn, self._bucket = turn, bucket_of(self._clock.now_ms(), self._rules.bucket_hours)
        batch = [self._in_bucket(message.sealed) for message in messages]
        rows = rows_of(each for sealed in batch for each in sealed)
        added = set(await self._store.record(turn, self._bucket.day, rows))
        answers: list[list[bool]] = []
        for sealed in batch:
            answer = []
            for each in sealed:
                # The first of equal events in the batch is the one that was recorded.
                answer.append(each.key in added)
                added.discard(each.key)
                self.seen.add(each.key)
            answers.append(answer)
        return answers

    def _in_bucket(self, sealed: Sequence[Sealed]) -> Sequence[Sealed]:
        """The events with their keys in the batch's bucket, which nearly always is the one that they came in."""
        if not sealed or sealed[0].bucket == self._bucket:
            return sealed
        return self._seals.seal(self._bucket, [each.event for each in sealed])
