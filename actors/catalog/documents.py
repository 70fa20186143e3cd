"""The category in the document of an entry. Pure."""

import json
import re

_CATEGORY = re.compile(rb'"category"\s*:\s*("(?:[^"\\]|\\.)*")')


def category_of(document: bytes) -> str | None:
    """The category of a use case's guide, or of a bot template. None if it has none.

    Takes the only key of this name that a valid entry has, because parsing each document would double the time of loading
    a catalog. Within a text, a quote has a backslash before it, so that no text looks like the key.
    """
    found = _CATEGORY.search(document)
    if found is None:
        return None
    # Without a backslash, the text is what stands between its quotes.
    return str(json.loads(found[1])) if b"\\" in found[1] else found[1][1:-1].decode()
