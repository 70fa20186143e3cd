"""A distributed database: checks its engine, and reads how it has sharded the event tables.

`docs/scaling.md` says what is distributed and why.
"""

import re

from actors.events.shards import Shard, ShardMap
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("sharded")

OLDEST_ENGINE = 12
"""The oldest supported major version of Citus: the first that accepts all our statements and partitions."""

PROBES = ["", "bok_1", "twelve bytes", "more than twelve bytes", "zażółć gęślą jaźń", *(f"bok_{n}" for n in range(60))]
"""Texts whose shard is compared with the engine's, to check that it hashes as this program does."""

_VERSION = re.compile(r"Citus (\d+)\.", re.ASCII)


class DistributionError(Exception):
    """The database cannot be distributed as this program needs. The text completes a line that begins with its name."""


async def check_engine(database: Database) -> None:
    """Raise `DistributionError` unless the database has a supported Citus."""
    if not await database.fetchval(SQL.engine):
        raise DistributionError(
            "has no Citus extension, which database.distributed needs: preload citus and create the extension, "
            "or set database.distributed to false"
        )
    version: str = await database.fetchval(SQL.version)
    found = _VERSION.match(version)
    if found is None or int(found[1]) < OLDEST_ENGINE:
        raise DistributionError(f"has {' '.join(version.split()[:2])}; Citus {OLDEST_ENGINE} or newer is needed")


async def read_shards(database: Database) -> ShardMap:
    """The current shards of the events. Raises `DistributionError` if the engine hashes differently from this program."""

    async def work(connection: Connection) -> tuple[list[Shard], list[int]]:
        shards = [Shard(**row) for row in await connection.fetch(SQL.shards)]
        return shards, [row["id"] for row in await connection.fetch(SQL.shards_of, PROBES)]

    shards, homes = await database.read(work)
    try:
        found = ShardMap(shards)
    except ValueError as error:
        raise DistributionError(f"cannot be used: {error}") from None
    if [found.shard_of(probe).id for probe in PROBES] != homes:
        raise DistributionError("hashes texts differently from this program: its servers have another byte order")
    return found


async def prune_journal(database: Database) -> None:
    """Delete the batch ids of nodes that ended long ago. Runs at each start."""
    await database.read(lambda connection: connection.execute(SQL.prune))
