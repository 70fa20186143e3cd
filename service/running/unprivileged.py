"""Drops root: a service that root starts becomes an unprivileged user before it reads its first request."""

import logging
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import trio

from service.config.deployment import is_public
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.running.foundation import storage_options
from storage.embedded.children import Account, EmbeddedError, server_account

NOBODY = "nobody"
"""The user of a service that has a Postgres of its own elsewhere, and so shares no files with it."""

HANDED_OVER = ("secret", "lock")
"""Files of the data directory that a node opens after it has dropped root. The directory itself stays root's."""

# Run as the user. Prints the first of the paths that the user cannot read (directories: list and enter), or only enter.
_PROBE = """
import os, sys
for kind, path in zip(sys.argv[1::2], sys.argv[2::2]):
    if not os.access(path, os.R_OK | os.X_OK if kind == "program" else os.X_OK):
        sys.exit(print(path))
"""

log = logging.getLogger(__name__)


async def drop_root(
    config: Config, data_dir: Path, descriptors: Iterable[int] = (), *, backups: Path | None = None
) -> bool:
    """Become the user of `server.user`, or by default the one that runs the embedded Postgres, or `nobody`, for good.

    Returns whether it did, which is never so if the process is not root. `descriptors` are sockets whose ports the user
    has to bind again, and `backups` is a directory of root's that the user has to own. Raises `ConfigError` if
    `server.user` cannot be used. Without that setting, a program that the user cannot read stays root on this machine
    alone, and is refused if `server.base_url` is public.
    """
    wanted = config.server.user
    if os.geteuid() != 0:
        own = pwd.getpwuid(os.geteuid()).pw_name if wanted else ""
        if wanted != own:
            raise ConfigError(f"server.user: only root can become {wanted!r}, and this is {own!r}")
        return False
    account = _account(config)
    reads_data = not (config.database.url and config.server.secret)
    barred = await _barred(account, data_dir if reads_data else None)
    if barred and wanted:
        raise ConfigError(f"server.user: {wanted!r} cannot read {barred}: move it, or let that user read it")
    if barred and is_public(config.server.base_url) and not config.server.allow_unsafe_public:
        raise ConfigError(
            f"a public service does not run as root, and the user {account.name} cannot read {barred}: install it where "
            "every user can read it, or start it as an ordinary user"
        )
    if barred:
        log.warning(
            "this service runs as root, because the user %s cannot read %s: install it where every user can read it, or "
            "start it as an ordinary user",
            account.name,
            barred,
        )
        return False
    _hand_over(account, data_dir, descriptors, backups)
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    os.environ["HOME"] = pwd.getpwuid(account.uid).pw_dir
    log.info("dropped root: this service runs as user %s", account.name)
    return True


def _account(config: Config) -> Account:
    user = storage_options(config).os_user or (NOBODY if config.database.url else None)
    try:
        return server_account(user)
    except EmbeddedError as error:
        why = f"there is no unprivileged OS user {user!r}: create it, or name another one" if user else str(error)
        raise ConfigError(f"server.user: {why}") from None


async def _barred(account: Account, data_dir: Path | None) -> str:
    """The first path that the service needs and the user cannot use, or nothing."""
    try:
        probe = await trio.run_process(
            [sys.executable, "-I", "-S", "-c", _PROBE, *_needs(data_dir)],
            capture_stdout=True,
            stderr=subprocess.DEVNULL,
            check=False,
            user=account.uid,
            group=account.gid,
            extra_groups=account.groups,
        )
    except PermissionError:
        return sys.executable
    return sys.executable if probe.returncode else probe.stdout.decode().strip()


def _needs(data_dir: Path | None) -> list[str]:
    """The arguments of the probe: each path after its kind."""
    program = {str(Path(__file__).parents[1]), *filter(os.path.exists, sys.path)}
    needs = [word for path in sorted(program) for word in ("program", path)]
    return [*needs, "data", str(data_dir.absolute())] if data_dir and data_dir.exists() else needs


def _hand_over(account: Account, data_dir: Path, descriptors: Iterable[int], backups: Path | None) -> None:
    for name in HANDED_OVER:
        with suppress(FileNotFoundError):
            descriptor = os.open(data_dir / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                status = os.fstat(descriptor)
                # Another name of the file would be given away, too.
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                    os.fchown(descriptor, account.uid, account.gid)
            finally:
                os.close(descriptor)
    if backups is not None:
        with suppress(OSError):  # if it is no directory, the backups say so
            descriptor = os.open(backups, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(descriptor).st_uid == 0:
                    os.fchown(descriptor, account.uid, account.gid)
            finally:
                os.close(descriptor)
    for descriptor in descriptors:
        # The kernel lets a user share a port (SO_REUSEPORT) with own sockets only.
        os.fchown(descriptor, account.uid, account.gid)
