"""The types and checks that the sections of the configuration share."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]
Factor = Annotated[int, Field(ge=1, le=1_000)]

ORIGIN, AN_ORIGIN = r"(https?://[^/\s]+)?", "must be http:// or https:// and a host, without a path"
"""An optional URL without a path, for `format_of`."""


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def format_of(pattern: str, words: str) -> AfterValidator:
    """A validator of texts that match the whole `pattern`. `words` complete the error line, such as "must be HOST:PORT"."""
    matches = re.compile(pattern).fullmatch

    def check(text: str) -> str:
        if not matches(text):
            raise ValueError(words)
        return text

    return AfterValidator(check)


def below(name: str, value: float, other: str, bound: float) -> None:
    if not value < bound:
        raise ValueError(f"{name} ({value:g}) must be below {other} ({bound:g})")


def at_most(name: str, value: float, other: str, bound: float) -> None:
    if not value <= bound:
        raise ValueError(f"{name} ({value:g}) must be at most {other} ({bound:g})")
