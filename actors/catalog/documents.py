"""The category and the title in the document of an entry. Pure.

Both are found without parsing it, which would double the time of loading a catalog. Within a text, a quote has a backslash
before it, so that no text looks like a key.
"""

import json
import re

_VALUE = re.compile(rb'\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")')


def category_of(document: bytes) -> str | None:
    """The category of a use case's guide, or of a bot template: the only field of this name. None if it has none."""
    return _first(document, b'"category"')


def title_of(document: bytes) -> str:
    """The title of a use case, or the name of a bot template, which has no title."""
    return _first(document, b'"title"') or _first(document, b'"name"') or ""


def _first(document: bytes, key: bytes) -> str | None:
    """The text of the first field with a key. What is no key has no colon after it."""
    place = document.find(key)
    while place >= 0:
        found = _VALUE.match(document, place + len(key))
        if found is not None:
            text = found[1]
            # Without a backslash, it is what stands between its quotes.
            return str(json.loads(text)) if b"\\" in text else text[1:-1].decode()
        place = document.find(key, place + 1)
    return None
