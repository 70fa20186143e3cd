"""Migrations: each applied once, in order, under a lock, and checked for drift."""

import shutil
from dataclasses import replace
from operator import methodcaller
from pathlib import Path

import pytest
import trio

from actors.values import Contended
from storage.connection.pool import Connection, Database, open_database
from storage.connection.target import Target
from storage.rows.statements import Statements
from storage.schema import (
    FOLDER,
    Applied,
    Migration,
    MigrationFailed,
    SchemaDrift,
    check_migrated,
    migrate,
    migrations,
    pending,
    unsafe_settings,
)
from tests.conftest import Server

ONE, TWO = Migration(1, "one", "select 1"), Migration(2, "two", "select 2")


def applied(*done: Migration) -> dict[int, Applied]:
    return {migration.version: Applied(migration.name, migration.checksum) for migration in done}


def test_migrations_that_are_not_applied_are_pending() -> None:
    assert pending({}, [ONE, TWO]) == [ONE, TWO]
    assert pending(applied(ONE), [ONE, TWO]) == [TWO]
    assert pending(applied(ONE, TWO), [ONE, TWO]) == []


def test_a_migration_whose_text_changed_is_drift() -> None:
    with pytest.raises(SchemaDrift, match="the applied migration 0001_one differs from this program's"):
        pending(applied(replace(ONE, text="select 0")), [ONE, TWO])


def test_a_database_ahead_of_the_program_is_drift() -> None:
    with pytest.raises(SchemaDrift, match="which this program does not know: run a newer version"):
        pending(applied(ONE, TWO), [ONE])


def test_a_database_ahead_of_the_program_is_used_if_it_works_with_it() -> None:
    ahead = {**applied(ONE), 2: Applied("two", TWO.checksum, works_with=1)}
    assert pending(ahead, [ONE]) == []
    with pytest.raises(SchemaDrift, match="0003_three, which this program does not know: run a newer version"):
        pending({**ahead, 3: Applied("three", "", works_with=2)}, [ONE])


def test_every_migration_says_that_the_release_before_works_with_it() -> None:
    """So that nodes can be renewed one after the other. Those of the first release do not know the column."""
    for migration in migrations()[14:]:
        assert migration.works_with is not None, f"{migration} has no line '-- works with: NUMBER'"
        assert migration.works_with < migration.version, f"{migration} stops all nodes of the release before it"


def test_the_migrations_are_numbered_without_a_gap() -> None:
    assert [migration.version for migration in migrations()] == list(range(1, len(migrations()) + 1))


async def test_migrating_again_changes_nothing(database: Database) -> None:
    assert await migrate(database) == []


