"""Units of time, days, weeks and months, from UTC epoch milliseconds. Sponsorship weeks start on Monday, 00:00 UTC. Pure."""

from time import gmtime

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

WEEK_MS = 7 * DAY_MS
CLOCKS_DIFFER_MS = HOUR_MS
"""How far apart the clocks of nodes may be: what has ended on one may work on another for as long, so it can be ended."""
FIRST_MONDAY_MS = 4 * DAY_MS
"""5 January 1970; the epoch itself was a Thursday."""


def day_of(now_ms: int) -> int:
    """Days since the epoch, UTC."""
    return now_ms // DAY_MS


def month_of(now_ms: int) -> int:
    """Calendar month, UTC, as months since year 0 (2026-11 is 2026 * 12 + 10)."""
    moment = gmtime(now_ms // SECOND_MS)
    return moment.tm_year * 12 + moment.tm_mon - 1


def week_of(moment_ms: int) -> int:
    """The start of the week that contains the moment."""
    return moment_ms - (moment_ms - FIRST_MONDAY_MS) % WEEK_MS


def is_week_start(moment_ms: int) -> bool:
    return week_of(moment_ms) == moment_ms


def weeks_from(start_ms: int, weeks: int) -> tuple[int, ...]:
    """The starts of consecutive weeks."""
    return tuple(start_ms + number * WEEK_MS for number in range(weeks))
