"""The numbers under which event rows know bookings: 4 bytes in place of an id."""

from collections.abc import Collection, Mapping

from storage.connection.pool import Connection, Database
from storage.rows.statements import statements

SQL = statements("events")

REMEMBERED = 10_000
"""Bookings whose number a node remembers, about 200 bytes each."""


class BookingNumbers:
    """`event_bookings`. A booking gets its number before its first event; a number never changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, int] = {}

    async def of(self, booking_ids: Collection[str]) -> Mapping[str, int]:
        """The numbers of these bookings, and perhaps of others. Gives numbers to bookings that have none."""
        if any(each not in self._known for each in booking_ids):
            numbers = await self._database.read(lambda connection: _read(connection, sorted(booking_ids)))
            if len(self._known) + len(numbers) > REMEMBERED:
                self._known.clear()
            self._known.update(numbers)
        return self._known

    def __repr__(self) -> str:
        return f"<BookingNumbers of {len(self._known)}>"


async def _read(connection: Connection, booking_ids: list[str]) -> dict[str, int]:
    """The numbers of bookings, which are sorted. Runs outside a transaction: numbers that stay unused do no harm."""
    rows = await connection.fetch(SQL.numbers, booking_ids)
    if len(rows) < len(booking_ids):
        await connection.execute(SQL.number, booking_ids)
        rows = await connection.fetch(SQL.numbers, booking_ids)
    return {row["id"]: row["number"] for row in rows}
