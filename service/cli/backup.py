"""The commands that back up and restore the embedded database."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from actors.clock import SECOND_MS, SystemClock
from service.cli.command import CommandError, argument, file_of
from service.cli.database import progress_bar
from service.config.model import Config
from service.process.exit_status import first_of
from service.running.foundation import storage_options
from storage.backups.archive import BackupError, back_up, restore
from storage.embedded.children import EmbeddedError
from storage.opening import StorageError, open_storage


async def back_up_to(
    config: Config,
    data_dir: Path,
    *,
    file: Annotated[Path, argument("FILE", "must not exist yet; will hold personal data and the secret", type=file_of)],
) -> None:
    _embedded_only(config)
    try:
        with progress_bar("backup", "bytes") as progress:
            now_ms, os_user = SystemClock().now_ms(), storage_options(config).os_user
            await back_up(data_dir, file, now_ms, os_user=os_user, progress=progress)
    except (BackupError, EmbeddedError) as error:
        raise CommandError(str(error)) from None
    print(f"wrote {file}")
    if config.server.secret:
        print("server.secret is not in the file: keep a copy of it, too")


async def restore_from(
    config: Config, data_dir: Path, *, file: Annotated[Path, argument("FILE", type=file_of)]
) -> None:
    _embedded_only(config)
    try:
        with progress_bar("restore", "bytes") as progress:
            manifest = await restore(file, data_dir, os_user=storage_options(config).os_user, progress=progress)
    except (BackupError, EmbeddedError) as error:
        raise CommandError(str(error)) from None
    # Opening storage migrates a backup that an older version wrote.
    try:
        async with open_storage(storage_options(config), data_dir):
            made = datetime.fromtimestamp(manifest.made_ms / SECOND_MS, UTC)
            print(f"restored {data_dir} as it was at {made:%Y-%m-%d %H:%M:%S} UTC")
    except* StorageError as errors:
        raise CommandError(
            f"{data_dir} is restored, but cannot be opened: {first_of(errors)}; when that is solved, start the service"
        ) from None


def _embedded_only(config: Config) -> None:
    if config.database.distributed:
        raise CommandError(
            "the database is distributed: back up each server by the means of Postgres, such as pg_basebackup, to one moment "
            "of citus_create_restore_point; a dump does not hold the distribution"
        )
    if config.database.url:
        raise CommandError(
            "database.url is set, and this command works on the embedded database only: use your database's own tools, "
            "such as pg_dump"
        )
