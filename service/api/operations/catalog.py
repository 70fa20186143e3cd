"""Operations on the catalog (specification, 6 to 9), served from the snapshot in memory."""

from functools import partial

import trio

from actors.catalog.store import Kind
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import RETRY_SECONDS, unavailable
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations.responses import cached, invalid_cursor, linked
from service.api.policy import Access
from service.http.addresses import limited_as, network_of
from service.schemas.catalog import Bot, BotPage, UseCase, UseCasePage
from service.schemas.lists import DEFAULT_LIMIT, CatalogQuery
from service.snapshots.shelves import Position
from service.snapshots.turns import CallerBusy, Searcher
from service.tokens.cursors import BadCursor

MAX_AGE_SECONDS = 60


async def list_usecases(services: Services, call: Call) -> Answer | Refused:
    return await _list(services, call, Kind.USECASES)


async def read_usecase(services: Services, call: Call) -> Answer | Refused:
    return _read(services, call, Kind.USECASES, "use case")


async def list_bots(services: Services, call: Call) -> Answer | Refused:
    return await _list(services, call, Kind.BOTS)


async def read_bot(services: Services, call: Call) -> Answer | Refused:
    return _read(services, call, Kind.BOTS, "bot template")


async def _list(services: Services, call: Call, kind: Kind) -> Answer | Refused:
    query: CatalogQuery = call.query
    limit = query.limit or DEFAULT_LIMIT
    if query.q is not None:
        return await _search(services, call, kind, query.q, limit)
    cursor_to = partial(services.cursors.encode, kind)
    if query.cursor is None:
        first = services.catalog.first_page(kind, limit, cursor_to)
        return linked(services, call, cached(call, first.body, first.etag, MAX_AGE_SECONDS), first.cursor)
    try:
        position = Position(*services.cursors.decode(kind, query.cursor))
    except BadCursor:
        return invalid_cursor()
    page = services.catalog.snapshot.page(kind, position, limit)
    cursor = None if page.last is None else cursor_to(page.last)
    return linked(services, call, cached(call, page.body(cursor), page.etag(cursor), MAX_AGE_SECONDS), cursor)


async def _search(services: Services, call: Call, kind: Kind, q: str, limit: int) -> Answer | Refused:
    """Search in the turn of the caller's account. Callers without one share the turn of their address, because anyone can
    mint any number of anonymous keys, and their searches end sooner. Both also count for their network, where one
    client may have many accounts or addresses."""
    caller = call.caller
    network = network_of(caller.address)
    try:
        if caller.has_account:
            page = await services.catalog.search(kind, q, limit, Searcher(caller.tenant_id, network))
        else:
            seconds = services.config.catalog.keyless_search_seconds
            searcher = Searcher(limited_as(caller.address), network)
            page = await services.catalog.search(kind, q, limit, searcher, seconds=seconds)
    except CallerBusy:
        words = "Other searches of yours, or of your network, are still running. Wait for them before you send the next one."
        return Refused(Code.RATE_LIMITED, words, RETRY_SECONDS)
    except trio.TooSlowError:
        return unavailable("The search took too long. Leave out common or excluded words, or try again in a moment.")
    return cached(call, page.body(), page.etag(), MAX_AGE_SECONDS)


def _read(services: Services, call: Call, kind: Kind, what: str) -> Answer | Refused:
    item = services.catalog.snapshot.item(kind, call.path_values["slug"])
    if item is None:
        return Refused(Code.NOT_FOUND, f"There is no {what} with this slug.")
    return cached(call, item.body, item.etag, MAX_AGE_SECONDS)


SEARCHING = "Returns entries newest first. With `q`, returns the best matches, best first, without a cursor."

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
)

ROWS = (
    _reading(
        name="listUseCases",
        path="/api/v1/usecases",
        summary="List or search use cases",
        description=SEARCHING,
        handler=list_usecases,
        result=UseCasePage,
        query=CatalogQuery,
        usecase=True,
    ),
    _reading(
        name="getUseCase",
        path="/api/v1/usecases/{slug}",
        summary="Read one use case",
        description="Returns a use case, with its guide if it has one.",
        handler=read_usecase,
        result=UseCase,
        codes=(Code.NOT_FOUND,),
        usecase=True,
    ),
    _reading(
        name="listBots",
        path="/api/v1/bots",
        summary="List or search bot templates",
        description=SEARCHING,
        handler=list_bots,
        result=BotPage,
        query=CatalogQuery,
    ),
    _reading(
        name="getBot",
        path="/api/v1/bots/{slug}",
        summary="Read one bot template",
        description="Returns a bot template.",
        handler=read_bot,
        result=Bot,
        codes=(Code.NOT_FOUND,),
    ),
)
