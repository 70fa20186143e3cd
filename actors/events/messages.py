"""Messages and rows of the event deduper. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from actors.values import Filtered


class Kind(StrEnum):
    """The kinds of events. Each one is deduplicated and counted by itself."""

    IMPRESSION = "impression"
    CLICK = "click"


class Unit(StrEnum):
    """The thing that is one visitor: a device with its visitor id, or an address and user agent of a day (ADR 0100)."""

    DEVICE = "device"
    DAY = "day"


class Event(NamedTuple):
    """One event as reported by a website. `visitor`, which is never stored, is the visitor id, a UUID in lower case, or of
    the unit day what `visitor_of_day` makes."""

    booking_id: str
    kind: Kind
    visitor: str

    def __repr__(self) -> str:
        # Visitor ids must not appear in logs or in the texts of errors.
        return f"<Event {self.kind} of {self.booking_id}>"


@dataclass(slots=True)
class Record:
    """Record these events of one unit. `keys` are their hashes on `day`: see `VisitorHasher`. `site` is the number of the
    website that sent them, None if events are not counted by website."""

    events: Sequence[Event]
    day: int
    keys: Sequence[bytes]
    site: int | None = None
    unit: Unit = Unit.DEVICE

    def some(self, positions: Sequence[int]) -> "Record":
        """The events at these positions."""
        events, keys = [self.events[each] for each in positions], [self.keys[each] for each in positions]
        return Record(events, self.day, keys, self.site, self.unit)


class Row(NamedTuple):
    """An event at rest. Rows of one batch have different keys and sort like the table's primary key. Either all of them have
    the number of a website, by which they are then counted, too, or none."""

    booking_id: str
    key: bytes
    kind: Kind
    site: int | None = None


class FilteredRow(NamedTuple):
    """The filtered events of a booking on a day (since the epoch, UTC)."""

    booking_id: str
    day: int
    filtered: Filtered


class Window(NamedTuple):
    """The period in which a booking's placement is shown: [start_ms, end_ms)."""

    start_ms: int
    end_ms: int

    def holds(self, now_ms: int) -> bool:
        return self.start_ms <= now_ms < self.end_ms


NEVER = Window(0, 0)
"""The window of an existing booking that is never shown: not paid, paused or refunded."""


OTHER = 0
"""The number of all websites that are not counted by name."""

OTHER_NAME = "other"


@dataclass(frozen=True, slots=True)
class SiteDelivered:
    """Delivery by a website. `site` is its host, or `other`."""

    site: str
    impressions: int
    clicks: int
