"""The text of a search, before a store reads it, and the category of an entry. Pure."""

import json
import re

_DASH = re.compile(r'-[^\w"]*-')
"""Hyphens with nothing but spaces and signs between them. Quotes delimit phrases, so they end a dash."""


_SYNTAX = re.compile(r'"|(?<!\w)-')
"""A quote, or a hyphen that does not stand behind a letter: it may exclude what follows."""

_CATEGORY = re.compile(rb'"category"\s*:\s*("(?:[^"\\]|\\.)*")')


def is_plain(q: str) -> bool:
    """Whether a text that `searchable` returned has neither phrases nor excluded words, which ask for exactness."""
    return _SYNTAX.search(q) is None


def searchable(q: str) -> str:
    """`q` with every dash, such as `--` or `- -`, as a space.

    One hyphen in front of a word excludes the word. Two would negate the negation, which nobody means, and Postgres fails on
    more than 31 of them. NUL and lone surrogates, which Postgres cannot store, separate words like other signs.
    """
    storable = q.replace("\0", " ").encode("utf-8", "replace").decode()
    return _DASH.sub(" ", storable)


def category_of(document: bytes) -> str | None:
    """The category of a use case's guide, or of a bot template. None if it has none.

    Takes the only key of this name that a valid entry has, because parsing each document would double the time of loading
    a catalog. Within a text, a quote has a backslash before it, so that no text looks like the key.
    """
    found = _CATEGORY.search(document)
    return None if found is None else str(json.loads(found[1]))
