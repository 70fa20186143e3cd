"""Moments, days, amounts and counts in words, for pages. Pure.

Moments are UTC epoch milliseconds, and pages say in their footer that all times are UTC. A year is named where it is not the
year of `now_ms`.
"""

import re
from dataclasses import dataclass
from html import escape

import markupsafe

from actors.shared import dates
from actors.shared import money as amounts
from actors.shared.dates import SHORT, calendar
from actors.times import DAY_MS, HOUR_MS, MINUTE_MS, day_of

SUMMARY_CHARACTERS = 200
ID_CHARACTERS = 8
HOST_CHARACTERS, PATH_CHARACTERS = 40, 16
PERCENT = 100

_PARTS = re.compile(r"(?<=[\w}])(?=/[\w{]|\?\w|&amp;\w+=)")
"""The places at which an address may break, in escaped text: before its parts and parameters."""
_HOST = re.compile(r"([^/?#]*)(.*)", re.DOTALL)
"""A bare address: its host, and the rest."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment or a day for machines (`iso`) and for people (`words`). In HTML it is a `time` element; in an attribute, use
    `words`."""

    iso: str
    words: str

    def __str__(self) -> str:
        return self.words

    def __html__(self) -> str:
        return f'<time datetime="{self.iso}">{escape(self.words)}</time>'


@dataclass(frozen=True, slots=True)
class ShortId:
    """An id for a table. HTML has the whole id, of which the style sheet shows the beginning, so that selecting and copying
    gives all of it. As text it is cut to 8 characters."""

    whole: str

    def __str__(self) -> str:
        return self.whole if len(self.whole) <= ID_CHARACTERS else f"{self.whole[:ID_CHARACTERS]}…"

    def __html__(self) -> str:
        whole = escape(self.whole)
        return f'<span class="mono cut" title="{whole}">{whole}</span>'


@dataclass(frozen=True, slots=True)
class ShortAddress:
    """A web address in a few words: its host, of which the end counts, and the beginning of the rest. HTML has the whole
    address as its title if something is left out."""

    whole: str

    def __str__(self) -> str:
        host, rest = _HOST.fullmatch(bare(self.whole)).groups()  # type: ignore[union-attr]  # it matches every text
        host = host if len(host) <= HOST_CHARACTERS else f"…{host[1 - HOST_CHARACTERS :]}"
        return host + (rest if len(rest) <= PATH_CHARACTERS else f"{rest[: PATH_CHARACTERS - 1]}…")

    def __html__(self) -> str:
        shown = str(self)
        title = "" if shown == bare(self.whole) else f' title="{escape(self.whole)}"'
        return f"<bdi{title}>{escape(shown)}</bdi>"


# Moments and days.


def when(moment_ms: int, now_ms: int, *, first: bool = False) -> Moment:
    """`today, 09:41`, `tomorrow, 10:00`, `2 November, 08:55` or `2 November 2025, 08:55`. `first`: with a capital letter."""
    return _moment(
        moment_ms, _begun(f"{_near(moment_ms, now_ms) or dates.date(moment_ms, now_ms)}, {_clock(moment_ms)}", first)
    )


def date(moment_ms: int, now_ms: int) -> Moment:
    """`2 November`, or `2 November 2025`."""
    return _day(moment_ms, dates.date(moment_ms, now_ms))


def short(moment_ms: int, now_ms: int) -> Moment:
    """`2 Nov`, or `2 Nov 2025`, for lists."""
    return _day(moment_ms, dates.date(moment_ms, now_ms, SHORT))


def until(moment_ms: int, now_ms: int) -> Moment:
    """`until 10:03 today, 22 minutes from now`; from two days on `until 2 December, 10:03`."""
    near = _near(moment_ms, now_ms)
    ahead = moment_ms - now_ms
    if near is None or ahead >= 2 * DAY_MS:
        return _moment(moment_ms, f"until {dates.date(moment_ms, now_ms)}, {_clock(moment_ms)}")
    rest = f", {span(ahead)} from now" if ahead > 0 else ""
    return _moment(moment_ms, f"until {_clock(moment_ms)} {near}{rest}")


def left(moment_ms: int, now_ms: int) -> Moment:
    """The time up to a moment: `22 minutes`, `26 hours` or `6 days`."""
    return _moment(moment_ms, span(moment_ms - now_ms))


def ago(moment_ms: int, now_ms: int, *, first: bool = False) -> Moment:
    """`just now`, `2 minutes ago`, `26 hours ago`, then the date. `first`: with a capital letter."""
    passed = now_ms - moment_ms
    if passed >= 2 * DAY_MS:
        return date(moment_ms, now_ms)
    return _moment(moment_ms, _begun("just now" if passed < MINUTE_MS else f"{span(passed)} ago", first))


