"""The front page: an introduction, the newest entries of the catalog, and the placements of this week."""

from service.web.pages.page import Page, PageRequest, Template
from service.web.pages.structured import website

NEWEST = 3


async def home(request: PageRequest) -> Template:
    counts = (await request.ask("countCatalog")).or_refused()
    usecases = (await request.ask("listUseCases", query={"limit": NEWEST})).or_refused()["data"]
    bots = (await request.ask("listBots", query={"limit": NEWEST})).or_refused()["data"]
    placements = (await request.ask("listPlacements")).or_refused()["placements"]
    return Template(
        "home.html",
        {
            "counts": counts,
            "usecases": usecases,
            "bots": bots,
            "structured": website(request.base_url),
            "sides": {side: [each for each in placements if each["side"] == side] for side in ("left", "right")},
        },
    )


PAGES = (Page("/", home, indexed=True),)
