"""The calendar: the slots of the coming weeks, of which a sponsor picks one."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from actors.bookings.prices import days_left
from actors.clock import SECOND_MS
from actors.weeks import WEEK_MS, week_of
from service.web.pages.page import Audience, Page, PageRequest, Template

WEEKS = 8
"""Weeks on one page."""


class Cell(StrEnum):
    """The state of a slot in one week, as the page words it."""

    FREE = "Free"
    HELD = "Held"
    TAKEN = "Taken"
    PAST = "Over"
    SOON = "Coming soon"
    OVER = "Offer ended"
    CLOSED = "Not sold"


SOLD = (Cell.FREE, Cell.HELD, Cell.TAKEN)
"""A slot in one of these states in some week has a row; the others are named below the table."""


async def inventory(request: PageRequest) -> Template:
    now_ms = request.now_ms
    # One more week than the page shows tells whether a later page exists.
    query = {"weekStart": request.query.get("weekStart"), "weeks": WEEKS + 1}
    weeks = (await request.ask("getCalendar", query=query)).or_refused()["weeks"]
    shown = weeks[:WEEKS]
    first_ms = shown[0]["weekStart"]
    rows = [
        {"slot": slot, "cells": [_shown(week, week["slots"][number], now_ms) for week in shown]}
        for number, slot in enumerate(shown[0]["slots"])
    ]
    unsold = [row for row in rows if not any(cell["state"] in SOLD for cell in row["cells"])]
    earlier_ms = max(week_of(now_ms), first_ms - WEEKS * WEEK_MS)
    values = {
        "weeks": [{"start": week["weekStart"], "end": week["weekEnd"]} for week in shown],
        "rows": [row for row in rows if row not in unsold],
        "unsold": [(row["slot"], row["cells"][-1]["state"]) for row in unsold],
        "billing_mode": shown[0]["billingMode"],
        "earlier": earlier_ms if earlier_ms < first_ms else None,
        "later": weeks[WEEKS]["weekStart"] if len(weeks) > WEEKS else None,
    }
    return Template("sponsor_inventory.html", values)


def _shown(week: Mapping[str, Any], slot: Mapping[str, Any], now_ms: int) -> dict[str, Any]:
    """A cell: its state, its price, the days left of a week that has begun, and the seconds left of a hold."""
    state = Cell.PAST if week["weekEnd"] <= now_ms else cell_of(slot, now_ms)
    running = week["weekStart"] <= now_ms < week["weekEnd"]
    return {
        "state": state,
        "price": slot.get("priceCents"),
        "days": days_left(week["weekStart"], now_ms) if running else None,
        "held_seconds": (slot["heldUntil"] - now_ms) // SECOND_MS if state is Cell.HELD else None,
    }


def cell_of(slot: Mapping[str, Any], now_ms: int) -> Cell:
    """The state of a slot of an inventory. A slot that cannot be booked gets the reason."""
    if slot["available"]:
        return Cell.FREE
    if "heldUntil" in slot:
        return Cell.HELD
    if slot.get("comingSoon"):
        return Cell.SOON
    if not slot["active"]:
        return Cell.CLOSED
    if slot.get("offerEndsAt", now_ms + 1) <= now_ms:
        return Cell.OVER
    return Cell.TAKEN


PAGES = (Page("/sponsor/inventory", inventory, who=Audience.ACCOUNT),)