async def test_each_migration_of_a_database_in_use_is_logged_when_it_begins(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, last = tmp_path / "migrations", migrations()[-1].version + 1
    shutil.copytree(FOLDER, folder)
    (folder / f"{last:04d}_slow.sql").write_text("select 1;")
    caplog.set_level("INFO", "storage.schema")
    assert await migrate(database, folder) == [f"{last:04d}_slow"]
    assert caplog.messages == [f"applying migration {last:04d}_slow of {last:04d}"]


async def test_a_node_that_does_not_migrate_names_the_missing_migration(database: Database) -> None:
    async def forget_last(connection: Connection) -> None:
        await connection.execute("delete from schema_migrations where version = $1", last.version)

    *_, last = migrations()
    await check_migrated(database)
    await database.transact(forget_last)
    with pytest.raises(SchemaDrift, match=f"lacks migration {last.version:04d}_{last.name}: run 'migrate'"):
        await check_migrated(database)


async def test_nodes_that_migrate_at_once_migrate_once(
    postgres_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    name = "migrating_at_once"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    done: list[list[str]] = []
    caplog.set_level("INFO", "storage.schema")

    async def one(target: Target) -> None:
        async with open_database(target) as database:
            done.append(await migrate(database))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(one, postgres_server.named(name))
    assert sorted(map(len, done)) == [0, 0, len(migrations())]
    assert caplog.messages == [f"creating the schema: {len(migrations())} migrations"], "a new database is one line"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def test_a_migration_waits_for_a_lock_less_than_nodes_wait_behind_it(
    postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its attempts are short, so a reader that comes meanwhile is served, and it succeeds once the lock is free."""
    caplog.set_level("WARNING", "storage.schema")
    name = "migrated_in_use"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    monkeypatch.setattr("storage.schema.LOCK_TIMEOUT", "50ms")
    monkeypatch.setattr("storage.schema.PAUSE_SECONDS", 0.05)
    first = "create table used (); select 1;"
    (tmp_path / "0001_first.sql").write_text(first, encoding="utf-8")
    held = trio.Event()
    waiting = "select exists (select from pg_locks where not granted)"

    async def hold(connection: Connection) -> None:
        """Keep the lock until an attempt to get it has begun and ended."""
        await connection.execute("lock table used in access share mode")
        held.set()
        while not await connection.fetchval(waiting):
            pass
        while await connection.fetchval(waiting):
            pass

    async with open_database(postgres_server.named(name)) as database:
        assert await migrate(database, tmp_path) == ["0001_first"]
        (tmp_path / "0002_second.sql").write_text("alter table used add column more text", encoding="utf-8")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(database.transact, hold)
            await held.wait()
            assert await migrate(database, tmp_path) == ["0002_second"]
    logged = [record.message for record in caplog.records if record.name == "storage.schema"]
    assert logged == ["migration waiting for a lock held by another transaction, retrying"]
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def test_a_migration_that_meets_a_row_in_its_way_is_not_repeated(postgres_server: Server, tmp_path: Path) -> None:
    name = "migrated_once"
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    twice = "create table once (id int primary key); insert into once values (1), (1)"
    (tmp_path / "0001_twice.sql").write_text(twice, encoding="utf-8")
    async with open_database(postgres_server.named(name)) as database:
        with pytest.raises(Contended, match="once_pkey"):
            await migrate(database, tmp_path)
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def test_a_failing_migration_leaves_the_schema_as_it_was(database: Database, tmp_path: Path) -> None:
    for migration in migrations():
        (tmp_path / f"{migration.version:04d}_{migration.name}.sql").write_text(migration.text, encoding="utf-8")
    number = len(migrations()) + 1
    (tmp_path / f"{number:04d}_broken.sql").write_text("create table half (); select nonsense;", encoding="utf-8")
    line = rf"migration {number:04d}_broken failed: .*nonsense.*; the database stays at {number - 1:04d}"
    with pytest.raises(MigrationFailed, match=line):
        await migrate(database, tmp_path)
    assert await database.read(lambda c: c.fetchval("select to_regclass('half')")) is None


async def test_the_audit_can_only_be_appended_to(database: Database) -> None:
    async def append(connection: Connection) -> None:
        await connection.execute("insert into audit values ('a', 1, 'cli', 'me', null, 'x', 'y', 'z', '', '{}')")

    await database.transact(append)
    for statement in ("update audit set action = 'other'", "delete from audit", "truncate audit"):
        with pytest.raises(Exception, match="append-only"):
            await database.read(methodcaller("execute", statement))


async def test_a_server_that_may_lose_confirmed_writes_is_recognized(database: Database) -> None:
    assert await unsafe_settings(database) == []
    name = await database.read(lambda c: c.fetchval("select current_database()"))
    await database.read(lambda c: c.execute(f"alter database {name} set synchronous_commit = off"))
    async with open_database(database.target) as fresh:
        assert await unsafe_settings(fresh) == ["synchronous_commit=off"]


def test_statements_have_names_and_an_unknown_one_is_an_error() -> None:
    read = Statements("x", "-- About x.\n\n-- name: one\n-- Does.\nselect 1\n\n-- name: two\n-- Does too.\nselect 2\n")
    assert list(read) == ["one", "two"]
    assert read.two.endswith("select 2")
    with pytest.raises(AttributeError, match=r"x\.sql has no statement 'three'"):
        _ = read.three
