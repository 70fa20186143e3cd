"""Finds keys that a JSON object gives more than once. Pure.

Parsers differ in which value counts, so a body with such keys is refused.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from service.schemas.events import EventBatchBody, EventBody

LONGEST_KEY = 100

_QUOTES: Mapping[type[BaseModel], Callable[[Any], int]] = {
    EventBody: lambda body: 12,
    EventBatchBody: lambda body: 2 + 12 * len(body.events),
}
"""The quotation marks of a valid body: two for each key and text. Repeated keys and escapes add some, so a body with exactly
as many repeats no key. Counting them takes a tenth of the time of parsing, which matters for events only."""


class _Repeated(Exception):
    """A key occurs twice in one object."""


def repeated_key(body: bytes, model: BaseModel) -> str | None:
    """A key that an object in `body` repeats, cut to `LONGEST_KEY` characters, or None. `model` is the parsed body."""
    quotes = _QUOTES.get(type(model))
    if quotes is not None and body.count(b'"') == quotes(model):
        return None
    try:
        # Numbers stay text, because Python refuses to convert very long ones.
        json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_once_each, parse_int=str, parse_float=str)
    except _Repeated as error:
        return str(error)[:LONGEST_KEY].encode("utf-8", "replace").decode()
    return None


def _once_each(pairs: list[tuple[str, Any]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) < len(pairs):
        for name, _ in pairs:
            if name not in names:
                raise _Repeated(name)
            names.remove(name)
