"""Migrations: numbered SQL files, each applied once, in order, under a lock, and checked for drift."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.pool import Connection, Database

FOLDER = Path(__file__).parent / "migrations"
LOCK = 7_206_341_118
"""The advisory lock that migrating nodes take turns on; an arbitrary number."""

DISTRIBUTED = 10_000
"""The migrations that distribute a database stand in a folder of their own, and are numbered on from here: a program that
does not know them, or was not told to distribute, does not start."""

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


class SchemaDrift(Exception):
    """The database's migrations are not those of this program."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file; `checksum` is the SHA-256 of its text."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrations(folder: Path = FOLDER, *, after: int = 0) -> list[Migration]:
    """The files of `folder` in order; numbered 1, 2, 3 and so on without a gap, to which `after` is added."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = _FILE.fullmatch(path.name)
        assert match, f"{path.name} is not named like 0001_words.sql"
        found.append(Migration(after + int(match[1]), match[2], path.read_text(encoding="utf-8")))
    numbers = range(after + 1, after + len(found) + 1)
    assert [migration.version for migration in found] == list(numbers), "migrations have a gap"
    return found


def pending(applied: dict[int, tuple[str, str]], known: list[Migration]) -> list[Migration]:
    """Those of `known` not in `applied` (version -> name and checksum); raises `SchemaDrift` on a difference."""
    by_version = {migration.version: migration for migration in known}
    for version, (name, checksum) in sorted(applied.items()):
        if version > DISTRIBUTED and max(by_version) <= DISTRIBUTED:
            raise SchemaDrift("the database is distributed, and stays so: set database.distributed to true")
        if version not in by_version:
            raise SchemaDrift(
                f"the database has migration {version:04d}_{name}, which this program does not know: it is older"
            )
        if by_version[version].checksum != checksum:
            raise SchemaDrift(f"migration {version:04d}_{name} was applied with another text than this program has")
    return [migration for migration in known if migration.version not in applied]


async def migrate(database: Database, folder: Path = FOLDER, *, distributed: bool = False) -> list[str]:
    """Apply what is pending in one transaction; returns the names. Nodes that migrate at once take turns.

    With `distributed` also what distributes the tables of events, after all else. Raises `SchemaDrift`.
    """
    known = _known(folder, distributed=distributed)

    async def work(connection: Connection) -> list[str]:
        await connection.execute("set local lock_timeout = '60s'; set local statement_timeout = '300s'")
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(
            "create table if not exists schema_migrations (version integer primary key, name text not null,"
            " checksum text not null, applied_at timestamptz not null default now())"
        )
        rows = await connection.fetch("select version, name, checksum from schema_migrations")
        todo = pending({row["version"]: (row["name"], row["checksum"]) for row in rows}, known)
        for migration in todo:
            await connection.execute(migration.text)
            await connection.execute(
                "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
                migration.version,
                migration.name,
                migration.checksum,
            )
        return [f"{migration.version:04d}_{migration.name}" for migration in todo]

    return await database.transact(work, seconds=330.0)


async def check_migrated(database: Database, folder: Path = FOLDER, *, distributed: bool = False) -> None:
    """Raises `SchemaDrift` unless the database has all migrations of this program, and no others."""

    async def work(connection: Connection) -> list[Any]:
        rows: list[Any] = await connection.fetch("select version, name, checksum from schema_migrations")
        return rows

    applied = {row["version"]: (row["name"], row["checksum"]) for row in await database.read(work)}
    missing = pending(applied, _known(folder, distributed=distributed))
    if missing:
        name = f"{missing[0].version:04d}_{missing[0].name}"
        raise SchemaDrift(f"the database has no migration {name} yet: start the service anew as a whole")


def _known(folder: Path, *, distributed: bool) -> list[Migration]:
    """The migrations that such a database has, in order."""
    known = migrations(folder)
    return known + migrations(folder / "distributed", after=DISTRIBUTED) if distributed else known


async def room_for_connections(database: Database) -> int:
    """How many connections the server has for ordinary users."""

    async def work(connection: Connection) -> int:
        return int(
            await connection.fetchval(
                "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
            )
        )

    return await database.read(work)


DURABLE = ("fsync", "full_page_writes")


async def unsafe_settings(database: Database) -> list[str]:
    """The settings of the server without which an answered write can be lost in a crash, as `name=value`."""

    async def work(connection: Connection) -> list[str]:
        rows = await connection.fetch(
            "select name, setting from pg_settings where name = any ($1::text[]) and setting = 'off'",
            [*DURABLE, "synchronous_commit"],
        )
        return [f"{row['name']}={row['setting']}" for row in rows]

    return await database.read(work)


async def server_version(database: Database) -> int:
    """The server's version as a number: 180004 is 18.4."""

    async def work(connection: Connection) -> int:
        return int(await connection.fetchval("show server_version_num"))

    return await database.read(work)
