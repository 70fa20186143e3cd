"""Routes each event to the deduper of its section, and counts the outcomes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

import trio

from actors.events.actor import EventDeduper
from actors.events.filtered import FilteredCounts
from actors.events.messages import Event, Record, Unit
from actors.events.store import Sections
from actors.values import CallFailed, Filtered


class EventOutcome(StrEnum):
    """The outcome of an event. `UNAVAILABLE` is one of a batch that was not recorded, while others were. All but it and
    `RECORDED` are values of `X-Event-Dropped`."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    INACTIVE = "inactive"
    CRAWLER = "crawler"
    PREFETCH = "prefetch"
    CAPPED = "capped"
    UNAVAILABLE = "unavailable"


REASONS = {EventOutcome(reason): place for place, reason in enumerate(Filtered._fields)}
"""The outcomes of events that are filtered, with their place in `Filtered`. Clients repeat events that are `UNAVAILABLE`."""


class EventRouter:
    """Holds the deduper of a store, or one for each of its sections, which is selected by an event's key. A section that is
    away refuses its own events only."""

    def __init__(
        self, dedupers: Sequence[EventDeduper], filtered: FilteredCounts, sections: Sections | None = None
    ) -> None:
        assert len(dedupers) == (sections.count if sections else 1)
        self.dedupers = tuple(dedupers)
        self.filtered = filtered
        self.sections = sections
        self.outcomes: Counter[EventOutcome] = Counter()

    async def record(self, event: Event, site: int | None = None, unit: Unit = Unit.DEVICE) -> EventOutcome:
        """Record one event of a website, which is None if events are not counted by website. Raises as `Actor.ask` does."""
        keyed = self.dedupers[0].keyed((event,), site, unit)
        section = self.sections.section_of(keyed.keys[0][0]) if self.sections else 0
        [recorded] = await self.dedupers[section].record_keyed(keyed)
        return self.count(EventOutcome.RECORDED if recorded else EventOutcome.DUPLICATE, event.booking_id)

    async def record_all(
        self, events: Sequence[Event], site: int | None = None, unit: Unit = Unit.DEVICE
    ) -> list[EventOutcome]:
        """Record events of a website, all sections at once. Those of a section that fails are `UNAVAILABLE`. If all fail,
        raises the error of the first one."""
        keyed = self.dedupers[0].keyed(events, site, unit)
        if self.sections is None:
            return self._counted(events, await self.dedupers[0].record_keyed(keyed))
        sections = _by_section(keyed, self.sections)
        outcomes = [EventOutcome.UNAVAILABLE] * len(events)
        errors: dict[int, CallFailed] = {}

        async def on(section: int) -> None:
            places = sections[section]
            some = keyed.some(places)
            try:
                answers = await self.dedupers[section].record_keyed(some)
            except CallFailed as error:
                errors[section] = error
                return
            for place, outcome in zip(places, self._counted(some.events, answers), strict=True):
                outcomes[place] = outcome

        async with trio.open_nursery() as nursery:
            for section in sections:
                nursery.start_soon(on, section)
        if errors and len(errors) == len(sections):
            raise errors[min(errors)]
        for section in errors:
            self.outcomes[EventOutcome.UNAVAILABLE] += len(sections[section])
        return outcomes

    def _counted(self, events: Sequence[Event], answers: Sequence[bool]) -> list[EventOutcome]:
        outcomes = [EventOutcome.RECORDED if answer else EventOutcome.DUPLICATE for answer in answers]
        self.outcomes.update(outcomes)
        if not all(answers):
            again = Counter([event[0] for event, answer in zip(events, answers, strict=True) if not answer])
            for booking_id, count in again.items():
                self.filtered.add(booking_id, REASONS[EventOutcome.DUPLICATE], count)
        return outcomes

    def count(self, outcome: EventOutcome, booking_id: str) -> EventOutcome:
        """Count the outcome of an event of a booking, here or before it was routed; returns it."""
        self.outcomes[outcome] += 1
        if (reason := REASONS.get(outcome)) is not None:
            self.filtered.add(booking_id, reason)
        return outcome


def _by_section(keyed: Record, sections: Sections) -> Mapping[int, list[int]]:
    """The sections of some events, with the positions of their events."""
    found: dict[int, list[int]] = {}
    for position, key in enumerate(keyed.keys):
        found.setdefault(sections.section_of(key[0]), []).append(position)
    return found
