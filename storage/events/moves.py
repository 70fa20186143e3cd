"""Moves the keys of earlier days from the coordinator to the workers, while nodes serve.

A day moves when no event of it arrives any more. It is copied piece by piece; each piece is one transaction together with the
note how far the day is. Its partition is dropped when every place has as many keys on the workers. Whoever is killed
leaves a state from which anybody can go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.connection.pool import Connection, Database
from storage.events.partitions import DROP_LOCK, EventPartitions
from storage.events.store import PLACES
from storage.rows.statements import statements

SQL = statements("event_moves")

PIECE = 5_000
"""The most keys of one transaction."""

LATE_DAYS = 2
"""How many days must have begun since a day before it is moved: clocks of nodes differ, and a batch may be retried."""

STATEMENT_SECONDS = 60
"""A place is counted in one statement, which takes longer than those of nodes."""

UNDEFINED_TABLE = "42P01"


class MoveError(Exception):
    """A day cannot be moved. The text is one line for the operator."""


@dataclass(frozen=True, slots=True)
class DayToMove:
    """A day that is not distributed: its estimated keys, and how many were copied."""

    day: int
    keys: int
    moved: int


@dataclass(frozen=True, slots=True)
class Pace:
    """Whether moving is paused, and the most keys that are copied in a second."""

    paused: bool
    keys_per_second: int


@dataclass(frozen=True, slots=True)
class Piece:
    """The keys that one transaction copied, and whether the day is done."""

    keys: int
    is_last: bool


class EventMoves:
    """The tables of the schema `undistributed`, and how far they were moved."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._partitions = EventPartitions(database, "event_keys")

    async def days(self) -> Sequence[DayToMove]:
        """The days that are not distributed, the oldest first."""
        return [DayToMove(**row) for row in await self._database.fetch(SQL.days)]

    async def last_day_to_move(self) -> int:
        """The newest day of which no event arrives any more."""
        return int(await self._database.fetchval(SQL.today)) - LATE_DAYS

    async def pace(self) -> Pace:
        row = await self._database.fetchrow(SQL.pace)
        assert row is not None
        return Pace(**row)

    async def set_pace(self, *, paused: bool | None = None, keys_per_second: int | None = None) -> None:
        """Change what is given, for whoever moves days now or later."""
        await self._database.read(lambda connection: connection.execute(SQL.set_pace, paused, keys_per_second))

    async def move_piece(self, day: int) -> Piece:
        """Copy the next keys of a day. The last piece drops its partition on the coordinator.

        Raises `Contended` (run it again), `OutcomeUnknown` and `StorageUnavailable`, after which it can be run again, and
        `MoveError` if a place has fewer keys on the workers than on the coordinator.
        """
        await self._partitions.prepare([day])

        async def work(connection: Connection) -> Piece:
            await connection.execute(f"set local statement_timeout = '{STATEMENT_SECONDS}s'")
            await connection.execute(SQL.begin_day, day)
            progress = await connection.fetchrow(SQL.progress, day)
            if progress is None:
                return Piece(0, is_last=False)  # somebody else has just ended the day
            place, after = progress
            if place == PLACES:
                return await _drop(connection, day)
            last, keys = await connection.fetchrow(_of_day(SQL.last_of_piece, day), place, after, PIECE)
            if last is None:
                await _compare(connection, day, place)
                await connection.execute(SQL.advance, day, place + 1, b"", 0)
            else:
                await connection.execute(_of_day(SQL.copy, day), place, after, last)
                await connection.execute(SQL.advance, day, place, last, keys)
            return Piece(keys, is_last=False)

        try:
            with self._partitions.expected(day):
                return await self._database.transact(work, seconds=STATEMENT_SECONDS + 10.0)
        except Exception as error:
            if getattr(error, "sqlstate", "") != UNDEFINED_TABLE:
                raise
        # Its keys are older than `events.keep_days` by now, or somebody else has moved them.
        await self._database.read(lambda connection: connection.execute(SQL.end_day, day))
        return Piece(0, is_last=True)


async def _drop(connection: Connection, day: int) -> Piece:
    await connection.execute(f"set local lock_timeout = '{DROP_LOCK}'; drop table undistributed.event_keys_{day:d}")
    await connection.execute(SQL.end_day, day)
    return Piece(0, is_last=True)


async def _compare(connection: Connection, day: int, place: int) -> None:
    here = await connection.fetchval(_of_day(SQL.here, day), place)
    there = await connection.fetchval(_of_day(SQL.there, day), place)
    if there < here:
        raise MoveError(f"place {place} of day {day} has {here} keys on the coordinator and {there} on its worker")


def _of_day(statement: str, day: int) -> str:
    return statement.replace("{day}", f"{day:d}")
