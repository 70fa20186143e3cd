"""The ground of a run: a Postgres of its own, on a disk of its own that can be filled."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import trio

from storage.embedded.cluster import prepare
from tests.acceptance.conftest import copied
from tests.acceptance.postgres import PostgresServer, admit_nobody, started
from tests.acceptance.processes import command
from tests.memory import in_memory

DISK_MIB, DISK_MIB_A_MINUTE = 320, 16
"""The size of the disk in MiB: a cluster, its write-ahead log, and the data of a run."""

NO_SPACE = "No space left on device"
WAL = ("max_wal_size=64MB", "min_wal_size=32MB", "max_connections=60")


@dataclass(frozen=True, slots=True)
class Disk:
    """A small in-memory file system, with a file that takes up its free space."""

    place: Path

    @property
    def _filler(self) -> Path:
        return self.place / "filler"

    def fill(self) -> None:
        """Take all free space, as far as possible."""
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
    """The place of a run. Without a `disk`, none can be filled."""

    postgres: PostgresServer
    place: Path
    disk: Disk | None


@contextmanager
def ground(minutes: float) -> Iterator[Ground]:
    """Run a migrated server of our own for the duration of the block."""
    with tempfile.TemporaryDirectory(prefix="catalog-chaos-", dir=in_memory()) as directory:
        place = Path(directory)
        place.chmod(0o711)
        command("migrate", "--data-dir", place / "template")
        template = trio.run(prepare, place / "template", None)
        with _disk(place / "disk", round(DISK_MIB + DISK_MIB_A_MINUTE * minutes)) as disk:
            copied(template.directory, place / "disk" / "cluster")
            shutil.rmtree(template.directory)
            # The server's log is beside its data directory, and therefore not on the disk that is filled.
            cluster = place / "cluster"
            cluster.symlink_to(place / "disk" / "cluster")
            sockets = copied(template.sockets, place / "run")
            admit_nobody(cluster, sockets)
            with started(PostgresServer(template.binaries, template.account, cluster, sockets, *WAL)) as postgres:
                yield Ground(postgres, place, disk)


@contextmanager
def _disk(place: Path, mib: int) -> Iterator[Disk | None]:
    """Mount a disk of `mib` MiB. Yields None, with a plain folder in its place, if this process may not mount."""
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
            # Lazily: a killed backend may take a moment to close its files.
            subprocess.run(["umount", "--lazy", str(place)], check=True)
