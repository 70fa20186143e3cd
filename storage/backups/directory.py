"""The files of scheduled backups: one directory, which one process uses at a time. Must not know when a backup is due."""

import errno
import fcntl
import os
import pwd
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import trio

from actors.backups.state import Room
from actors.backups.store import BackupFailed
from actors.values import TransientStorageError
from storage.backups.archive import BackupError, back_up
from storage.backups.disk import DISK_SECONDS, Disk
from storage.connection.pool import Database
from storage.embedded.children import EmbeddedError
from storage.embedded.directories import make_directory
from storage.schema import database_bytes

PARTS = ".scheduled-"
NICENESS = 10
"""So that a dump takes the processor only when requests leave it."""

START_SECONDS = 20.0
"""Time for the disk to answer while the service starts; afterwards the start fails."""

CLEANUP_SECONDS = 1.0
"""Time that the end of a backup or of the service waits for the disk. The next backup removes what is left."""

WITHOUT_LOCKS = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""Errors of a file system, such as NFS, that cannot lock a directory."""


class BackupFiles:
    """The backups of the database in `data_dir`, made beside the running service. Implements `BackupStore`.

    Every call fails while an abandoned one still waits for the disk.
    """

    def __init__(self, disk: Disk, directory: Path, data_dir: Path, database: Database) -> None:
        self._disk = disk
        self._directory = directory
        self._data_dir = data_dir
        self._database = database

    async def names(self) -> Sequence[str]:
        with _explained(self._directory):
            return await self._disk.call(names_in, self._directory, seconds=DISK_SECONDS)

    async def room(self) -> Room:
        with _explained(self._directory):
            free_bytes = await self._disk.call(_free_bytes, self._directory, seconds=DISK_SECONDS)
            return Room(free_bytes, await database_bytes(self._database))

    async def make(self, name: str, now_ms: int) -> int:
        with _explained(self._directory):
            # Not made anew: if the disk of the backups is not mounted, they would fill that of the database.
            await self._disk.call(os.stat, self._directory, seconds=DISK_SECONDS)
            file = self._directory / name
            await back_up(self._data_dir, file, now_ms, parts=PARTS, niceness=NICENESS, disk=self._disk)
            return (await self._disk.call(file.stat, seconds=DISK_SECONDS)).st_size

    async def delete(self, name: str) -> None:
        with _explained(self._directory):
            unlink = partial((self._directory / name).unlink, missing_ok=True)
            await self._disk.call(unlink, seconds=DISK_SECONDS)


def names_in(directory: Path) -> list[str]:
    """The names of the regular files in a directory. Raises `BackupFailed`."""
    with _explained(directory), os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]


async def make_backup_directory(directory: Path) -> bool:
    """Make the directory, mode 0700, unless it exists. Returns whether it did. Raises `BackupFailed`."""

    def make() -> bool:
        if directory.is_dir():
            return False
        make_directory(directory, 0o700)
        if not directory.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
        return True

    with _explained(directory):
        return await Disk(directory).call(make, seconds=START_SECONDS)


@asynccontextmanager
async def open_backup_files(directory: Path, data_dir: Path, database: Database) -> AsyncIterator[BackupFiles]:
    """Use the directory alone for the life of the block, after removing what killed processes left there.

    Raises `BackupFailed` if it cannot be used, or another process uses it.
    """
    disk = Disk(directory, cleanup_seconds=CLEANUP_SECONDS)
    with _explained(directory):
        descriptor = await disk.call(_open_locked, directory, seconds=START_SECONDS)
    try:
        await disk.clean_up(_remove_leftovers, directory)
        yield BackupFiles(disk, directory, data_dir, database)
    finally:
        await disk.clean_up(os.close, descriptor)


def _open_locked(directory: Path) -> int:
    """A descriptor of the directory, which is locked until it is closed."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise BackupFailed(f"the user {user} cannot write to {directory}: let that user own it (chown {user})")
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, directory)
        trio.from_thread.check_cancelled()  # nobody would close it
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove_leftovers(directory: Path) -> None:
    """Remove the parts of backups that were killed, or given up while the disk hung."""
    for leftover in directory.glob(f"{PARTS}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _free_bytes(directory: Path) -> int:
    _remove_leftovers(directory)
    return shutil.disk_usage(directory).free


def _lock(descriptor: int, directory: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BackupFailed(f"another service keeps its backups in {directory}: choose another directory") from None
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise BackupFailed(f"cannot lock {directory}: {error.strerror}") from None


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    """Turn the errors of a backup into `BackupFailed`."""
    try:
        yield
    except (BackupError, EmbeddedError) as error:
        raise BackupFailed(str(error)) from None
    except TransientStorageError as error:
        raise BackupFailed(f"the database does not answer: {error}") from None
    except OSError as error:
        place = os.fsdecode(error.filename) if error.filename else directory
        raise BackupFailed(f"cannot use {place}: {error.strerror}") from None
