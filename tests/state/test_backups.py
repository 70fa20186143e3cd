"""When a scheduled backup is due, which files stay, and when there is too little room."""

import pytest

from actors.backups.state import (
    AHEAD_MS,
    MARGIN_BYTES,
    BackupRules,
    Room,
    due_ms,
    made_ms,
    missing_bytes,
    name_at,
    newest_ms,
    overdue_ms,
    retry_ms,
    surplus,
)
from actors.times import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from tests.fakes import utc_ms

NOON = utc_ms(2026, 3, 1, 12)
DAILY = BackupRules(every_ms=24 * HOUR_MS, keep=2)
YEAR_LATER = name_at(NOON + 365 * DAY_MS)
"""What a clock that was a year fast has left behind."""

OTHERS = [
    "catalog.backup",
    "catalog-20260301T120000Z.backup.part",
    ".catalog-20260301T120000Z.backup",
    "my-catalog-20260301T120000Z.backup",
    "catalog-20260301T120000.backup",
    "catalog-20261301T120000Z.backup",
    "catalog-20260301T126000Z.backup",
    "catalog-20260301T120000Z.tar",
    "catalog-\u0662\u0660260301T120000Z.backup",
    "",
]


def test_a_name_tells_the_second_in_which_its_backup_was_begun() -> None:
    assert name_at(NOON + 999) == "catalog-20260301T120000Z.backup"
    assert made_ms("catalog-20260301T120000Z.backup") == NOON
    assert made_ms("catalog-20240229T235959Z.backup") == utc_ms(2024, 2, 29, 23, 59, 59)


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_name_is_never_counted_or_deleted(name: str) -> None:
    assert made_ms(name) is None
    assert newest_ms([name], NOON) is None
    assert surplus([name] * 9, NOON, DAILY) == []


def test_without_a_backup_one_is_due_now() -> None:
    assert due_ms(newest_ms([], NOON), NOON, DAILY) == NOON


def test_a_backup_is_due_one_interval_after_the_newest_file_in_whatever_order_they_are_listed() -> None:
    names = [name_at(NOON - age * HOUR_MS) for age in (30, 5, 54)]
    assert newest_ms(names, NOON) == NOON - 5 * HOUR_MS
    assert due_ms(newest_ms(names, NOON), NOON, DAILY) == NOON + 19 * HOUR_MS


def test_a_service_that_was_off_for_days_owes_one_backup() -> None:
    assert due_ms(NOON - 9 * DAY_MS, NOON, DAILY) <= NOON


def test_a_file_of_a_clock_that_was_fast_neither_postpones_the_next_backup_nor_counts_as_kept() -> None:
    assert newest_ms([YEAR_LATER], NOON) is None
    names = [YEAR_LATER, *(name_at(NOON - age * DAY_MS) for age in range(3))]
    assert surplus(names, NOON, DAILY) == [name_at(NOON - 2 * DAY_MS)]


@pytest.mark.parametrize(("ahead_ms", "counts"), [(AHEAD_MS, True), (AHEAD_MS + SECOND_MS, False)])
def test_a_clock_that_was_set_back_a_little_repeats_no_backup(ahead_ms: int, counts: bool) -> None:
    assert newest_ms([name_at(NOON + ahead_ms)], NOON) == (NOON + ahead_ms if counts else None)


def test_the_newest_files_stay_and_older_ones_go_oldest_first() -> None:
    names = [name_at(NOON - age * DAY_MS) for age in (0, 3, 1, 2)]
    assert surplus([*names, *OTHERS], NOON, DAILY) == [names[1], names[3]]
    assert surplus(names[:1], NOON, DAILY) == []
    assert surplus([names[0], names[2]], NOON, DAILY) == []


def test_retries_come_after_a_minute_and_then_ever_later_but_within_an_hour_and_the_interval() -> None:
    pauses = [retry_ms(failures, DAILY) // MINUTE_MS for failures in range(1, 9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert retry_ms(10**6, DAILY) == HOUR_MS
    assert retry_ms(10, BackupRules(every_ms=20 * MINUTE_MS, keep=1)) == 20 * MINUTE_MS


@pytest.mark.parametrize(
    ("free", "missing"), [(MARGIN_BYTES + 1_000, 0), (MARGIN_BYTES + 999, 1), (0, MARGIN_BYTES + 1_000)]
)
def test_a_backup_needs_room_for_the_database_and_a_margin(free: int, missing: int) -> None:
    assert missing_bytes(Room(free_bytes=free, database_bytes=1_000)) == missing


@pytest.mark.parametrize(
    ("newest", "since", "overdue"),
    [
        (NOON - 2 * DAY_MS, 0, None),
        (NOON - 2 * DAY_MS - 1, 0, 2 * DAY_MS + 1),
        (None, NOON - 2 * DAY_MS, None),
        (None, NOON - 3 * DAY_MS, 3 * DAY_MS),
    ],
)
def test_backups_are_overdue_after_twice_the_interval_also_if_there_never_was_one(
    newest: int | None, since: int, overdue: int | None
) -> None:
    assert overdue_ms(newest, since, NOON, DAILY) == overdue


@pytest.mark.parametrize("wrong", [{"every_ms": 0}, {"keep": 0}])
def test_an_interval_of_nothing_and_keeping_nothing_are_no_rules(wrong: dict[str, int]) -> None:
    with pytest.raises(AssertionError):
        BackupRules(**{"every_ms": 1, "keep": 1, **wrong})
    assert BackupRules(every_ms=1, keep=1)
