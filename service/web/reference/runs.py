"""What the page of an operation has for one person: the key that may call it, and the response of a read that they run.

A run is the operation called with the session of the page, like that of any page, so that it can do no more than its reader.
No key is read from the request.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from service.api.errors import status_of
from service.web.pages.parts.page import BY_NAME, PageRequest
from service.web.reference.contents import LONGEST_EXAMPLE, Entry, Example
from service.web.reference.kinds import Field

RUN = "run"
"""The field of the form that runs a read. No parameter has its name."""

_FILES = {"format"}
"""Parameters that ask for a file, which a page cannot show."""

OPEN = ("no key", "key optional")
"""The access of operations that anybody may run."""


def given(entry: Entry) -> list[Field]:
    """The parameters that somebody fills in to run a read."""
    return [each for each in entry.parameters if each.place in ("path", "query") and each.name not in _FILES]


def related(entry: Entry, entries: Sequence[Entry]) -> list[Entry]:
    """The operations on the same objects: those at the same path, with or without an id, those that take an id of what this
    returns (`campaignId` of campaigns), and those that return the ids that this takes."""
    place = _place(entry)
    mine, taken = _id_of(place), _taken(entry)
    return [
        other
        for other in entries
        if other is not entry
        and (_place(other) == place or mine in _taken(other) or (other.method == "GET" and _id_of(other.path) in taken))
    ]


def _place(entry: Entry) -> str:
    """The path of the list in which the objects of an operation are."""
    return entry.path.partition("/{")[0]


def _id_of(place: str) -> str:
    """The name of a field with the id of an object: `campaignId` for `/api/v1/sponsors/campaigns`."""
    return place.rpartition("/")[2].removesuffix("s") + "Id"


def _taken(entry: Entry) -> set[str]:
    return {field.name for field in (*entry.parameters, *entry.body) if field.name.endswith("Id")}


async def for_person(visit: PageRequest, entry: Entry) -> Mapping[str, object]:
    """The values of the page of an operation for whoever sees it."""
    values: dict[str, object] = {"own_key": await _key(visit, entry), "indexed": RUN not in visit.query}
    if RUN not in visit.query or entry.method != "GET":
        return values
    if visit.caller.signed_in is None and entry.access not in OPEN:
        return values
    typed = {each.name: text for each in given(entry) if (text := visit.query.get(each.name, "").strip())}
    named = [each.name for each in given(entry) if each.required]
    missing = {f"run-{name}": "Write a value." for name in named if name not in typed}
    if missing:
        return {**values, "typed": typed, "errors": missing}
    path = {name: typed.pop(name) for name in BY_NAME[entry.name].path_names}
    result = await visit.ask(entry.name, path=path, query=typed)
    status = 200 if result.refused is None else status_of(result.refused)
    return {**values, "typed": {**path, **typed}, "ran": _shown(status, result.json)}


def _shown(status: int, body: Any) -> Example:
    text = json.dumps(body, indent=2, ensure_ascii=False)
    cut = len(text) > LONGEST_EXAMPLE
    return Example(f"Response, {status}", text[:LONGEST_EXAMPLE].rpartition("\n")[0] if cut else text, cut)


async def _key(visit: PageRequest, entry: Entry) -> Mapping[str, Any] | None:
    """The key of the person that was used or made last, of those that may call the operation. Only its beginning is known."""
    operation = BY_NAME[entry.name]
    if visit.caller.signed_in is None or entry.access not in (*OPEN[1:], "key or sign-in"):
        return None
    listed = await visit.ask("listAccountKeys")
    if listed.refused is not None:
        return None
    able = [
        key
        for key in listed.json["items"]
        if key.get("expiresAt", visit.now_ms + 1) > visit.now_ms
        and set(operation.scopes) <= set(key.get("scopes", operation.scopes))
        and (key["admin"] or not operation.admin)
    ]
    return max(able, key=lambda key: int(key.get("lastUsedAt", key["createdAt"])), default=None)
