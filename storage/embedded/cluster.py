"""The files of one embedded Postgres cluster: where they are, how they are made, and what is checked before a start.

Must not know how a server is supervised, nor asyncpg, nor any SQL but the statement that creates the database.
"""

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.binaries import MAJOR_VERSION, SHARED_HOME, find_binaries
from storage.embedded.children import Account, EmbeddedError, account_of, run, server_account
from storage.embedded.directories import explained, is_barred, make_directory, make_private, sync

ROLE = DATABASE = "catalog"
PORT = 5432  # never a TCP port: it only names the socket file
SOCKET_PATH_BYTES = 107
QUIT_SECONDS = 5.0

_STAGING = "postgres.new-"
_RESTORING = "restoring"
_HBA = "# Written at every start: only the mapped OS users, only over the socket.\nlocal all all peer map=service\n"

log = logging.getLogger("storage.embedded.server")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is complete on disk and ready to start. `home` holds `postgres/` and usually the sockets."""

    binaries: Path
    account: Account
    home: Path
    sockets: Path

    @property
    def directory(self) -> Path:
        return self.home / "postgres"

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{PORT}"


# --- Places


def make_data_dir(data_dir: Path) -> None:
    """Make the data directory: 0700, or 0711 for root, so that the unprivileged Postgres can reach its cluster."""
    if data_dir.parent == SHARED_HOME:
        make_directory(SHARED_HOME, 0o755)  # whatever the umask
    make_directory(data_dir, 0o711 if os.geteuid() == 0 else 0o700)


def _home_of(data_dir: Path, account: Account) -> Path:
    """The directory of the cluster, existing or new. Removes the remains of an interrupted creation, and raises
    `EmbeddedError` if the cluster seems to be lost."""
    link = data_dir / "postgres"
    if link.is_symlink():
        home = _target(link).parent
        if _target(link).name != "postgres":
            raise EmbeddedError(f"{link} points to {_target(link)}: the last part of that path must be 'postgres'")
        if not link.exists():
            _forgive_interruption(link, home)
    elif link.exists() or not is_barred(account, data_dir):
        home = data_dir
    else:
        home = SHARED_HOME / _digest(data_dir)
        if (home / "postgres").exists():
            hint = f"link it back (ln -s {home}/postgres {link}) or remove it to start with an empty database"
            raise EmbeddedError(f"{home}/postgres holds the cluster of an earlier {data_dir}: {hint}")
        make_directory(SHARED_HOME, 0o755)
        make_directory(home, 0o711)
        log.info("the OS user %s cannot enter %s: using the cluster in %s", account.name, data_dir, home)
    for leftover in home.glob(f"{_STAGING}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return home


def _forgive_interruption(link: Path, home: Path) -> None:
    if not any(home.glob(f"{_STAGING}*")):
        hint = "restore that directory, or remove the link to start with an empty database"
        raise EmbeddedError(f"{link} points to {_target(link)}, which does not exist: {hint}")
    link.unlink()


def sockets_of(data_dir: Path) -> Path:
    """The socket directory: `run/` beside the cluster, or a short one when that path is too long for a Unix socket."""
    link = data_dir / "postgres"
    return _sockets(data_dir, _target(link).parent if link.is_symlink() else data_dir)


def _target(link: Path) -> Path:
    return (link.parent / link.readlink()).resolve()


def _sockets(data_dir: Path, home: Path) -> Path:
    sockets = home / "run"
    if len(os.fsencode(sockets / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_BYTES:
        return sockets
    return Path(tempfile.gettempdir()) / f"catalog-{_digest(data_dir)}"


def _digest(data_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]


@contextmanager
def half_restored(data_dir: Path) -> Iterator[None]:
    """Mark a data directory as incomplete for the block. If it fails, the mark stays, and nothing starts from there."""
    with explained(data_dir):
        make_data_dir(data_dir)
        (data_dir / _RESTORING).touch(mode=0o600)
        sync(data_dir)
    yield
    with explained(data_dir):
        (data_dir / _RESTORING).unlink()
        sync(data_dir)


def refuse_half_restored(data_dir: Path) -> None:
    """Raises `EmbeddedError` if a restore into this directory is unfinished."""
    if (data_dir / _RESTORING).exists():
        raise EmbeddedError(
            f"a restore into {data_dir} is running or failed: wait for it, or remove that directory and restore again"
        )


# --- The cluster


async def prepare(data_dir: Path, os_user: str | None) -> Cluster:
    """Create the cluster of `data_dir` if needed, check it, write its authentication files. The caller holds the lock."""
    with explained(data_dir):
        account = server_account(os_user)
        binaries = find_binaries(account)
        home = _home_of(data_dir, account)
        cluster = Cluster(binaries, account, home, _sockets(data_dir, home))
        if not cluster.directory.exists():
            await _create(cluster, data_dir / "postgres")
        _check(cluster)
        _write_authentication(cluster)
        make_private(cluster.sockets, account)
        return cluster


async def _create(cluster: Cluster, link: Path) -> None:
    """Build beside the final place and rename when complete, so that a kill leaves no partial cluster."""
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=cluster.home))
    try:
        if os.geteuid() == 0:
            os.chown(staging, cluster.account.uid, cluster.account.gid, follow_symlinks=False)
        await _initdb(cluster, staging)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    _publish(staging, cluster.directory, link)


async def _initdb(cluster: Cluster, staging: Path) -> None:
    # LC_CTYPE is not C, under which the text search takes typographic quotes and dashes for letters.
    locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--lc-ctype=C.UTF-8")
    options = ("--data-checksums", "--encoding=UTF8", "--auth=peer", "--no-instructions", f"--username={ROLE}")
    await run([cluster.binaries / "initdb", "-D", staging, *options, *locale], cluster.account)
    alone = (cluster.binaries / "postgres", "--single", "-D", staging, "-c", "exit_on_error=on", "postgres")
    await run(alone, cluster.account, f"CREATE DATABASE {DATABASE}\n".encode())


def _publish(staging: Path, directory: Path, link: Path) -> None:
    # The link comes first. A link without a target means an interrupted creation if a staging directory is there, and
    # lost data if not; then the service must not start with an empty database.
    if link != directory:
        link.symlink_to(directory)
    staging.rename(directory)
    for changed in {directory.parent, link.parent}:
        sync(changed)


def _check(cluster: Cluster) -> None:
    directory, account = cluster.directory, cluster.account
    try:
        version = (directory / "PG_VERSION").read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        raise EmbeddedError(f"{directory} exists but is not a Postgres cluster: move it away") from None
    if version != MAJOR_VERSION:
        hint = (
            f"this service runs Postgres {MAJOR_VERSION}: dump it with its own version, or use another data directory"
        )
        raise EmbeddedError(f"{directory} is a cluster of Postgres {version}; {hint}")
    owner = directory.stat().st_uid
    if owner != account.uid:
        hint = (
            f"Postgres would run as {account.name!r} ({account.uid}): run the service as its owner, or set server.user"
        )
        raise EmbeddedError(f"{directory} belongs to the user id {owner}; {hint}")


def _write_authentication(cluster: Cluster) -> None:
    """Replace both files instead of writing through them, because the directory belongs to a less trusted user than root."""
    # Root and its commands, and the service once it has given up root.
    users = sorted({account_of(os.geteuid()).name, cluster.account.name})
    admitted = "".join('service "{}" {}\n'.format(user.replace('"', '""'), ROLE) for user in users)
    for name, text in (("pg_hba.conf", _HBA), ("pg_ident.conf", admitted)):
        fresh = cluster.home / f"{name}.new"
        fresh.write_text(text)
        fresh.chmod(0o644)
        fresh.replace(cluster.directory / name)
