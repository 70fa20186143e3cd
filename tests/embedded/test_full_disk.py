"""The embedded Postgres on a disk without room: one line, and nothing that a later start would trip over."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from storage.backups.archive import BackupError, back_up, restore
from storage.embedded.children import FULL_DISK_ADVICE, EmbeddedError
from storage.embedded.server import running_postgres

FULL = "No space left on device"
NOW_MS = 1_763_000_000_000

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def disk(place: Path) -> Iterator[Path]:
    """A disk of 8 MiB, where a cluster does not fit."""
    path = place / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=711", "tmpfs", path], check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here, as in an unprivileged container")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Take all room of the disk for the block."""
    file = disk / "fill"
    with file.open("wb", buffering=0) as stream, suppress(OSError):
        while stream.write(bytes(64 * 1024)):
            pass
    yield
    file.unlink()


async def test_a_cluster_that_finds_no_room_is_named_and_leaves_nothing(disk: Path) -> None:
    with pytest.raises(EmbeddedError, match=rf"^initdb failed: .*{FULL} \({FULL_DISK_ADVICE}\)$"):
        async with running_postgres(disk / "data"):
            raise AssertionError("it fits")
    assert [path.name for path in (disk / "data").iterdir()] == ["lock"]


async def test_a_full_disk_is_named_before_anything_is_made(disk: Path) -> None:
    with filled(disk), pytest.raises(EmbeddedError, match=f"cannot use the data directory {disk}/data: {FULL}"):
        async with running_postgres(disk / "data"):
            raise AssertionError("it fits")


async def test_a_backup_that_finds_no_room_is_absent(disk: Path, data_dir: Path) -> None:
    with filled(disk), pytest.raises((EmbeddedError, BackupError), match=FULL):
        await back_up(data_dir, disk / "backup", NOW_MS)
    assert os.listdir(disk) == []


async def test_a_restore_that_finds_no_room_marks_its_directory(disk: Path, place: Path, data_dir: Path) -> None:
    await back_up(data_dir, place / "backup", NOW_MS)
    with pytest.raises(EmbeddedError, match=f"{FULL}"):
        await restore(place / "backup", disk / "data")
    with pytest.raises(EmbeddedError, match="remove that directory and restore again"):
        async with running_postgres(disk / "data"):
            raise AssertionError("it starts from half a restore")
