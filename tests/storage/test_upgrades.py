"""Upgrades from every earlier schema, with data in every table: no row is lost.

`upgrades/<number>.sql` fills the tables that the migration of that number made.
"""

import json
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
import trio

from storage.pool import Connection, Database, open_database
from storage.schema import migrate, migrations
from tests.conftest import Server

DATA = Path(__file__).parent / "upgrades"
KNOWN = migrations()

TABLES = """
select relname from pg_class where relkind in ('r', 'p') and not relispartition
and relnamespace = 'public'::regnamespace and relname <> 'schema_migrations' order by relname
"""

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
    """The rows of a used database of an earlier version."""
    for migration in KNOWN[:version]:
        (folder / f"{migration.version:04d}_{migration.name}.sql").write_text(migration.text, encoding="utf-8")
    await migrate(database, folder)

    async def fill(connection: Connection) -> Rows:
        for migration in KNOWN[:version]:
            await connection.execute(data_of(migration.version))
        return await _rows(connection)

    return await database.transact(fill)


@pytest.mark.parametrize("version", range(1, len(KNOWN) + 1))
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
