"""Operations on the catalog (specification, 6 to 9), served from the snapshot in memory."""

from collections.abc import Mapping, Sequence
from functools import partial

import trio
from pydantic_core import from_json

from actors.catalog.messages import Kind
from actors.values import Code, Overloaded, Refused, Scope
from service.api.context import Services
from service.api.errors import unavailable
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation, Tool, ToolList
from service.api.operations.responses import OK, cached, linked
from service.api.policy import Access
from service.schemas.catalog import Bot, BotPage, CategoryList, ChangePage, Related, UseCase, UseCasePage
from service.schemas.internal import CatalogPlace
from service.schemas.lists import DEFAULT_LIMIT, CatalogQuery, ChangesQuery
from service.snapshots.catalog_entries import Page, Position
from service.snapshots.etags import digest_of, etag_of

MAX_AGE_SECONDS = 60
CHANGES = "changes of an epoch"
_AGAIN = "Begin again without `cursor`, with an empty mirror."
MISSED = f"Removals after this cursor have been forgotten. {_AGAIN}"
RESTORED = f"The database was restored, or another server has taken over, since this cursor was made. {_AGAIN}"
NO_ENTRIES = Page((), b"")
MAX_RELATED = 4
"""Entries that are named beside one, and shown on its page."""
RELAXED = ("x-search-relaxed", "true")


async def list_usecases(services: Services, call: Call) -> Answer | Refused:
    return await _list(services, call, Kind.USECASES)


async def read_usecase(services: Services, call: Call) -> Answer | Refused:
    return _read(services, call, Kind.USECASES, "use case")


async def list_bots(services: Services, call: Call) -> Answer | Refused:
    return await _list(services, call, Kind.BOTS)


async def read_bot(services: Services, call: Call) -> Answer | Refused:
    return _read(services, call, Kind.BOTS, "bot template")


async def list_categories(services: Services, call: Call) -> Answer | Refused:
    categories = services.catalog.snapshot.categories
    return cached(call, categories.body, categories.etag, MAX_AGE_SECONDS)


async def _list(services: Services, call: Call, kind: Kind) -> Answer | Refused:
    """A page of the list, or a search. A cursor is a position in the whole list, so it is valid in each category."""
    query: CatalogQuery = call.query
    limit = query.limit or DEFAULT_LIMIT
    category = None if query.category is None else services.catalog.category(kind, query.category)
    cursor_to = partial(services.cursors.encode, kind)
    position = None
    if query.cursor is not None and query.q is None:
        position = Position(*services.cursors.decode(kind, query.cursor))
    if query.category is not None and category is None:
        return cached(call, NO_ENTRIES.body(), NO_ENTRIES.etag(), MAX_AGE_SECONDS)
    if query.q is not None:
        return await _search(services, call, kind, query.q, limit, category)
    if position is None:
        first = services.catalog.first_page(kind, limit, cursor_to, category)
        return linked(services, call, cached(call, first.body, first.etag, MAX_AGE_SECONDS), first.cursor)
    page = services.catalog.snapshot.page(kind, position, limit, category)
    cursor = None if page.last is None else cursor_to(page.last)
    return linked(services, call, cached(call, page.body(cursor), page.etag(cursor), MAX_AGE_SECONDS), cursor)


async def _search(
    services: Services, call: Call, kind: Kind, q: str, limit: int, category: str | None
) -> Answer | Refused:
    try:
        page, relaxed = await services.catalog.search(kind, q, limit, category=category)
    except trio.TooSlowError:
        return unavailable("Too many searches are running. Try again in a moment.")
    answer = cached(call, page.body(), page.etag(), MAX_AGE_SECONDS)
    if relaxed:
        answer.headers.append(RELAXED)
    return answer


async def list_changes(services: Services, call: Call) -> Answer | Refused:
    """The changes after a cursor, which has the number of a change, that up to which removals were forgotten when its reader
    could last have missed one, and the epoch of both. It is served from memory, so it works while the database is away."""
    query: ChangesQuery = call.query
    log = services.catalog.snapshot.changes
    number, horizon, epoch = 0, log.revision.forgotten, log.revision.epoch
    if query.cursor is not None:
        number, horizon, epoch = services.cursors.decode(CHANGES, query.cursor)
    if epoch != log.revision.epoch:
        return Refused(Code.CURSOR_EXPIRED, RESTORED)
    if log.revision.forgotten > max(number, horizon):
        return Refused(Code.CURSOR_EXPIRED, MISSED)
    page = log.page(number, query.limit or DEFAULT_LIMIT)
    cursor = services.cursors.encode(CHANGES, (page.last, max(horizon, log.revision.forgotten), epoch))
    body = b'{"data":[%b],"nextCursor":"%b"}' % (b",".join(page.rows), cursor.encode())
    answer = cached(call, body, etag_of(digest_of(body)), MAX_AGE_SECONDS)
    return linked(services, call, answer, cursor if page.more else None)


