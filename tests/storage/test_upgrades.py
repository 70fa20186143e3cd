"""Upgrades from the last release, with data in every table: no row is lost, and no count.

`upgrades/<number>.sql` has rows for the schema of that migration: the first one for all tables of the last release, each
other one for what its migration made.
"""

import json
from collections.abc import AsyncIterator
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
import trio

from storage.connection.pool import Connection, Database, open_database
from storage.schema import MigrationFailed, migrate, migrations
from tests.conftest import Server
from tests.slow import repeats

DATA = Path(__file__).parent / "upgrades"
KNOWN = migrations()
LAST_RELEASE = 27
"""The newest migration of release 1.1."""

CHANGED = {"delivery_days", "event_bookings", "event_counts", "events", "forms", "sign_ins"}
"""Tables whose rows the migrations of this release move or delete. The tests of these migrations are below."""

TABLES = """
select relname from pg_class where relkind in ('r', 'p') and not relispartition
and relnamespace = 'public'::regnamespace and relname <> 'schema_migrations' order by relname
"""
DELIVERED = """
select booking_id, day, sum(impressions)::int as impressions, sum(clicks)::int as clicks from deliveries group by 1, 2
"""

VERSIONS = [
    LAST_RELEASE,
    *(
        pytest.param(each, marks=repeats("the first and the newest"))
        for each in range(LAST_RELEASE + 1, len(KNOWN) - 1)
    ),
    *range(len(KNOWN) - 1, len(KNOWN) + 1),
]

Rows = dict[str, list[dict[str, Any]]]


def data_of(version: int) -> str:
    return (DATA / f"{version:04d}.sql").read_text(encoding="utf-8")


async def _rows(connection: Connection) -> Rows:
    """All rows of all tables."""
    tables = [row["relname"] for row in await connection.fetch(TABLES)]
    found = {}
    for table in tables:
        rows = await connection.fetch(f'select to_jsonb(each) as row from "{table}" each order by 1')
        found[table] = [json.loads(row["row"]) for row in rows]
    return found


async def _filled(database: Database, version: int, folder: Path) -> None:
    """Make a database of the last release, and use it with each migration up to `version`."""
    for migration in KNOWN[:version]:
        (folder / f"{migration.version:04d}_{migration.name}.sql").write_text(migration.text, encoding="utf-8")
        if migration.version >= LAST_RELEASE:
            await migrate(database, folder)
            await database.transact(methodcaller("execute", data_of(migration.version)))


async def delivered(database: Database) -> dict[tuple[str, int], tuple[int, int]]:
    rows = await database.fetch(DELIVERED)
    return {(row["booking_id"], row["day"]): (row["impressions"], row["clicks"]) for row in rows}


@pytest.fixture
async def empty(postgres_server: Server) -> AsyncIterator[Database]:
    name = "upgraded"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    async with open_database(postgres_server.named(name)) as database:
        yield database
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_upgrade_keeps_every_row(empty: Database, tmp_path: Path, version: int) -> None:
    await _filled(empty, version, tmp_path)
    before, counts = await empty.read(_rows), await delivered(empty)
    assert {table for table, rows in before.items() if not rows} <= CHANGED, "a table has no data to lose"
    assert len(await migrate(empty)) == len(KNOWN) - version
    after = await empty.read(_rows)
    for table in before.keys() - CHANGED:
        kept = [{column: row[column] for column in before[table][0]} for row in after[table]]
        assert kept == before[table], table
    assert await delivered(empty) == counts


# The end of the first layout of events. 1.1 recorded the days before its switch in the tables of 1.0.


async def test_the_counts_of_all_days_are_in_one_table(empty: Database, tmp_path: Path) -> None:
    """Also where a demo of 1.1 and events have counted the same day."""
    await _filled(empty, LAST_RELEASE, tmp_path)
    both = (
        "insert into delivery_days values ('bok_1', 20776, 2, 1); insert into event_counts values (1, 20776, 5, 0, 0)"
    )
    await empty.transact(methodcaller("execute", both))
    counts = await delivered(empty)
    assert counts == {("bok_1", 20405): (12, 3), ("bok_1", 20776): (7, 2)}
    await migrate(empty)
    assert await delivered(empty) == counts
    partitions = "select count(*) from pg_inherits where inhparent = 'events'::regclass"
    left = f"select (select count(*) from delivery_days) + ({partitions})"
    assert await empty.fetchval(left) == 0


async def test_counts_of_a_node_of_the_last_release_are_counted(database: Database) -> None:
    """Its command `seed-demo` inserts them into the table of 1.0."""
    for _ in range(2):
        insert = "insert into delivery_days values ('bok_new', 20405, 12, 3), ('bok_new', 20406, 1, 0)"
        await database.transact(methodcaller("execute", insert))
    assert await delivered(database) == {("bok_new", 20405): (24, 6), ("bok_new", 20406): (2, 0)}
    assert await database.fetchval("select count(*) from delivery_days") == 0


@pytest.mark.parametrize(("days", "refused"), [(-1, False), (0, True), (2, True)])
async def test_a_database_is_not_upgraded_before_its_events_have_moved(
    empty: Database, tmp_path: Path, days: int, refused: bool
) -> None:
    """Until the day of the switch is over, nodes of 1.1 compare events with keys that later releases do not read."""
    await _filled(empty, LAST_RELEASE, tmp_path)
    today = "extract(epoch from now())::bigint / 86400"
    await empty.transact(methodcaller("execute", f"update event_switch set since = {today} + {days}"))
    if not refused:
        assert len(await migrate(empty)) == len(KNOWN) - LAST_RELEASE
        return
    words = (
        r"move to their new tables on \d{4}-\d\d-\d\d \(UTC\): run release 1\.1 until the day after; .* stays at 0027"
    )
    with pytest.raises(MigrationFailed, match=words):
        await migrate(empty)


async def test_the_functions_that_record_events_are_not_planned_for_each_call(database: Database) -> None:
    rows = await database.fetch(
        "select proname, proconfig from pg_proc where proname in ('record_events', 'record_new_events', 'record_event_batch')"
    )
    assert [row["proconfig"] for row in rows] == [["plan_cache_mode=force_generic_plan"]] * 3
