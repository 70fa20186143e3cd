"""The front page: what this is, what sponsors show, and the way into the catalog."""

from service.web.pages.page import Page, PageRequest, Template

NEWEST = 3


async def home(visit: PageRequest) -> Template:
    counts = (await visit.ask("countCatalog")).or_refused()
    usecases = (await visit.ask("listUseCases", query={"limit": NEWEST})).or_refused()["data"]
    bots = (await visit.ask("listBots", query={"limit": NEWEST})).or_refused()["data"]
    placements = (await visit.ask("listPlacements")).or_refused()["placements"]
    return Template(
        "home.html",
        {
            "counts": counts,
            "usecases": usecases,
            "bots": bots,
            "sides": {side: [each for each in placements if each["side"] == side] for side in ("left", "right")},
        },
    )


PAGES = (Page("/", home),)
