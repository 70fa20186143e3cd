"""The files of scheduled backups, made of a real Postgres."""

# ruff: noqa: ASYNC110 - a condition in another process sets no event

import os
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from actors.backups.scheduler import BackupScheduler
from actors.backups.state import BackupRules
from actors.backups.store import BackupFailed
from actors.clock import HOUR_MS, SystemClock
from storage.backups.archive import restore
from storage.backups.directory import PARTS, BackupFiles, make_backup_directory, open_backup_files
from storage.connection.asyncio_border import cross
from storage.connection.pool import Database, PoolLimits, connect, open_database
from storage.connection.target import Target
from storage.embedded.server import running_postgres

NAME = "catalog-20260301T120000Z.backup"
NOON_MS = 1_772_366_400_000


@asynccontextmanager
async def files_of(data_dir: Path, directory: Path) -> AsyncIterator[tuple[BackupFiles, Database]]:
    """The backups of a running server."""
    async with running_postgres(data_dir) as postgres:
        endpoint = postgres.endpoint
        target = Target(host=endpoint.host, user=endpoint.user, database=endpoint.database)
        async with open_database(target) as database:
            await make_backup_directory(directory)
            async with open_backup_files(directory, data_dir, database) as files:
                yield files, database


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def listing(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


@pytest.fixture
def directory(place: Path) -> Path:
    return place / "backups"


async def test_a_backup_is_private_and_complete_and_can_be_deleted(
    data_dir: Path, directory: Path, place: Path
) -> None:
    async with files_of(data_dir, directory) as (files, database):
        await database.transact(
            lambda connection: connection.execute(
                "create table kept as select 7 as number; create table visitor_secrets as select 7 as day"
            )
        )
        room = await files.room()
        assert 1_000_000 < room.database_bytes < room.free_bytes
        assert await files.make(NAME, NOON_MS) > 1_000
        assert await files.names() == [NAME]
        assert mode_of(directory / NAME) == 0o600
        assert mode_of(directory) == 0o700
        with pytest.raises(BackupFailed, match=f"{NAME} already exists"):
            await files.make(NAME, NOON_MS)
        shutil.copy(directory / NAME, place / NAME)
        await files.delete(NAME)
        await files.delete(NAME)
        assert listing(directory) == []
        await database.transact(lambda connection: connection.execute("drop table kept"))
    assert (await restore(place / NAME, place / "restored")).made_ms == NOON_MS
    async with files_of(place / "restored", directory) as (_, database):
        assert await database.fetchval("select number from kept") == 7
        assert await database.fetchval("select count(*) from visitor_secrets") == 0, "secrets of days are in no backup"


async def test_a_backup_that_is_given_up_leaves_no_file_and_no_process(data_dir: Path, directory: Path) -> None:
    async with files_of(data_dir, directory) as (files, database):

        async def dumps() -> int:
            count = (
                "select count(*) from pg_stat_activity where application_name = 'pg_dump' and wait_event_type = 'Lock'"
            )
            return int(await database.fetchval(count))

        async with locked_table(database):
            with trio.CancelScope() as given_up:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(files.make, NAME, NOON_MS)
                    while not await dumps():
                        assert not given_up.cancel_called
                        await trio.sleep(0.01)
                    assert [name[: len(PARTS)] for name in listing(directory)] == [PARTS]
                    given_up.cancel()
            assert given_up.cancelled_caught
            assert listing(directory) == []
        with trio.fail_after(10):
            while await dumps():  # it ends once the table is free
                await trio.sleep(0.01)


async def test_a_backup_that_is_given_up_while_the_disk_hangs_never_appears(
    data_dir: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, answer, sync = trio.Event(), threading.Event(), os.fsync

    def hanging_sync(descriptor: int) -> None:
        trio.from_thread.run_sync(reached.set, trio_token=token)
        assert answer.wait(30.0)
        sync(descriptor)

    token = trio.lowlevel.current_trio_token()
    async with files_of(data_dir, directory) as (files, _):
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", hanging_sync)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(files.make, NAME, NOON_MS)
                with trio.fail_after(30):
                    await reached.wait()
                nursery.cancel_scope.cancel()
            assert [name[: len(PARTS)] for name in listing(directory)] == [PARTS], "nobody waited for the disk"
            for use in (files.names, files.room, partial(files.make, NAME, NOON_MS), partial(files.delete, NAME)):
                with pytest.raises(
                    BackupFailed, match=f"cannot use {directory}: an earlier backup still waits for the"
                ):
                    await use()
            answer.set()
            with trio.fail_after(30):
                while await is_refused(files):
                    await trio.sleep(0.01)
        assert NAME not in await files.names()
        await files.room()
        assert listing(directory) == [], "the next backup removes the rest"
        assert await files.make(NAME, NOON_MS) > 1_000


async def is_refused(files: BackupFiles) -> bool:
    try:
        await files.names()
    except BackupFailed:
        return True
    return False


async def test_a_service_stops_although_the_disk_of_its_backups_hangs(
    data_dir: Path, directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reached, answer, scandir = trio.Event(), threading.Event(), os.scandir

    def hanging_scandir(path: Path) -> Iterator[os.DirEntry[str]]:
        if path == directory:
            trio.from_thread.run_sync(reached.set, trio_token=token)
            assert answer.wait(30.0)
        return scandir(path)

    token = trio.lowlevel.current_trio_token()
    async with files_of(data_dir, directory) as (files, database):
        schedule = BackupScheduler(files, SystemClock(), BackupRules(every_ms=HOUR_MS, keep=1))
        monkeypatch.setattr(os, "scandir", hanging_scandir)
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(schedule.run)
                await reached.wait()
                assert await database.fetchval("select 1") == 1
                schedule.close()
        assert schedule.statistics().failed == 0
        assert caplog.messages == []
        answer.set()


@asynccontextmanager
async def locked_table(database: Database) -> AsyncIterator[None]:
    """A table that a dump has to wait for."""
    patient = PoolLimits(lock_seconds=1.0, statement_seconds=30.0, command_seconds=60.0)
    connection = await connect(database.target, patient)
    try:
        await database.transact(lambda other: other.execute("create table if not exists waited_for ()"))
        await cross(lambda: connection.execute("begin; lock table waited_for"), 30.0, connection.terminate)
        yield
    finally:
        connection.terminate()


async def test_leftovers_of_a_killed_process_are_removed_and_nothing_else(data_dir: Path, directory: Path) -> None:
    others = [".backup-of-a-command", "catalog-20200101T000000Z.backup", "notes"]
    leave_behind(directory, others)
    async with files_of(data_dir, directory) as (files, _):
        assert listing(directory) == sorted([*others, NAME])
        assert sorted(await files.names()) == others, "a link is no backup"


def leave_behind(directory: Path, others: list[str]) -> None:
    """A backup that was killed, other files, and a link."""
    (directory / f"{PARTS}dead").mkdir(parents=True)
    (directory / f"{PARTS}dead" / "database.dump").write_text("half")
    for other in others:
        (directory / other).touch()
    (directory / NAME).symlink_to(others[0])


async def test_two_services_do_not_share_a_directory(data_dir: Path, directory: Path) -> None:
    async with files_of(data_dir, directory) as (_, database):
        with pytest.raises(BackupFailed, match=f"another service keeps its backups in {directory}: choose another"):
            await open_backup_files(directory, data_dir, database).__aenter__()
    async with files_of(data_dir, directory):
        pass


async def test_a_disk_that_is_not_mounted_any_more_is_not_replaced_by_that_of_the_database(
    data_dir: Path, directory: Path
) -> None:
    async with files_of(data_dir, directory) as (files, _):
        os.rmdir(directory)
        for use in (files.names, files.room, partial(files.make, NAME, NOON_MS)):
            with pytest.raises(BackupFailed, match=f"cannot use {directory}: No such file or directory"):
                await use()
        assert directory.name not in listing(directory.parent)


async def test_a_database_that_does_not_answer_fails_the_backup(data_dir: Path, directory: Path) -> None:
    await make_backup_directory(directory)
    nowhere = Target(host=str(directory), user="nobody", database="nothing")
    async with open_database(nowhere) as database, open_backup_files(directory, data_dir, database) as files:
        with pytest.raises(BackupFailed, match="the database does not answer: "):
            await files.room()


async def test_a_directory_that_cannot_be_used_is_named(place: Path) -> None:
    (place / "file").touch()
    for directory, words in ((place / "file" / "below", "Not a directory"), (place / "file", "Not a directory")):
        with pytest.raises(BackupFailed, match=f"cannot use {directory}: {words}"):
            await make_backup_directory(directory)
