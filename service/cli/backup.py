"""The commands that save the embedded database, and bring it back. Each returns the exit code and prints for a person."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from actors.clock import SECOND_MS, SystemClock
from service.cli.commands import CommandError
from service.config import Config
from service.main import storage_options
from storage.backup import BackupError, back_up, restore
from storage.embedded import EmbeddedError
from storage.opening import open_storage

Add = Callable[[str, str, Any], argparse.ArgumentParser]


def add_backup_commands(add: Add, over_storage: Callable[..., Any]) -> None:
    """Put the commands into the parser. `add` makes one, `over_storage` runs one with its named arguments."""
    backup = add(
        "backup",
        "Write the embedded database and the server's secret to one file, also beside a running server.",
        over_storage(back_up_to, "file"),
    )
    backup.add_argument("file", type=Path, metavar="FILE", help="must not exist; it holds personal data and the secret")
    restoring = add(
        "restore",
        "Make the embedded database of an empty --data-dir from a backup.",
        over_storage(restore_from, "file"),
    )
    restoring.add_argument("file", type=Path, metavar="FILE")


async def back_up_to(config: Config, data_dir: Path, *, file: Path) -> int:
    _embedded_only(config)
    try:
        await back_up(data_dir, file, SystemClock().now_ms(), os_user=config.database.os_user or None)
    except (BackupError, EmbeddedError) as error:
        raise CommandError(str(error)) from None
    print(f"wrote {file}")
    if config.server.secret:
        print("server.secret is not in it: keep that, too")
    return 0


async def restore_from(config: Config, data_dir: Path, *, file: Path) -> int:
    _embedded_only(config)
    try:
        manifest = await restore(file, data_dir, os_user=config.database.os_user or None)
    except (BackupError, EmbeddedError) as error:
        raise CommandError(str(error)) from None
    # What an older version has saved is brought up to date.
    async with open_storage(storage_options(config), data_dir):
        made = datetime.fromtimestamp(manifest.made_ms / SECOND_MS, UTC)
        print(f"restored {data_dir} as it was at {made:%Y-%m-%d %H:%M:%S} UTC")
    return 0


def _embedded_only(config: Config) -> None:
    if config.database.url:
        raise CommandError("this is for the embedded database: save the one at database.url by its own means (pg_dump)")
