"""Days and ranges of days in words, for pages and mails. Pure.

Times are UTC epoch milliseconds. A year is named where it is not the year of `now_ms`.
"""

from datetime import UTC, datetime

from actors.times import DAY_MS, SECOND_MS

LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
"""The last moment that Python's calendar knows; later ones are shown as this."""

LONG, SHORT = "%B", "%b"
"""Months in full, and in three letters."""


def calendar(moment_ms: int) -> datetime:
    """The moment on the calendar, to the second."""
    return datetime.fromtimestamp(min(moment_ms // SECOND_MS, LAST_SECOND), UTC)


def date(moment_ms: int, now_ms: int, month: str = LONG) -> str:
    """`2 November`, or `2 November 2025`."""
    at = calendar(moment_ms)
    return f"{at.day} {at:{month}}" if at.year == calendar(now_ms).year else f"{at.day} {at:{month} %Y}"


def days(start_ms: int, end_ms: int, now_ms: int, *, short: bool = False) -> str:
    """The days from `start_ms` up to, but without, `end_ms`, as in `weekStart` and `weekEnd`: `30 November to 6 December`,
    `16 to 22 November`, `9 November 2026 to 7 February 2027`. `short`: `30 Nov to 6 Dec`, for lists."""
    month = SHORT if short else LONG
    first, last = calendar(start_ms), calendar(max(start_ms, end_ms - 1))
    this_year = calendar(now_ms).year
    until = f"{last.day} {last:{month}}" + ("" if last.year == first.year == this_year else f" {last.year}")
    if first.date() == last.date():
        return until
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {until}"
    since = f"{first.day} {first:{month}}"
    if first.year == last.year or (short and first.year == this_year):
        return f"{since} to {until}"
    return f"{since} {first.year} to {until}"


def length(start_ms: int, end_ms: int) -> str:
    """The length of whole days in words: `2 weeks`, `2 days`, `1 week and 2 days`."""
    weeks, rest = divmod(max(0, end_ms - start_ms) // DAY_MS, 7)
    parts = [f"{count} {one}{'' if count == 1 else 's'}" for count, one in ((weeks, "week"), (rest, "day")) if count]
    return " and ".join(parts) or "0 days"
