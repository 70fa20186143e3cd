"""What `doctor` says about backups and the archive. It prints what is well, and returns the problems."""

import os
from pathlib import Path

import pytest

from actors.backups.state import name_at
from actors.clock import HOUR_MS
from service.cli.doctor import check_archive, check_backups
from service.config.loading import load
from storage.inspection import Archive
from tests.fakes import utc_ms

NOW = utc_ms(2026, 3, 1, 12)
DAILY = load(None, {"CATALOG__BACKUP__EVERY_HOURS": "24"})


def made(data_dir: Path, hours_ago: int) -> None:
    directory = data_dir / "backups"
    directory.mkdir(exist_ok=True)
    (directory / name_at(NOW - hours_ago * HOUR_MS)).touch()


@pytest.mark.parametrize("hours_ago", [0, 25, 48])
def test_the_newest_backup_is_printed_with_its_age(
    hours_ago: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, 72)
    made(tmp_path, hours_ago)
    assert check_backups(DAILY, tmp_path, NOW - 900 * HOUR_MS, NOW) == []
    line = f"ok: the newest scheduled backup in {tmp_path}/backups is {hours_ago}.0 h old\n"
    assert capsys.readouterr().out == line


def test_a_backup_older_than_twice_the_interval_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, 49)
    assert check_backups(DAILY, tmp_path, NOW - 900 * HOUR_MS, NOW) == [
        f"the newest scheduled backup in {tmp_path}/backups is 49.0 h old, and backup.every_hours is 24: see the log of the "
        "service"
    ]
    assert capsys.readouterr().out == ""


def test_no_backup_is_a_problem_unless_the_database_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "notes").touch()
    assert check_backups(DAILY, tmp_path, NOW - 48 * HOUR_MS, NOW) == []
    assert capsys.readouterr().out == f"note: there is no scheduled backup in {tmp_path}/backups yet\n"
    [problem] = check_backups(DAILY, tmp_path, NOW - 49 * HOUR_MS, NOW)
    assert problem.startswith(f"there is no scheduled backup in {tmp_path}/backups, and backup.every_hours is 24")


def test_backups_that_are_off_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, 900)
    assert check_backups(load(None, {}), tmp_path, 0, NOW) == []
    assert capsys.readouterr().out == "note: backup.every_hours is 0: no backups are scheduled\n"


def test_a_directory_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    os.symlink("/dev/null", tmp_path / "backups")
    assert check_backups(DAILY, tmp_path, 0, NOW) == [
        f"backup.directory: cannot use {tmp_path}/backups: Not a directory"
    ]


@pytest.mark.parametrize(
    ("archive", "line"),
    [
        (Archive(False, False), "note: the database archives no write-ahead log (archive_mode is off): "),
        (
            Archive(False, True, failed_seconds=1.0),
            "note: the database archives no write-ahead log (archive_mode is off): ",
        ),
        (Archive(True, False), "note: the database archives no write-ahead log (neither archive_command nor "),
        (Archive(True, True), "ok: the database archives its write-ahead log\n"),
        (Archive(True, True, archived_seconds=59.6), "ok: the database archives its write-ahead log, last 60 s ago\n"),
        (Archive(True, True, 5.0, 6.0, "0001"), "ok: the database archives its write-ahead log, last 5 s ago\n"),
    ],
)
def test_a_working_archive_is_reported_and_a_missing_one_noted(
    archive: Archive, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_archive(archive) == []
    assert capsys.readouterr().out.startswith(line)


@pytest.mark.parametrize(("archived_seconds", "since"), [(None, "never"), (9_000.0, "2.5 h ago")])
def test_an_archive_that_fails_is_a_problem(archived_seconds: float | None, since: str) -> None:
    [problem] = check_archive(Archive(True, True, archived_seconds, 3.0, "000000010000000000000007"))
    assert problem.startswith(f"the database fails to archive 000000010000000000000007 (last success: {since}): ")
