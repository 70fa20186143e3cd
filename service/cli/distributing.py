"""The command that moves the events of earlier days to the workers of a distributed database."""

import argparse
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import trio

from actors.values import TransientStorageError
from service.cli.command import CommandError, option
from service.cli.database import Progress, open_to_read, open_with_running_node, progress_bar
from service.config.model import Config
from storage.events.moves import DayToMove, EventMoves, MoveError, Piece

PROGRESS_SECONDS = 5.0
"""How often progress is printed."""

ATTEMPTS = 60
PAUSE_SECONDS = 1.0
"""A piece that fails in passing is tried again so often, after this pause: a worker may be restarting."""


def _pace(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 8 else 0
    if not 0 < number <= 10_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 10000000")
    return number


async def distribute(
    config: Config,
    data_dir: Path,
    *,
    status: Annotated[bool, option("print how far it is, and change nothing", excludes=True)] = False,
    pause: Annotated[bool, option("let a running 'distribute' end after its present piece", excludes=True)] = False,
    keys_per_second: Annotated[
        int | None,
        option("the most keys to copy in a second (20000 until it is changed)", metavar="N", type=_pace),
    ] = None,
) -> None:
    if not config.database.distributed:
        raise CommandError("the database is not distributed: set database.distributed to true")
    if status and keys_per_second is not None:
        raise CommandError("--status changes nothing: leave --keys-per-second out")
    # A pause must not wait for a migration, and must not be what distributes the database.
    opening = open_to_read(config, data_dir) if status else open_with_running_node(config, data_dir, migrates=not pause)
    async with opening as opened:
        moves = EventMoves(opened.database)
        if keys_per_second is not None:
            await moves.set_pace(keys_per_second=keys_per_second)
        if pause:
            await moves.set_pace(paused=True)
            print("paused: 'distribute' goes on from here")
        elif not status:
            await moves.set_pace(paused=False)
            await _move_all(moves)
        if not pause:
            await _print_progress(moves)


async def _print_progress(moves: EventMoves) -> None:
    """Print what is left to move."""
    days, last = await moves.days(), await moves.last_day_to_move()
    for each in days:
        print(_line(each) if each.day <= last else f"{_date(each.day)}: waits until its events have arrived")
    if not days:
        print("all days are distributed")
    elif (await moves.pace()).paused:
        print("paused: 'distribute' goes on from here")


async def _move_all(moves: EventMoves) -> None:
    last = await moves.last_day_to_move()
    for each in await moves.days():
        if each.day <= last and not await _move(moves, each):
            return


async def _move(moves: EventMoves, day: DayToMove) -> bool:
    """Move one day. Returns False if it was paused."""
    with progress_bar(_date(day.day), "keys") as progress:
        is_whole = await _move_pieces(moves, day, progress)
    if is_whole:
        print(f"{_date(day.day)}: done")
    return is_whole


async def _move_pieces(moves: EventMoves, day: DayToMove, progress: Progress) -> bool:
    printed_at, moved = trio.current_time(), day.moved
    while not (pace := await moves.pace()).paused:
        began = trio.current_time()
        piece = await _piece(moves, day.day)
        if piece.is_last:
            return True
        moved += piece.keys
        progress(moved, max(day.keys, moved))
        # Without a terminal, lines replace the progress bar.
        if not sys.stderr.isatty() and trio.current_time() - printed_at >= PROGRESS_SECONDS:
            printed_at = trio.current_time()
            print(_line(DayToMove(day.day, max(day.keys, moved), moved)), flush=True)
        await trio.sleep_until(began + piece.keys / pace.keys_per_second)
    return False


async def _piece(moves: EventMoves, day: int) -> Piece:
    failures = 0
    while True:
        try:
            return await moves.move_piece(day)
        except MoveError as error:
            raise CommandError(str(error)) from None
        except TransientStorageError as error:
            failures += 1
            if failures == ATTEMPTS:
                raise CommandError(f"{_date(day)} cannot be moved now: {error}") from None
        await trio.sleep(PAUSE_SECONDS)


def _line(day: DayToMove) -> str:
    return f"{_date(day.day)}: {day.moved:,} of about {day.keys:,} keys moved"


def _date(day: int) -> str:
    return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day):%Y-%m-%d}"
