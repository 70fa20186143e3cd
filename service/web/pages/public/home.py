"""The front page: what the catalog is for, a first request with its answer, the newest entries, and ways to use it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from service.web.pages.parts.connecting import connections
from service.web.pages.parts.page import Page, PageRequest, Template
from service.web.pages.parts.structured_data import website
from service.web.pages.public.catalog import sponsored

NEWEST = 6
TOPICS = 8
ANSWERED = ("slug", "title", "who", "handle", "roi")
"""The first fields of an entry, in their order."""

MAX_VALUE_CHARACTERS = 26
"""The letters of a value of the answer, so that each stays on its line, also on phones."""


async def home(request: PageRequest) -> Template:
    counts = (await request.ask("countCatalog")).or_raise()
    usecases = (await request.ask("listUseCases", query={"limit": NEWEST})).or_raise()["data"]
    bots = (await request.ask("listBots", query={"limit": NEWEST})).or_raise()["data"]
    categories = (await request.ask("listCategories")).or_raise()["data"]
    topics = sorted(categories, key=lambda each: -each["useCases"])[:TOPICS]
    return Template(
        "home.html",
        {
            "counts": counts,
            "usecases": usecases,
            "bots": bots,
            "topics": [each for each in topics if each["useCases"]],
            "answer": answer_of(usecases),
            "monthly": request.config.tiers.claimed.monthly,
            "ways": connections(request.base_url),
            "lowest": await _lowest(request),
            "ads": await sponsored(request),
            "structured": website(request.base_url, request.config.site.title),
        },
    )


def answer_of(entries: Sequence[Mapping[str, Any]]) -> str:
    """The beginning of the answer to the first request, in lines: the first fields of the newest entry, cut."""
    if not entries:
        return json.dumps({"data": [], "nextCursor": None}, indent=2)
    fields = {name: _beginning(entries[0][name]) for name in ANSWERED}
    lines = json.dumps({"data": [fields]}, indent=2, ensure_ascii=False).splitlines()
    return "\n".join(lines[: 3 + len(fields)]) + ",\n      ..."


def _beginning(text: str) -> str:
    cut = text[: MAX_VALUE_CHARACTERS - 1]
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{cut.rpartition(' ')[0] or cut}…"


async def _lowest(request: PageRequest) -> Mapping[str, Any] | None:
    """The lowest price of a week among the slots that are sold, and its currency; None if there is none."""
    card = await request.ask("getRateCard")
    if card.refused is not None:
        return None
    prices = [slot["weekPriceCents"] for slot in card.json["slots"] if not slot["comingSoon"]]
    return {"cents": min(prices), "currency": card.json["currency"]} if prices else None


PAGES = (Page("/", home, indexed=True),)
