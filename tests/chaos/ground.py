"""What a run stands on: a Postgres of its own, on a disk of its own that can be filled."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import trio

from storage.cluster import prepare
from tests.acceptance.conftest import copied
from tests.acceptance.postgres import PostgresServer, started
from tests.acceptance.processes import command
from tests.memory import in_memory

DISK_MIB, DISK_MIB_A_MINUTE = 320, 16
"""The size of the disk: a cluster, its log of what is to come, and what a run writes."""

NO_SPACE = "No space left on device"
WAL = ("max_wal_size=64MB", "min_wal_size=32MB", "max_connections=60")


@dataclass(frozen=True, slots=True)
class Disk:
    """A small file system in memory, and the file that takes what is free of it."""

    place: Path

    @property
    def _filler(self) -> Path:
        return self.place / "filler"

    def fill(self) -> None:
        """Take all that is free, as far as it can be had."""
        with self._filler.open("ab") as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
                file.flush()
        with self._filler.open("ab") as file, suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(4_096))

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a run takes place. Without a `disk` none can be filled."""

    postgres: PostgresServer
    place: Path
    disk: Disk | None


@contextmanager
def ground(minutes: float) -> Iterator[Ground]:
    """A migrated server of our own that runs, for the life of the block."""
    with tempfile.TemporaryDirectory(prefix="catalog-chaos-", dir=in_memory()) as directory:
        place = Path(directory)
        place.chmod(0o711)
        command("migrate", "--data-dir", place / "template")
        template = trio.run(prepare, place / "template", None)
        with _disk(place / "disk", round(DISK_MIB + DISK_MIB_A_MINUTE * minutes)) as disk:
            copied(template.directory, place / "disk" / "cluster")
            shutil.rmtree(template.directory)
            # The server's log stands beside the name of its directory, and so not on the disk that is filled.
            cluster = place / "cluster"
            cluster.symlink_to(place / "disk" / "cluster")
            sockets = copied(template.sockets, place / "run")
            with started(PostgresServer(template.binaries, template.account, cluster, sockets, *WAL)) as postgres:
                yield Ground(postgres, place, disk)


@contextmanager
def _disk(place: Path, mib: int) -> Iterator[Disk | None]:
    """A disk of so many MiB at a place; a folder like others, and None, where this process may not mount one."""
    place.mkdir(mode=0o711)
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=0711", "tmpfs", str(place)],
            capture_output=True,
            check=False,
        ).returncode
    )
    try:
        yield Disk(place) if mounted else None
    finally:
        if mounted:
            # Lazily: a backend that was killed may take a moment to let go of its files.
            subprocess.run(["umount", "--lazy", str(place)], check=True)
