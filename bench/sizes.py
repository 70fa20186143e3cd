"""Bytes of an event in the table, its index and the log: `python -m bench.sizes`.

The results do not depend on the machine. A fresh Postgres is filled with a day's events in steps. Each step is followed
by a checkpoint and some more batches: the first change of a page after a checkpoint writes the whole page to the log, so
the log of an event grows with the day.

With `--checkpoints`, a whole small day with so many checkpoints is written instead, at equal distances. The share of pages
that is written whole depends only on events and leaves between two checkpoints, which grow together, so the log of an event
is that of a large day with as many checkpoints. `--events` at two sizes shows whether that holds: batches of one size cost
the same in both.
"""

import argparse
import math
import random
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import trio

from actors.events.messages import Kind, Row
from actors.shared.credentials import ID_BYTES, new_id
from bench.scaling import PAGE_BYTES, whole_pages
from bench.stage import tell
from storage.connection.pool import Connection, Database, PoolLimits, open_database
from storage.connection.target import Target
from storage.embedded.server import running_postgres
from storage.events.packing import packed
from storage.events.store import SQL, home_of
from storage.schema import migrate

DAY = 20_000
BOOKINGS = 200
KEY_BYTES = 16
OWNER = "0123456789ab/events"
FILLING = 2_000
"""Batch size while the table is filled."""
SETTINGS = {"max_wal_size": "64GB", "checkpoint_timeout": "1d", "autovacuum": "off", "shared_buffers": "512MB"}
"""Settings that leave only explicit checkpoints."""
PATIENT = PoolLimits(statement_seconds=120.0, command_seconds=150.0)
"""A checkpoint takes longer than the statements of nodes."""
PARTITION = f"event_keys_{DAY}"
SIZES = f"select count(*), pg_relation_size('{PARTITION}'), pg_indexes_size('{PARTITION}') from {PARTITION}"
STEPS = 96
"""Steps of a day: autovacuum is due at the end of one."""
UPKEEP = {"vacuum": (1_000, 0.2), "analyze": (50, 0.1)}
"""When autovacuum runs each on a table that only grows: new rows, at least so many and this share of all (its defaults)."""
LOG = "select wal_bytes::bigint as all, wal_fpi::bigint as pages from pg_stat_wal"


class Writer:
    """Writes batches of new events, one per transaction, with booking ids as long as the service's."""

    def __init__(self, database: Database, seed: int = 1) -> None:
        self._database = database
        self._chance = random.Random(seed)
        self._bookings = [new_id("bok", self._chance.randbytes(ID_BYTES)) for _ in range(BOOKINGS)]
        self._numbers = {booking: number for number, booking in enumerate(self._bookings, 1)}
        self._seq = 0

    async def write(self, events: int, size: int) -> None:
        for _ in range(math.ceil(events / size)):
            self._seq += 1
            rows = sorted(self._row() for _ in range(size))
            batch = home_of(OWNER), OWNER, self._seq, DAY, *packed(rows, self._numbers)

            async def work(connection: Connection, batch: tuple[object, ...] = batch) -> None:
                await connection.fetchval(SQL.record_new, *batch)

            await self._database.commit(work)

    def _row(self) -> Row:
        kind = Kind.CLICK if self._chance.randrange(16) == 0 else Kind.IMPRESSION
        return Row(self._chance.choice(self._bookings), self._chance.randbytes(KEY_BYTES), kind)


async def order(database: Database, text: str) -> None:
    await database.read(lambda connection: connection.execute(text))


async def ask(database: Database, text: str) -> tuple[int, ...]:
    async def work(connection: Connection) -> tuple[int, ...]:
        await connection.execute("select pg_stat_force_next_flush()")
        await connection.execute("select pg_stat_clear_snapshot()")
        return tuple(await connection.fetchrow(text))

    return await database.read(work)


class Log(NamedTuple):
    """The log per event: bytes, and full-page writes."""

    bytes: float
    pages: float


async def logged(database: Database, writer: Writer, events: int, size: int) -> Log:
    before = await ask(database, LOG)
    await writer.write(events, size)
    return Log(*((after - earlier) / events for after, earlier in zip(await ask(database, LOG), before, strict=True)))


