"""Steps shared by handlers: resource ids in paths, pages of lists, and responses that caches may keep."""

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel

from actors.bookings.store import Before
from actors.values import Refused
from service.api.context import Services
from service.api.encodings import VARY, known_tag
from service.api.messages import Answer
from service.api.operation import Call, Handler
from service.api.validation import read_form
from service.schemas.fields import may_exist
from service.schemas.lists import DEFAULT_LIMIT, SponsorshipQuery

T = TypeVar("T")
OK = HTTPStatus.OK.value  # members are slow to look up

IdHandler = Callable[[Services, Call, str], Awaitable[Answer | Refused]]


def with_id(unknown: Callable[[], Refused]) -> Callable[[IdHandler], Handler]:
    """Pass the path's `id` to a handler. If it cannot be an id, return `unknown()` without a lookup."""

    def decorate(handler: IdHandler) -> Handler:
        async def checked(services: Services, call: Call) -> Answer | Refused:
            resource_id = call.path_values["id"]
            return await handler(services, call, resource_id) if may_exist(resource_id) else unknown()

        return checked

    return decorate


class Made(Protocol):
    """A row with the time at which it was made."""

    @property
    def id(self) -> str: ...
    @property
    def created_ms(self) -> int: ...


def newest_first(row: Made) -> Before:
    """The position of a row in a list that is ordered by time."""
    return Before(row.created_ms, row.id)


def searched(name: str, text: str | None) -> str:
    """The name of a list with its search, for `list_page`: a cursor is valid only for the same search."""
    return name if text is None else f"{name} with {text}"


async def list_page(
    services: Services,
    call: Call,
    name: str,
    fetch: Callable[[Before | None, int], Awaitable[Sequence[T]]],
    position: Callable[[T], Before],
    render: Callable[[T], BaseModel],
    page: Callable[..., BaseModel],
) -> Answer | Refused:
    """Return `page(items=..., cursor=..., hasMore=...)` of the rows that `fetch(before, limit)` returns.

    A cursor is valid only for the same `name` and account.
    """
    query: SponsorshipQuery = call.query
    purpose = f"{name} {call.caller.owner}"
    before = None if query.cursor is None else Before(*services.cursors.decode(purpose, query.cursor))
    limit = query.limit or DEFAULT_LIMIT
    rows = await fetch(before, limit + 1)
    more = len(rows) > limit
    rows = rows[:limit]
    cursor = services.cursors.encode(purpose, position(rows[-1])) if more else None
    items: list[Any] = [render(row) for row in rows]
    return linked(services, call, Answer.of(page(items=items, cursor=cursor, hasMore=more)), cursor)


def linked(services: Services, call: Call, answer: Answer, cursor: str | None) -> Answer:
    """A page of a list, with the address of the next page as a `Link` header if there is one. A 304 has none."""
    if cursor is not None and answer.status == OK:
        request = call.request
        answer.headers.append(next_link(services.base_url, request.path, request.query, type(call.query), cursor))
    return answer


def next_link(base_url: str, path: str, query: str, known: type[BaseModel], cursor: str) -> tuple[str, str]:
    """The `Link` header (RFC 8288) with the address of the page after `cursor`, which is URL-safe. Clients such as `requests`
    follow it. It keeps the parameters of `query` that are fields of `known`, the list's own."""
    others = query
    if "cursor=" in query:
        others = "&".join([part for part in query.split("&") if not part.startswith("cursor=")])
    return "link", f'<{_address(base_url, path, others, known)}cursor={cursor}>; rel="next"'


@lru_cache(128)
def _address(base_url: str, path: str, query: str, known: type[BaseModel]) -> str:
    """The address of the list, up to its cursor. Cached, because the pages of a list share it."""
    given = read_form(query.encode("utf-8", "surrogateescape"))
    names = [field.alias or name for name, field in known.model_fields.items() if name != "cursor"]
    kept = urlencode({name: given[name] for name in names if given.get(name)})
    return f"{base_url}{quote(path)}?{kept}{'&' if kept else ''}"


def cached(call: Call, body: bytes, etag: str, max_age_seconds: int) -> Answer:
    """200, or 304 if the client already has this body, which is the same for all callers and may be compressed. Shared caches
    keep it for `max_age_seconds` if no key was sent. With a key, a cache asks each time: a 304 is not charged."""
    kept = KEYED if call.caller.resolved is not None else _shared(max_age_seconds)
    tag = known_tag(call.request.headers, etag)
    if tag is not None:
        return Answer(304, b"", [("etag", tag), *kept])
    return Answer(200, body, [("etag", etag), *kept], public_tag=etag)


KEYED = ("cache-control", "private, no-cache"), ("vary", f"Authorization, {VARY[1]}")
"""Headers of a response to a key: it has counters of its own."""


@lru_cache(256)
def _shared(max_age_seconds: int) -> tuple[tuple[str, str], ...]:
    """The headers of a response that caches may keep. The times are few."""
    return ("cache-control", f"public, max-age={max_age_seconds}"), ("vary", f"Authorization, {VARY[1]}")
