"""Reads the state of a server itself, for the start and `doctor`: its clock, and its archive of the write-ahead log."""

from dataclasses import dataclass

from storage.connection.pool import Database
from storage.rows.statements import statements

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
