"""Durations in words, for pages and both programs. Pure."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400
"""Seconds."""


def duration(seconds: int) -> str:
    """`22 minutes` under an hour, `5 h 12 min` under two days, else `6 days 23 h`. Parts of the last unit are left out."""
    if seconds < HOUR:
        minutes = max(0, seconds) // MINUTE
        return "less than a minute" if not minutes else "1 minute" if minutes == 1 else f"{minutes} minutes"
    if seconds < 2 * DAY:
        return _two(seconds // HOUR, "h", seconds % HOUR // MINUTE, "min")
    return _two(seconds // DAY, "days", seconds % DAY // HOUR, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"
