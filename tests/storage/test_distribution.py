"""Distributing a database: its requirements, the result, and the checks at each start."""

import random
import re
from pathlib import Path

import pytest

from actors.events.shards import text_hash
from actors.values import StorageUnavailable
from storage.distribution import DistributionError, check_engine, prune_journal, read_shards
from storage.opening import StorageOptions, _prepare
from storage.pool import Database, PoolLimits, Target, open_database
from storage.schema import SchemaDrift, migrate
from storage.statements import statements
from tests.stores.conftest import stores_over_shards
from tests.stores.sharded import CITUS_URL, distributed, on_citus, stand_in
from tests.stores.tallies import Tally, keys_of, rows

SQL = Path(__file__).resolve().parents[2] / "storage" / "sql"
OLD = """
create or replace function citus_stand_in.citus_version() returns text language sql
    as $$ select 'Citus 11.3.0 on x86_64-pc-linux-gnu, compiled by gcc' $$
"""
BACKWARDS = """
create or replace function citus_stand_in.get_shard_id_for_distribution_column(divided regclass, probe text)
    returns bigint language sql as $$
        select shardid from pg_dist_shard
        where logicalrelid = divided and hashtext(reverse(probe)) between shardminvalue::int and shardmaxvalue::int
    $$
"""
WORKER_AWAY = """
create function no_worker() returns trigger language plpgsql as $$ begin
    raise exception using errcode = '08006', message = 'connection to the remote node worker:5432 failed';
end $$;
create trigger no_worker before delete on event_turns for each statement execute function no_worker();
"""
HOLDINGS = """
create table events_20000 partition of events for values in (20000);
insert into events values ('bok_1', 20000, 'key', 0);
insert into delivery_days values ('bok_1', 20000, 1, 0);
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
        assert tables == ["delivery_days", "event_turns", "events"]
        kept = "select (select count(*) from events), (select sum(impressions) from delivery_days)"
        assert tuple(await database.read(lambda c: c.fetchrow(kept))) == (1, 1)


async def test_a_distributed_database_is_not_used_as_one_that_is_not(database_target: Target) -> None:
    await distributed(database_target)
    async with open_database(database_target) as database:
        with pytest.raises(SchemaDrift, match="is distributed and cannot be changed back"):
            await migrate(database)


# Reading the shards.


async def test_texts_hash_as_postgres_hashes_them(database: Database) -> None:
    chance = random.Random(7)
    planes = [(1, 0x80), (0x80, 0x800), (0x800, 0xD800), (0xE000, 0x11_0000)]
    texts = ["", *("x" * length for length in range(1, 50)), "long " * 20_000]
    for _ in range(3_000):
        texts.append("".join(chr(chance.randrange(*chance.choice(planes))) for _ in range(chance.randrange(70))))
    hashed = (
        "select hashtext(text) as hash from unnest($1::text[]) with ordinality as texts (text, place) order by place"
    )
    rows = await database.read(lambda c: c.fetch(hashed, texts))
    assert [text_hash(text) for text in texts] == [row["hash"] for row in rows]


@pytest.mark.parametrize("count", [1, 4, 32, 33])
async def test_the_shards_are_those_that_the_engine_has(database_target: Target, count: int) -> None:
    await distributed(database_target, count)
    async with open_database(database_target) as database:
        shards = await read_shards(database)
        assert len(shards) == count
        bookings = [f"bok_{number}" for number in range(500)]
        homes = await database.read(lambda c: c.fetch(statements("sharded").shards_of, bookings))
        assert [shards.shard_of(booking).id for booking in bookings] == [row["id"] for row in homes]


async def test_ranges_with_a_gap_are_refused(database_target: Target) -> None:
    await distributed(database_target)
    async with open_database(database_target) as database:
        await change(database, "delete from pg_dist_shard where shardid = 102010")
        with pytest.raises(DistributionError, match="leave gaps"):
            await read_shards(database)


async def test_an_engine_that_hashes_otherwise_is_refused(database_target: Target) -> None:
    await distributed(database_target)
    async with open_database(database_target) as database:
        await change(database, BACKWARDS)
        with pytest.raises(DistributionError, match="hashes texts differently from this program"):
            await read_shards(database)


# Starting while a worker is unavailable.


async def test_a_node_starts_while_a_worker_is_away(database_target: Target) -> None:
    """Pruning the journal is the only part of a start that needs the workers, and it can wait for a later start."""
    await distributed(database_target)
    options = StorageOptions(PoolLimits(), "postgresql://stand.in", allow_unsafe=True, distributed=True)
    async with open_database(database_target) as database:
        await change(database, WORKER_AWAY)
        with pytest.raises(StorageUnavailable, match="remote node"):
            await prune_journal(database)
        shards = await _prepare(database, options, patient=False, prepared=False)
        assert shards is not None
        assert len(shards) == 4


# Restrictions of Citus that show in the text of the statements.


@pytest.mark.skipif(
    CITUS_URL is None, reason="CATALOG_TEST_CITUS_URL names no Citus, which alone can show what it takes"
)
async def test_a_real_engine_takes_the_migrations_the_partitions_and_every_statement() -> None:
    async with on_citus() as target, open_database(target) as database:
        assert await migrate(database, distributed=True) == []
        tally = Tally(await stores_over_shards(database))
        some = sorted(each for booking in range(9) for each in rows(range(3), booking))
        for _ in range(2):
            await tally.stores.events.prepare(range(20_000, 20_004))
        assert set(await tally.record(20_000, some)) == keys_of(some)
        assert list(await tally.record(20_000, some)) == []
        assert await tally.counts() == {(f"bok_{booking}", 20_000): (3, 0) for booking in range(9)}
        await prune_journal(database)
        assert list(await tally.stores.events.drop_before(20_002)) == [20_000, 20_001]


def test_conflict_updates_call_no_function() -> None:
    """Citus accepts only immutable functions there, and `now()` is not immutable."""
    for name in statements("sharded"):
        updates = re.findall(r"do update\s+set (.*)", getattr(statements("sharded"), name), re.DOTALL)
        assert not [update for update in updates if "(" in update], name


def test_distributed_tables_are_joined_to_no_other_and_written_by_no_common_table_expression() -> None:
    for path in sorted(SQL.glob("*.sql")):
        if path.stem == "events":  # Its statements that write are those of one Postgres.
            continue
        for name in statements(path.stem):
            text = getattr(statements(path.stem), name)
            if re.search(r"\b(delivery_days|event_turns|(from|into) events)\b", text):
                assert not re.search(r"\bjoin\b|\blateral\b|\bwith \w+ as\b", text), f"{path.stem}: {name}"
