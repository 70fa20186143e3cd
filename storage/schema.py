"""Migrations: numbered SQL files, each applied once, in order, under a lock. Their checksums detect drift.

Nodes of the previous release go on serving while a database is migrated (docs/upgrading.md). A migration therefore says with
which programs it works, and waits for a lock only as long as a transaction of theirs can wait behind it.
"""

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from actors.values import Contended
from storage.connection.error_translation import is_lock_timeout, is_refusal
from storage.connection.pool import Connection, Database, Row

FOLDER = Path(__file__).parent / "migrations"
APPLIED = """select version, name, checksum, (to_jsonb(each) ->> 'works_with')::integer as works_with
from schema_migrations as each"""
ROOM = """select least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
    nullif(rolconnlimit, -1),
    nullif(datconnlimit, -1)
) from pg_roles, pg_database where rolname = current_user and datname = current_database()"""
DURABLE = ["fsync", "full_page_writes", "synchronous_commit"]
LOCK = 7_206_341_118
"""The advisory lock that serializes migrating nodes. An arbitrary number."""

DISTRIBUTED = 10_000
"""Migrations that distribute a database have their own folder and are numbered from here. A program that does not know
them, or is not configured as distributed, refuses to start."""

LOCK_TIMEOUT = "1s"
"""How long a migration of a database in use waits for a lock. Nodes queue behind it: `database.lock_seconds` is longer."""

PATIENCE_SECONDS, PAUSE_SECONDS = 300.0, 0.5
"""How long a migration tries to get its locks, and its pause between two attempts, in which transactions go on."""

LOCK_LOG_SECONDS = 10.0
"""Minimum seconds between two log lines about a held lock."""

TO_MIGRATE = "run 'migrate', or start the service anew"

MIGRATION_SECONDS = 330.0
"""The maximum time of a transaction that migrates: its statements have 300 s."""

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_CREATES = re.compile(r"^create (?:or replace )?(?:table|view|function) (\w+)", re.MULTILINE)
_WORKS_WITH = re.compile(r"^-- works with: (\d+)$", re.MULTILINE)

log = logging.getLogger(__name__)


class SchemaDrift(Exception):
    """The database's migrations differ from this program's."""


