"""The slots of the coming weeks as a calendar, from which a sponsor picks a week."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from actors.weeks import WEEK_MS, week_of
from service.web.pages.page import Audience, Page, PageRequest, Template

WEEKS = 8
"""How many weeks stand on one page."""


class Cell(StrEnum):
    """How a week of a slot stands; the words that are shown."""

    FREE = "Free"
    TAKEN = "Taken"
    SOON = "Coming soon"
    OVER = "Offer ended"
    CLOSED = "Not sold"


async def inventory(request: PageRequest) -> Template:
    now_ms = request.now_ms
    # One week more than is shown tells whether there is a later page.
    query = {"weekStart": request.query.get("weekStart"), "weeks": WEEKS + 1}
    weeks = (await request.ask("getCalendar", query=query)).or_refused()["weeks"]
    shown = weeks[:WEEKS]
    first_ms = shown[0]["weekStart"]
    rows = [
        {"slot": slot, "cells": [cell_of(week["slots"][number], now_ms) for week in shown]}
        for number, slot in enumerate(shown[0]["slots"])
    ]
    earlier_ms = max(week_of(now_ms), first_ms - WEEKS * WEEK_MS)
    values = {
        "weeks": [{"start": week["weekStart"], "end": week["weekEnd"]} for week in shown],
        "rows": rows,
        "billing_mode": shown[0]["billingMode"],
        "earlier": earlier_ms if earlier_ms < first_ms else None,
        "later": weeks[WEEKS]["weekStart"] if len(weeks) > WEEKS else None,
    }
    return Template("sponsor_inventory.html", values)


def cell_of(slot: Mapping[str, Any], now_ms: int) -> Cell:
    """How a slot of an inventory stands in its week, and why it cannot be booked where it cannot."""
    if slot["available"]:
        return Cell.FREE
    if slot.get("comingSoon"):
        return Cell.SOON
    if not slot["active"]:
        return Cell.CLOSED
    if slot.get("offerEndsAt", now_ms + 1) <= now_ms:
        return Cell.OVER
    return Cell.TAKEN


PAGES = (Page("/sponsor/inventory", inventory, who=Audience.ACCOUNT),)
