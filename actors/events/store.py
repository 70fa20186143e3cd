"""The ports of the event store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from actors.events.messages import FilteredRow, Row, Window
from actors.values import BatchId


class Sections(Protocol):
    """How a store divides the places of keys, so that what one part of it waits for does not hold up the others."""

    @property
    def count(self) -> int: ...

    def section_of(self, place: int) -> int:
        """The section of a place, in range(count)."""
        ...


class EventStore(Protocol):
    """Event keys by day, and delivery counts by booking and day. All methods raise `StorageUnavailable`; all but
    `windows` also `Contended` and `OutcomeUnknown`, after which they can be retried."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        """Insert those of `rows` whose keys are new on this day, add them to their bookings' counts, by website, too, if
        rows have one, and journal the batch id.

        One transaction; returns the inserted keys. `rows` are sorted and have different keys. A batch id that is
        already in the journal is not committed again: its inserted keys are returned. A day without a partition gets
        one.
        """
        ...

    async def add_filtered(self, batch_id: BatchId, rows: Sequence[FilteredRow]) -> None:
        """Add to what was filtered of bookings by day, and journal the batch id. One transaction; a batch id that is already
        in the journal adds nothing. `rows` have different bookings and days.

        Only bookings that were paid have rows, on the days on which they can have counts: those of their weeks and the
        day after. Everything else is left out, so that events cannot fill the table.
        """
        ...

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        """The windows of these bookings; `NEVER` for one that is never shown. Unknown bookings are left out."""
        ...

    async def prepare(self, days: Sequence[int]) -> None:
        """Create the missing partitions of these days. Any number of nodes may do so at once."""
        ...

    async def drop_before(self, day: int) -> Sequence[int]:
        """Drop the partitions of days before `day`, oldest first; returns the days that this call dropped. Counts stay.
        Raises `Contended` at a day that is in use, by a backup for example; earlier days are dropped by then."""
        ...
