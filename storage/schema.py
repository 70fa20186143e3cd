"""Migrations: numbered SQL files, each applied once, in order, under a lock. Their checksums detect drift."""

import hashlib
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from storage.pool import Connection, Database, Row

FOLDER = Path(__file__).parent / "migrations"
APPLIED = "select version, name, checksum from schema_migrations"
DURABLE = ["fsync", "full_page_writes", "synchronous_commit"]
LOCK = 7_206_341_118
"""The advisory lock that serializes migrating nodes. An arbitrary number."""

DISTRIBUTED = 10_000
"""Migrations that distribute a database have their own folder and are numbered from here. A program that does not know
them, or is not configured as distributed, refuses to start."""

log = logging.getLogger(__name__)

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


class SchemaDrift(Exception):
    """The database's migrations differ from this program's."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file; `checksum` is the SHA-256 of its text."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.version:04d}_{self.name}"


def migrations(folder: Path = FOLDER, *, after: int = 0) -> list[Migration]:
    """The files of `folder` in order. They are numbered from 1 without a gap; `after` is added to their versions."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        match = _FILE.fullmatch(path.name)
        assert match, f"{path.name} must be named like 0001_words.sql"
        found.append(Migration(after + int(match[1]), match[2], path.read_text(encoding="utf-8")))
    numbers = range(after + 1, after + len(found) + 1)
    assert [migration.version for migration in found] == list(numbers), "migrations have a gap"
    return found


def pending(applied: dict[int, tuple[str, str]], known: list[Migration]) -> list[Migration]:
    """Those of `known` that are not in `applied` (version to name and checksum). Raises `SchemaDrift` on a difference."""
    by_version = {migration.version: migration for migration in known}
    for version, (name, checksum) in sorted(applied.items()):
        if version > DISTRIBUTED and max(by_version) <= DISTRIBUTED:
            raise SchemaDrift(
                "the database is distributed and cannot be changed back: set database.distributed to true"
            )
        if version not in by_version:
            raise SchemaDrift(
                f"the database has migration {version:04d}_{name}, which this program does not know: run a newer version"
            )
        if by_version[version].checksum != checksum:
            raise SchemaDrift(
                f"migration {version:04d}_{name} was applied with another text: run the program version that applied it"
            )
    return [migration for migration in known if migration.version not in applied]


async def migrate(database: Database, folder: Path = FOLDER, *, distributed: bool = False) -> list[str]:
    """Apply pending migrations in one transaction and return their names. Nodes that migrate at once wait for each other.

    With `distributed`, those that distribute the event tables come last. Raises `SchemaDrift`.
    """
    known = _known(folder, distributed=distributed)

    async def work(connection: Connection) -> list[str]:
        await connection.execute("set local lock_timeout = '60s'; set local statement_timeout = '300s'")
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(
            "create table if not exists schema_migrations (version integer primary key, name text not null,"
            " checksum text not null, applied_at timestamptz not null default now())"
        )
        applied = _applied(await connection.fetch(APPLIED))
        todo = pending(applied, known)
        if not applied:
            log.info("creating the schema: %d migrations", len(todo))
        for migration in todo:
            if applied:  # of a database in use, one may take long
                log.info("applying migration %s of %04d", migration, known[-1].version)
            await connection.execute(migration.text)
            await connection.execute(
                "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
                migration.version,
                migration.name,
                migration.checksum,
            )
        return [str(migration) for migration in todo]

    return await database.transact(work, seconds=330.0)


async def check_migrated(database: Database, folder: Path = FOLDER, *, distributed: bool = False) -> None:
    """Raises `SchemaDrift` unless the database has exactly the migrations of this program."""
    applied = _applied(await database.fetch(APPLIED))
    missing = pending(applied, _known(folder, distributed=distributed))
    if missing:
        raise SchemaDrift(f"the database lacks migration {missing[0]}: restart the whole service to migrate it")


def _known(folder: Path, *, distributed: bool) -> list[Migration]:
    """The migrations of a database, in order."""
    known = migrations(folder)
    return known + migrations(folder / "distributed", after=DISTRIBUTED) if distributed else known


def _applied(rows: Iterable[Row]) -> dict[int, tuple[str, str]]:
    return {row["version"]: (row["name"], row["checksum"]) for row in rows}


async def room_for_connections(database: Database) -> int:
    """The number of connections that the server allows to ordinary users."""
    return int(
        await database.fetchval(
            "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
    )


async def unsafe_settings(database: Database) -> list[str]:
    """Server settings with which a crash can lose a write after its response was sent, as `name=value`."""
    rows = await database.fetch(
        "select name, setting from pg_settings where name = any ($1::text[]) and setting = 'off'", DURABLE
    )
    return [f"{row['name']}={row['setting']}" for row in rows]


async def server_version(database: Database) -> int:
    """The server's version as a number: 180004 is 18.4."""
    return int(await database.fetchval("show server_version_num"))