async def place_in_catalog(services: Services, call: Call) -> Answer | Refused:
    """The place of a page in its list, for the pages of this service. The query is that of the list; `q` is not used."""
    query: CatalogQuery = call.query
    kind = Kind(call.path_values["kind"])
    category = None if query.category is None else services.catalog.category(kind, query.category)
    if query.category is not None and category is None:
        return Answer.of(CatalogPlace(before=0, total=0, previous=None))
    cursor = query.cursor
    position = None if cursor is None else Position(*services.cursors.decode(kind, cursor))
    place = services.catalog.snapshot.lists[kind].place(position, query.limit or DEFAULT_LIMIT, category)
    previous = None if place.previous is None else services.cursors.encode(kind, place.previous)
    return Answer.of(CatalogPlace(before=place.before, total=place.total, previous=previous))


def _read(services: Services, call: Call, kind: Kind, what: str) -> Answer | Refused:
    item = services.catalog.snapshot.item(kind, call.path_values["slug"])
    if item is None:
        return Refused(Code.NOT_FOUND, f"There is no {what} with this slug.")
    return cached(call, item.body, item.etag, MAX_AGE_SECONDS)


async def list_related(kind: Kind, services: Services, call: Call) -> Answer | Refused:
    """The entries related to one, closest first, as a list, for the pages of this service."""
    page = await _related(services, kind, call.path_values["slug"])
    return Answer(OK, page.body(), [*NO_STORE])


async def _named(kind: Kind, services: Services, path_values: Mapping[str, str]) -> Sequence[Related]:
    page = await _related(services, kind, path_values["slug"])
    entries = [from_json(document) for document in page.documents]
    return [Related(slug=each["slug"], title=each["title" if kind is Kind.USECASES else "name"]) for each in entries]


async def _related(services: Services, kind: Kind, slug: str) -> Page:
    """The entries related to one; none while too many searches wait, because the entry itself needs no search."""
    try:
        return await services.catalog.related(kind, slug, MAX_RELATED)
    except (Overloaded, trio.TooSlowError):
        return NO_ENTRIES


SEARCHING = (
    "Returns {}, newest first, or with `q` the best matches, best first and without a cursor. If no entry has all "
    "words, returns those that have the most of them, with the header `X-Search-Relaxed`."
)
READING = "Use it to read an entry whose slug a search returned, or the `related` of another entry."

_RELATED = partial(
    ToolList, "related", Related, "Entries of the same list with similar words, closest first; empty if there are none"
)

_reading = partial(
    Operation,
    method="GET",
    tag="Catalog",
    access=Access.OPTIONAL,
    scopes=(Scope.LIBRARY_READ,),
    metered=True,
    cors=True,
    cacheable=True,
    hot=True,
    third_party=True,
)

ROWS = (
    _reading(
        name="listUseCases",
        tool=Tool(
            "search_use_cases",
            "Use it to find what people have automated, such as a task, a line of work or a tool.",
            {"q": "invoice reminders", "limit": 5},
        ),
        path="/api/v1/usecases",
        summary="List or search use cases",
        description=SEARCHING.format("use cases"),
        handler=list_usecases,
        result=UseCasePage,
        query=CatalogQuery,
        headers=("X-Search-Relaxed",),
        usecase=True,
    ),
    _reading(
        name="getUseCase",
        tool=Tool("get_use_case", READING, {"slug": "chasing-late-invoices"}),
        tool_list=_RELATED(partial(_named, Kind.USECASES)),
        path="/api/v1/usecases/{slug}",
        summary="Get one use case",
        description="Returns a use case, with its guide if it has one.",
        handler=read_usecase,
        result=UseCase,
        codes=(Code.NOT_FOUND,),
        usecase=True,
    ),
    _reading(
        name="listBots",
        tool=Tool(
            "search_bots",
            "Use it to find a bot template to start from.",
            {"q": "customer support", "limit": 5},
        ),
        path="/api/v1/bots",
        summary="List or search bot templates",
        description=SEARCHING.format("bot templates"),
        handler=list_bots,
        result=BotPage,
        query=CatalogQuery,
        headers=("X-Search-Relaxed",),
    ),
    _reading(
        name="getBot",
        tool=Tool("get_bot", READING, {"slug": "invoice-chaser"}),
        tool_list=_RELATED(partial(_named, Kind.BOTS)),
        path="/api/v1/bots/{slug}",
        summary="Get one bot template",
        description="Returns a bot template.",
        handler=read_bot,
        result=Bot,
        codes=(Code.NOT_FOUND,),
    ),
    _reading(
        name="listCategories",
        tool=Tool("list_categories", "Use it to see which values the argument `category` of the searches takes."),
        path="/api/v1/categories",
        summary="List the categories",
        description="Returns the categories by name, with the number of use cases and bot templates that each has.",
        handler=list_categories,
        result=CategoryList,
    ),
    _reading(
        name="listChanges",
        path="/api/v1/changes",
        summary="List changes of the catalog",
        description="Returns the newest change of each entry that exists or was removed, oldest first. A mirror begins "
        "without a cursor, reads each entry that was added or updated, drops each one that was removed, and keeps the last "
        "`nextCursor`: asked again, it returns what has changed since. Removals are kept for a year; a cursor that may have "
        "missed one gets 410, and so does one from before a restore of the database.",
        handler=list_changes,
        result=ChangePage,
        query=ChangesQuery,
        codes=(Code.CURSOR_EXPIRED,),
    ),
)
