"""Every read of the API, the pages and `catalogctl`, from the tables of the product: a new one is measured, too."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlencode

from actors.shared.announcements import Topic
from actors.shared.credentials import SHARE_TOKEN
from actors.times import SECOND_MS, WEEK_MS, week_of
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.policy import Access
from service.web.pages.parts.page import Audience
from service.web.pages.table import PAGES
from tests.growth.filling import ADMIN, FEW, MOST, Size
from tests.growth.node import Node

VALUES: Mapping[str, object] = {
    "limit": 50,
    "days": 30,
    "weeks": 12,
    "q": "report",
    "category": "Finance",
    "slot": "slot-1",
    "slotId": "slot-1",
    "campaignId": f"cmp_{FEW}",
    "sponsor": f"spo_{FEW}",
    "query": "Brand 3",
    "targetId": "bok_1",
    "actorEmail": f"person{FEW}@example.com",
    "userCode": "BCDF-GHJK",
}
"""A value of each parameter of a query that is no choice, no time and no cursor."""


@dataclass(frozen=True, slots=True)
class Read:
    """A request of a person (0 is nobody), with a key or in a browser. `has_pages` if its answer may have a cursor."""

    name: str
    target: str
    person: int
    browser: bool = False
    has_pages: bool = False


class Names:
    """The ids and addresses of things that each person may read, in a database of a size."""

    def __init__(self, node: Node, size: Size, slugs: Mapping[str, str], bookings: Mapping[int, Any]) -> None:
        self._node, self._size, self._slugs, self._bookings = node, size, slugs, bookings

    def _request_of_a_program(self) -> str:
        services, returns = self._node.services, "http://127.0.0.1:8123/callback"
        client_id = services.clients.registered.register("An agent", [returns], services.clock.now_ms(), 1)
        asked = {"response_type": "code", "client_id": client_id, "redirect_uri": returns}
        return urlencode({**asked, "code_challenge": "A" * 43, "code_challenge_method": "S256"})

    def in_path(self, path: str, person: int) -> str | None:
        """The path with its names, None if there is no such thing of this person."""
        if path == "/oauth/authorize":
            return f"{path}?{self._request_of_a_program()}"
        if "{" not in path:
            return path
        links, booking = self._node.services.links, self._bookings[person if person in self._bookings else MOST]
        ends = {"ends": "key", "target": "key_2", "label": "cs"}
        [name] = re.findall(r"/(\w+)/\{", path)
        address = {
            "checkout": links.checkout_url(booking),
            "receipt": links.result_url(booking),
            "end": links.ending_url(ends, "person2@example.com", self._node.services.clock.now_ms()),
            "shared": f"{links.base_url}/shared/{SHARE_TOKEN.prefix}{'A' * SHARE_TOKEN.length}",
            "unsubscribe": links.stop_url("person2@example.com", Topic.REPORTS),
        }.get(name)
        if address is not None:
            return address.removeprefix(self._node.services.base_url)
        owner = MOST if person == ADMIN else person
        value = {
            "usecases": self._slugs["usecases"],
            "bots": self._slugs["bots"],
            "bookings": booking.id,
            "campaigns": booking.campaign_id,
            "webhooks": "whk_1" if person == MOST else None,
            "keys": f"key_{owner}",
            "accounts": f"ten_{owner}",
            "slots": "slot-1",
            "submissions": f"sub_{owner}",
            "outbox": "let_4",
        }[name]
        return None if value is None else re.sub(r"\{\w+\}", value, path)


def reads(names: Names, now_ms: int) -> Iterator[Read]:
    """Each read by each kind of person that may do it, with each parameter."""
    for operation in OPERATIONS:
        if operation.method == "GET":
            for person in _persons(operation):
                path = names.in_path(operation.path, person)
                if path is not None:
                    for query in _queries(operation, now_ms):
                        told = f"{operation.name} {urlencode(query)}".strip()
                        target = f"{path}?{urlencode(query)}" if query else path
                        has_pages = "cursor" in (operation.query.model_fields if operation.query else ()) and not query
                        yield Read(f"{told} of {person}", target, person, operation.access is Access.SESSION, has_pages)
    for page in PAGES:
        for person in {Audience.ANYBODY: (0,), Audience.ACCOUNT: (FEW, MOST), Audience.ADMIN: (ADMIN,)}[page.who]:
            path = names.in_path(page.path, person)
            if path is not None:
                yield Read(f"page {page.path} of {person}", path, person, browser=True)


def _persons(operation: Operation) -> Sequence[int]:
    if operation.admin:
        return (ADMIN,)
    return (FEW, MOST) if operation.access in (Access.REQUIRED, Access.SESSION) else (0,)


def _queries(operation: Operation, now_ms: int) -> Iterator[dict[str, Any]]:
    """No parameter, and each parameter alone."""
    fields = {} if operation.query is None else operation.query.model_fields
    if "userCode" not in fields:
        yield {}
    for name, field in fields.items():
        alias = field.alias or name
        if alias == "cursor":
            continue
        kinds = [each for each in (field.annotation, *get_args(field.annotation)) if get_origin(each) is Literal]
        if kinds:
            yield from ({alias: choice} for choice in get_args(kinds[0]) if choice != "json")
        else:
            yield {alias: _value(operation, alias, now_ms)}


def _value(operation: Operation, alias: str, now_ms: int) -> object:
    if alias in ("from", "to", "since"):
        return "2025-01" if operation.name == "getRevenue" else now_ms - 5 * 86_400 * SECOND_MS
    if alias in ("week", "weekStart"):
        return week_of(now_ms) + WEEK_MS
    assert alias in VALUES, f"{operation.name} needs a value for {alias} in {__name__}"
    return VALUES[alias]


async def names_of(node: Node, size: Size) -> Names:
    slugs = {}
    for kind in ("usecases", "bots"):
        slugs[kind] = (await node.ask("GET", f"/api/v1/{kind}?limit=1")).json["data"][0]["slug"]
    running = {MOST: f"bok_{size.bookings + 3}", FEW: f"bok_{size.bookings + 1}"}
    views = {person: await node.services.sponsorship.booking(None, booking) for person, booking in running.items()}
    return Names(node, size, slugs, {person: view.booking for person, view in views.items() if view is not None})
