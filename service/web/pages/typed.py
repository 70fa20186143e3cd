"""Typed text of forms as values: amounts, moments, texts. Pure; text that cannot be read is None."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from actors.clock import SECOND_MS
from actors.dates import calendar

_AMOUNT = re.compile(r"(\d{1,9}|\d{1,3}(?:,\d{3}){1,2})(?:\.(\d{1,2}))?")
_GAPS = re.compile(r"[\s-]")
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
"""An address with a scheme, such as `http:` or `mailto:`. Digits after the colon are a port."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")


def cents_of(text: str) -> int | None:
    """Cents of `120`, `120.5` or `1,250.00`."""
    found = _AMOUNT.fullmatch(text.strip()) if text.isascii() else None
    if found is None:
        return None
    return int(found[1].replace(",", "")) * 100 + int((found[2] or "").ljust(2, "0"))


def amount_of(cents: int) -> str:
    """Cents as text: `120.00`."""
    return f"{cents // 100}.{cents % 100:02}"


def moment_of(text: str) -> int | None:
    """Epoch milliseconds of a date and time as browsers send it (`2026-11-20T12:00`), read as UTC."""
    if not text.isascii() or not _MOMENT.fullmatch(text):
        return None
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND_MS
    except ValueError:
        return None


def day_ms_of(text: str) -> int | None:
    """Epoch milliseconds of the start of a date (`2026-11-30`), UTC."""
    return moment_of(f"{text}T00:00")


def moment_text(moment_ms: int) -> str:
    """Epoch milliseconds as text. Seconds appear only if they are not zero. A moment that the calendar does not reach is its
    last one."""
    when = calendar(moment_ms)
    return f"{when:%Y-%m-%dT%H:%M}" + (f":{when:%S}" if when.second else "")


def whole_of(text: str) -> int | None:
    """A whole number of at most six digits."""
    return int(text) if text.isascii() and text.strip().isdigit() and len(text.strip()) < 7 else None


def code_of(text: str) -> str:
    """A code from a mail, without spaces and hyphens."""
    return _GAPS.sub("", text)


def text_of(form: Mapping[str, str], name: str) -> str | None:
    """The text of a field without surrounding space and with `\\n` as line end; None if it is empty."""
    return form.get(name, "").replace("\r\n", "\n").strip() or None


def address_of(form: Mapping[str, str], name: str) -> str:
    """A typed web address with `https://` in front where it has no scheme: `tools.example.com` becomes
    `https://tools.example.com`. Anything else stays as it is, and the operation refuses it."""
    text = form.get(name, "").strip()
    if not text or _HAS_SCHEME.match(text):
        return text
    return f"https://{text.removeprefix('//')}"


def line_of(form: Mapping[str, str], name: str) -> str:
    """The text of a field that stands on one line, without surrounding space. Line ends become spaces."""
    lines = (line.strip() for line in form.get(name, "").split("\n"))
    return " ".join(line for line in lines if line)
