"""Limits the difference between clocks, which a start and `doctor` check. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from actors.times import HOUR_MS, MINUTE_MS, SECOND_MS

REFUSED_MS = 5 * MINUTE_MS
"""A larger difference between the clocks of this machine and of the database server refuses a start."""

WARNED_MS = 5 * SECOND_MS
FUTURE_MS = HOUR_MS
"""Rows that are later than this from now were written by a wrong clock, or are read by one."""

LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, the latest that `datetime` can represent."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question for the server's time: when it was asked and answered by this machine's clock, and the answer."""

    asked_ms: int
    server_ms: int
    answered_ms: int

    @property
    def middle_ms(self) -> int:
        return (self.asked_ms + self.answered_ms) // 2

    @property
    def certain_ms(self) -> int:
        """By how much the server's clock is ahead (behind if negative) at least, whatever part of the round trip took how
        long."""
        if self.server_ms > self.answered_ms:
            return self.server_ms - self.answered_ms
        return min(0, self.server_ms - self.asked_ms)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Exchanges with the database server (none for the embedded one), the time there, and that of its newest row."""

    exchanges: Sequence[Exchange]
    server_ms: int
    newest_ms: int | None


def exceeds_skew(clocks: Clocks) -> bool:
    """Whether the clocks differ so much that sessions, holds and weeks would end at other times than promised."""
    nearest = _nearest(clocks)
    return nearest is not None and abs(nearest.certain_ms) > REFUSED_MS


def clock_problems(clocks: Clocks) -> list[str]:
    """Problems for `doctor` and the log of a start. A difference that refuses a start comes first."""
    problems = []
    nearest = _nearest(clocks)
    if nearest is not None and abs(nearest.certain_ms) > WARNED_MS:
        side = "ahead" if nearest.certain_ms > 0 else "behind"
        problems.append(
            f"the clock of this machine says {_moment(nearest.middle_ms)}, and that of the database server says "
            f"{_moment(nearest.server_ms)}, {abs(nearest.certain_ms) / SECOND_MS:.0f} s {side}: let both follow NTP"
        )
    if clocks.newest_ms is not None and clocks.newest_ms > clocks.server_ms + FUTURE_MS:
        problems.append(
            f"the newest migration or heartbeat in the database is of {_moment(clocks.newest_ms)}, and its clock says "
            f"{_moment(clocks.server_ms)}: the clock is wrong, or was; set it by NTP"
        )
    return problems


def _nearest(clocks: Clocks) -> Exchange | None:
    """The exchange of the shortest round trip, which says most."""
    return min(clocks.exchanges, key=lambda each: abs(each.answered_ms - each.asked_ms), default=None)


def _moment(ms: int) -> str:
    return f"{datetime.fromtimestamp(min(max(ms, 0), LAST_MS) / SECOND_MS, UTC):%Y-%m-%d %H:%M:%S} UTC"
