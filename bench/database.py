"""The database's ceiling: batches of events written without a service: `python -m bench.database`.

`insert` is only `INSERT ... SELECT FROM unnest(...)`. `record` is the service's own function, which also journals its
batch id, counts, and fails on a duplicate. Each statement is one transaction. PGHOST, PGUSER and PGDATABASE name the
database.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from actors.events.messages import Kind, Row
from storage.events.packing import packed
from storage.events.store import SQL, home_of

DAY_SECONDS = 86_400
KEY_BYTES = 16

INSERT = """
    insert into event_keys (booking, day, key, click, place)
    select booking, $1, key, click, get_byte(key, 0)
    from unnest($2::int[], $3::bytea[], $4::bool[]) as offered (booking, key, click)
"""


class Writers:
    """Several connections, so that one builds its batch while another writes."""

    def __init__(self, statement: str, size: int, numbers: Mapping[str, int], seed: int) -> None:
        self._statement = statement
        self._size = size
        self._numbers = numbers
        self._seed = seed
        self._chance = random.Random(seed)
        self.seconds: list[float] = []

    async def write(self, number: int, ends: float) -> None:
        """Write batches over one connection until the time `ends`, but at least one."""
        connection = await asyncpg.connect(ssl=False, server_settings={"jit": "off"})
        try:
            seq = 0
            while (started := time.perf_counter()) < ends or not seq:
                seq += 1
                await self._batch(connection, number, seq)
                self.seconds.append(time.perf_counter() - started)
        finally:
            await connection.close()

    async def _batch(self, connection: Any, number: int, seq: int) -> None:
        bookings = sorted(self._numbers)
        made = [(self._chance.choice(bookings), self._chance.randbytes(KEY_BYTES)) for _ in range(self._size)]
        made.sort()
        day = int(time.time() // DAY_SECONDS)
        if self._statement == "insert":
            columns = [self._numbers[booking] for booking, _ in made], [key for _, key in made], [False] * self._size
            await connection.execute(INSERT, day, *columns)
        else:
            batch = packed([Row(booking, key, Kind.IMPRESSION) for booking, key in made], self._numbers)
            owner = f"bench-{self._seed}-{number}/events"
            await connection.fetchval(SQL.record_new, home_of(owner), owner, seq, day, *batch)


async def numbers(bookings: Sequence[str]) -> Mapping[str, int]:
    """The numbers of bookings, which are given here if they have none."""
    connection = await asyncpg.connect(ssl=False)
    try:
        await connection.execute(SQL.number, bookings)
        return {row["id"]: row["number"] for row in await connection.fetch(SQL.numbers, bookings)}
    finally:
        await connection.close()


async def run(given: argparse.Namespace) -> dict[str, float]:
    """Write for `seconds`. Returns the fields of `load.Measured`; each answer is a batch."""
    writers = Writers(given.statement, given.size, await numbers(sorted(given.bookings.split(","))), given.seed)
    started = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(given.writers):
            tasks.create_task(writers.write(number, started + given.seconds))
    spent = time.perf_counter() - started
    batches = sorted(writers.seconds)
    return {
        "answers": len(batches),
        "failures": 0,
        "recorded": len(batches) * given.size,
        "seconds": spent,
        "p50_ms": batches[len(batches) // 2] * 1e3,
        "p99_ms": batches[len(batches) * 99 // 100] * 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write events by statements alone; prints what was measured as JSON.")
    parser.add_argument("statement", choices=["insert", "record"])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--size", type=int, default=500, help="events a statement (500)")
    parser.add_argument("--writers", type=int, default=3, help="connections (3): fewer are slower, more are no faster")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bookings", required=True, help="ids between commas")
    sys.stdout.write(json.dumps(asyncio.run(run(parser.parse_args()))) + "\n")


if __name__ == "__main__":
    main()
