"""Logging: one line per record, as text or JSON, without control characters or secrets."""

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import Any, Literal, TextIO

from actors.clock import SECOND_MS, SystemClock
from actors.kernel.mailbox import request_id, trace_context
from actors.shared.credentials import (
    AUTHORIZATION_CODE,
    BROWSER_TOKEN,
    CLAIM_TOKEN,
    DEVICE_CODE,
    REFRESH_TOKEN,
    SESSION_TOKEN,
    SHARE_TOKEN,
    SIGN_IN_LINK_TOKEN,
    Kind,
)
from service.tokens.links import LINK_PREFIX

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "unlimited"}
LONGEST = 8_000
_NUMBER = re.compile(r"[0-9]+")

_TOKENS = (
    CLAIM_TOKEN.prefix,
    SESSION_TOKEN.prefix,
    DEVICE_CODE.prefix,
    BROWSER_TOKEN.prefix,
    SIGN_IN_LINK_TOKEN.prefix,
    SHARE_TOKEN.prefix,
    AUTHORIZATION_CODE.prefix,
    REFRESH_TOKEN.prefix,
)
_SECRET = re.compile(rf"(cs_(?:{'|'.join(Kind)})_[0-9A-Za-z]{{4}}|{'|'.join(_TOKENS)})[0-9A-Za-z_]+")
"""Keys, after the part that may be shown, and tokens, whole or truncated."""

_LINK = re.compile(rf"({LINK_PREFIX})[0-9A-Za-z_-]+")

_PREFIXES = ("cs_", *_TOKENS, LINK_PREFIX)
"""A line without any of these matches neither pattern."""


LINES_A_MINUTE = 10
"""Warnings and errors of one kind that are logged in a minute. A condition that lasts would otherwise fill the disk."""

KINDS = 1_000
"""Maximum number of kinds that are counted."""


class Ceiling(logging.Filter):
    """Leaves out warnings and errors of a kind, which is the text before its values are filled in, beyond `LINES_A_MINUTE`.
    A record with the attribute `unlimited` always passes."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._counted: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or isinstance(record, Line) or getattr(record, "unlimited", False):
            return True
        # Lines of other programs, such as Postgres, are of a kind if they differ in numbers only.
        text = _NUMBER.sub("#", record.getMessage()) if record.msg == "%s" else str(record.msg)
        now, key = self._now(), (record.name, text)
        began, lines = self._counted.get(key, (-inf, 0))
        if now >= began + 60.0:
            if lines > LINES_A_MINUTE:
                record.msg = f"{record.msg} ({lines - LINES_A_MINUTE} lines like this were left out)"
            began, lines = now, 0
        if key not in self._counted and len(self._counted) >= KINDS:
            self._counted.clear()
        self._counted[key] = (began, lines + 1)
        if lines + 1 == LINES_A_MINUTE:
            record.msg = f"{record.msg} (line {LINES_A_MINUTE} of its kind; more are left out for the rest of a minute)"
        return lines < LINES_A_MINUTE


def set_up(
    level: str, form: Literal["text", "json"], stream: TextIO | None = None, *, worker: int | None = None
) -> None:
    """Log all records of this process to `stream` (default: standard error). A worker's records carry its number."""
    handler = logging.StreamHandler(stream or sys.stderr)
    always = {} if worker is None else {"worker": worker}
    handler.setFormatter(JsonLines(always) if form == "json" else TextLines(always))
    handler.addFilter(Ceiling())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)


_BLANK = vars(logging.LogRecord("", logging.INFO, "-", 0, "", None, None))


class Line(logging.LogRecord):
    """The record of a request. Cheaper than `LogRecord`, because it omits the caller, thread and process."""

    def __init__(self, name: str, message: str, facts: Mapping[str, object]) -> None:
        now_ms = SystemClock().now_ms()
        vars(self).update(_BLANK)
        vars(self).update(facts)
        self.name, self.msg, self.facts = name, message, facts
        self.created, self.msecs = now_ms / SECOND_MS, now_ms % SECOND_MS


def _extra(record: logging.LogRecord) -> Mapping[str, Any]:
    if isinstance(record, Line):
        return record.facts
    return {name: value for name, value in vars(record).items() if name not in STANDARD}


def _field(name: str, value: object) -> str:
    """`name=value`, in which a value cannot look like further fields."""
    field = f"{name}={value}"
    return f"{name}={json.dumps(str(value), ensure_ascii=False)}" if " " in field else field


def _flat(text: str) -> str:
    """Escape unprintable characters, so that the text stays on one line."""
    safe = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return safe[:LONGEST]


def masked(line: str) -> str:
    """Mask secrets that a client put in the wrong place, such as a key in a path."""
    # Few lines have one, and fixed words are found much faster than patterns.
    if not any(word in line for word in _PREFIXES):
        return line
    return _LINK.sub(r"\1***", _SECRET.sub(r"\1***", line))


@lru_cache(maxsize=2)
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


def _time_of(record: logging.LogRecord) -> str:
    """The time of a record in UTC, in milliseconds."""
    return f"{_second(int(record.created))}.{int(record.msecs):03d}Z"


class Lines(logging.Formatter):
    """Base of both formats. The facts in `always` are part of every line."""

    def __init__(self, always: Mapping[str, object] = MappingProxyType({})) -> None:
        super().__init__()
        self._always = always


class TextLines(Lines):
    """Time (UTC), level, logger and message, then name=value pairs. Values with a space are quoted. A traceback follows on
    separate lines."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {**self._always, **_extra(record)}
        if request_id.get():
            fields.setdefault("request_id", request_id.get())
        if (span := trace_context.get()) is not None:
            fields["trace_id"] = span.trace_id
        words = [record.getMessage(), *[_field(name, value) for name, value in fields.items()]]
        line = " ".join(words)
        if len(line) > LONGEST or not line.isprintable():
            line = " ".join(map(_flat, words))
        line = f"{_time_of(record)} {record.levelname.lower()} {record.name} {line}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return masked(line)


class JsonLines(Lines):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:LONGEST],
            **self._always,
        }
        if request_id.get():
            fields["request_id"] = request_id.get()
        if (span := trace_context.get()) is not None:
            fields["trace_id"] = span.trace_id
        fields.update(_extra(record))
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return masked(json.dumps(fields, ensure_ascii=True, default=str))
