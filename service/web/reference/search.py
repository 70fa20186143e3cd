"""The search of the reference: its index, and the order of what it finds. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_QUERY = 200
"""Characters of a query, at most."""
_WORD = re.compile(r"[^\W_]+")
_SHORT = 3
FILLERS = frozenset(("a", "an", "and", "for", "i", "in", "my", "of", "on", "the", "to"))
"""Words that count only in a query that has no others."""


@dataclass(frozen=True, slots=True)
class Row:
    """An operation or an error code. `label` is its method or status, `note` its path or remedy.

    `strong` and `weak` hold its words, each after a space: those of its name, and those of its description.
    """

    href: str
    label: str
    title: str
    note: str
    strong: str
    weak: str


def words_of(*texts: str, beside: str = "") -> str:
    """The words of the texts in lower case, each once and after a space, without those that `beside` has as well."""
    words = dict.fromkeys(word for text in texts for word in _WORD.findall(text.lower()))
    return "".join(f" {word}" for word in words if word not in beside)


def search(rows: Sequence[Row], query: str) -> list[Row]:
    """The rows that have every word of the query, best first; if no row has, those that have most, but at least half.

    A word that begins one of a row's name counts 4, one within such a word 2, one of its description 1.
    """
    words = [_stem(word) for word in _WORD.findall(query.lower())]
    wanted = [word for word in words if word not in FILLERS] or words
    points = [[_points(row, word) for word in wanted] for row in rows]
    most = max((_matches(each) for each in points), default=0)
    if most == 0 or most * 2 < len(wanted):
        return []
    ranked = [(sum(each), row) for each, row in zip(points, rows, strict=True) if _matches(each) == most]
    return [row for _, row in sorted(ranked, key=lambda pair: -pair[0])]


def _stem(word: str) -> str:
    """The word without a plural `s`. Queries match parts of words, so a shorter word matches the longer one as well."""
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith("ss") else word


def _points(row: Row, word: str) -> int:
    """The points of a row for a word of the query; 0 if the row does not have it."""
    if f" {word}" in row.strong:
        return 4
    if word in row.strong:
        return 2
    return 1 if word in row.weak else 0


def _matches(points: Sequence[int]) -> int:
    return sum(each > 0 for each in points)
