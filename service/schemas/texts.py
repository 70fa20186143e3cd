"""What every text on the wire is held to, whatever its length."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAK = re.compile(r"[\n\t\u2028\u2029]")
_TURN = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows, and so of a page around the text."""


def some_text(value: str) -> str:
    """Something to read: not blank, no control characters but line breaks and tabs, and nothing that turns direction."""
    if not value.strip():
        raise ValueError("must not be blank")
    if _CONTROL.search(value) or _TURN.search(value):
        raise ValueError("must not hold control characters")
    return value


def one_line(value: str) -> str:
    """A text on one line."""
    if _BREAK.search(value):
        raise ValueError("must be on one line")
    return some_text(value)
