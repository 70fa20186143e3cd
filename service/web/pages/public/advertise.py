"""The page for people who want to be seen beside the catalog: what it costs, when slots are free, and how it works."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.times import MINUTE_MS, SECOND_MS
from service.web.pages.parts.page import Page, PageRequest, Template

SIDES = ("left", "right")

Slot = Mapping[str, Any]


async def advertise(request: PageRequest) -> Template:
    card = (await request.ask("getRateCard")).or_raise()
    free = [slot for slot in card["slots"] if slot["nextWeeks"] and not slot["comingSoon"]]
    values = {
        "card": card,
        "sides": by_side(free),
        "closed": [slot for slot in card["slots"] if slot not in free],
        "lowest": min((slot["weekPriceCents"] for slot in card["slots"]), default=None),
        "hold_seconds": request.config.bookings.hold_minutes * MINUTE_MS // SECOND_MS,
        "horizon_weeks": request.config.bookings.horizon_weeks,
        "refund_unshown": request.config.bookings.refund_unshown,
    }
    return Template("advertise.html", values)


def by_side(free: Sequence[Slot]) -> list[tuple[str, list[Slot]]]:
    """Slots with a free week by the side of the page on which they are, those that are free soonest first."""
    soonest = sorted(free, key=lambda slot: slot["nextWeeks"][0]["weekStart"])
    sides = [(side, [slot for slot in soonest if slot["side"] == side]) for side in SIDES]
    return [(f"{side.capitalize()} of the page", slots) for side, slots in sides if slots]


PAGES = (Page("/advertise", advertise, indexed=True),)
