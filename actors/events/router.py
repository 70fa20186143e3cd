"""Routes each event to the deduper of its shard, and counts the outcomes."""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial

import trio

from actors.events.actor import EventDeduper
from actors.events.messages import Event
from actors.events.state import shard_of


class EventOutcome(StrEnum):
    """The outcome of an event. All but `RECORDED` are values of `X-Event-Dropped`."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    INACTIVE = "inactive"
    CRAWLER = "crawler"
    PREFETCH = "prefetch"
    CAPPED = "capped"


class EventRouter:
    """Holds one deduper per shard, so that no transaction spans two shards or waits for another one. `place_of` returns
    the index of a booking's deduper. Pass it if the store has shards of its own."""

    def __init__(self, dedupers: Sequence[EventDeduper], place_of: Callable[[str], int] | None = None) -> None:
        assert dedupers
        self.dedupers = tuple(dedupers)
        self._place_of = place_of or partial(shard_of, shards=len(self.dedupers))
        self.outcomes: Counter[EventOutcome] = Counter()

    async def record(self, event: Event) -> EventOutcome:
        """Record one event. Raises as `Actor.ask` does."""
        deduper = self.dedupers[self._place_of(event.booking_id)]
        [recorded] = await deduper.record((event,))
        return self.count(EventOutcome.RECORDED if recorded else EventOutcome.DUPLICATE)

    async def record_all(self, events: Sequence[Event]) -> list[EventOutcome]:
        """Record events, all shards at once. When all are done, raises the error of the first shard that failed. Events
        that other shards recorded stay recorded, and are duplicates if they are sent again."""
        if len(self.dedupers) == 1:
            return self._counted(await self.dedupers[0].record(events))
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
            for place, outcome in zip(places[shard], self._counted(answers), strict=True):
                outcomes[place] = outcome

        async with trio.open_nursery() as nursery:
            for shard in places:
                nursery.start_soon(on, shard)
        if errors:
            raise errors[min(errors)]
        return outcomes

    def _counted(self, answers: Sequence[bool]) -> list[EventOutcome]:
        outcomes = [EventOutcome.RECORDED if answer else EventOutcome.DUPLICATE for answer in answers]
        self.outcomes.update(outcomes)
        return outcomes

    def count(self, outcome: EventOutcome) -> EventOutcome:
        """Count the outcome of an event, here or before it was routed; returns it."""
        self.outcomes[outcome] += 1
        return outcome

    def __repr__(self) -> str:
        return f"<EventRouter of {len(self.dedupers)}, {dict(self.outcomes)}>"
