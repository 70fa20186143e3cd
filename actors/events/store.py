"""What the deduper needs of a store. Two of them pass one contract: over Postgres and in memory."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from actors.events.messages import Row, Window
from actors.values import BatchId


class EventStore(Protocol):
    """Keys of events by day, and what is delivered for a booking by day.

    All methods raise `StorageUnavailable`; all but `windows` also `Contended` and `OutcomeUnknown`, after which they can be
    called again.
    """

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        """Keep those of `rows` whose keys the day does not have yet, add them to the counts of their bookings on this
        day, and keep the turn, in one transaction. Returns the keys that were added.

        `rows` are sorted and differ in their keys. A turn that was kept before is not kept again: what it added is
        returned. A day without a partition gets one.
        """
        ...

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        """When the placements of these bookings are shown, as of now; `NEVER` for a booking that is known and whose
        placement is not to be shown at any time. Unknown bookings are left out."""
        ...

    async def prepare(self, days: Sequence[int]) -> None:
        """Make partitions for these days, where there are none. Any number of nodes may do so at once."""
        ...

    async def drop_before(self, day: int) -> Sequence[int]:
        """Drop the partitions of days before `day`, the oldest first; returns the days that this call has dropped.
        Counts stay. A day that is in use, by a backup say, is `Contended`; those before it are dropped then."""
        ...
