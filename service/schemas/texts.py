"""Types of wire models for text that people write.

Properties of characters come from `regex`, whose Unicode version is the same on every Python.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

ADDRESS_LINES, ADDRESS_LINE = 8, 100
"""The most lines of a postal address, and the most characters of one."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAK = re.compile(r"[\n\t\u2028\u2029]")
_TURN = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""Marks that change the text direction, also of the page around the text."""
_HIDDEN = re.compile(r"[\u180e\u200b\u2060\ufeff\ufffe\uffff]")
"""Invisible characters, which could make two different names look the same."""
_INVISIBLE = r"[\p{Format}\p{Default_Ignorable_Code_Point}]"
"""Most fonts show nothing for them."""
_UNDEFINED = r"[\p{Unassigned}\p{Private_Use}\p{Surrogate}]"
_BLANK = re.compile(r"[\u2800\U00013441\U00013442\U00016fe4\U0001d159]")
"""Blank symbols: a braille cell without dots, blank signs of old scripts, a note without a head."""
_SPACES = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""White space on a line other than the plain space."""
_GAP = re.compile(rf"[{_SPACES}]|  ")
_SHAPED = r"[\p{L}\p{N}\p{P}\p{S}--[\u115f\u1160\u2800\u3164\uffa0]]"
"""Letters, digits and signs, without those that look blank."""

_EMOJI = r"[[\p{Emoji}\p{Extended_Pictographic}]--[0-9#*]]"
_TAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
_COMPOSING = rf"""(?x)
      (?<={_EMOJI}) [\ufe0e\ufe0f]
    | (?<=[0-9\#*]) \ufe0f (?=\u20e3)
    | (?<=\p{{Extended_Pictographic}} [\ufe0f\p{{Emoji_Modifier}}]?) \u200d (?=\p{{Extended_Pictographic}})
    | (?<=\U0001f3f4) (?:{_TAGS}) \U000e007f
    | (?<=[\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}]) \u200c (?=[\p{{jt=R}}\p{{jt=D}}])
    | (?<=[\p{{jt=L}}\p{{jt=D}}] \p{{Mn}}*) \u200d (?!\p{{Mn}}* [\p{{jt=R}}\p{{jt=D}}\p{{jt=C}}\u200c])
    | (?<=\p{{L}} \p{{M}}* \p{{ccc=9}}) [\u200c\u200d] (?![\u200c\u200d])
    | (?<=\p{{L}} \p{{M}}*) [\u200c\u200d] (?=\p{{ccc=9}} \p{{L}})
    """
"""The invisible characters that a text needs, where they show:

- in emoji: a selector of text or picture, also within a keycap; a joiner between two pictures; the tags of the three
  flags of regions that Unicode recommends (UTS 51),
- a non-joiner before a letter of a cursive script, as between Persian words and their endings,
- a joiner after a letter of a cursive script that would otherwise stand alone,
- either of them beside a sign that takes away the vowel, in the scripts of India and around it.

The last three admit the contexts of RFC 5892, appendix A, and what is written besides: a non-joiner after a letter that never
joins, and Bengali and Kannada joiners before that sign.
"""

_WORD = r"\p{L}{2,}"
_ALPHABETS = (
    *(rf"\p{{Script={script}}}" for script in ("Armenian", "Cherokee", "Coptic", "Cyrillic", "Greek", "Lisu")),
    *(r"[\p{Script=Latin}--[\uff21-\uff5a]]", r"[\uff21-\uff5a]", r"[\U0001d400-\U0001d7ff]"),
)
"""Alphabets with letters that look like those of another one. Full width and mathematical letters are two of them."""


@cache
def pattern(text: str) -> Any:
    """The compiled pattern of a text in the syntax of `regex`, version 1. The library, whose tables take 2 MiB, is loaded for
    the first one."""
    import regex

    return regex.compile(text, regex.VERSION1)


def readable(value: str) -> str:
    """Check that a text is not blank and has no invisible or control characters but line breaks and tabs."""
    if not pattern(_SHAPED).search(value):
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
    return _spaced(_shown(one_line(value), value))


def pictured(value: str) -> str:
    """Check that a text is on one line, and that it has no invisible characters but those that emoji and words are
    composed with."""
    return _shown(one_line(value), pattern(_COMPOSING).sub("", value))


