"""Texts that people write, as types of wire models. The bounds are wide for a person and narrow for a machine."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def readable(value: str) -> str:
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
    return readable(value)


Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
Sentence = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(readable)]
Text = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(readable)]
