"""Pages of delivery by website, for administrators, and the guide for owners of websites."""

from collections.abc import Mapping

from actors.clock import DAY_MS
from service.web.pages.parts.filters import filtered
from service.web.pages.parts.forms import Field, Form, moment_text
from service.web.pages.parts.page import Audience, Page, PageRequest, Template
from service.web.pages.parts.paging import page_at
from service.web.pages.public.embed_snippets import LOOKS, Choice, snippet_of, style_of

PERIODS = (7, 28, 91, 365)
DAY = "Write a date such as 2026-11-30."
PERIOD = "Choose a day that is not after the last one, and at most a year before it."
DAYS = Form({"from": Field("First day", DAY, right=PERIOD), "to": Field("Last day", DAY)})


async def sites(request: PageRequest) -> Template:
    typed = {name: request.query.get(name) for name in ("from", "to")}
    listed = filtered(await request.ask("listSites", query=typed), DAYS, request.query)
    if listed.refused:
        return listed.shown(Template("admin_sites.html", {"shown": None, "days": typed}))
    shown = listed.page
    values = {
        "shown": shown,
        "days": {name: moment_text(shown[name])[: len("2026-11-30")] for name in typed},
        "periods": [_period(days, shown) for days in PERIODS],
    }
    return Template("admin_sites.html", values)


def _period(days: int, shown: Mapping[str, int]) -> tuple[str, str, None, bool]:
    """The chip of so many days up to the last one."""
    first = shown["to"] - (days - 1) * DAY_MS
    here = page_at("/admin/sites", **{"from": str(first), "to": str(shown["to"])})
    return here, f"{days} days", None, first == shown["from"]


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
