"""Types of wire models for text that people write."""

import re
import unicodedata
from collections.abc import Callable, Iterable
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
_UNSEEN = (
    r"\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
)
_JOINING = r"\u200d\ufe0e\ufe0f"
"""What emoji are composed with: a joiner, and the two variation selectors that choose text or picture."""
_BEYOND = r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
_INVISIBLE = re.compile(f"[{_UNSEEN}{_JOINING}{_BEYOND}]")
"""Format characters (category Cf) and Default_Ignorable_Code_Point of Unicode 15: most fonts show nothing for them."""
_BLANK = re.compile(r"[\u2800\U00013441\U00013442\U00016fe4\U0001d159]")
"""Blank symbols: a braille cell without dots, blank signs of old scripts, a note without a head."""
_SPACES = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""White space on a line other than the plain space."""
_GAP = re.compile(rf"[{_SPACES}]|  ")
_SHAPELESS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode classifies as letters or symbols, but that look blank."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_ALPHABETS = frozenset(
    {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "FULLWIDTH", "GREEK", "LATIN", "LISU", "MATHEMATICAL"}
)
"""Alphabets with letters that look like those of another one, by the first word of their letters' names in Unicode."""


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


def visible(value: str) -> str:
    """Check the same, and that each character can be seen, and that words are separated by one plain space, so that no
    two names look the same."""
    if _INVISIBLE.search(one_line(value)) or _BLANK.search(value):
        raise ValueError("must not contain invisible characters")
    if value != value.strip():
        raise ValueError("must not begin or end with a space")
    if _GAP.search(value):
        raise ValueError("must have single plain spaces between words, and no other spaces")
    return value


def pictured(value: str) -> str:
    """Check that a text is on one line, and that it has no invisible characters but those that emoji are composed with:
    a selector after a symbol, and a joiner between two."""
    one_line(value)
    if not all(_composes(value, found.start()) for found in _INVISIBLE.finditer(value)):
        raise ValueError("must not contain invisible characters")
    return value


def _composes(value: str, place: int) -> bool:
    before, sign, after = value[max(0, place - 1) : place], value[place], value[place + 1 : place + 2]
    if sign == "\u200d":
        return _is_symbol(after) and (_is_symbol(before) or before == "\ufe0f")
    return sign in "\ufe0e\ufe0f" and _is_symbol(before)


def _is_symbol(sign: str) -> bool:
    return sign != "" and unicodedata.category(sign)[0] == "S"


@dataclass(frozen=True, slots=True)
class Written:
    """A rule for a text, and a pattern for the document. The pattern tells clients all of the rule except "not blank",
    where emoji may be composed, and characters beyond U+FFFF."""

    rule: Callable[[str], str]
    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.rule, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": self.pattern}


_NEVER = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff"
READABLE = Written(readable, rf"^[^{_NEVER}]*$")
ONE_LINE = Written(one_line, rf"^[^{_NEVER}\t\n\u2028\u2029]*$")
_SEEN = rf"[^ {_NEVER}\t\n\u2028\u2029{_UNSEEN}{_JOINING}{_SPACES}\u2800]"
NAME = Written(visible, rf"^{_SEEN}+(?: {_SEEN}+)*$")
"""For names of sponsors, campaigns, keys, slots and passkeys, which people tell apart by reading them."""
SLOGAN = Written(pictured, rf"^[^{_NEVER}\t\n\u2028\u2029{_UNSEEN}]*$")
"""For the words of campaigns, in which phones write emoji."""

Line = Annotated[str, Field(min_length=1, max_length=200), ONE_LINE]
Sentence = Annotated[str, Field(min_length=1, max_length=1_000), READABLE]
Note = Annotated[str, Field(min_length=1, max_length=500), READABLE]
Text = Annotated[str, Field(min_length=1, max_length=2_000), READABLE]


def mixed_words(texts: Iterable[str]) -> list[str]:
    """The words whose letters come from more than one of these alphabets, each once, in order.

    They can be honest, such as a unit in a Greek text, so they are a reason to look, not to refuse.
    """
    words = dict.fromkeys(word for text in texts for word in _WORD.findall(text) if not word.isascii())
    return [word for word in words if len(_alphabets(word)) > 1]


def _alphabets(word: str) -> set[str]:
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & _ALPHABETS
