"""The guide for owners of websites: the lines that a website copies to show placements, with a preview."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from service.web.pages.parts.page import Page, PageRequest, Template

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


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of a website's owner: a side (empty: both), a slot (empty: all), at most so many placements (empty: all),
    a label (empty: the usual), and a look."""

    side: str = "left"
    slot: str = ""
    limit: str = ""
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


PAGES = (Page("/embed", embed, indexed=True),)
