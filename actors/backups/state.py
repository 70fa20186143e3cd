"""The rules of scheduled backups: names, due times, retention and room. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from actors.times import HOUR_MS, MINUTE_MS, SECOND_MS

RETRY_MS = MINUTE_MS
"""Pause after the first failure. It doubles with each further one."""

LONGEST_RETRY_MS = HOUR_MS

AHEAD_MS = HOUR_MS
"""A file that is named for a later time than this from now was made by a wrong clock, and does not count."""

MARGIN_BYTES = 128 * 1024 * 1024
"""Room that a backup leaves to others, since the database may write to the same disk."""

_NAME = re.compile(r"catalog-(\d{8}T\d{6})Z\.backup", re.ASCII)
_TIME = "%Y%m%dT%H%M%S"
_EPOCH = datetime(1970, 1, 1)
"""Without a time zone, as all moments here: they are UTC."""


@dataclass(frozen=True, slots=True)
class BackupRules:
    """A backup is due `every_ms` after the newest one, and the newest `keep` files stay."""

    every_ms: int
    keep: int

    def __post_init__(self) -> None:
        assert self.every_ms > 0
        assert self.keep > 0


@dataclass(frozen=True, slots=True)
class Room:
    """Free bytes where the files are, and bytes of the database."""

    free_bytes: int
    database_bytes: int


def name_at(now_ms: int) -> str:
    """The name of a backup that is begun now: `catalog-20260131T235959Z.backup`."""
    return f"catalog-{(_EPOCH + timedelta(milliseconds=now_ms)).strftime(_TIME)}Z.backup"


def made_ms(name: str) -> int | None:
    """When the backup of this name was begun. None for a file that is not a scheduled backup."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        return int((datetime.strptime(match[1], _TIME) - _EPOCH).total_seconds()) * SECOND_MS
    except ValueError:
        return None


def newest_ms(names: Iterable[str], now_ms: int) -> int | None:
    """When the newest backup was begun; None without one. Files of other names and of a wrong clock do not count."""
    return max((made for made, _ in _own(names, now_ms)), default=None)


def due_ms(newest: int | None, now_ms: int, rules: BackupRules) -> int:
    """When the next backup is due: now, if there is none."""
    return now_ms if newest is None else newest + rules.every_ms


def surplus(names: Iterable[str], now_ms: int, rules: BackupRules) -> list[str]:
    """The files to delete, oldest first: all but the newest `keep` of those that count."""
    return [name for _, name in sorted(_own(names, now_ms))[: -rules.keep]]


def retry_ms(failures: int, rules: BackupRules) -> int:
    """The pause after so many failures in a row (at least 1)."""
    return min(RETRY_MS << failures - 1, LONGEST_RETRY_MS, rules.every_ms)


def missing_bytes(room: Room) -> int:
    """How many bytes are too few for a backup; 0 if there is enough room.

    A backup takes at most about the size of the database: a dump has no indexes and is compressed, and for a moment it
    exists twice.
    """
    return max(0, room.database_bytes + MARGIN_BYTES - room.free_bytes)


def overdue_ms(newest: int | None, since_ms: int, now_ms: int, rules: BackupRules) -> int | None:
    """The age of the newest backup, or of the database (made at `since_ms`) without one, if it is more than twice the
    interval; otherwise None."""
    age_ms = now_ms - (since_ms if newest is None else newest)
    return age_ms if age_ms > 2 * rules.every_ms else None


def _own(names: Iterable[str], now_ms: int) -> list[tuple[int, str]]:
    dated = ((made_ms(name), name) for name in names)
    return [(made, name) for made, name in dated if made is not None and made <= now_ms + AHEAD_MS]
