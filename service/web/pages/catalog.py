"""The catalog to browse: lists with a search, and the page of each entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.values import Code
from service.api.errors import status_of
from service.api.messages import NO_STORE
from service.schemas.problems import text_of
from service.web.pages.page import Page, PageRequest, Template

PAGE_SIZE = 20


@dataclass(frozen=True, slots=True)
class Shelf:
    """One of the two lists: where it stands, what is asked for it, and what shows it."""

    path: str
    lists: str
    template: str

    async def show(self, visit: PageRequest) -> Template:
        """A page of the list, or the best matches of `q`. What is not taken is said above the search, and lists nothing."""
        q, cursor = visit.query.get("q", "").strip(), visit.query.get("cursor", "")
        asked = {"q": q, "limit": PAGE_SIZE} if q else {"cursor": cursor, "limit": PAGE_SIZE}
        told = await visit.ask(self.lists, query=asked)
        values: dict[str, object] = {"path": self.path, "q": q, "cursor": "" if q else cursor}
        if told.refused is None:
            return Template(
                self.template, values | {"entries": told.json["data"], "following": told.json["nextCursor"]}
            )
        if told.refused.code is not Code.INVALID_REQUEST:
            told.or_refused()
        words = text_of(told.refused.problems) or told.refused.message
        values |= {"entries": None, "problem": f"This list cannot be shown: {words}"}
        return Template(self.template, values, status_of(told.refused), [*NO_STORE])


USECASES = Shelf("/usecases", "listUseCases", "usecases.html")
BOTS = Shelf("/bots", "listBots", "bots.html")


async def usecase(visit: PageRequest) -> Template:
    entry = (await visit.ask("getUseCase", path=visit.path_values)).or_refused()
    bots = await _named(visit, entry.get("guide", {}).get("botSlugs", ()))
    return Template("usecase.html", {"entry": entry, "bots": bots})


async def _named(visit: PageRequest, slugs: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """The bots of a guide, in its order. Of one that is not in the catalog only the slug is known."""
    bots = []
    for slug in dict.fromkeys(slugs):
        told = await visit.ask("getBot", path={"slug": slug})
        if told.refused is not None and told.refused.code is not Code.NOT_FOUND:
            told.or_refused()
        bots.append(told.json if told.refused is None else {"slug": slug})
    return bots


async def bot(visit: PageRequest) -> Template:
    entry = (await visit.ask("getBot", path=visit.path_values)).or_refused()
    return Template("bot.html", {"entry": entry})


PAGES = (
    Page("/usecases", USECASES.show),
    Page("/usecases/{slug}", usecase),
    Page("/bots", BOTS.show),
    Page("/bots/{slug}", bot),
)
