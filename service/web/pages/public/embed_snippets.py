"""The lines that a website copies to show placements. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

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


def style_of(choice: Choice) -> str:
    """The rule for the style sheet of the website; empty if none is needed."""
    return RULES[choice.look]
