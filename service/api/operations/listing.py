"""One page of a sponsorship list: newest first, by an opaque cursor that only its own list and account take."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from actors.bookings.store import Before
from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call
from service.schemas.lists import DEFAULT_LIMIT, SponsorshipQuery
from service.tokens.cursors import BadCursor

T = TypeVar("T")


Fetch = Callable[[Before | None, int], Awaitable[Sequence[T]]]


async def listed(
    services: Services,
    call: Call,
    name: str,
    fetch: Fetch[T],
    place: Callable[[T], Before],
    shown: Callable[[T], BaseModel],
    page: Callable[..., BaseModel],
) -> Answer | Refused:
    """Answer with `page(items=..., cursor=..., hasMore=...)` of what `fetch(before, limit)` gives.

    `name` tells the list from others; an administrator's list has another name than a sponsor's.
    """
    query: SponsorshipQuery = call.query
    purpose = f"{name} {call.caller.owner}"
    try:
        before = None if query.cursor is None else Before(*services.cursors.decode(purpose, query.cursor))
    except BadCursor as error:
        return Refused(Code.INVALID_REQUEST, f"The query is not valid: cursor: {error}.")
    limit = query.limit or DEFAULT_LIMIT
    rows = await fetch(before, limit + 1)
    more = len(rows) > limit
    rows = rows[:limit]
    cursor = services.cursors.encode(purpose, place(rows[-1])) if more else None
    items: list[Any] = [shown(row) for row in rows]
    return Answer.of(page(items=items, cursor=cursor, hasMore=more), [*NO_STORE])
