"""Makes remote texts safe for a terminal, measures them, and formats values. Pure."""

import json
import unicodedata
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from service.terminal.durations import duration

HARMLESS = "\ufffd"
JOINERS = "\u200c\u200d"
"""Format characters that some scripts and emoji need."""


def is_harmful(letter: str) -> bool:
    """Whether a terminal may interpret the character instead of showing it, or reorder others because of it."""
    if letter.isascii():
        return not letter.isprintable()
    return letter not in JOINERS and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def harmless(text: str) -> str:
    """The text on one line, with a mark for each harmful character."""
    flat = " ".join(text.split())
    return "".join(HARMLESS if is_harmful(letter) else letter for letter in flat)


def harmless_json(body: bytes) -> str:
    """The same JSON with harmful characters written as escapes."""
    text = body.decode("utf-8", "replace").strip()
    return "".join(_escaped(letter) if is_harmful(letter) and letter not in "\r\n\t" else letter for letter in text)


def harmless_text(text: str) -> str:
    """The text with a mark for each harmful character; lines end as they did."""
    return "".join(HARMLESS if is_harmful(letter) and letter not in "\r\n\t" else letter for letter in text)


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1] if letter != "\x7f" else "\\u007f"


def width(text: str) -> int:
    """The number of columns of a harmless text."""
    return len(text) if text.isascii() else sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.combining(letter) or letter in JOINERS or unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """The text, cut to fit with a `…` at its end."""
    if width(text) <= columns:
        return text
    kept, left = [], columns - 1
    for letter in text:
        left -= _columns(letter)
        if left < 0:
            break
        kept.append(letter)
    return f"{''.join(kept).rstrip()}…"


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text padded with blanks, which `right` puts before it."""
    blanks = " " * (columns - width(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


# Values of the API as text. A value of an unexpected type is shown as it is.


def money(cents: object, currency: object = "usd") -> str:
    """`USD 1,250.00`."""
    if not isinstance(cents, int) or isinstance(cents, bool):
        return shown(cents)
    sign = "-" if cents < 0 else ""
    return f"{shown(currency).upper()} {sign}{abs(cents) // 100:,}.{abs(cents) % 100:02}"


def day(moment_ms: object) -> str:
    """`2026-11-02`, in UTC."""
    when = _utc(moment_ms)
    return shown(moment_ms) if when is None else f"{when:%Y-%m-%d}"


def moment(moment_ms: object) -> str:
    """`2026-11-02 14:05 UTC`."""
    when = _utc(moment_ms)
    return shown(moment_ms) if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def time_left(until_ms: object, date: str | None) -> str:
    """`2026-11-02 14:05 UTC, 22 minutes left` by the service's clock, from its Date header. Empty if there is no time."""
    if not isinstance(until_ms, int) or isinstance(until_ms, bool):
        return shown(until_ms)
    try:
        seconds = until_ms // 1000 - int(parsedate_to_datetime(date or "").timestamp())
    except (ValueError, OverflowError):
        return moment(until_ms)
    return f"{moment(until_ms)}, {duration(seconds)} left" if seconds > 0 else moment(until_ms)


def shown(value: object) -> str:
    """Any value of the API on one line."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(shown(each) for each in value)
        case _:
            return harmless(str(value))


def _utc(moment_ms: object) -> datetime | None:
    if not isinstance(moment_ms, int) or isinstance(moment_ms, bool):
        return None
    try:
        return datetime.fromtimestamp(moment_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
