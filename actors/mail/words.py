"""Values in the words of a mail: amounts, weeks, moments and counts, and texts of others made harmless. Pure.

Facts are strings, so the filters take strings. Times are UTC epoch milliseconds. A year is named where it is not the year
in which the mail was written.
"""

import unicodedata

from jinja2 import pass_context
from jinja2.runtime import Context

from actors.shared import money as amounts
from actors.shared.dates import calendar, date, days
from actors.times import MINUTE_MS, WEEK_MS

WRITTEN = "written_ms"
"""The name of the value that holds the time of the mail."""

JOINERS = frozenset("\u200c\u200d") | frozenset(map(chr, range(0xE0061, 0xE0080)))
"""Format characters that some scripts and emoji need: joiners, and the tags of flags of regions."""

ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
SUBJECT_LENGTH = 150


def harmless(text: str) -> str:
    """The text on one line, without characters that control a program or the direction of what follows. A text that is
    written from right to left is isolated from the words around it."""
    shown = "".join("" if _is_format(letter) else _visible(letter) for letter in text)
    line = " ".join(shown.split())
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in line):
        return f"{ISOLATE}{line}{END_OF_ISOLATE}"
    return line


def _is_format(letter: str) -> bool:
    return letter not in JOINERS and unicodedata.category(letter) == "Cf"


def _visible(letter: str) -> str:
    return " " if unicodedata.category(letter) in ("Cc", "Cs", "Co", "Zl", "Zp") else letter


def header(text: str) -> str:
    """The text as a subject: of bounded length, and without the beginning of an encoded word, which mail programs and
    libraries decode, line ends included."""
    line = " ".join(text.replace("=?", "= ?").split())
    if len(line) <= SUBJECT_LENGTH:
        return line
    cut = f"{line[: SUBJECT_LENGTH - 1].rstrip()}…"
    return cut + END_OF_ISOLATE * (cut.count(ISOLATE) - cut.count(END_OF_ISOLATE))


def money(cents: str, currency: str) -> str:
    """`USD 1,250.00`, `JPY 1,250`."""
    return amounts.money(int(cents), currency)


def number(count: str) -> str:
    """`15,507`."""
    return f"{int(count):,}"


def plural(count: str, one: str, several: str) -> str:
    """`1 click`, `15,507 clicks`."""
    return f"{number(count)} {one if int(count) == 1 else several}"


def rate(clicks: str, impressions: str) -> str:
    """`2.07 %`; nothing without impressions."""
    return f"{100 * int(clicks) / int(impressions):.2f} %" if int(impressions) else ""


@pass_context
def weeks(context: Context, start_ms: str, count: str) -> str:
    """The days of weeks: `30 November to 6 December`. Of the weeks of a booking, those that were bought."""
    end = int(start_ms) + int(count) * WEEK_MS
    return days(int(context.get("period_start_ms", start_ms)), end, int(context[WRITTEN]))


@pass_context
def moment(context: Context, at_ms: str) -> str:
    """`30 November, 10:03 UTC`."""
    at = int(at_ms)
    return f"{date(at, int(context[WRITTEN]))}, {time_of_day(at)} UTC"


def minutes(life_ms: int) -> str:
    """`10 minutes`, at least one."""
    return plural(str(max(1, life_ms // MINUTE_MS)), "minute", "minutes")


def time_of_day(at_ms: int) -> str:
    """`10:03`."""
    return f"{calendar(at_ms):%H:%M}"


FILTERS = {"money": money, "number": number, "plural": plural, "rate": rate, "weeks": weeks, "moment": moment}
