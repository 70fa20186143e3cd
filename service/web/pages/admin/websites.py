"""The page of delivery by website, for administrators."""

from collections.abc import Mapping

from actors.clock import DAY_MS
from service.web.pages.parts.filters import filtered
from service.web.pages.parts.forms import Field, Form, moment_text
from service.web.pages.parts.page import Audience, Page, PageRequest, Template
from service.web.pages.parts.paging import page_at

PERIODS = (7, 28, 91, 365)
DAY = "Write a date such as 2026-11-30."
PERIOD = "Choose a day that is not after the last one, and at most a year before it."
DAYS = Form({"from": Field("First day", DAY, right=PERIOD), "to": Field("Last day", DAY)})


async def sites(request: PageRequest) -> Template:
    typed = {name: request.query.get(name) for name in ("from", "to")}
    listed = filtered(await request.ask("listSites", query=typed), DAYS, request.query)
    if listed.refused:
        return listed.with_errors(Template("admin_sites.html", {"shown": None, "days": typed}))
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


PAGES = (Page("/admin/sites", sites, who=Audience.ADMIN),)
