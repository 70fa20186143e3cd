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
from bench.stage import tell, write_catalog
from service.seed.catalog_file import parse
from storage.connection.pool import PoolLimits, open_database
from storage.connection.target import Target
from storage.embedded.server import running_postgres
from storage.postgres.catalog import PostgresCatalog
from storage.schema import migrate
from tests.growth.filling import ADMIN, FEW, FILL_SECONDS, MOST, Size, fill, key_of, session_of

SIZE = Size(4_000, 12_000, 20_000, 22_000)


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill a data directory with the rows of years.")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("entries", type=int)
    given = parser.parse_args()
    trio.run(fill_once, given.data_dir, given.entries)
    people = {"administrator": ADMIN, "sponsor": MOST, "buyer": FEW}
    found = {name: {"key": key_of(person), "session": session_of(person)} for name, person in people.items()}
    sys.stdout.write(json.dumps({**found, "campaign": f"cmp_{FEW - 2 + SIZE.accounts - 1}"}) + "\n")


if __name__ == "__main__":
    main()
