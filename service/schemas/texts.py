"""What every text on the wire is held to, whatever its length."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def some_text(value: str) -> str:
    """Something to read: not blank, and no control characters but line breaks and tabs."""
    if not value.strip():
        raise ValueError("must not be blank")
    if _CONTROL.search(value):
        raise ValueError("must not hold control characters")
    return value


def one_line(value: str) -> str:
    """A text on one line."""
    if "\n" in value or "\t" in value:
        raise ValueError("must be on one line")
    return some_text(value)
