"""Texts that people write, as types of wire models. The bounds are wide for a person and narrow for a machine."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAK = re.compile(r"[\n\t\u2028\u2029]")
_TURN = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows, and so of a page around the text."""


def readable(value: str) -> str:
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
    return readable(value)


Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
Sentence = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(readable)]
Text = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(readable)]
