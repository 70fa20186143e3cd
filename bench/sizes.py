"""Bytes of an event in the table, its index and the log: `python -m bench.sizes`.

The results do not depend on the machine. A fresh Postgres is filled with a day's events in steps. Each step is followed
by a checkpoint and some more batches: the first change of a page after a checkpoint writes the whole page to the log, so
the log of an event grows with the day.
"""

import argparse
import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import trio

from actors.events.messages import Kind, Row
from actors.shared.credentials import ID_BYTES, new_id
from bench.scaling import PAGE_BYTES, whole_pages
from bench.stage import tell
from storage.connection.pool import Connection, Database, open_database
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
PARTITION = f"event_keys_{DAY}"
SIZES = f"select count(*), pg_relation_size('{PARTITION}'), pg_indexes_size('{PARTITION}') from {PARTITION}"
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


def doubling(most: int) -> Iterator[int]:
    events = 50_000
    while events <= most:
        yield events
        events *= 2


async def main(most: int, after: int, data_dir: Path) -> None:
    async with running_postgres(data_dir / "data", settings=SETTINGS) as postgres:
        endpoint = postgres.endpoint
        target = Target(host=endpoint.host, user=endpoint.user, database=endpoint.database)
        async with open_database(target) as database:
            await migrate(database)
            create = f"create table {PARTITION} partition of event_keys for values in ({DAY})"
            await database.read(lambda connection: connection.execute(create))
            writer = Writer(database)
            tell("log bytes per event by batch size, with no full-page writes")
            for size in (1, 10, 100, 500, 2_000):
                tell(f"  {size:>5}: {(await logged(database, writer, max(2_000, size), size)).bytes:8.0f}")
            tell(
                f"by events of the day: bytes per event, and the log of {after} events in batches of 500 after a checkpoint"
            )
            kept = 0
            for events in doubling(most):
                bare = await logged(database, writer, events - kept, FILLING)
                kept, table, index = await ask(database, SIZES)
                await database.read(lambda connection: connection.execute("checkpoint"))
                whole = await logged(database, writer, after, 500)
                expected = whole_pages(index / PAGE_BYTES, after)
                tell(
                    f"  {kept:>9}: row {table / kept:5.1f}, index {index / kept:5.1f}, log before {bare.bytes:5.0f}, after"
                    f" {whole.bytes:6.0f}, with {whole.pages:.3f} whole pages (expected {expected:.3f})"
                )
                kept += after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_600_000, help="most events of the day")
    parser.add_argument("--after", type=int, default=20_000, help="events after each checkpoint whose log is measured")
    parser.add_argument("--data-dir", type=Path, help="directory of the database; default: a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.data_dir) as place:
        Path(place).chmod(0o711)
        trio.run(main, given.events, given.after, Path(place))
