"""The files of scheduled backups: one directory, which one process uses at a time. Must not know when a backup is due."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trio

from actors.backups.state import Room
from actors.backups.store import BackupFailed
from actors.values import TransientStorageError
from storage.backup import BackupError, back_up
from storage.children import EmbeddedError
from storage.directories import make_directory
from storage.pool import Database
from storage.schema import database_bytes

PARTS = ".scheduled-"
NICENESS = 10
"""So that a dump takes the processor only when requests leave it."""

WITHOUT_LOCKS = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""Errors of a file system, such as NFS, that cannot lock a directory."""


class BackupFiles:
    """The backups of the database in `data_dir`, made beside the running service. Implements `BackupStore`."""

    def __init__(self, directory: Path, data_dir: Path, database: Database) -> None:
        self._directory = directory
        self._data_dir = data_dir
        self._database = database

    async def names(self) -> Sequence[str]:
        return await trio.to_thread.run_sync(names_in, self._directory, abandon_on_cancel=True)

    async def room(self) -> Room:
        with _explained(self._directory):
            usage = await trio.to_thread.run_sync(shutil.disk_usage, self._directory, abandon_on_cancel=True)
            return Room(usage.free, await database_bytes(self._database))

    async def make(self, name: str, now_ms: int) -> int:
        with _explained(self._directory):
            # Not made anew: if the disk of the backups is not mounted, they would fill that of the database.
            os.stat(self._directory)
            file = self._directory / name
            await back_up(self._data_dir, file, now_ms, parts=PARTS, niceness=NICENESS)
            return file.stat().st_size

    async def delete(self, name: str) -> None:
        with _explained(self._directory):
            (self._directory / name).unlink(missing_ok=True)


def names_in(directory: Path) -> list[str]:
    """The names of the regular files in a directory. Raises `BackupFailed`."""
    with _explained(directory), os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]


def make_backup_directory(directory: Path) -> bool:
    """Make the directory, mode 0700, unless it exists. Returns whether it did. Raises `BackupFailed`."""
    with _explained(directory):
        if directory.is_dir():
            return False
        make_directory(directory, 0o700)
        if not directory.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
        return True


@contextmanager
def open_backup_files(directory: Path, data_dir: Path, database: Database) -> Iterator[BackupFiles]:
    """Use the directory alone for the life of the block, after removing what killed processes left there.

    Raises `BackupFailed` if it cannot be used, or another process uses it.
    """
    user = pwd.getpwuid(os.geteuid()).pw_name
    with _explained(directory):
        if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            raise BackupFailed(f"the user {user} cannot write to {directory}: let that user own it (chown {user})")
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, directory)
        for leftover in directory.glob(f"{PARTS}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield BackupFiles(directory, data_dir, database)
    finally:
        os.close(descriptor)


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
