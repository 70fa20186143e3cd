"""The front page, and the page on which a key is claimed."""

import json

from actors.catalog.store import Kind
from service.pages.page import Page, Shown, Visit


async def home(visit: Visit) -> Shown:
    services = visit.services
    statistics = services.catalog.statistics()
    newest = services.catalog.snapshot.page(Kind.BOTS, None, 1).documents
    bot_slug = json.loads(newest[0])["slug"] if newest else None
    counts = {"usecases": statistics.usecases, "bots": statistics.bots}
    return Shown("home.html", {"counts": counts, "bot_slug": bot_slug})


async def claim(visit: Visit) -> Shown:
    return Shown("claim.html")


PAGES = (Page("/", home), Page("/claim", claim))
