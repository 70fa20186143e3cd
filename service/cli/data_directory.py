"""The data directory: given, configured, or the default one."""

import os
from pathlib import Path

from service.cli.command import CommandError
from service.config.loading import INSTALLED
from service.config.model import Config
from service.version import PROGRAM

OF_ROOT = Path("/var/lib/catalog-service/data")
"""For root. The unprivileged user that runs Postgres can enter its parent, unlike root's home."""


def data_dir_of(config: Config, given: Path | None = None) -> Path:
    """The directory that a command was `given`, else that of `server.data_dir`, else the default. Raises `CommandError`."""
    configured = Path(config.server.data_dir) if config.server.data_dir else None
    return (given or configured or default_data_dir()).absolute()


def default_data_dir() -> Path:
    """`data` in the current folder in a checkout. Of an installation, the user's data directory, which follows
    XDG_DATA_HOME, or `OF_ROOT`. Raises `CommandError` for a user without a home directory."""
    if not INSTALLED:
        return Path("data")
    if os.geteuid() == 0:
        return OF_ROOT
    import platformdirs

    try:
        place = platformdirs.user_data_path(PROGRAM, appauthor=False).expanduser()
    except RuntimeError:
        raise CommandError("this user has no home directory: give --data-dir DIR, or set server.data_dir") from None
    return place
