"""The port of the backup store, which keeps files of backups in one directory."""

from collections.abc import Sequence
from typing import Protocol

from actors.backups.state import Room


class BackupFailed(Exception):
    """A backup cannot be made, listed or deleted. The text is one line for the operator."""


class BackupStore(Protocol):
    """The files of one directory. Every method raises `BackupFailed`."""

    async def names(self) -> Sequence[str]:
        """The names of all regular files in the directory."""
        ...

    async def room(self) -> Room:
        """The free space of the directory's disk, and the size of the database."""
        ...

    async def make(self, name: str, now_ms: int) -> int:
        """Back up the database to a new file. Returns its size in bytes. The file is complete or absent, also if this is
        cancelled."""
        ...

    async def delete(self, name: str) -> None:
        """Delete one file. One that is gone already is no error."""
        ...
