"""The calendar: the slots of the coming weeks, of which a sponsor picks one."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

import trio

from actors.bookings.prices import days_left
from actors.shared.dates import SHORT, calendar, date
from actors.times import DAY_MS, WEEK_MS, day_of, week_of
from service.web.pages.parts.page import Audience, Page, PageRequest, Template
from service.web.pages.parts.words import counted, percent, price, short, time_of_day

WEEKS = 8
"""Weeks on one page."""

OWN_BOOKINGS = 50
"""The newest bookings of the visitor, which the calendar marks."""

DAYS = WEEK_MS // DAY_MS


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


class Run(NamedTuple):
    """Consecutive weeks of a slot in one state. `look` is a class of the style sheet: `free`, `yours`, `held` or empty.
    `href` is None where there is nothing to do, and `label` says what its link does, for those who do not see its place."""

    words: str
    when: str
    look: str = ""
    small: str = ""
    href: str | None = None
    label: str = ""
    weeks: int = 1


async def inventory(request: PageRequest) -> Template:
    now_ms = request.now_ms
    # One week more than the page shows, to know whether there is a later page.
    query = {"weekStart": request.query.get("weekStart"), "weeks": WEEKS + 1}
    weeks = (await request.ask("getCalendar", query=query)).or_raise()["weeks"]
    listed = (await request.ask("listBookings", query={"limit": OWN_BOOKINGS})).or_raise()
    own = [each for each in listed["items"] if each["status"] in OWNED]
    shown = weeks[:WEEKS]
    first_ms = shown[0]["weekStart"]
    rows = []
    unsold = []
    for number, slot in enumerate(shown[0]["slots"]):
        mine = [each for each in own if each["slotId"] == slot["id"]]
        states = [Cell.PAST if week["weekEnd"] <= now_ms else cell_of(week["slots"][number], now_ms) for week in shown]
        if mine or any(state in SOLD for state in states):
            rows.append({"slot": slot, "runs": list(_runs(shown, number, states, mine, now_ms))})
        else:
            unsold.append((slot, states[-1]))
        await trio.lowlevel.checkpoint()  # other requests go on: 20 slots take 6 ms
    earlier_ms = max(week_of(now_ms), first_ms - WEEKS * WEEK_MS)
    values = {
        "weeks": [_head(week, now_ms) for week in shown],
        "end": shown[-1]["weekEnd"],
        "rows": rows,
        "unsold": unsold,
        "shares": [each for side in SIDES if (each := await _share(request, side, shown))],
        "billing_mode": shown[0]["billingMode"],
        "earlier": earlier_ms if earlier_ms < first_ms else None,
        "later": weeks[WEEKS]["weekStart"] if len(weeks) > WEEKS else None,
    }
    return Template("sponsor_inventory.html", values)


SIDES = ("left", "right")


async def _share(request: PageRequest, side: str, weeks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The share of voice that an ad on `side` would have in each week, and once all slots there are booked. None if no slot
    there is free."""
    now_ms, slots = request.now_ms, weeks[0]["slots"]
    free = [
        number
        for number, slot in enumerate(slots)
        if slot["side"] == side and any(each["slots"][number]["available"] for each in weeks)
    ]
    if not free:
        return None
    query = {"weekStart": weeks[0]["weekStart"], "weeks": len(weeks)}
    read = (await request.ask("readShare", path={"id": slots[free[0]]["id"]}, query=query)).or_raise()
    runs = []
    for week, counted_in in zip(weeks, read["weeks"], strict=True):
        # Where the slot that was asked about is booked, an ad in another one stands beside it.
        booked = cell_of(week["slots"][free[0]], now_ms) in (Cell.HELD, Cell.TAKEN)
        ads = counted_in["ads"] + int(booked)
        part = min(1.0, request.config.site.ads_per_side / ads)
        runs.append(Run(percent(part), _day(week["weekStart"]), "share", f"of {counted(ads, 'ad')}"))
    return {"side": side, "runs": runs, "slots": read["slots"], "floor": read["floor"]}


