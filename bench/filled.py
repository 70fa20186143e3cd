"""Fills the database of a data directory with years of rows and a catalog, unless it has them: `python -m bench.filled`.

A process of its own, because trio_asyncio, which the stores need, replaces the loops of asyncio. Prints the fields of
`mixed.People` as JSON.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import trio

from actors.catalog.store import Import
from actors.shared.credentials import ENTROPY_BYTES, Kind, digest, new_key
from bench.stage import tell, write_catalog
from service.seed.catalog_file import parse
from storage.connection.pool import Connection, Database, PoolLimits, open_database
from storage.connection.target import Target
from storage.embedded.server import running_postgres
from storage.postgres.catalog import PostgresCatalog
from storage.schema import migrate
from tests.growth.filling import ADMIN, FILL_SECONDS, MOST, Size, fill, key_of, session_of

SIZE = Size(4_000, 12_000, 20_000, 22_000)
BUYERS = [person for person in range(5, 505) if person % 10 != 4 and person % 100 != 99]
"""The numbers of accounts that book: so many that none comes near what an account may book in a day. Those that end in 4 are
about to be deleted, and those that end in 99 are suspended."""


async def fill_once(data_dir: Path, entries: int) -> None:
    async with running_postgres(data_dir) as postgres:
        endpoint = postgres.endpoint
        target = Target(host=endpoint.host, user=endpoint.user, database=endpoint.database)
        async with open_database(target, PoolLimits(command_seconds=FILL_SECONDS)) as database:
            await migrate(database)
            store = PostgresCatalog(database)
            if await store.revision() == 0:
                tell(f"importing a catalog of {entries:,} entries, then {SIZE}")
                file = data_dir / "catalog.jsonl"
                write_catalog(file, entries)
                with file.open("rb") as stream:
                    await store.replace(Import(parse(stream).entries, 0))
                await fill(database, SIZE, 1, int(time.time() * 1000))
                await _give_keys(database)


async def _give_keys(database: Database) -> None:
    """Give each buyer the key of `_key_of`."""

    async def work(connection: Connection) -> None:
        for person in BUYERS:
            hashed = digest(_key_of(person))
            await connection.execute("update api_keys set hash = $2 where id = $1", f"key_{person}", hashed)

    await database.transact(work, seconds=FILL_SECONDS)


def _key_of(buyer: int) -> str:
    return new_key(Kind.USER, str(buyer).zfill(ENTROPY_BYTES).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill a data directory with the rows of years.")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("entries", type=int)
    given = parser.parse_args()
    trio.run(fill_once, given.data_dir, given.entries)
    people = {"administrator": ADMIN, "sponsor": MOST}
    found = {name: {"key": key_of(person), "session": session_of(person)} for name, person in people.items()}
    buyers = [{"key": _key_of(person), "campaign": f"cmp_{person - 2 + SIZE.accounts - 1}"} for person in BUYERS]
    sys.stdout.write(json.dumps({**found, "buyers": buyers}) + "\n")


if __name__ == "__main__":
    main()
