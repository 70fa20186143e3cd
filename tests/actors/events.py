"""Helpers of the deduper tests: events, a deduper over a store in memory, and its contents."""

from collections.abc import Iterable
from dataclasses import dataclass

from actors.clock import Clock
from actors.events.actor import EventDeduper
from actors.events.messages import Event, Kind
from actors.events.state import VisitorHasher
from actors.events.store import EventStore
from actors.kernel.actor import ActorLimits
from tests.doubles.events import MemoryEvents
from tests.doubles.tables import Memory
from tests.fakes import HandClock, Script, Step

DAY = 20_000
NOON_MS = DAY * 86_400_000 + 43_200_000
MIDNIGHT_MS = (DAY + 1) * 86_400_000
SECRET = b"a secret of the server, 32 bytes"


def seen(visitor: int, booking: int = 1) -> Event:
    """An impression."""
    return Event(f"bok_{booking}", Kind.IMPRESSION, f"00000000-0000-4000-8000-{visitor:012d}")


def clicked(visitor: int, booking: int = 1) -> Event:
    return seen(visitor, booking)._replace(kind=Kind.CLICK)


@dataclass(frozen=True, slots=True)
class Even:
    """Sections of equal size."""

    count: int

    def section_of(self, place: int) -> int:
        return place % self.count


def a_memory(before: Iterable[Step] = (), after: Iterable[Step] = ()) -> Memory:
    """A store whose failures follow a script."""
    return Memory(before=Script(before), after=Script(after))


def deduper(
    memory: Memory,
    clock: Clock | None = None,
    *,
    node: str = "one",
    section: int = 0,
    remember: int = 1_000,
    limits: ActorLimits | None = None,
    hasher: VisitorHasher | None = None,
    store: EventStore | None = None,
) -> EventDeduper:
    return EventDeduper(
        store or MemoryEvents(memory),
        clock or HandClock(NOON_MS),
        hasher or VisitorHasher(SECRET),
        node=node,
        limits=limits or ActorLimits(),
        section=section,
        remember=remember,
    )


def kept(memory: Memory) -> dict[int, int]:
    """The number of keys per day, checked against the counts."""
    counted: dict[tuple[str, int], list[int]] = {}
    for day, rows in memory.events.items():
        for row in rows.values():
            counted.setdefault((row.booking_id, day), [0, 0])[row.kind is Kind.CLICK] += 1
    assert {place: tuple(counts) for place, counts in counted.items()} == memory.delivery_days
    return {day: len(rows) for day, rows in memory.events.items() if rows}
