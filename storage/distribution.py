"""A database that is distributed: whether its engine can do it, and how it has divided the tables of events.

What is distributed, and why, is told in `docs/scaling.md`.
"""

import re

from actors.events.shards import Shard, ShardMap
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("sharded")

OLDEST_ENGINE = 12
"""The oldest major version of Citus that is supported: 12 takes all that the statements and the partitions need."""

PROBES = ["", "bok_1", "twelve bytes", "more than twelve bytes", "zażółć gęślą jaźń", *(f"bok_{n}" for n in range(60))]
"""Texts whose shard the engine is asked for, to see that it hashes as this program does."""

_VERSION = re.compile(r"Citus (\d+)\.", re.ASCII)


class DistributionError(Exception):
    """The database cannot be distributed, or not as this program would; the text ends a line that begins with its name."""


async def check_engine(database: Database) -> None:
    """Raise `DistributionError` unless the database has a Citus that is new enough."""

    async def work(connection: Connection) -> str | None:
        if not await connection.fetchval(SQL.engine):
            return None
        said: str = await connection.fetchval(SQL.version)
        return said

    said = await database.read(work)
    if said is None:
        raise DistributionError(
            "has no Citus extension, which database.distributed needs: preload citus and create the extension, "
            "or set database.distributed to false"
        )
    found = _VERSION.match(said)
    if found is None or int(found[1]) < OLDEST_ENGINE:
        raise DistributionError(f"has {' '.join(said.split()[:2])}; Citus {OLDEST_ENGINE} or newer is needed")


async def read_shards(database: Database) -> ShardMap:
    """The shards of the events as they are now. Raises `DistributionError` where the engine hashes otherwise than this
    program does."""

    async def work(connection: Connection) -> tuple[list[Shard], list[int]]:
        shards = [Shard(**row) for row in await connection.fetch(SQL.shards)]
        return shards, [row["id"] for row in await connection.fetch(SQL.shards_of, PROBES)]

    shards, homes = await database.read(work)
    try:
        found = ShardMap(shards)
    except ValueError as error:
        raise DistributionError(f"cannot be used: {error}") from None
    if [found.shard_of(probe).id for probe in PROBES] != homes:
        raise DistributionError("hashes texts otherwise than this program does: its servers are of another byte order")
    return found


async def forget_ended(database: Database) -> None:
    """Drop the turns of nodes that ended long ago; done at each start."""
    await database.read(lambda connection: connection.execute(SQL.forget))
