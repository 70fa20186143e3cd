"""File-system helpers for the embedded Postgres: modes, access rights, fsync, and readable errors.

Must not know what a cluster is.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.embedded.children import Account, EmbeddedError


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an `OSError` into an `EmbeddedError` that names the data directory `path`."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename and Path(os.fsdecode(error.filename)) != path else ""
        raise EmbeddedError(f"cannot use the data directory {path}: {error.strerror or error}{place}") from error


def make_directory(path: Path, mode: int) -> None:
    """Make a directory with exactly this mode, whatever the umask. An existing one is left unchanged."""
    try:
        path.mkdir(mode, parents=True)
    except FileExistsError:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        return
    path.chmod(mode)


def make_private(path: Path, account: Account) -> None:
    """Make a 0700 directory owned by the account. Raises `EmbeddedError` if another user may have created it."""
    make_directory(path, 0o700)
    status = path.lstat()
    if status.st_uid == 0 and os.geteuid() == 0:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
        status = path.lstat()
    if not (stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and stat.S_IMODE(status.st_mode) == 0o700):
        raise EmbeddedError(f"{path} is not a private directory (0700) of {account.name!r}: remove it")


def reaches(account: Account, path: Path) -> bool:
    """Whether the account may enter (or execute) `path` and every directory above it, judged by the mode bits."""
    real = path.resolve()
    return all(_may_enter(account, place.stat()) for place in (real, *real.parents))


def is_barred(account: Account, path: Path) -> bool:
    """Whether Postgres, run by root as `account`, needs another path. An ordinary user gets the system's own error."""
    return os.geteuid() == 0 and not reaches(account, path)


def sync(directory: Path) -> None:
    """Write a directory's entries to disk, so that a rename survives a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _may_enter(account: Account, status: os.stat_result) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    return bool(status.st_mode & (stat.S_IXGRP if status.st_gid in account.groups else stat.S_IXOTH))
