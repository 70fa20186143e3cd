"""Pages of delivery by website, for administrators, and the guide for owners of websites."""

from collections.abc import Mapping

from actors.clock import DAY_MS
from service.web.pages.page import Audience, Page, PageRequest, Template
from service.web.pages.snippets import LOOKS, Choice, snippet_of, style_of

PERIODS = (7, 28, 91, 365)


async def sites(request: PageRequest) -> Template:
    days = {name: request.query.get(name) for name in ("from", "to")}
    shown = (await request.ask("listSites", query=days)).or_refused()
    ends = {days: shown["to"] - (days - 1) * DAY_MS for days in PERIODS}
    return Template("admin_sites.html", {"shown": shown, "ends": ends})


async def embed(request: PageRequest) -> Template:
    placements = (await request.ask("listPlacements")).or_refused()["placements"]
    slots = (await request.ask("getInventory")).or_refused()["slots"]
    choice = _choice(request.query, [slot["id"] for slot in slots])
    values = {
        "choice": choice,
        "slots": slots,
        "looks": LOOKS,
        "snippet": snippet_of(choice, request.base_url),
        "style": style_of(choice),
        "origin": request.base_url,
        "live": [each for each in placements if choice.shows(each)],
        "counting_sites": request.config.events.count_sites,
        "bucket_hours": request.config.events.bucket_hours,
    }
    return Template("embed.html", values)


def _choice(query: Mapping[str, str], slots: list[str]) -> Choice:
    """The choice of the form. Values that the form does not offer are left at their default."""
    side, slot, look = query.get("side", "left"), query.get("slot", ""), query.get("look", "")
    limit = query.get("limit", "")
    return Choice(
        side=side if side in ("left", "right", "") else "left",
        slot=slot if slot in slots else "",
        limit=limit if limit in ("1", "2", "3") else "",
        label=" ".join(query.get("label", "").split())[:40],
        look=look if look in LOOKS else "",
    )


PAGES = (Page("/embed", embed, indexed=True), Page("/admin/sites", sites, who=Audience.ADMIN))