def titled(value: str) -> str:
    """Check the same, and that words are separated by one plain space."""
    return _spaced(pictured(value))


def lined(value: str) -> str:
    """Check the same for each line of a postal address."""
    lines = value.split("\n")
    if len(lines) > ADDRESS_LINES:
        raise ValueError(f"must have at most {ADDRESS_LINES} lines")
    for line in lines:
        if not line:
            raise ValueError("must have no empty lines")
        if len(line) > ADDRESS_LINE:
            raise ValueError(f"must have lines of at most {ADDRESS_LINE} characters")
        titled(line)
    return value


def unlinked(value: str) -> str:
    """Check that a name or an address is not that of a website."""
    if "://" in value:
        raise ValueError("must not contain a web address")
    return value


def _shown(value: str, letters: str) -> str:
    """The text, whose `letters` should all be visible."""
    if pattern(_INVISIBLE).search(letters):
        raise ValueError("must not contain invisible characters")
    if pattern(_UNDEFINED).search(letters):
        raise ValueError("must not contain unassigned or private-use characters")
    return value


def _spaced(value: str) -> str:
    if _BLANK.search(value):
        raise ValueError("must not contain invisible characters")
    if value != value.strip():
        raise ValueError("must not begin or end with a space")
    if _GAP.search(value):
        raise ValueError("must have single plain spaces between words, and no other spaces")
    return value


@dataclass(frozen=True, slots=True)
class Written:
    """A rule for a text, and a pattern for the document.

    The pattern admits all that the rule admits, and tells clients all of the rule except "not blank", unassigned
    characters, characters beyond U+FFFF, and the letters that a joiner or selector needs around it.
    """

    rule: Callable[[str], str]
    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.rule, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": self.pattern}


_NEVER = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u180e\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff"
READABLE = Written(readable, rf"^[^{_NEVER}]*$")
ONE_LINE = Written(one_line, rf"^[^{_NEVER}\t\n\u2028\u2029]*$")
_UNSEEN = (
    r"\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
)
"""The characters up to U+FFFF that names and slogans refuse, except unassigned ones."""
_SLOGAN_SIGN = rf"[^{_NEVER}\t\n\u2028\u2029{_UNSEEN}]"
_NAME_SIGN = rf"[^ {_NEVER}\t\n\u2028\u2029{_UNSEEN}{_SPACES}\u2800]"
_SELECTED_AND_JOINED = r"[\ufe0e\ufe0f]?[\u200c\u200d]?"
NAME = Written(visible, rf"^{_NAME_SIGN}+(?: {_NAME_SIGN}+)*$")
"""For names of sponsors, keys, slots and passkeys, which people tell apart by reading them."""
SLOGAN = Written(pictured, rf"^(?:{_SLOGAN_SIGN}{_SELECTED_AND_JOINED})*$")
"""For the words of campaigns, with the emoji of phones and the joiners that some scripts need."""
_WORD_OF_TITLE = rf"(?:{_NAME_SIGN}{_SELECTED_AND_JOINED})+"
TITLE = Written(titled, rf"^{_WORD_OF_TITLE}(?: {_WORD_OF_TITLE})*$")
"""For the names of campaigns and the letters in place of a logo: the same, with single spaces."""

_LINE_OF_TITLE = rf"{_WORD_OF_TITLE}(?: {_WORD_OF_TITLE})*"
ADDRESS = Written(lined, rf"^{_LINE_OF_TITLE}(?:\n{_LINE_OF_TITLE}){{0,{ADDRESS_LINES - 1}}}$")
"""For postal addresses: the same on each line."""

Line = Annotated[str, Field(min_length=1, max_length=200), ONE_LINE]
Sentence = Annotated[str, Field(min_length=1, max_length=1_000), READABLE]
Note = Annotated[str, Field(min_length=1, max_length=500), READABLE]
Text = Annotated[str, Field(min_length=1, max_length=2_000), READABLE]


def mixed_words(texts: Iterable[str]) -> list[str]:
    """The words whose letters come from more than one of these alphabets, each once, in order.

    They can be honest, such as a unit in a Greek text, so they are a reason to look, not to refuse.
    """
    words = dict.fromkeys(word for text in texts for word in pattern(_WORD).findall(text) if not word.isascii())
    return [word for word in words if sum(bool(pattern(each).search(word)) for each in _ALPHABETS) > 1]
