"""The backup scheduler, in virtual time over a directory in memory."""

import logging
from collections.abc import Sequence

import pytest
import trio

from actors.backups.scheduler import BackupScheduler
from actors.backups.state import BackupRules, Room, name_at
from actors.backups.store import BackupFailed
from actors.clock import HOUR_MS
from actors.kernel.supervision import running
from tests.fakes import HandClock, Script, Step, TrioClock, utc_ms

START = utc_ms(2026, 3, 1)
HOUR = 3_600.0
FOREIGN = ["notes.txt", "catalog-20200101T000000Z.tar"]
ROOMY = Room(free_bytes=10**12, database_bytes=10**6)
FULL = BackupFailed("cannot use backups: No space left on device")


class MemoryFiles:
    """A directory in memory. `script` says how long each backup takes, or how it fails."""

    def __init__(self, names: Sequence[str] = (), script: Sequence[Step] = (), room: Room = ROOMY) -> None:
        self.files = [*FOREIGN, *names]
        self.begun: list[float] = []
        self.free = room
        self.given_up = 0
        self.undeletable = False
        self._script = Script(script)

    async def names(self) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        return list(self.files)

    async def room(self) -> Room:
        await trio.lowlevel.checkpoint()
        return self.free

    async def make(self, name: str, now_ms: int) -> int:
        self.begun.append(trio.current_time())
        try:
            await self._script()
        except trio.Cancelled:
            self.given_up += 1
            raise
        assert name not in self.files
        self.files.append(name)
        return 1_000

    async def delete(self, name: str) -> None:
        await trio.lowlevel.checkpoint()
        if self.undeletable:
            raise BackupFailed("cannot use backups: Read-only file system")
        self.files.remove(name)

    def own(self) -> list[str]:
        return sorted(set(self.files) - set(FOREIGN))


def scheduler_of(files: MemoryFiles, *, hours: int = 6, keep: int = 3) -> BackupScheduler:
    return BackupScheduler(files, TrioClock(START), BackupRules(every_ms=hours * HOUR_MS, keep=keep))


def at(hours: float) -> str:
    """The name of the backup that is begun so many hours after the start."""
    return name_at(START + int(hours * HOUR_MS))


async def test_it_backs_up_at_once_and_at_every_interval_and_keeps_the_newest_of_its_own_files() -> None:
    files = MemoryFiles()
    async with running([scheduler_of(files)]) as _:
        await trio.sleep(30 * HOUR + 1)
    assert files.begun == [number * 6 * HOUR for number in range(6)]
    assert files.own() == [at(18), at(24), at(30)]
    assert set(FOREIGN) < set(files.files)


async def test_a_restart_neither_postpones_nor_repeats_a_backup() -> None:
    files = MemoryFiles([at(-4)])
    for _ in range(3):
        async with running([scheduler_of(files)]):
            await trio.sleep(0.5 * HOUR)
    assert files.begun == []
    async with running([scheduler_of(files)]):
        await trio.sleep(HOUR)
    assert files.begun == [2 * HOUR]


async def test_what_takes_long_does_not_shift_the_schedule() -> None:
    files = MemoryFiles(script=[HOUR, HOUR])
    async with running([scheduler_of(files)]):
        await trio.sleep(13 * HOUR)
    assert files.begun == [0, 6 * HOUR, 12 * HOUR]


async def test_each_failure_is_one_error_line_and_retries_come_ever_later(caplog: pytest.LogCaptureFixture) -> None:
    files, old = MemoryFiles([at(-9)], script=[FULL] * 8), at(-9)
    scheduler = scheduler_of(files, keep=1)
    async with running([scheduler]):
        await trio.sleep(2 * HOUR)
        assert files.own() == [old], "the old backup stays until there is a new one"
        assert scheduler.statistics().failed == 7
        assert (scheduler.statistics().made, scheduler.age_seconds()) == (0, 11 * HOUR)
        await trio.sleep(6 * HOUR)
    assert [moment / 60 for moment in files.begun] == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 8
    assert caplog.messages[:2] == [f"backup failed, retrying in {pause} s: {FULL}" for pause in (60, 120)]
    assert all(record.exc_info is None for record in caplog.records)
    assert files.own() == [name_at(START + 183 * 60_000)]
    assert scheduler.statistics().made == 1


async def test_a_bug_is_logged_with_its_traceback_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles(script=[RuntimeError("a bug")] * 6)
    async with running([scheduler_of(files)]):
        await trio.sleep(2 * HOUR)
    assert all(record.exc_info for record in caplog.records)
    assert len(files.own()) == 1


async def test_too_little_room_is_found_before_anything_is_written(caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles(room=Room(free_bytes=100 * 2**20, database_bytes=50 * 2**20))
    async with running([scheduler_of(files)]):
        await trio.sleep(1)
        assert files.begun == []
        assert caplog.messages == [
            "backup failed, retrying in 60 s: the disk has 100 MiB free, 78 MiB too few for a database of 50 MiB: free some, "
            "or set backup.directory to another disk"
        ]
        files.free = ROOMY
        await trio.sleep(60)
    assert files.own() == [name_at(START + 60_000)]


async def test_a_stop_gives_up_the_backup_under_way_at_once(caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles(script=[HOUR])
    async with running([scheduler_of(files)]):
        await trio.sleep(60)
    assert trio.current_time() == 60
    assert (files.given_up, files.own(), caplog.messages) == (1, [], [])


async def test_a_backup_that_takes_longer_than_the_interval_fails(caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles(script=[8 * HOUR])
    async with running([scheduler_of(files)]):
        await trio.sleep(6 * HOUR + 61)
    assert files.begun == [0, 6 * HOUR + 60]
    assert caplog.messages == ["backup failed, retrying in 60 s: it took longer than backup.every_hours"]


async def test_files_that_cannot_be_deleted_do_not_make_a_backup_fail(caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles([at(-8), at(-7)])
    files.undeletable = True
    scheduler = scheduler_of(files, keep=1)
    async with running([scheduler]):
        await trio.sleep(1)
        assert (
            "old backups not deleted, retrying after the next backup: cannot use backups: Read-only file" in caplog.text
        )
        files.undeletable = False
        await trio.sleep(6 * HOUR)
    assert files.own() == [at(6)]
    assert scheduler.statistics().failed == 0


async def test_a_clock_that_is_set_forward_makes_a_backup_due_within_a_minute() -> None:
    clock, files = HandClock(START), MemoryFiles([at(-1)])
    async with running([BackupScheduler(files, clock, BackupRules(every_ms=6 * HOUR_MS, keep=3))]):
        await trio.sleep(HOUR)
        assert files.begun == []
        clock.at_ms += 5 * HOUR_MS
        await trio.sleep(61)
    assert len(files.begun) == 1


async def test_the_age_is_that_of_the_newest_file_from_the_start_on() -> None:
    scheduler = scheduler_of(MemoryFiles([at(-2), at(-5)]))
    assert scheduler.age_seconds() is None
    async with running([scheduler]):
        await trio.sleep(30)
        assert scheduler.age_seconds() == 2 * HOUR + 30
        await trio.sleep(4 * HOUR)
        assert scheduler.age_seconds() == 30
