"""The search of the reference: its index, and the order of what it finds. Pure.

`static/reference.js` searches the same index in the same way, so results with and without scripts agree.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_QUERY = 200
"""Characters of a query, at most."""
_WORD = re.compile(r"[^\W_]+")
_SHORT = 3


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
    """The rows that have every word of the query, best first: words that begin one of the name count most."""
    wanted = [_stem(word) for word in _WORD.findall(query.lower())]
    scored = [(score, row) for row in rows if wanted and (score := _score(row, wanted))]
    return [row for _, row in sorted(scored, key=lambda pair: -pair[0])]


def _stem(word: str) -> str:
    """The word without a plural `s`. Queries match parts of words, so a shorter word matches the longer one as well."""
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith("ss") else word


def _score(row: Row, wanted: Sequence[str]) -> int:
    """The sum over all words, or 0 if one is missing."""
    total = 0
    for word in wanted:
        if f" {word}" in row.strong:
            total += 4
        elif word in row.strong:
            total += 2
        elif word in row.weak:
            total += 1
        else:
            return 0
    return total
