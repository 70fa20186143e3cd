"""Finds what identifies the objects of a response, for `--quiet`. Pure, and knows no command.

New commands need nothing of their own, as long as their objects have one of `NAMES`.
"""

from collections.abc import Mapping
from typing import Any

SECRETS = ("apiKey", "secret")
"""Fields of a secret that is shown only once. It stands for the whole response, because it cannot be read again."""

NAMES = (
    "slug",
    "id",
    "number",
    "checkoutUrl",
    "bookingId",
    "tenantId",
    "campaignId",
    "slotId",
    "month",
    "site",
    "name",
)
"""Fields that identify an object, best first."""


def ids_of(document: Mapping[str, Any]) -> list[str]:
    """The ids of a response, without repetitions: its secret, its own id, that of the object in it, or those of its list.

    Empty if the response identifies nothing, as after a deletion.
    """
    found = _named(document, SECRETS) or _named(document, NAMES)
    if found is None:
        inner = (_identity(value) for value in document.values() if isinstance(value, dict))
        found = next((each for each in inner if each is not None), None)
    if found is not None:
        return [found]
    lists = (value for value in document.values() if isinstance(value, list) and _is_of_objects(value))
    ids = (_identity(each) for each in next(lists, []))
    return list(dict.fromkeys(each for each in ids if each is not None))


def _identity(entry: Mapping[str, Any]) -> str | None:
    """The id of an object, or of the first object in it."""
    found = _named(entry, NAMES)
    inner = (_named(value, NAMES) for value in entry.values() if isinstance(value, dict))
    return found or next((each for each in inner if each is not None), None)


def _named(entry: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    values = (entry.get(name) for name in names)
    return next((str(value) for value in values if _is_id(value)), None)


def _is_id(value: object) -> bool:
    return bool(value) and isinstance(value, str | int) and not isinstance(value, bool)


def _is_of_objects(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, dict) for value in values)
