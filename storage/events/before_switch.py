"""Events of the days before the switch to `event_keys`: they go on to the tables of the first layout.

A database that has such days meets them for two days after its migration. Nodes of the previous version may write to the
same tables meanwhile.
"""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter

from actors.events.messages import Kind, Row
from actors.values import BatchId
from storage.connection.pool import Connection, Database
from storage.connection.statements import statements
from storage.events.booking_numbers import BookingNumbers
from storage.events.packing import counted_by_site, keys_in
from storage.events.partitions import EventPartitions

SQL = statements("events")

KINDS = {Kind.IMPRESSION: 0, Kind.CLICK: 1}


class EventsBeforeSwitch:
    """The `events` table, partitioned by day, and `delivery_days`."""

    def __init__(self, database: Database, numbers: BookingNumbers) -> None:
        self._database = database
        self._numbers = numbers
        self.partitions = EventPartitions(database, "events")

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row], place: int) -> Collection[bytes]:
        """Record as `EventStore.record` does. Counts by website are in `place`."""
        await self.partitions.prepare([day])
        by_site = bool(rows) and rows[0].site is not None
        numbers = await self._numbers.of({row.booking_id for row in rows}) if by_site else {}

        async def work(connection: Connection) -> Collection[bytes]:
            with self.partitions.expected(day):
                row = await connection.fetchrow(
                    SQL.record_before_switch, batch_id.owner, batch_id.seq, day, *_packed(rows)
                )
            if row["recorded"]:
                # Set before the commit, whose outcome may stay unknown.
                batch_id.decided = keys_in(row["added"] or b"")
                if by_site and batch_id.decided:
                    new = set(batch_id.decided)
                    sites = counted_by_site((each for each in rows if each.key in new), numbers)
                    await connection.execute(SQL.count_sites, place, day, *sites)
            added: Collection[bytes] = batch_id.decided
            return added

        return await self._database.transact(work)


def _packed(rows: Sequence[Row]) -> tuple[list[str], list[bytes], list[bytes]]:
    """Sorted rows as parameters: bookings, and for each its concatenated keys and its concatenated kinds."""
    bookings, keys, kinds = [], [], []
    for booking_id, some in groupby(rows, itemgetter(0)):
        of_booking = list(some)
        bookings.append(booking_id)
        keys.append(b"".join([row.key for row in of_booking]))
        kinds.append(bytes([KINDS[row.kind] for row in of_booking]))
    return bookings, keys, kinds
