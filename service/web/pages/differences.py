"""The words that differ between two texts. Pure."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def words_between(before: str, now: str) -> list[tuple[str, str]]:
    """The parts of both texts in order, each with what became of it: `same`, `gone` or `new`. The parts that are not new
    make up `before`, and those that are not gone `now`. Texts that share no word stay whole."""
    parts = list(_merged(_parts(_WORDS.findall(before), _WORDS.findall(now))))
    if any(kind == "same" and text.strip() for kind, text in parts):
        return parts
    return parts if before == now else [(kind, text) for kind, text in (("gone", before), ("new", now)) if text]


def _parts(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "same", "".join(old[old_from:old_to])
            continue
        if old_from < old_to:
            yield "gone", "".join(old[old_from:old_to])
        if new_from < new_to:
            yield "new", "".join(new[new_from:new_to])


def _merged(parts: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join neighbours of one kind, so that a page has few elements."""
    kept: tuple[str, str] | None = None
    for kind, text in parts:
        if kept is not None and kept[0] == kind:
            kept = kind, kept[1] + text
            continue
        if kept is not None:
            yield kept
        kept = kind, text
    if kept is not None:
        yield kept
