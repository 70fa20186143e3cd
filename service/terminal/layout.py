"""Lays out texts for a terminal: makes them safe, formats values, and fits tables and facts to a width. Pure."""

import json
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from service.terminal.output import duration

HARMLESS = "\ufffd"
JOINERS = frozenset("\u200c\u200d") | frozenset(map(chr, range(0xE0061, 0xE0080)))
"""Format characters that some scripts and emoji need: joiners, and the tags of flags of regions."""


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
    shortened, left = [], columns - 1
    for letter in text:
        left -= _columns(letter)
        if left < 0:
            break
        shortened.append(letter)
    return f"{''.join(shortened).rstrip()}…"


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text padded with blanks, which `right` puts before it."""
    blanks = " " * (columns - width(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


# Values of the API as text. A value of an unexpected type is shown as it is.


WITHOUT, THREE = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf", "bhd jod kwd omr tnd"
"""Currencies without decimal places, and with three."""


def money(cents: object, currency: object = "usd") -> str:
    """`USD 1,250.00`, `JPY 1,250`."""
    if not isinstance(cents, int) or isinstance(cents, bool):
        return printable(cents)
    sign, name = "-" if cents < 0 else "", str(currency).lower()
    places = 0 if name in WITHOUT.split() else 3 if name in THREE.split() else 2
    whole, part = divmod(abs(cents), 10**places)
    return f"{printable(currency).upper()} {sign}{whole:,}" + (f".{part:0{places}}" if places else "")


def day(moment_ms: object) -> str:
    """`2026-11-02`, in UTC."""
    when = _utc(moment_ms)
    return printable(moment_ms) if when is None else f"{when:%Y-%m-%d}"


def moment(moment_ms: object) -> str:
    """`2026-11-02 14:05 UTC`."""
    when = _utc(moment_ms)
    return printable(moment_ms) if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def time_left(until_ms: object, date: str | None) -> str:
    """`2026-11-02 14:05 UTC, 22 minutes left` by the service's clock, from its Date header. Empty if there is no time."""
    if not isinstance(until_ms, int) or isinstance(until_ms, bool):
        return printable(until_ms)
    from email.utils import parsedate_to_datetime  # for few commands, and with much of `email`

    try:
        seconds = until_ms // 1000 - int(parsedate_to_datetime(date or "").timestamp())
    except (ValueError, OverflowError):
        return moment(until_ms)
    return f"{moment(until_ms)}, {duration(seconds)} left" if seconds > 0 else moment(until_ms)


def printable(value: object) -> str:
    """Any value of the API on one line."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(printable(each) for each in value)
        case _:
            return harmless(str(value))


def _utc(moment_ms: object) -> datetime | None:
    if not isinstance(moment_ms, int) or isinstance(moment_ms, bool):
        return None
    try:
        return datetime.fromtimestamp(moment_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


# Tables, and facts by name.

GAP = "  "
NARROWEST = 8
"""Minimum width of a column that may shrink."""


class Column(NamedTuple):
    """A column. `whole` ones are never cut, because users copy their values."""

    title: str
    whole: bool = False
    right: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], fit: int | None) -> list[str]:
    """The lines of a table with a header. `fit` is the maximum width; None cuts nothing."""
    cells = [[harmless(cell) for cell in row] for row in rows]
    widths = [max([width(column.title), *(width(row[place]) for row in cells)]) for place, column in enumerate(columns)]
    if fit is not None:
        widths = _fitted(columns, widths, fit)
    head = [column.title for column in columns]
    return [_line(columns, row, widths) for row in (head, *cells)]


def _fitted(columns: Sequence[Column], widths: Sequence[int], fit: int) -> list[int]:
    """The widths after shrinking the widest columns until the line fits, or none can shrink."""
    fitted = list(widths)
    spare = sum(fitted) + len(GAP) * (len(fitted) - 1) - fit
    bounds = [max(NARROWEST, width(column.title)) for column in columns]
    elastic = [place for place, column in enumerate(columns) if not column.whole and fitted[place] > bounds[place]]
    while spare > 0 and elastic:
        widest = max(elastic, key=lambda place: fitted[place])
        others = [fitted[place] for place in elastic if place != widest]
        step = max(1, min(spare, fitted[widest] - max([bounds[widest], *others])))
        fitted[widest] -= step
        spare -= step
        elastic = [place for place in elastic if fitted[place] > bounds[place]]
    return fitted


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        padded(cut(cell, columns_wide), columns_wide, right=column.right)
        for column, cell, columns_wide in zip(columns, row, widths, strict=True)
    ]
    return GAP.join(cells).rstrip()


def facts(pairs: Mapping[str, str | Sequence[str]], fit: int | None) -> list[str]:
    """One line per name and value. Empty values are left out, long ones wrap."""
    given = {name: [value] if isinstance(value, str) else list(value) for name, value in pairs.items() if value}
    indent = max((width(name) for name in given), default=0) + len(GAP)
    lines = []
    for name, values in given.items():
        texts = [line for value in values for line in _wrapped(value, None if fit is None else fit - indent)]
        heads = [name, *[""] * (len(texts) - 1)]
        lines += [f"{padded(head, indent)}{text}".rstrip() for head, text in zip(heads, texts, strict=True)]
    return lines


def _wrapped(value: str, columns: int | None) -> list[str]:
    """The lines of a value, which may have line breaks itself."""
    lines = [harmless(line) for line in value.splitlines()] or [""]
    if columns is None:
        return lines
    wrapper = textwrap.TextWrapper(max(columns, 20), break_long_words=False, break_on_hyphens=False)
    return [part for line in lines for part in wrapper.wrap(line) or [""]]
