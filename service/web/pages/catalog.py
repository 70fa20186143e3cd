"""The catalog: two lists with a search, and the page of each entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.catalog.store import Kind
from actors.values import Code
from service.api.errors import status_of
from service.api.messages import NO_STORE
from service.schemas.problems import text_of
from service.web.pages import structured
from service.web.pages.page import OperationResult, Page, PageRequest, Template
from service.web.pages.paging import Paging, placed

PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class Shelf:
    """One of the two lists: its kind, its path, its name, the operation that lists it, its name in a category, and its
    template."""

    kind: Kind
    path: str
    name: str
    lists: str
    counts: str
    template: str

    async def show(self, request: PageRequest) -> Template:
        """A page of the list or of a category, or the best matches of `q`. A refused query is explained above the search."""
        q, category = (request.query.get(name, "").strip() for name in ("q", "category"))
        cursor = "" if q else request.query.get("cursor", "")
        query = {"q": q or None, "category": category or None, "cursor": cursor or None, "limit": PAGE_SIZE}
        result = await request.ask(self.lists, query=query)
        values: dict[str, object] = {"path": self.path, "q": q, "cursor": cursor, "category": category}
        values["categories"] = await self._categories(request, category)
        # Search engines list the first page, and find the entries themselves in the sitemap.
        values["indexed"] = not q and not cursor and not category
        if result.refused is None:
            entries = result.json["data"]
            following = result.json["nextCursor"]
            values |= {"entries": entries, "relaxed": _relaxed(result)}
            values["paging"] = None if q else await self._paging(request, category, cursor, len(entries), following)
            values["structured"] = structured.listing(request.base_url, self.path, self.name, entries)
            return Template(self.template, values)
        if result.refused.code is not Code.INVALID_REQUEST:
            result.or_refused()
        refused = result.refused
        words = text_of(refused.problems) if refused.introduces_problems else refused.message
        values |= {"entries": None, "problem": f"This list cannot be shown: {words}"}
        return Template(self.template, values, status_of(result.refused), [*NO_STORE])

    async def _paging(
        self, request: PageRequest, category: str, cursor: str, shown: int, following: str | None
    ) -> Paging:
        """Where a page of the list or of a category stands. A search has one page only."""
        query = {"category": category or None, "cursor": cursor or None, "limit": PAGE_SIZE}
        place = await request.ask("placeInCatalog", path={"kind": self.kind}, query=query)
        return placed(self.path, {"category": category}, place.or_refused(), shown, following)

    async def _categories(self, request: PageRequest, chosen: str) -> Sequence[Mapping[str, Any]]:
        """The categories that this list has, each with its number of entries, and whether it is the chosen one."""
        every = (await request.ask("listCategories")).or_refused()["data"]
        listed = [{"name": each["name"], "count": each[self.counts]} for each in every if each[self.counts]]
        exact = any(each["name"] == chosen for each in listed)
        for each in listed:
            each["chosen"] = each["name"] == chosen or (not exact and each["name"].casefold() == chosen.casefold())
        return listed


def _relaxed(result: OperationResult) -> bool:
    return any(name == "x-search-relaxed" for name, _ in result.headers)


USECASES = Shelf(Kind.USECASES, "/usecases", "Use cases", "listUseCases", "useCases", "usecases.html")
BOTS = Shelf(Kind.BOTS, "/bots", "Bot templates", "listBots", "bots", "bots.html")


async def usecase(request: PageRequest) -> Template:
    entry = (await request.ask("getUseCase", path=request.path_values)).or_refused()
    bots = await _named(request, entry.get("guide", {}).get("botSlugs", ()))
    values = {"entry": entry, "bots": bots, "alternate": f"/api/v1/usecases/{entry['slug']}"}
    return Template("usecase.html", values | {"structured": structured.usecase(request.base_url, entry)})


async def _named(request: PageRequest, slugs: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """The bots of a guide, in its order. A bot that is not in the catalog has only its slug."""
    bots = []
    for slug in dict.fromkeys(slugs):
        result = await request.ask("getBot", path={"slug": slug})
        if result.refused is not None and result.refused.code is not Code.NOT_FOUND:
            result.or_refused()
        bots.append(result.json if result.refused is None else {"slug": slug})
    return bots


async def bot(request: PageRequest) -> Template:
    entry = (await request.ask("getBot", path=request.path_values)).or_refused()
    values = {"entry": entry, "alternate": f"/api/v1/bots/{entry['slug']}"}
    return Template("bot.html", values | {"structured": structured.bot(request.base_url, entry)})


PAGES = (
    Page("/usecases", USECASES.show, indexed=True),
    Page("/usecases/{slug}", usecase, indexed=True),
    Page("/bots", BOTS.show, indexed=True),
    Page("/bots/{slug}", bot, indexed=True),
)
