"""The catalog: two lists with a search, and the page of each entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from actors.catalog.messages import Kind
from actors.values import Code
from service.api.errors import status_of
from service.api.messages import NO_STORE
from service.web.pages.parts import structured_data
from service.web.pages.parts.forms import Field, Form, in_one_line
from service.web.pages.parts.page import Page, PageRequest, Template
from service.web.pages.parts.paging import Paging, page_at, placed

Entry = Mapping[str, Any]

SEARCH = Form({"q": Field("Search"), "category": Field("Category")})

PAGE_SIZE = 12
MAX_FOUND = 24
"""The results that a search shows."""

SUGGESTED = 3
"""The newest entries below a search that found nothing."""

TOPICS = 8
"""Categories that a list shows at once, the largest; the rest is one step away."""

FITTING = 4
"""Entries of the same category beside an entry."""

Placements = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PageAds:
    """The placements of a page view. They stand in the rail of their side, and in windows too narrow for rails within the
    lists of the page."""

    left: Placements = ()
    right: Placements = ()

    def __bool__(self) -> bool:
        return bool(self.left or self.right)

    @property
    def sides(self) -> Sequence[tuple[str, Placements]]:
        """The rails that have any."""
        return [(side, ads) for side, ads in (("left", self.left), ("right", self.right)) if ads]

    def among(self, *lists: Sequence[Entry]) -> Sequence[Placements]:
        """The placements within each list of a page, of which it has one or two. Those of the right go to the second one, or,
        if there is only one that is not empty, take turns with those of the left there."""
        if len([each for each in lists if each]) == len(lists) == 2:
            return self.left, self.right
        pairs = zip_longest(self.left, self.right)
        mixed = [each for pair in pairs for each in pair if each is not None]
        first = next((place for place, each in enumerate(lists) if each), 0)
        return [mixed if place == first else () for place in range(len(lists))]


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """One of the two lists: its kind, its path, its name and that of one entry, the operations that list it and the entries
    related to one, its name in a category, and how its page begins and is described."""

    kind: Kind
    path: str
    name: str
    one: str
    lists: str
    relates: str
    counts: str
    lead: str
    description: str

    async def show(self, request: PageRequest) -> Template:
        """A page of the list or of a category, or the best matches of `q`. A refused query is explained above the search."""
        q, category = (request.query.get(name, "").strip() for name in ("q", "category"))
        cursor = "" if q else request.query.get("cursor", "")
        query = {
            "q": q or None,
            "category": category or None,
            "cursor": cursor or None,
            "limit": MAX_FOUND if q else PAGE_SIZE,
        }
        result = await request.ask(self.lists, query=query)
        every = (await request.ask("listCategories")).or_raise()["data"]
        topics = _topics(every, self.counts, category)
        category = next((each.name for each in topics[0] if each.chosen), category)
        values: dict[str, object] = {"shelf": self, "q": q, "category": category, "topics": topics}
        values |= {"total": (await request.ask("countCatalog")).or_raise()[self.kind]}
        values |= {"ads": await sponsored(request), "every": request.query.get("categories") == "all"}
        # Search engines list the first page, and find the entries themselves in the sitemap.
        values["indexed"] = not q and not cursor and not category and not values["every"]
        if result.refused is None:
            entries = result.json["data"]
            values |= {
                "entries": entries,
                "relaxed": any(name == "x-search-relaxed" for name, _ in result.headers),
                "most": len(entries) == MAX_FOUND,
            }
            values["structured"] = structured_data.listing(
                request.base_url, request.config.site.title, self.path, self.name, entries
            )
            values["other"] = await _other(request, OTHER[self.kind], q, category, every)
            if not entries and (q or category):
                newest = await request.ask(self.lists, query={"limit": SUGGESTED})
                values["newest"] = newest.or_raise()["data"]
            if not q:
                values["paging"] = await self._paging(request, query, result.json)
            return Template("shelf.html", values)
        if result.refused.code is not Code.INVALID_REQUEST:
            result.or_raise()
        values |= {"entries": None, "problem": in_one_line(result.refused, SEARCH, request.query)}
        return Template("shelf.html", values, status_of(result.refused), [*NO_STORE])

    async def _paging(self, request: PageRequest, query: Mapping[str, Any], page: Mapping[str, Any]) -> Paging:
        place = (await request.ask("placeInCatalog", path={"kind": self.kind}, query=query)).or_raise()
        return placed(self.path, {"category": query["category"]}, place, len(page["data"]), page["nextCursor"])


USECASES = CatalogPage(
    Kind.USECASES,
    "/usecases",
    "Use cases",
    "use case",
    "listUseCases",
    "listRelatedUseCases",
    "useCases",
    "What people have automated: who did it, what it brought, and where they tell about it.",
    "Automations that people built, each with its builder, its result and its source, newest first.",
)
BOTS = CatalogPage(
    Kind.BOTS,
    "/bots",
    "Bot templates",
    "bot template",
    "listBots",
    "listRelatedBots",
    "bots",
    "Bots that people run, each with a template to start from.",
    "Bots that people run, each with its job and a template to start from, newest first.",
)
OTHER = {Kind.USECASES: BOTS, Kind.BOTS: USECASES}


@dataclass(frozen=True, slots=True)
class Topic:
    """A category of a list with its number of entries."""

    name: str
    count: int
    chosen: bool


def _topics(every: Sequence[Mapping[str, Any]], counts: str, chosen: str) -> tuple[Sequence[Topic], Sequence[Topic]]:
    """The categories of a list, the largest first, in two parts: those to show, with the chosen one, and the rest."""
    exact = any(each["name"] == chosen for each in every)
    listed = [
        Topic(each["name"], each[counts], each["name"] == chosen or (not exact and _same(each["name"], chosen)))
        for each in sorted(every, key=lambda each: -each[counts])
        if each[counts]
    ]
    shown = [each for place, each in enumerate(listed) if place < TOPICS or each.chosen]
    return shown, [each for each in listed if each not in shown]


def _same(name: str, other: str) -> bool:
    return name.casefold() == other.casefold()


async def _other(
    request: PageRequest, shelf: CatalogPage, q: str, category: str, every: Sequence[Mapping[str, Any]]
) -> Mapping[str, object] | None:
    """The other list with the same search or category: its address, and what it has of it. None on the whole list."""
    if not q and not category:
        return None
    address = page_at(shelf.path, q=q, category=category)
    if not q:
        found = sum(each[shelf.counts] for each in every if _same(each["name"], category))
        return {"shelf": shelf, "address": address, "found": found, "more": False}
    query = {"q": q, "category": category or None, "limit": MAX_FOUND}
    result = await request.ask(shelf.lists, query=query)
    if result.refused is not None:
        return {"shelf": shelf, "address": address, "found": None, "more": False}
    found = len(result.json["data"])
    return {"shelf": shelf, "address": address, "found": found, "more": found == MAX_FOUND}


async def usecase(request: PageRequest) -> Template:
    entry = (await request.ask("getUseCase", path=request.path_values)).or_raise()
    guide = entry.get("guide", {})
    named = await _named(request, guide.get("botSlugs", ()))
    bots = [each for each in named if each.get("name")]
    values = {
        "entry": entry,
        "bots": await _fitting(request, BOTS, guide.get("category"), bots),
        **await _others(request, USECASES, entry["slug"], guide.get("category")),
        "missing": [each["slug"] for each in named if not each.get("name")],
        "alternate": f"/api/v1/usecases/{entry['slug']}",
        "ads": await sponsored(request),
    }
    return Template(
        "usecase.html",
        values | {"structured": structured_data.usecase(request.base_url, request.config.site.title, entry)},
    )


async def _others(
    request: PageRequest, shelf: CatalogPage, slug: str, category: str | None
) -> Mapping[str, Sequence[Entry]]:
    """The entries related to one, then the newest of its category. If there are none, the newest of the list as `others`."""
    found = (await request.ask(shelf.relates, path={"slug": slug})).or_raise()["data"]
    related = await _fitting(request, shelf, category, found, slug)
    if related:
        return {"related": related}
    newest = (await request.ask(shelf.lists, query={"limit": FITTING + 1})).or_raise()["data"]
    return {"others": [each for each in newest if each["slug"] != slug][:FITTING]}


async def _named(request: PageRequest, slugs: Sequence[str]) -> Sequence[Entry]:
    """The bots of a guide, in its order. A bot that is not in the catalog has only its slug."""
    bots = []
    for slug in dict.fromkeys(slugs):
        result = await request.ask("getBot", path={"slug": slug})
        if result.refused is not None and result.refused.code is not Code.NOT_FOUND:
            result.or_raise()
        bots.append(result.json if result.refused is None else {"slug": slug})
    return bots


async def _fitting(
    request: PageRequest,
    shelf: CatalogPage,
    category: str | None,
    first: Sequence[Entry] = (),
    beside: str | None = None,
) -> Sequence[Entry]:
    """The entries that are given, then the newest of a category, up to `FITTING` together. `beside` is not among them."""
    if category is None or len(first) >= FITTING:
        return first
    found = (await request.ask(shelf.lists, query={"category": category, "limit": FITTING * 2})).or_raise()["data"]
    known = {beside, *(each["slug"] for each in first)}
    return [*first, *(each for each in found if each["slug"] not in known)][:FITTING]


async def bot(request: PageRequest) -> Template:
    entry = (await request.ask("getBot", path=request.path_values)).or_raise()
    values = {
        "entry": entry,
        "usecases": await _fitting(request, USECASES, entry.get("category")),
        **await _others(request, BOTS, entry["slug"], entry.get("category")),
        "alternate": f"/api/v1/bots/{entry['slug']}",
        "ads": await sponsored(request),
    }
    return Template(
        "bot.html", values | {"structured": structured_data.bot(request.base_url, request.config.site.title, entry)}
    )


PAGES = (
    Page("/usecases", USECASES.show, indexed=True),
    Page("/usecases/{slug}", usecase, indexed=True),
    Page("/bots", BOTS.show, indexed=True),
    Page("/bots/{slug}", bot, indexed=True),
)


async def sponsored(request: PageRequest) -> PageAds:
    """The placements of this page view. None if they cannot be read: the page itself does without them."""
    result = await request.ask("listPageAds")
    return PageAds() if result.refused is not None else PageAds(**result.json)
