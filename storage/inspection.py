"""Reads the state of a server itself, for the start and `doctor`: its clock, and its archive of the write-ahead log."""

from dataclasses import dataclass

from storage.connection.pool import Database
from storage.rows.statements import statements
from storage.schema import object_names

SQL = statements("inspection")


@dataclass(frozen=True, slots=True)
class Archive:
    """How a server archives its log. Ages are in seconds, None without such an event or for a role that may not read it."""

    enabled: bool
    has_target: bool
    """Whether a command or library is set that keeps the segments."""
    archived_seconds: float | None = None
    failed_seconds: float | None = None
    failed_segment: str | None = None

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt failed."""
        failed, archived = self.failed_seconds, self.archived_seconds
        return failed is not None and (archived is None or failed < archived)


@dataclass(frozen=True, slots=True)
class Access:
    """The rights that a server gives the role of the service. Each reason completes "the database at ... "."""

    is_standby: bool
    is_read_only: bool
    role: str
    schema: str
    uses: bool
    """Whether it may use the schema."""
    creates: bool
    """Whether it may create tables there, as migrations and new days of events do."""

    @property
    def bars_reading(self) -> str:
        return "" if self.uses else self._lacks("use")

    @property
    def bars_writing(self) -> str:
        if self.is_standby:
            return "is a standby, which accepts no writes: let database.url name the primary, or all hosts"
        if self.is_read_only:
            return f"is read-only for the role {self.role}: turn default_transaction_read_only off"
        return ""

    @property
    def bars_migrating(self) -> str:
        return self.bars_writing or ("" if self.creates else self._lacks("create tables in"))

    def _lacks(self, what: str) -> str:
        grant = f"grant usage, create on schema {self.schema} to {self.role}"
        return (
            f"does not let the role {self.role} {what} the schema {self.schema}: run '{grant}' there as the owner of the "
            "database (docs/installing.md)"
        )


async def access_of(database: Database) -> Access:
    row = await database.fetchrow(SQL.access)
    assert row is not None, "a select without a table has one row"
    return Access(**row)


async def missing_rights(database: Database) -> list[str]:
    """The rights that the role lacks on tables and functions that it uses, one line an object."""
    rows = await database.fetch(SQL.missing_rights, object_names())
    return [f"{row['object']}: {row['rights']}" for row in rows]


async def server_now_ms(database: Database) -> int:
    return int(await database.fetchval(SQL.now))


async def newest_ms(database: Database) -> int | None:
    """The time of the newest migration or heartbeat, by the clock that the server had then. None for a new database."""
    if not await database.fetchval(SQL.has_nodes):
        return None
    newest: int | None = await database.fetchval(SQL.newest)
    return newest


async def created_ms(database: Database) -> int:
    """The time of the first migration."""
    return int(await database.fetchval(SQL.created))


async def archive_of(database: Database) -> Archive:
    archiving = await database.fetchrow(SQL.archiving)
    assert archiving is not None, "a select without a table has one row"
    ages = await database.fetchrow(SQL.archived) if archiving["readable"] else None
    return Archive(archiving["enabled"], archiving["has_target"], **dict(ages or {}))