class Upkeep:
    """Runs what autovacuum would run, after the same number of rows on each machine."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._done = dict.fromkeys(UPKEEP, 0)

    async def after(self, rows: int) -> None:
        """Run what is due with so many rows in the table."""
        for command, (least, share) in UPKEEP.items():
            if rows - self._done[command] > least + share * self._done[command]:
                self._done[command] = rows
                await order(self._database, f"{command} {PARTITION}")


async def whole_day(database: Database, events: int, checkpoints: int, size: int) -> None:
    """Write a day with so many checkpoints in batches of one size."""
    writer, upkeep = Writer(database), Upkeep(database)
    bare = (await logged(database, writer, 10_000, size)).bytes
    await order(database, f"truncate {PARTITION}")
    step, between = events // STEPS, events // STEPS * (STEPS // checkpoints)
    tell(
        f"a day of {events} events in batches of {size}, with {checkpoints} checkpoints; {bare:.0f} bytes without whole pages"
    )
    total, kept = 0.0, 0
    for _ in range(checkpoints):
        await order(database, "checkpoint")
        before = await ask(database, LOG)
        for _ in range(STEPS // checkpoints):
            await writer.write(step, size)
            kept += step
            await upkeep.after(kept)
        log = Log(*((now - then) / between for now, then in zip(await ask(database, LOG), before, strict=True)))
        total += log.bytes * between
        leaves = (await ask(database, SIZES))[2] / PAGE_BYTES
        tell(
            f"  {kept:>9}: {log.bytes:6.0f} bytes, {log.pages:.3f} whole pages (expected {whole_pages(leaves, between):.3f})"
            f" of {(log.bytes - bare) / log.pages:5.0f}"
        )
    tell(f"  all of the day: {total / kept:6.0f} bytes")


async def growing_day(database: Database, most: int, after: int) -> None:
    writer = Writer(database)
    tell("log bytes per event by batch size, with no full-page writes")
    for size in (1, 10, 100, 500, 2_000):
        tell(f"  {size:>5}: {(await logged(database, writer, max(2_000, size), size)).bytes:8.0f}")
    tell(f"by events of the day: bytes per event, and the log of {after} events in batches of 500 after a checkpoint")
    kept = 0
    for events in doubling(most):
        bare = await logged(database, writer, events - kept, FILLING)
        kept, table, index = await ask(database, SIZES)
        await order(database, "checkpoint")
        whole = await logged(database, writer, after, 500)
        expected = whole_pages(index / PAGE_BYTES, after)
        tell(
            f"  {kept:>9}: row {table / kept:5.1f}, index {index / kept:5.1f}, log before {bare.bytes:5.0f}, after"
            f" {whole.bytes:6.0f}, with {whole.pages:.3f} whole pages (expected {expected:.3f})"
        )
        kept += after


def doubling(most: int) -> Iterator[int]:
    events = 50_000
    while events <= most:
        yield events
        events *= 2


@asynccontextmanager
async def day(target: Target) -> AsyncIterator[Database]:
    """The migrated database, with the partition of an empty day."""
    async with open_database(target, PATIENT) as database:
        await migrate(database)
        await order(database, f"create table {PARTITION} partition of event_keys for values in ({DAY})")
        yield database


async def main(given: argparse.Namespace, data_dir: Path) -> None:
    async with AsyncExitStack() as closing:
        target = Target(url=given.url)
        if not given.url:
            settings = SETTINGS | dict(pair.split("=") for pair in given.set)
            postgres = await closing.enter_async_context(running_postgres(data_dir / "data", settings=settings))
            target = postgres.endpoint
        database = await closing.enter_async_context(day(target))
        if given.checkpoints:
            await whole_day(database, given.events, given.checkpoints, given.batch)
        else:
            await growing_day(database, given.events, given.after)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_600_000, help="most events of the day")
    parser.add_argument("--after", type=int, default=20_000, help="events after each checkpoint whose log is measured")
    parser.add_argument(
        "--checkpoints",
        type=int,
        choices=[n for n in range(1, STEPS + 1) if STEPS % n == 0],
        help="those of a whole day",
    )
    parser.add_argument("--batch", type=int, default=10, help="events of a transaction of the whole day")
    parser.add_argument(
        "--set", action="append", default=[], help="a setting of the server, such as wal_compression=on"
    )
    parser.add_argument(
        "--url", help="an empty database whose role may order checkpoints; default: the embedded Postgres"
    )
    parser.add_argument("--data-dir", type=Path, help="directory of the database; default: a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.data_dir) as place:
        Path(place).chmod(0o711)
        trio.run(main, given, Path(place))
