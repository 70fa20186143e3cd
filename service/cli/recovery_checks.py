"""The part of `doctor` about recovery: scheduled backups, the archive of an own Postgres, and clocks."""

from pathlib import Path

from actors.backups.state import newest_ms, overdue_ms
from actors.backups.store import BackupFailed
from actors.clock import HOUR_MS, SECOND_MS, SystemClock
from service.config.clocks import clock_problems
from service.config.model import Config
from service.running.foundation import read_clocks
from service.running.limits import backup_rules
from service.running.scheduled_backups import backup_directory
from storage.backups.directory import names_in
from storage.inspection import Archive, archive_of, created_ms
from storage.opening import Opened


async def check_recovery(config: Config, data_dir: Path, opened: Opened) -> list[str]:
    """Print the checks that pass, and return the problems."""
    problems = clock_problems(await read_clocks(config, opened.database, SystemClock()))
    if not problems:
        print("ok: the clocks agree")
    if config.database.url:
        return problems + check_archive(await archive_of(opened.database))
    return problems + check_backups(config, data_dir, await created_ms(opened.database), SystemClock().now_ms())


def check_backups(config: Config, data_dir: Path, database_made_ms: int, now_ms: int) -> list[str]:
    """The problems of scheduled backups. Those of a new database may still be about to be made."""
    rules = backup_rules(config)
    if rules is None:
        print("note: backup.every_hours is 0: no backups are scheduled")
        return []
    directory = backup_directory(config, data_dir)
    try:
        newest = newest_ms(names_in(directory), now_ms) if directory.exists() else None
    except (BackupFailed, OSError) as error:
        return [f"backup.directory: {error}"]
    overdue = overdue_ms(newest, database_made_ms, now_ms, rules)
    state = f"the newest scheduled backup in {directory} is {_hours(now_ms - (newest or 0))} old"
    if overdue is not None:
        state = f"there is no scheduled backup in {directory}" if newest is None else state
        return [f"{state}, and backup.every_hours is {config.backup.every_hours}: see the log of the service"]
    print(f"note: there is no scheduled backup in {directory} yet" if newest is None else f"ok: {state}")
    return []


def check_archive(archive: Archive) -> list[str]:
    """The problems of the archive of a database that the service does not run."""
    if not archive.enabled or not archive.has_target:
        missing = "neither archive_command nor archive_library is set" if archive.enabled else "archive_mode is off"
        print(
            f"note: the database archives no write-ahead log ({missing}): without backups of another kind, losing its disk "
            "loses all; see docs/backups.md"
        )
        return []
    if archive.is_failing:
        since = "never" if archive.archived_seconds is None else f"{_hours(archive.archived_seconds * SECOND_MS)} ago"
        return [
            f"the database fails to archive {archive.failed_segment} (last success: {since}): until that is mended, its disk "
            "fills and no moment since then can be restored; see the database's log"
        ]
    age = archive.archived_seconds
    print(f"ok: the database archives its write-ahead log{'' if age is None else f', last {age:.0f} s ago'}")
    return []


def _hours(ms: float) -> str:
    return f"{ms / HOUR_MS:.1f} h"
