"""What the deduper is asked. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a visitor did with a placement. Kinds are deduplicated and counted each by itself."""

    IMPRESSION = "impression"
    CLICK = "click"


class Event(NamedTuple):
    """One event as a website reports it. `visitor` is the visitor id as a UUID in lower case, which is never kept."""

    booking_id: str
    kind: Kind
    visitor: str

    def __repr__(self) -> str:
        # Visitor ids are never logged, nor may they stand in the text of an error.
        return f"<Event {self.kind} of {self.booking_id}>"


class Bucket(NamedTuple):
    """The stretch of time within which an event counts once: a UTC day, and the hour of that day at which it begins."""

    day: int
    hour: int


@dataclass(frozen=True, slots=True)
class Record:
    """Record these events, of which none is known to be a duplicate. `keys` stand for them in `bucket`: see `state.Seals`."""

    events: Sequence[Event]
    bucket: Bucket
    keys: Sequence[bytes]


class Row(NamedTuple):
    """An event as it is kept. Rows of one batch differ in their keys, and sort as the table's primary key does."""

    booking_id: str
    key: bytes
    kind: Kind


class Window(NamedTuple):
    """When a booking's placement is shown: [start_ms, end_ms)."""

    start_ms: int
    end_ms: int

    def holds(self, now_ms: int) -> bool:
        return self.start_ms <= now_ms < self.end_ms


NEVER = Window(0, 0)
"""The window of a booking that is known, and not shown at any time: not paid, paused, refunded."""
