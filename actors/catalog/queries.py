"""The text of a search, before a store reads it. Pure."""

import re

_DASH = re.compile(r'-[^\w"]*-')
"""Hyphens with nothing but spaces and signs between them. Quotes delimit phrases, so they end a dash."""


def searchable(q: str) -> str:
    """`q` with every dash, such as `--` or `- -`, as a space.

    One hyphen in front of a word excludes the word. Two would negate the negation, which nobody means, and Postgres fails on
    more than 31 of them. NUL and lone surrogates, which Postgres cannot store, separate words like other signs.
    """
    storable = q.replace("\0", " ").encode("utf-8", "replace").decode()
    return _DASH.sub(" ", storable)
