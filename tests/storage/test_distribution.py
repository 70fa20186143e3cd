"""Distributing a database: its requirements, the result, and the checks at each start."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from storage.connection.pool import Database, PoolLimits, open_database
from storage.connection.target import Target
from storage.events.distribution import DistributionError, check_engine, read_places
from storage.opening import StorageOptions, _prepare
from storage.rows.statements import statements
from storage.schema import FOLDER, SchemaDrift, migrate, migrations
from tests.conftest import Server
from tests.stores.conftest import stores_over_workers
from tests.stores.distributed import CITUS_URL, address_of, distributed, empty_on_citus, on_citus, stand_in
from tests.stores.tallies import Tally, keys_of, rows

SQL = Path(__file__).resolve().parents[2] / "storage" / "sql"
LAST_RELEASE, LAST_DISTRIBUTED = 27, 3
"""The newest migrations of the last release, and the newest of those that distribute."""
DISTRIBUTION = (SQL.parent / "migrations" / "distributed" / "0001_event_places.sql").read_text(encoding="utf-8")
OLD = """
create or replace function citus_stand_in.citus_version() returns text language sql
    as $$ select 'Citus 11.3.0 on x86_64-pc-linux-gnu, compiled by gcc' $$
"""
HOLDINGS = """
insert into tenants (id, tier) values ('ten_1', 'claimed');
insert into event_bookings (id) values ('bok_1');
create table event_keys_20000 partition of event_keys for values in (20000);
insert into event_keys values (20000, 1, 0, false, 'key');
insert into event_counts values (1, 20000, 1, 0, 0);
"""

COUNTED = """
insert into event_bookings (id) values ('bok_1');
insert into delivery_days values ('bok_1', 20000, 12, 3), ('bok_2', 20000, 0, 1);
insert into undistributed.event_counts values (1, 20000, 1, 0, 0);
insert into event_counts values (1, 20001, 4, 0, 0);
"""


async def change(database: Database, text: str) -> None:
    await database.read(lambda connection: connection.execute(text))


# Requirements.


async def test_a_database_without_the_extension_is_refused_in_words(database: Database) -> None:
    with pytest.raises(DistributionError, match="has no Citus extension"):
        await check_engine(database)


async def test_an_old_engine_is_refused_with_its_version(database_target: Target) -> None:
    await stand_in(database_target)
    async with open_database(database_target) as database:
        await change(database, OLD)
        with pytest.raises(DistributionError, match=r"has Citus 11\.3\.0; Citus 12 or newer is needed"):
            await check_engine(database)


# The distributed database.


async def test_it_is_distributed_once_with_what_it_holds(database_target: Target) -> None:
    async with open_database(database_target) as database:
        await change(database, HOLDINGS)
        assert await migrate(database) == []
    await distributed(database_target)
    async with open_database(database_target) as database:
        assert await migrate(database, distributed=True) == []
        divided = "select logicalrelid::text as name from pg_dist_partition order by 1"
        tables = [row["name"] for row in await database.read(lambda c: c.fetch(divided))]
        assert tables == ["event_counts", "event_journal", "event_keys", "event_site_counts"]
        kept = "select (select count(*) from undistributed.event_keys), (select sum(impressions) from deliveries)"
        assert tuple(await database.read(lambda c: c.fetchrow(kept))) == (1, 1)
        rename = "update citus_stand_in.pg_dist_partition set logicalrelid = '{}' where logicalrelid = '{}'::regclass"
        for name in tables:
            await change(database, rename.format("tenants", name))
            with pytest.raises(DistributionError, match="its event tables are not distributed"):
                await read_places(database)
            await change(database, rename.format(name, "tenants"))
        assert await read_places(database)


async def test_counts_of_the_last_release_move_beside_those_that_are_not_distributed(
    postgres_server: Server, tmp_path: Path
) -> None:
    name, (one, divided) = "distributed_by_1_1", (FOLDER, FOLDER / "distributed")
    for source, last in ((one, 27), (divided, 3)):
        folder = tmp_path / source.relative_to(one)
        folder.mkdir(exist_ok=True)
        for migration in migrations(source)[:last]:
            file = f"{migration.version:04d}_{migration.name}.sql"
            shutil.copy(source / file, folder / file)
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    target = postgres_server.named(name)
    await stand_in(target)
    async with open_database(target) as database:
        await migrate(database, tmp_path, distributed=True)
        await change(database, COUNTED)
        assert await migrate(database, distributed=True)
        await change(database, "insert into delivery_days values ('bok_1', 20000, 20, 0)")  # by a node of 1.1
        counts = "select sum(impressions)::int from {}"
        sums = [
            await database.fetchval(counts.format(each))
            for each in ("delivery_days", "undistributed.event_counts", "event_counts", "deliveries")
        ]
        assert sums == [None, 20 + 12 + 1, 4, 20 + 12 + 1 + 4]
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def test_a_distributed_database_is_not_used_as_one_that_is_not(database_target: Target) -> None:
    await distributed(database_target)
    async with open_database(database_target) as database:
        with pytest.raises(SchemaDrift, match="is distributed and cannot be changed back"):
            await migrate(database)


# Reading where the places are.


@pytest.mark.parametrize("count", [1, 4, 32, 33])
async def test_each_place_is_on_the_worker_that_the_engine_says(database_target: Target, count: int) -> None:
    await distributed(database_target, count)
    async with open_database(database_target) as database:
        places = await read_places(database)
        assert len(places.of) == 256
        assert set(places.of) == set(places.workers) == ({1, 2} if count > 1 else {2})
        for worker in places.workers:
            assert [places.of[place] for place in places.places_of(worker)] == [worker] * len(places.places_of(worker))
        assert {(worker.host, worker.port) for worker in places.workers.values()} == {address_of(database_target)}


@pytest.mark.parametrize(
    "fault",
    [
        "delete from pg_dist_placement where shardid = (select min(shardid) from pg_dist_shard)",
        "insert into pg_dist_placement select min(shardid), 1 from pg_dist_shard",
    ],
)
async def test_shards_without_a_server_or_with_several_are_refused(database_target: Target, fault: str) -> None:
    await distributed(database_target)
    async with open_database(database_target) as database:
        await change(database, fault)
        with pytest.raises(DistributionError, match="shards without a server or with several"):
            await read_places(database)


async def test_a_restore_that_lost_its_distribution_is_recognized(database_target: Target) -> None:
    await distributed(database_target)
    async with open_database(database_target) as database:
        await change(database, "truncate pg_dist_partition, pg_dist_shard, pg_dist_placement")
        with pytest.raises(
            DistributionError, match="it was restored from a dump, which does not hold the distribution"
        ):
            await read_places(database)


# Starting while a worker is unavailable.


async def test_a_node_starts_while_a_worker_is_away(database_target: Target) -> None:
    await distributed(database_target)
    options = StorageOptions(PoolLimits(), "postgresql://stand.in", allow_unsafe=True, distributed=True)
    async with open_database(database_target) as database:
        await change(database, "update citus_stand_in.pg_dist_node set nodename = 'nowhere' where groupid = 1")
        places = await _prepare(database, options, Path(), patient=True, migrates=True, inspect=None)
        assert places is not None
        assert set(places.of) == {1, 2}


# Connections.


@pytest.mark.parametrize("distributed", [False, True])
async def test_connections_to_a_distributed_database_do_not_hide_shards(
    database_target: Target, distributed: bool
) -> None:
    """With the default of Citus, what the driver asks on each new connection takes seconds."""
    async with open_database(replace(database_target, distributed=distributed)) as database:
        setting = await database.fetchval("select current_setting('citus.override_table_visibility', true)")
        assert setting == ("off" if distributed else None)


@pytest.mark.skipif(
    CITUS_URL is None, reason="CATALOG_TEST_CITUS_URL names no Citus, which alone has shards that it hides"
)
async def test_a_new_connection_is_quick_with_fifty_days_of_many_shards_on_a_server() -> None:
    async with on_citus(shards=32) as target:
        async with open_database(target) as database:
            tally = Tally(await stores_over_workers(database))
            await tally.stores.events.prepare(range(20_000, 20_050))
        hurried = PoolLimits(lock_seconds=0.8, statement_seconds=1.0, command_seconds=2.0)
        for number in range(3):
            async with open_database(target, hurried) as database:
                tally = Tally(await stores_over_workers(database), f"{number}/events")
                assert len(await tally.record(20_000 + number, rows(range(40)))) == 40


# Restrictions of Citus that show in the text of the statements.


@pytest.mark.skipif(
    CITUS_URL is None, reason="CATALOG_TEST_CITUS_URL names no Citus, which alone can show what it takes"
)
async def test_a_real_engine_takes_the_migrations_the_partitions_and_every_statement() -> None:
    async with on_citus() as target, open_database(target) as database:
        assert await migrate(database, distributed=True) == []
        tally = Tally(await stores_over_workers(database))
        some = sorted(each for booking in range(9) for each in rows(range(3), booking))
        for _ in range(2):
            await tally.stores.events.prepare(range(20_000, 20_004))
        assert set(await tally.record(20_000, some)) == keys_of(some)
        assert list(await tally.record(20_000, some)) == []
        assert await tally.counts() == {(f"bok_{booking}", 20_000): (3, 0) for booking in range(9)}
        assert list(await tally.stores.events.drop_before(20_002)) == [20_000, 20_001]


@pytest.mark.skipif(
    CITUS_URL is None, reason="CATALOG_TEST_CITUS_URL names no Citus, which alone can show what it takes"
)
async def test_a_real_engine_with_the_tables_of_the_last_release_takes_the_newer_migrations(tmp_path: Path) -> None:
    """Citus refuses some changes of tables that are distributed already."""
    for part, newest in (("", LAST_RELEASE), ("distributed", LAST_DISTRIBUTED)):
        (tmp_path / part).mkdir(exist_ok=True)
        for path in (FOLDER / part).glob("*.sql"):
            if int(path.name[:4]) <= newest:
                shutil.copy(path, tmp_path / part)
    async with empty_on_citus() as target, open_database(target) as database:
        assert len(await migrate(database, tmp_path, distributed=True)) == LAST_RELEASE + LAST_DISTRIBUTED
        assert await migrate(database, distributed=True)
        tally = Tally(await stores_over_workers(database))
        for batch in (rows(range(3)), rows(range(5)), rows(range(7))):
            await tally.record(20_000, batch)
        assert await tally.counts() == {("bok_1", 20_000): (7, 0)}


def test_conflict_updates_call_no_function() -> None:
    """Citus accepts only immutable functions there, and `now()` is not immutable."""
    [updates] = [re.findall(r"do update\s+set (.*?)[;$]", DISTRIBUTION, re.DOTALL)]
    assert updates
    assert not [update for update in updates if "(" in update]


def test_distributed_tables_are_written_by_no_common_table_expression() -> None:
    for path in sorted(SQL.glob("*.sql")):
        for name in statements(path.stem):
            text = getattr(statements(path.stem), name)
            if re.search(r"\b(event_keys|event_counts|event_journal)\b", text):
                assert not re.search(r"\bwith \w+ as\b", text), f"{path.stem}: {name}"
