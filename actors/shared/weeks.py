"""Sponsorship weeks, which start on Monday, 00:00:00.000 UTC. Pure."""

from actors.times import DAY_MS

WEEK_MS = 7 * DAY_MS
FIRST_MONDAY_MS = 4 * DAY_MS
"""5 January 1970; the epoch itself was a Thursday."""


def week_of(moment_ms: int) -> int:
    """The start of the week that contains the moment."""
    return moment_ms - (moment_ms - FIRST_MONDAY_MS) % WEEK_MS


def is_week_start(moment_ms: int) -> bool:
    return week_of(moment_ms) == moment_ms


def weeks_from(start_ms: int, weeks: int) -> tuple[int, ...]:
    """The starts of consecutive weeks."""
    return tuple(start_ms + number * WEEK_MS for number in range(weeks))
