"""Distributed databases for tests: logical shards on plain Postgres behind a stand-in for Citus, or Citus itself.

`CATALOG_TEST_CITUS_URL` names a server with Citus preloaded, whose role may create databases: then the contract of the event
store runs there, too. The stand-in shows that the statements are right, and that each transaction keeps to one shard by
Postgres's own hash. Only Citus itself can show that it accepts them.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from storage.connection.pool import Connection, Database, PoolLimits, open_database
from storage.connection.target import Target
from storage.events.distributed_store import DistributedEvents
from storage.events.distribution import check_engine, read_places
from storage.schema import migrate

CITUS_URL = os.environ.get("CATALOG_TEST_CITUS_URL")
STAND_IN = (Path(__file__).parent / "stand_in.sql").read_text(encoding="utf-8")
CITUS = """
create extension citus;
select citus_set_coordinator_host('localhost', current_setting('port')::int);
select citus_set_node_property('localhost', current_setting('port')::int, 'shouldhaveshards', true);
"""
"""A coordinator that holds the shards itself: one server forms a cluster."""

PATIENT = PoolLimits(statement_seconds=60.0, command_seconds=70.0)
"""Dropping a database with some thousand shards takes longer than a statement of a node may."""

_numbers = count(1)


def address_of(target: Target) -> tuple[str, int]:
    """Host, or socket directory, and port of a server."""
    if target.url is None:
        assert target.host is not None
        return target.host, target.port or 5432
    parts = urlsplit(target.url)
    asked = dict(parse_qsl(parts.query))
    return asked.get("host") or parts.hostname or "localhost", parts.port or int(asked.get("port", 5432))


def settings_of(shards: int) -> tuple[str, ...]:
    """The settings of a database with the stand-in."""
    return "search_path = public, citus_stand_in", f"citus.shard_count = {shards}"


async def stand_in(target: Target, shards: int = 4) -> None:
    """Prepare the database for this number of logical shards."""

    async def work(connection: Connection) -> None:
        name = await connection.fetchval("select quote_ident(current_database())")
        await connection.execute(STAND_IN)
        for setting in settings_of(shards):
            await connection.execute(f"alter database {name} set {setting}")
        await connection.executemany(
            "insert into citus_stand_in.pg_dist_node values ($1, 'primary', $2, $3)",
            [(worker, *address_of(target)) for worker in (1, 2)],
        )

    async with open_database(target) as database:
        await database.transact(work)


async def distributed(target: Target, shards: int = 4) -> None:
    """Distribute the migrated database over logical shards, like the first start with that setting."""
    await stand_in(target, shards)
    async with open_database(target) as database:
        await check_engine(database)
        await migrate(database, distributed=True)


async def distributed_in_use(target: Target, day: int) -> None:
    """Distribute a database that was used before. Days from `day` on are distributed."""
    async with open_database(target) as database:
        await database.read(lambda c: c.execute("insert into tenants (id, tier) values ('ten_used', 'claimed')"))
    await distributed(target)
    async with open_database(target) as database:
        since = await database.fetchval("select since from event_distribution")
        await database.read(lambda c: c.execute("update event_distribution set since = $1", day))
        days = ", ".join(f"undistributed.event_keys_{made}" for made in (since - 2, since - 1))
        await database.read(lambda c: c.execute(f"drop table {days}"))


async def distributed_events(database: Database) -> DistributedEvents:
    """The event store of a node that starts on a distributed database."""
    return DistributedEvents(database, await read_places(database))


@asynccontextmanager
async def empty_on_citus(shards: int = 4) -> AsyncIterator[Target]:
    """A fresh empty database on the server of `CATALOG_TEST_CITUS_URL`, ready to be distributed."""
    assert CITUS_URL is not None
    name = f"catalog_test_{os.getpid()}_{next(_numbers)}"
    target = Target(url=urlunsplit(urlsplit(CITUS_URL)._replace(path=f"/{name}")), distributed=True)
    async with open_database(Target(url=CITUS_URL, distributed=True), PATIENT) as server:
        await server.read(lambda c: c.execute(f"create database {name}"))
        try:
            async with open_database(target) as database:
                await database.read(lambda c: c.execute(CITUS))
                await database.read(lambda c: c.execute(f"alter database {name} set citus.shard_count = {shards}"))
            yield target
        finally:
            await server.read(lambda c: c.execute(f"drop database if exists {name} with (force)"))


@asynccontextmanager
async def on_citus(shards: int = 4) -> AsyncIterator[Target]:
    """A fresh distributed database on that server."""
    async with empty_on_citus(shards) as target:
        async with open_database(target) as database:
            await check_engine(database)
            await migrate(database, distributed=True)
        yield target
