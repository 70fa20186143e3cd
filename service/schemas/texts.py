"""Types of wire models for text that people write."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAK = re.compile(r"[\n\t\u2028\u2029]")
_TURN = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Marks that change the text direction, also of the page around the text."""
_HIDDEN = re.compile(r"[\u180e\u200b\u2060\ufeff\ufffe\uffff]")
"""Invisible characters, which could make two different names look the same."""
_SHAPELESS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode classifies as letters or symbols, but that look blank."""


def readable(value: str) -> str:
    """Check that a text is not blank and has no invisible or control characters but line breaks and tabs."""
    if not any(unicodedata.category(sign)[0] in "LNPS" and sign not in _SHAPELESS for sign in value):
        raise ValueError("must not be blank")
    if _HIDDEN.search(value):
        raise ValueError("must not contain invisible characters")
    if _CONTROL.search(value) or _TURN.search(value):
        raise ValueError("must not contain control characters")
    return value


def one_line(value: str) -> str:
    """Check the same, and that the text is on one line."""
    if _BREAK.search(value):
        raise ValueError("must be on one line")
    return readable(value)


@dataclass(frozen=True, slots=True)
class Written:
    """A rule for a text, and a pattern for the document that tells clients all of it except "not blank"."""

    rule: Callable[[str], str]
    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.rule, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": self.pattern}


_NEVER = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff"
READABLE = Written(readable, rf"^[^{_NEVER}]*$")
ONE_LINE = Written(one_line, rf"^[^{_NEVER}\t\n\u2028\u2029]*$")

Line = Annotated[str, Field(min_length=1, max_length=200), ONE_LINE]
Sentence = Annotated[str, Field(min_length=1, max_length=1_000), READABLE]
Note = Annotated[str, Field(min_length=1, max_length=500), READABLE]
Text = Annotated[str, Field(min_length=1, max_length=2_000), READABLE]
