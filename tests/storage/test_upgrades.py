"""Upgrades from every earlier schema, with data in every table: no row is lost.

`upgrades/<number>.sql` fills the tables that the migration of that number made.
"""

import json
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.values import Contended
from storage.connection.pool import Connection, Database, open_database
from storage.schema import migrate, migrations
from tests.conftest import Server
from tests.slow import repeats

DATA = Path(__file__).parent / "upgrades"
KNOWN = migrations()
BY_DEFAULT = {1, len(KNOWN) - 1, len(KNOWN)}

TABLES = """
select relname from pg_class where relkind in ('r', 'p') and not relispartition
and relnamespace = 'public'::regnamespace and relname <> 'schema_migrations' order by relname
"""

COPY = """
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, refunded_cents, payment_id, paid_ms)
select $1, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status, mode, created_ms,
    hold_ms, refunded_cents, $2, $3::bigint
from bookings where id = 'bok_1'
"""
"""A booking like another one that was paid with a payment."""

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


async def _filled(database: Database, version: int, folder: Path) -> Rows:
    """The rows of a database of an earlier version that was used with each version before it."""
    for migration in KNOWN[:version]:
        (folder / f"{migration.version:04d}_{migration.name}.sql").write_text(migration.text, encoding="utf-8")
        await migrate(database, folder)
        await database.transact(methodcaller("execute", data_of(migration.version)))
    return await database.read(_rows)


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(
            each.version, marks=[] if each.version in BY_DEFAULT else repeats("from the oldest and newest ones")
        )
        for each in KNOWN
    ],
)
async def test_an_upgrade_keeps_every_row(postgres_server: Server, tmp_path: Path, version: int) -> None:
    name = f"upgraded_from_{version}"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    async with open_database(postgres_server.named(name)) as database:
        before = await _filled(database, version, tmp_path)
        assert [table for table, rows in before.items() if not rows] == [], "a table has no data to lose"
        assert len(await migrate(database)) == len(KNOWN) - version
        after = await database.read(_rows)
        for table, rows in before.items():
            kept = [{column: row[column] for column in rows[0]} for row in after[table]]
            assert kept == rows, table
        # Write what earlier schemas could not hold.
        for migration in KNOWN[version:]:
            later = data_of(migration.version)
            await database.transact(methodcaller("execute", later))
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def test_bookings_that_share_a_payment_do_not_stop_an_upgrade(postgres_server: Server, tmp_path: Path) -> None:
    """The booking that was paid first keeps the payment for itself. No booking changes."""
    name = "upgraded_with_duplicates"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    async with open_database(postgres_server.named(name)) as database:
        unique = next(each.version for each in KNOWN if each.name == "payments")
        await _filled(database, unique - 1, tmp_path)

        async def share(connection: Connection) -> None:
            for number, paid_ms in enumerate((3, 1, 2)):
                await connection.execute(COPY, f"bok_copy_{number}", "pay_shared", paid_ms)

        await database.transact(share)
        await migrate(database)
        shared = await database.fetch("select id from bookings where payment_shared order by id")
        assert [row["id"] for row in shared] == ["bok_copy_0", "bok_copy_2"]
        assert await database.fetchval("select count(*) from bookings where payment_id = 'pay_shared'") == 3
        with pytest.raises(Contended, match="bookings_payment"):
            await database.transact(methodcaller("execute", COPY, "bok_copy_3", "pay_shared", 4))
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def test_the_functions_that_record_events_are_not_planned_for_each_call(database: Database) -> None:
    rows = await database.fetch(
        "select proname, proconfig from pg_proc where proname in ('record_events', 'record_new_events')"
    )
    assert [row["proconfig"] for row in rows] == [["plan_cache_mode=force_generic_plan"]] * 2