def span(length_ms: int) -> str:
    """A time in one unit, rounded down: minutes under an hour, hours under two days, else days."""
    if length_ms < MINUTE_MS:
        return "less than a minute"
    if length_ms < HOUR_MS:
        return counted(length_ms // MINUTE_MS, "minute")
    if length_ms < 2 * DAY_MS:
        return counted(length_ms // HOUR_MS, "hour")
    return counted(length_ms // DAY_MS, "day")


def weekday(moment_ms: int, now_ms: int) -> Moment:
    """`Monday, 2 November`, or `Monday, 2 November 2025`."""
    return _day(moment_ms, f"{calendar(moment_ms):%A}, {dates.date(moment_ms, now_ms)}")


def time_of_day(moment_ms: int, now_ms: int) -> Moment:
    """`10:03` today, else as in `when`, for badges."""
    return _moment(moment_ms, _clock(moment_ms)) if day_of(moment_ms) == day_of(now_ms) else when(moment_ms, now_ms)


def _near(moment_ms: int, now_ms: int) -> str | None:
    """The day beside today in a word, None for another day."""
    return {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(day_of(moment_ms) - day_of(now_ms))


def _clock(moment_ms: int) -> str:
    return f"{calendar(moment_ms):%H:%M}"


def _moment(moment_ms: int, words: str) -> Moment:
    return Moment(f"{calendar(moment_ms):%Y-%m-%dT%H:%M:%SZ}", words)


def _day(moment_ms: int, words: str) -> Moment:
    return Moment(f"{calendar(moment_ms):%Y-%m-%d}", words)


def _begun(words: str, first: bool) -> str:
    return words[:1].upper() + words[1:] if first else words


def day(moment_ms: int) -> str:
    """`Monday, 2 November 2026`."""
    at = calendar(moment_ms)
    return f"{at:%A}, {at.day} {at:%B %Y}"


def month(moment_ms: int) -> str:
    """`November 2026`."""
    return f"{calendar(moment_ms):%B %Y}"


def short_day(moment_ms: int) -> str:
    """`2 Nov 2026`."""
    at = calendar(moment_ms)
    return f"{at.day} {at:%b %Y}"


def moment(moment_ms: int) -> Moment:
    """A moment with its year and zone, for records that outlive the page: `2 November 2026, 08:55 UTC`."""
    at = calendar(moment_ms)
    return _moment(moment_ms, f"{at.day} {at:%B %Y, %H:%M} UTC")


# Amounts and counts.


def money(cents: int, currency: str = "usd") -> str:
    """An amount of a payment or an invoice: `USD 1,250.00`."""
    return amounts.money(cents, currency)


def price(cents: int, currency: str = "usd") -> str:
    """An amount in a list: `$99` or `$1,250.50`; other currencies as in `money`."""
    if currency != "usd":
        return money(cents, currency)
    sign, cents = "-" if cents < 0 else "", abs(cents)
    return f"{sign}${cents // 100:,}.{cents % 100:02}".removesuffix(".00")


def number(count: int) -> str:
    """`15,507`."""
    return f"{count:,}"


def up_to_99(count: int) -> str:
    """`7`, or `99+`: a number in a bar, which has little room."""
    return str(count) if count < 100 else "99+"


def counted(count: int, one: str, several: str = "") -> str:
    """`1 day`, `15,507 clicks`; `several` is needed where it is not `one` and an s."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def rate(ratio: float | None, without: str = "No rate yet") -> str:
    """A ratio as a percentage: `2.07 %`. `without` says when there will be one, such as `Known once it was shown`."""
    return without if ratio is None else f"{ratio * PERCENT:.2f} %"


def percent(share: float) -> str:
    """A share as a percentage with three digits, so that it is right to half a percent: `60 %`, `42.9 %`, `7.5 %`."""
    return f"{share * PERCENT:.3g} %"


def change(count: int, before: int) -> str:
    """The change of a count since the days before, in percent of theirs: `12 % more than 1,234 before`."""
    if not before:
        return "No figures before"
    if count == before:
        return f"As before: {before:,}"
    percent = abs(PERCENT * (count - before) / before)
    shown = f"{percent:,.0f}" if percent >= 1 else "less than 1"
    return f"{shown} % {'more' if count > before else 'fewer'} than {before:,} before"


def rate_change(ratio: float | None, before: float | None) -> str:
    """The same of a click rate: `8 % higher than 0.50 % before`."""
    if not before:
        return "No rate before"
    percent = PERCENT * ((ratio or 0) - before) / before
    if abs(percent) < 1:
        return f"As before: {rate(before)}"
    return f"{abs(percent):,.0f} % {'higher' if percent > 0 else 'lower'} than {rate(before)} before"


def per_click(cents: int, clicks: int, without: str = "Known after the first click", currency: str = "usd") -> str:
    """The amount for each click, rounded to the cent: `$0.45`."""
    if not clicks:
        return without
    each = (2 * cents + clicks) // (2 * clicks)
    return price(each, currency) if each or not cents else f"less than {price(1, currency)}"


# Texts.


def bare(address: str) -> str:
    """A web address without its scheme and a last slash, as people write it: `tools.example.com/start`."""
    return address.removeprefix("https://").removeprefix("http://").removesuffix("/")


def breakable(text: str) -> markupsafe.Markup:
    """A text as HTML. A text with an address or a path may break before its parts, rather than within a word of it."""
    escaped = markupsafe.escape(text)
    return markupsafe.Markup(_PARTS.sub("<wbr>", escaped)) if "://" in text or text.startswith("/") else escaped


def short_url(address: str) -> ShortAddress:
    """A web address as host and short path: `tools.example.com/start/with-a-…`."""
    return ShortAddress(address)


def short_id(whole: str) -> ShortId:
    """An id of which a table shows the first 8 characters."""
    return ShortId(whole)


def summary(text: str) -> str:
    """A text in one line of at most 200 characters, cut between words."""
    words = " ".join(text.split())
    if len(words) <= SUMMARY_CHARACTERS:
        return words
    cut = words[: SUMMARY_CHARACTERS - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
