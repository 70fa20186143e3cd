"""Where events are handed in: each goes to the deduper of its shard. Counts what became of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial

import trio

from actors.events.actor import EventDeduper
from actors.events.messages import Event
from actors.events.state import shard_of


class EventOutcome(StrEnum):
    """What became of an event; all but `RECORDED` are the words of `X-Event-Dropped` (decisions, section 9)."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    INACTIVE = "inactive"
    CRAWLER = "crawler"
    PREFETCH = "prefetch"


class EventRouter:
    """One deduper for each shard, so that a transaction never spans two, and none waits for another's.

    `place_of` names the deduper of a booking where the store has shards of its own."""

    def __init__(self, dedupers: Sequence[EventDeduper], place_of: Callable[[str], int] | None = None) -> None:
        assert dedupers
        self.dedupers = tuple(dedupers)
        self._place_of = place_of or partial(shard_of, shards=len(self.dedupers))
        self.outcomes: Counter[EventOutcome] = Counter()

    async def record(self, event: Event) -> EventOutcome:
        """Record one event; raises as `Actor.ask` does."""
        deduper = self.dedupers[self._place_of(event.booking_id)]
        [recorded] = await deduper.record((event,))
        return self.count(EventOutcome.RECORDED if recorded else EventOutcome.DUPLICATE)

    async def record_all(self, events: Sequence[Event]) -> list[EventOutcome]:
        """Record many events, each shard's by itself; raises what the first shard that failed has raised, when all are
        done. What the others have recorded stays recorded, and is a duplicate when it comes again."""
        if len(self.dedupers) == 1:
            return self._told(await self.dedupers[0].record(events))
        places: dict[int, list[int]] = {}
        for place, event in enumerate(events):
            places.setdefault(self._place_of(event.booking_id), []).append(place)
        outcomes = [EventOutcome.DUPLICATE] * len(events)
        errors: dict[int, Exception] = {}

        async def on(shard: int) -> None:
            try:
                answers = await self.dedupers[shard].record([events[place] for place in places[shard]])
            except Exception as error:
                errors[shard] = error
                return
            for place, outcome in zip(places[shard], self._told(answers), strict=True):
                outcomes[place] = outcome

        async with trio.open_nursery() as nursery:
            for shard in places:
                nursery.start_soon(on, shard)
        if errors:
            raise errors[min(errors)]
        return outcomes

    def _told(self, answers: Sequence[bool]) -> list[EventOutcome]:
        outcomes = [EventOutcome.RECORDED if answer else EventOutcome.DUPLICATE for answer in answers]
        self.outcomes.update(outcomes)
        return outcomes

    def count(self, outcome: EventOutcome) -> EventOutcome:
        """Count what became of an event, here or before it was handed in; returns it."""
        self.outcomes[outcome] += 1
        return outcome

    def __repr__(self) -> str:
        return f"<EventRouter of {len(self.dedupers)}, {dict(self.outcomes)}>"
