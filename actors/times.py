"""Units of time, days and months, from UTC epoch milliseconds. Pure."""

from time import gmtime

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def day_of(now_ms: int) -> int:
    """Days since the epoch, UTC."""
    return now_ms // DAY_MS


def month_of(now_ms: int) -> int:
    """Calendar month, UTC, as months since year 0 (2026-11 is 2026 * 12 + 10)."""
    moment = gmtime(now_ms // SECOND_MS)
    return moment.tm_year * 12 + moment.tm_mon - 1
