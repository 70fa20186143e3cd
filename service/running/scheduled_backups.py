"""Runs the scheduled backups of this machine's database: a node alone, or the parent of several workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from actors.backups.scheduler import BackupScheduler
from actors.backups.store import BackupFailed
from actors.clock import SystemClock
from actors.kernel.supervision import running
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.running.limits import backup_rules
from storage.opening import Opened


def backup_directory(config: Config, data_dir: Path) -> Path:
    """The directory of the scheduled backups."""
    return Path(config.backup.directory).absolute() if config.backup.directory else data_dir.absolute() / "backups"


async def new_backup_directory(config: Config, data_dir: Path) -> Path | None:
    """Make the directory if backups are scheduled. Returns it if the user who makes them has to become its owner: a new
    one, and that in the data directory. Raises `ConfigError`."""
    if backup_rules(config) is None:
        return None
    from storage.backups.directory import make_backup_directory

    directory = backup_directory(config, data_dir)
    try:
        is_new = await make_backup_directory(directory)
    except BackupFailed as error:
        raise ConfigError(f"backup.directory: {error}") from None
    return directory if is_new or not config.backup.directory else None


@asynccontextmanager
async def running_backups(config: Config, data_dir: Path, opened: Opened) -> AsyncIterator[BackupScheduler | None]:
    """Back up on schedule for the life of the block; None if backups are off. Raises `ConfigError` if the directory cannot
    be used."""
    rules = backup_rules(config)
    if rules is None:
        yield None
        return
    from storage.backups.directory import open_backup_files  # with `tarfile`

    directory = backup_directory(config, data_dir)
    try:
        async with open_backup_files(directory, data_dir, opened.database) as files:
            scheduler = BackupScheduler(files, SystemClock(), rules)
            async with running([scheduler], drain_seconds=config.actors.drain_seconds):
                yield scheduler
    except BackupFailed as error:
        raise ConfigError(f"backup.directory: {error}") from None
