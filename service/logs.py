"""Logging: one line a record, as text or JSON. Neither control characters nor secrets ever reach the output."""

import json
import logging
import re
import sys
import time
from typing import Any, Literal, TextIO

from actors.keys.secret import CLAIM_PREFIX, Kind
from actors.mailbox import request_id
from service.links import LINK_PREFIX

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
LONGEST = 8_000

_SECRET = re.compile(rf"(cs_(?:{'|'.join(Kind)})_[0-9A-Za-z]{{4}}|{CLAIM_PREFIX})[0-9A-Za-z_]+")
"""A key behind the part that may be displayed, and a claim token; also one that was cut short."""

_LINK = re.compile(rf"({LINK_PREFIX})[0-9A-Za-z_-]+")
"""The token of a page that only its bearer may see."""


def set_up(level: str, form: Literal["text", "json"], stream: TextIO | None = None) -> None:
    """Send all records of this process to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("hypercorn").setLevel(logging.WARNING)
    logging.captureWarnings(True)


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in STANDARD}


def _flat(text: str) -> str:
    """One line: what would break it, or a terminal, is escaped."""
    safe = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return safe[:LONGEST]


def masked(line: str) -> str:
    """Without the secrets that a client put where they do not belong, such as a key into a path."""
    return _LINK.sub(r"\1***", _SECRET.sub(r"\1***", line))


class TextLines(logging.Formatter):
    """Time (UTC), level, logger and message, then name=value pairs; a traceback follows on lines of its own."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        words = [self.formatTime(record), record.levelname.lower(), record.name, _flat(record.getMessage())]
        words += [f"{name}={_flat(str(value))}" for name, value in _extra(record).items()]
        if request_id.get() and "request_id" not in vars(record):
            words.append(f"request_id={request_id.get()}")
        line = " ".join(words)
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return masked(line)


class JsonLines(logging.Formatter):
    """One JSON object a record."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:LONGEST],
        }
        if request_id.get():
            fields["request_id"] = request_id.get()
        fields |= _extra(record)
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return masked(json.dumps(fields, ensure_ascii=True, default=str))