OWNED = ("reserved", "checkout", "paid", "refunding")
"""The states of a booking in which its weeks are the sponsor's."""


def _head(week: Mapping[str, Any], now_ms: int) -> dict[str, object]:
    """The heading of a column: the day, and below it "this week" or the year if it is not this one."""
    start = calendar(week["weekStart"])
    year = "" if start.year == calendar(now_ms).year else str(start.year)
    under = "this week" if _running(week, now_ms) else year
    return {"start": week["weekStart"], "day": _day(week["weekStart"]), "under": under}


def _day(moment_ms: int) -> str:
    """`4 Jan`, without the year, which the head of the page has."""
    return date(moment_ms, moment_ms, SHORT)


def _until(moment_ms: int, now_ms: int) -> str:
    """The end of a hold, short enough for a cell: a time today, else a day."""
    same = day_of(moment_ms) == day_of(now_ms)
    return f"until {time_of_day(moment_ms, now_ms) if same else _day(moment_ms)}"


def _runs(
    weeks: Sequence[Mapping[str, Any]],
    number: int,
    states: Sequence[Cell],
    mine: Sequence[Mapping[str, Any]],
    now_ms: int,
) -> Iterator[Run]:
    """The weeks of the slot at `number`. Each free week stands alone; others are one run as long as they are alike."""
    singles: list[Run] = []
    for week, state in zip(weeks, states, strict=True):
        booking = next((each for each in mine if each["weekStart"] <= week["weekStart"] < each["weekEnd"]), None)
        if booking is None:
            singles.append(_single(week, week["slots"][number], state, now_ms))
        else:
            singles.append(_own(booking, week["weekStart"], now_ms))
    place = 0
    for _, group in groupby(range(len(singles)), key=lambda number: _sort_of(singles[number], number)):
        length = len(list(group))
        run = singles[place]._replace(weeks=length)
        place += length
        if length > 1:
            run = run._replace(when=f"from {run.when}")
        # A run that reaches the last column may go on behind it.
        if length > 1 and run.words == Cell.TAKEN and place < len(weeks):
            run = run._replace(small=f"until {date(weeks[place - 1]['weekEnd'] - 1, now_ms)}")
        yield run


def _sort_of(run: Run, number: int) -> object:
    """Equal for weeks that are one run."""
    return number if run.look == "free" else run._replace(when="")


def _own(booking: Mapping[str, Any], start_ms: int, now_ms: int) -> Run:
    several = booking["weekEnd"] - booking["weekStart"] > WEEK_MS
    path, when = f"/sponsor/bookings/{booking['id']}", _day(start_ms)
    until = f"until {date(booking['weekEnd'] - 1, now_ms)}" if several else ""
    what = f"{booking['slotName']} from {short(booking['weekStart'], now_ms)} on"
    if "heldUntil" in booking:
        held = _until(booking["heldUntil"], now_ms)
        return Run("Held for you", when, "held", held, path, f"pay for {what}")
    return Run("Yours", when, "yours", until, path, what)


def _single(week: Mapping[str, Any], slot: Mapping[str, Any], state: Cell, now_ms: int) -> Run:
    when = _day(week["weekStart"])
    if state is Cell.HELD:
        return Run("Held", when, small=_until(slot["heldUntil"], now_ms))
    if state is not Cell.FREE:
        return Run(state.value, when)
    left = days_left(week["weekStart"], now_ms) if _running(week, now_ms) else DAYS
    weeks = slot["durationWeeks"]
    small = counted(weeks, "week") if weeks > 1 else ""
    if left < DAYS:
        small = "last day" if (left, weeks) == (1, 1) else f"{left + (weeks - 1) * DAYS} days" + " left" * (weeks == 1)
    words = price(slot["priceCents"])
    label = f"book {slot['name']} from {short(week['weekStart'], now_ms)} on"
    query = urlencode({"slotId": slot["id"], "weekStart": week["weekStart"]})
    return Run(words, when, "free", small, f"/sponsor/book?{query}", label)


def _running(week: Mapping[str, Any], now_ms: int) -> bool:
    return bool(week["weekStart"] <= now_ms < week["weekEnd"])


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
