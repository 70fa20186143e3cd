"""The guide for owners of websites: the lines that a website copies to show placements, with a preview."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from actors.clock import MINUTE_MS, SECOND_MS
from actors.values import Code
from service.web.pages.parts.filters import filtered
from service.web.pages.parts.forms import Field, Form
from service.web.pages.parts.page import OperationResult, Page, PageRequest, Template
from service.web.pages.parts.paging import this_page
from service.web.pages.parts.words import span

CHOICES = ("side", "slot", "limit", "label", "look")
"""The fields of the first form."""

SITE = Form({"site": Field("Domain of your website", right="Write a domain such as blog.example.com.")})

LOOKS: Mapping[str, str] = {
    "": "As the page",
    "square": "Square corners",
    "warm": "Cards in a colour",
    "compact": "No logo",
}
"""The looks of the guide. Each is a rule of `style.css` for the preview, and the same in `RULES` for the snippet."""

RULES: Mapping[str, str] = {
    "": "",
    "square": "[data-placements]::part(card) { border-radius: 0 }",
    "warm": "[data-placements]::part(card) { background: #fffbe6; color: #332b00 }",
    "compact": "[data-placements]::part(logo) { display: none }",
}


REASONS: Mapping[str, str] = {
    "duplicate": "This visitor had been counted today.",
    "capped": "Its network has added as many to this ad as it may in an hour.",
    "inactive": "It does not count, because the ad is not live. Your page may show a copy that it keeps.",
    "crawler": "It does not count, because a crawler, monitor or headless browser sent it.",
    "prefetch": "It does not count, because a browser loaded your page ahead, and nobody has seen it.",
}
"""Why the last event of a website added nothing."""


@dataclass(frozen=True, slots=True)
class Light:
    """What the guide says about the events of a website: `waiting` for one, `working`, `uncounted`, or `unknown` while the
    database is away."""

    site: str
    state: str = "waiting"
    event: str = ""
    age: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of a website's owner: a side (empty: both), a slot (empty: all), at most so many placements (empty: all),
    a label (empty: the usual), and a look. One ad is what most pages have room for."""

    side: str = "left"
    slot: str = ""
    limit: str = "1"
    label: str = ""
    look: str = ""

    def shows(self, placement: Mapping[str, Any]) -> bool:
        """Whether a placement is among those that are chosen, apart from their number."""
        return self.side in ("", placement["side"]) and self.slot in ("", placement.get("slotId"))

    @property
    def attributes(self) -> Mapping[str, str]:
        """The attributes of the element, in order."""
        others = {"data-slot": self.slot, "data-limit": self.limit, "data-label": self.label}
        return {"data-placements": self.side, **{name: value for name, value in others.items() if value}}


def snippet_of(choice: Choice, base_url: str) -> str:
    """The element and the script."""
    attributes = " ".join(f'{name}="{escape(value)}"' if value else name for name, value in choice.attributes.items())
    return f'<div {attributes}></div>\n<script async src="{escape(base_url)}/embed.js"></script>'


async def embed(request: PageRequest) -> Template:
    placements = (await request.ask("listPlacements")).or_raise()["placements"]
    slots = (await request.ask("getInventory")).or_raise()["slots"]
    choice = _choice(request.query, [slot["id"] for slot in slots])
    values = {
        "choice": choice,
        "slots": slots,
        "looks": LOOKS,
        "snippet": snippet_of(choice, request.base_url),
        "style": RULES[choice.look],
        "origin": request.base_url,
        "live": [each for each in placements if choice.shows(each)],
        "counting_sites": request.config.events.count_sites,
        "light": None,
        "again": this_page(request, *CHOICES, "site"),
    }
    site = request.query.get("site", "").strip()
    if not site or not request.config.events.count_sites:
        return Template("embed.html", values)
    found = await request.ask("findSighting", query={"site": site})
    values["light"] = _light(site, found, request.now_ms)
    template = Template("embed.html", values)
    return filtered(found, SITE, request.query).with_errors(template) if values["light"] is None else template


def _light(site: str, found: OperationResult, now_ms: int) -> Light | None:
    """The light of the website that the address names. None if it names none, or nothing that could be one."""
    if found.refused is not None:
        return None if found.refused.code is Code.INVALID_REQUEST else Light(site, "unknown")
    seen = found.json
    if seen["outcome"] is None:
        return Light(seen["site"])
    state = "working" if seen["works"] else "uncounted"
    event = "an impression" if seen["kind"] == "impression" else "a click"
    return Light(seen["site"], state, event, _age(now_ms - seen["seenAt"]), REASONS.get(seen["outcome"], ""))


def _age(length_ms: int) -> str:
    """`4 s ago`, `3 minutes ago`."""
    return f"{max(length_ms, 0) // SECOND_MS} s ago" if length_ms < MINUTE_MS else f"{span(length_ms)} ago"


def _choice(query: Mapping[str, str], slots: list[str]) -> Choice:
    """The choice of the form. Values that the form does not offer are left at their default."""
    side, slot, look = query.get("side", "left"), query.get("slot", ""), query.get("look", "")
    limit = query.get("limit", "1")
    return Choice(
        side=side if side in ("left", "right", "") else "left",
        slot=slot if slot in slots else "",
        limit=limit if limit in ("", "1", "2", "3") else "1",
        label=" ".join(query.get("label", "").split())[:40],
        look=look if look in LOOKS else "",
    )


PAGES = (Page("/embed", embed, indexed=True),)