class MigrationFailed(Exception):
    """The database refuses a migration, which is undone. The text is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file; `checksum` is the SHA-256 of its text."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def works_with(self) -> int | None:
        """The newest migration of the oldest program that can use the database afterwards; None if it does not say."""
        match = _WORKS_WITH.search(self.text)
        return int(match[1]) if match else None

    def __str__(self) -> str:
        return f"{self.version:04d}_{self.name}"


@dataclass(frozen=True, slots=True)
class Applied:
    """A migration as the database remembers it; its `version` is its key."""

    name: str
    checksum: str
    works_with: int | None = None


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


def pending(applied: Mapping[int, Applied], known: Sequence[Migration]) -> list[Migration]:
    """Those of `known` that are not in `applied`, which is by version.

    A database may be ahead, if all that this program does not know works with it. Any other difference is a `SchemaDrift`.
    """
    by_version = {migration.version: migration for migration in known}
    newest = max(by_version)
    for version, done in sorted(applied.items()):
        if version > DISTRIBUTED and newest <= DISTRIBUTED:
            raise SchemaDrift(
                "the database is distributed and cannot be changed back: set database.distributed to true"
            )
        if version not in by_version:
            if done.works_with is not None and done.works_with <= newest:
                continue
            raise SchemaDrift(
                f"the database has migration {version:04d}_{done.name}, which this program does not know: run a newer version"
            )
        if by_version[version].checksum != done.checksum:
            raise SchemaDrift(
                f"the applied migration {version:04d}_{done.name} differs from this program's: "
                "run the program version that applied it"
            )
    return [migration for migration in known if migration.version not in applied]


async def migrate(database: Database, folder: Path = FOLDER, *, distributed: bool = False) -> list[str]:
    """Apply pending migrations and return their names. Nodes that migrate at once wait for each other.

    An unused database gets all of them in one transaction. In one that nodes use, each is a transaction of its own, which is
    retried while others hold its locks. With `distributed`, those that distribute the event tables come last. Raises
    `SchemaDrift`, `MigrationFailed`, and `Contended` if it got no lock within `PATIENCE_SECONDS`.
    """
    known = _known(folder, distributed=distributed)
    deadline = trio.current_time() + PATIENCE_SECONDS
    log_at = trio.current_time()
    names: list[str] = []
    logged: set[int] = set()
    while True:
        try:
            done = await database.transact(partial(_apply_next, known, logged), seconds=MIGRATION_SECONDS)
        except Contended as error:
            if not is_lock_timeout(error) or trio.current_time() >= deadline:
                raise
            if trio.current_time() >= log_at:
                log.warning("migration waiting for a lock held by another transaction, retrying")
                log_at = trio.current_time() + LOCK_LOG_SECONDS
            await trio.sleep(PAUSE_SECONDS)
            continue
        if not done:
            return names
        names += map(str, done)


async def _apply_next(known: Sequence[Migration], logged: set[int], connection: Connection) -> Sequence[Migration]:
    """Apply the next pending migration, or all of them if there is none yet. Returns what was applied. `logged` are
    the versions that the log already names."""
    await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'; set local statement_timeout = '300s'")
    await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
    await connection.execute(
        "create table if not exists schema_migrations (version integer primary key, name text not null,"
        " checksum text not null, applied_at timestamptz not null default now())"
    )
    applied = _applied(await connection.fetch(APPLIED))
    todo = pending(applied, known)
    if applied:
        todo = todo[:1]
    else:
        log.info("creating the schema: %d migrations", len(todo))
    for migration in todo:
        if applied and migration.version not in logged:
            logged.add(migration.version)
            log.info("applying migration %s of %04d", migration, known[-1].version)
        try:
            await connection.execute(migration.text)
        except Exception as error:
            if is_refusal(error):
                before = f"the database stays at {max(applied):04d}" if applied else "the database stays empty"
                raise MigrationFailed(f"migration {migration} failed: {error}; {before}") from error
            raise
        await connection.execute(
            "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
            migration.version,
            migration.name,
            migration.checksum,
        )
        if migration.works_with is not None:
            statement = "update schema_migrations set works_with = $2 where version = $1"
            await connection.execute(statement, migration.version, migration.works_with)
    return todo


async def check_migrated(database: Database, folder: Path = FOLDER, *, distributed: bool = False) -> None:
    """Raises `SchemaDrift` unless the database has all migrations of this program, and works with it."""
    if not await database.fetchval("select to_regclass('schema_migrations') is not null"):
        raise SchemaDrift(f"the database has no tables of the service yet: {TO_MIGRATE}")
    applied = _applied(await database.fetch(APPLIED))
    missing = pending(applied, _known(folder, distributed=distributed))
    if missing:
        raise SchemaDrift(f"the database lacks migration {missing[0]}: {TO_MIGRATE}")


def _known(folder: Path, *, distributed: bool) -> list[Migration]:
    """The migrations of a database, in order."""
    known = migrations(folder)
    return known + migrations(folder / "distributed", after=DISTRIBUTED) if distributed else known


def _applied(rows: Iterable[Row]) -> dict[int, Applied]:
    return {row["version"]: Applied(row["name"], row["checksum"], row["works_with"]) for row in rows}


def object_names() -> list[str]:
    """The tables, views and functions that migrations create. Some of them are dropped by later ones."""
    texts = (each.text for each in migrations())
    return sorted({"schema_migrations", *(name for text in texts for name in _CREATES.findall(text))})


async def room_for_connections(database: Database) -> int:
    """The number of connections that the server allows to the role: to ordinary users, to the role and to the database."""
    return int(await database.fetchval(ROOM))


async def unsafe_settings(database: Database) -> list[str]:
    """Server settings with which a crash can lose a write after its response was sent, as `name=value`."""
    rows = await database.fetch(
        "select name, setting from pg_settings where name = any ($1::text[]) and setting = 'off'", DURABLE
    )
    return [f"{row['name']}={row['setting']}" for row in rows]


async def database_bytes(database: Database) -> int:
    """The size of the database on its disk."""
    return int(await database.fetchval("select pg_database_size(current_database())"))


async def server_version(database: Database) -> int:
    """The server's version as a number: 180004 is 18.4."""
    return int(await database.fetchval("show server_version_num"))
