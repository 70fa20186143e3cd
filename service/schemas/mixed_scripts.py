"""Words that mix alphabets whose letters look alike, such as a Cyrillic letter in a Latin name. Pure."""

import re
import unicodedata
from collections.abc import Iterable

_WORD = re.compile(r"[^\W\d_]{2,}")
_ALPHABETS = frozenset(
    {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "FULLWIDTH", "GREEK", "LATIN", "LISU", "MATHEMATICAL"}
)
"""Alphabets with letters that look like those of another one, by the first word of their letters' names in Unicode."""


def mixed_words(texts: Iterable[str]) -> list[str]:
    """The words whose letters come from more than one of these alphabets, each once, in order.

    They can be honest, such as a unit in a Greek text, so they are a reason to look, not to refuse.
    """
    words = dict.fromkeys(word for text in texts for word in _WORD.findall(text) if not word.isascii())
    return [word for word in words if len(_alphabets(word)) > 1]


def _alphabets(word: str) -> set[str]:
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & _ALPHABETS
