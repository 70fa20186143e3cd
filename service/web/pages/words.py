"""Moments, days and amounts in words, for pages. Pure."""

from datetime import UTC, datetime

from actors.clock import SECOND_MS

SUMMARY_CHARACTERS = 200


def money(cents: int, currency: str = "usd") -> str:
    """An amount of a currency with hundredths: `USD 1,250.00`."""
    return f"{currency.upper()} {cents // 100:,}.{cents % 100:02}"


def price(cents: int, currency: str = "usd") -> str:
    """An amount in a list: `$99` or `$1,250.50`; other currencies as in `money`."""
    if currency != "usd":
        return money(cents, currency)
    return f"${cents // 100:,}.{cents % 100:02}".removesuffix(".00")


def day(moment_ms: int) -> str:
    """`Monday, 2 November 2026`."""
    when = _utc(moment_ms)
    return f"{when:%A}, {when.day} {when:%B %Y}"


def short_day(moment_ms: int) -> str:
    """`2 Nov 2026`."""
    when = _utc(moment_ms)
    return f"{when.day} {when:%b %Y}"


def moment(moment_ms: int) -> dict[str, str]:
    """A moment for machines (`iso`) and for people (`words`)."""
    when = _utc(moment_ms)
    return {"iso": f"{when:%Y-%m-%dT%H:%M:%SZ}", "words": f"{when.day} {when:%B %Y, %H:%M} UTC"}


LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
"""The last moment that Python's calendar knows; later ones are shown as this."""


def summary(text: str) -> str:
    """A text in one line of at most 200 characters, cut between words."""
    words = " ".join(text.split())
    if len(words) <= SUMMARY_CHARACTERS:
        return words
    cut = words[: SUMMARY_CHARACTERS - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


def _utc(moment_ms: int) -> datetime:
    return datetime.fromtimestamp(min(moment_ms // SECOND_MS, LAST_SECOND), UTC)
