"""A sponsor's bookings: the list, and the form for a week."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from actors.bookings.prices import days_left
from actors.bookings.prices import price as slot_price
from actors.bookings.records import WITH_VIDEO, Side, Slot
from actors.clock import MINUTE_MS, SECOND_MS, Entropy
from actors.times import WEEK_MS, week_of
from actors.values import Code, Refused
from service.schemas.slots import SlotCreate
from service.web.pages.parts.booking_words import HELD
from service.web.pages.parts.forms import TERMS, Field, Form, above, address_of, line_of
from service.web.pages.parts.miniature import miniature
from service.web.pages.parts.page import Audience, FormError, Page, PageRefused, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import paged
from service.web.pages.parts.words import counted, price
from service.web.pages.sponsor.booking import checkout_of, voice_of
from service.web.pages.sponsor.campaigns import BODY, HEADLINE
from service.web.pages.sponsor.overview import BRAND

WEEKS = 12
"""Weeks that the form offers, from the chosen one on."""

CAMPAIGNS = 50
"""The newest campaigns that the form offers."""

BOOKABLE = ("approved", "pending", "paused", "draft")
"""The states of campaigns that the form offers, those that need the least first."""

SENT_BEFORE = (
    "This form has made another booking already, so nothing was booked now. Send it again to book this as well."
)

GONE = "This slot is not sold any more."

OCCUPYING = (*HELD, "paid")
"""The states of bookings whose weeks are taken."""

NEW_SPONSOR = ("name", "website", "headline", "body")
"""The fields of the form of a sponsor who has no campaign yet."""

UUID_BYTES = 16

Json = Mapping[str, Any]

SOLD: Mapping[str, Callable[[Json], str]] = {
    "name": lambda slot: f"it is now called {slot['name']}",
    "side": lambda slot: f"it is now on the {slot['side']} of the page",
    "weekPriceCents": lambda slot: f"a week now costs {price(slot['weekPriceCents'])}",
    "durationWeeks": lambda slot: f"it is now sold by {counted(slot['durationWeeks'], 'week')}",
    "packageKind": lambda slot: f"it now has {'a' if slot.get('packageKind') in WITH_VIDEO else 'no'} video",
    "description": lambda slot: f"its description is now: {slot.get('description') or 'none'}",
}
"""What a form says of its slot, and the words for what it is now."""


async def bookings(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    listed = (await request.ask("listBookings", query={"cursor": cursor})).or_raise()
    total = await request.count("countBookings", listed)
    present, over = by_weeks(listed["items"], request.now_ms)
    values = {"present": present, "over": over, "paging": paged(request, listed, total=total)}
    return Template("sponsor_bookings.html", values)


def by_weeks(bookings: Sequence[Json], now_ms: int) -> tuple[list[Json], list[Json]]:
    """The bookings that run or are to come, soonest first, and those that are over or came to nothing, latest first."""
    ordered = sorted(bookings, key=lambda each: each["weekStart"])
    present = [each for each in ordered if each["status"] in OCCUPYING and now_ms < each["weekEnd"]]
    return present, [each for each in reversed(ordered) if each not in present]


# Booking a week.


async def book(request: PageRequest) -> Template | SeeOther:
    """The form for a week of a slot. It asks for a campaign; a sponsor without one enters brand and creative instead."""
    slot_id = _asked(request, "slotId")
    if not slot_id:
        return SeeOther("/sponsor/inventory")
    week = _asked(request, "weekStart")
    calendar = await request.ask("getCalendar", query={"weekStart": week or None, "weeks": WEEKS})
    if calendar.refused is not None and request.problem is not None:
        # The form says what is wrong with its week, and offers others.
        calendar = await request.ask("getCalendar", query={"weeks": WEEKS})
    weeks = calendar.or_raise()["weeks"]
    slots = {week["weekStart"]: _slot_in(week, slot_id) or _slot_seen(request) for week in weeks}
    wanted = weeks[0]["weekStart"]
    me = (await request.ask("getSponsor")).or_raise()
    campaigns = (await request.ask("listCampaigns", query={"limit": CAMPAIGNS})).or_raise()
    bookable = [each for status in BOOKABLE for each in campaigns["items"] if each["status"] == status]
    duration = slots[wanted]["durationWeeks"]
    full_price = duration * slots[wanted]["weekPriceCents"]
    prices = {week_start: slot.get("priceCents") for week_start, slot in slots.items() if slot["available"]}
    offered = {"slotId": slot_id, "weekStart": wanted, "weekEnd": weeks[-1]["weekStart"] + duration * WEEK_MS}
    voice = await voice_of(request, offered)
    values = {
        "voice": voice and {**voice, "weeks": voice["weeks"][:duration]},
        "shares": voice and _shares(voice, duration),
        "picture": miniature(_ads(voice), (slots[wanted]["side"],), request.config.site.ads_per_side),
        "slot": slots[wanted],
        "seen": _seen(slots[wanted]),
        "wanted": wanted,
        "weeks": list(prices),
        "prices": prices,
        "full_price": full_price,
        # Only a week that has begun costs less.
        "part_price": next((cents for cents in prices.values() if cents != full_price), None),
        "days_left": days_left(week_of(request.now_ms), request.now_ms),
        "me": me,
        "campaigns": bookable,
        "more_campaigns": campaigns["hasMore"],
        "first": me["profile"] is None or not bookable,
        "key": _key(request),
        "hold_seconds": request.config.bookings.hold_minutes * MINUTE_MS // SECOND_MS,
    }
    return Template("sponsor_book.html", values)


def _ads(voice: Json | None) -> Mapping[str, int]:
    """The ads on the side of the slot in the chosen week."""
    return {voice["side"]: voice["weeks"][0]["ads"]} if voice else {}


def _shares(voice: Json, duration: int) -> Mapping[int, float]:
    """By first week of a booking: its least share of page views in a week."""
    weeks = voice["weeks"]
    return {
        each["weekStart"]: min(other["share"] for other in weeks[place : place + duration])
        for place, each in enumerate(weeks[: len(weeks) + 1 - duration])
    }


async def reserve(request: PageRequest) -> SeeOther | FormError:
    form = request.form
    changed = await _changed(request)
    if changed:
        return FormError.at(weekStart=changed)
    starts = form["do"].startswith("start")
    operation, fields = ("startBooking", NEW_SPONSOR) if starts else ("createBooking", ("campaignId",))
    body: dict[str, Any] = {name: line_of(form, name) for name in (*fields, "slotId", "idempotencyKey")}
    if starts:
        body["website"] = address_of(form, "website")
    result = await request.ask(operation, body={**body, "weekStart": _number(form.get("weekStart", ""))})
    if result.refused is not None and result.refused.code is Code.IDEMPOTENCY_CONFLICT:
        return FormError(above(Code.IDEMPOTENCY_CONFLICT, SENT_BEFORE))
    if result.refused is not None:
        return FormError(result.refused)
    booked = result.json["booking"]
    notice = "reserved" if await _is_as_seen(request, booked) else "slot_changed"
    return SeeOther(f"/sponsor/bookings/{booked['id']}", notice)


async def reserve_and_pay(request: PageRequest) -> SeeOther | FormError | Template:
    """Reserve, and open the checkout of the booking. If that is refused, or if the booking is not what the form said, the
    booking's page offers it again."""
    reserved = request.other_terms or await reserve(request)
    if isinstance(reserved, FormError) or reserved.notice != "reserved":
        return reserved
    checkout = await checkout_of(request, reserved.path.rpartition("/")[2])
    return reserved if isinstance(checkout, FormError) else checkout


def _slot_in(week: Json, slot_id: str) -> Json | None:
    return next((slot for slot in week["slots"] if slot["id"] == slot_id), None)


# A slot that changes while its form is open.


def _seen(slot: Json) -> dict[str, str]:
    """The hidden fields with what the form says of its slot."""
    return {f"seen-{name}": str(slot.get(name) or "") for name in SOLD}


def _slot_seen(request: PageRequest) -> Json:
    """The slot of a refused form as the form showed it, so that nothing typed is lost if it is not sold any more. Raises
    `PageRefused` where there is no such form."""
    slot = _said(request)
    if slot is None or request.problem is None:
        raise PageRefused(Refused(Code.NOT_FOUND, GONE))
    return {**slot.model_dump(exclude_none=True), "id": _asked(request, "slotId"), "available": False}


def _said(request: PageRequest) -> SlotCreate | None:
    """The slot as the form that is sent showed it. None if the form says nothing of it, or what no slot is."""
    seen = {name: request.form.get(f"seen-{name}") or None for name in SOLD}
    numbers = {name: _number(seen[name] or "") for name in ("weekPriceCents", "durationWeeks")}
    try:
        return SlotCreate.model_validate({**seen, **numbers})
    except ValidationError:
        return None


async def _changed(request: PageRequest) -> str:
    """What has changed of the slot since the form was opened, as a sentence at its week. Empty if nothing has."""
    form = request.form
    calendar = await request.ask("getCalendar", query={"weeks": 1})
    if calendar.refused is not None:
        return ""
    slot = _slot_in(calendar.json["weeks"][0], form.get("slotId", ""))
    if slot is None:
        return f"{GONE} Nothing was booked now. Choose another one in the calendar."
    now = _seen(slot)
    changes = [
        words(slot) for name, words in SOLD.items() if form.get(f"seen-{name}") not in (None, now[f"seen-{name}"])
    ]
    if not changes:
        return ""
    return f"The slot has changed: {', '.join(changes)}. Nothing was booked now. Send the form again to book it."


async def _is_as_seen(request: PageRequest, booked: Json) -> bool:
    """Whether a booking is what the form said of its slot, which an administrator may change in the same second."""
    seen = _said(request)
    if seen is None:
        return True
    voice = await voice_of(request, booked)
    slot = Slot("", seen.name, Side(seen.side), seen.weekPriceCents, 0, weeks=seen.durationWeeks)
    end_ms = booked["weekStart"] + slot.weeks * WEEK_MS
    now = (booked["slotName"], booked.get("packageKind"), booked.get("packageDescription"), booked["weekEnd"])
    return (
        now == (seen.name, seen.packageKind, seen.description, end_ms)
        and booked["amountCents"] == slot_price(slot, booked["weekStart"], booked["createdAt"])
        and (voice is None or voice["side"] == seen.side)
    )


def _asked(request: PageRequest, name: str) -> str:
    return request.form.get(name) or request.query.get(name, "")


def _number(text: str) -> int | str:
    """A typed whole number; other text is returned as it is, and the operation refuses it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def _key(request: PageRequest) -> str:
    """The idempotency key of the form. A refused form keeps its key, unless the key already stands for another booking."""
    spent = request.problem is not None and request.problem.code is Code.IDEMPOTENCY_CONFLICT
    typed = "" if spent else request.form.get("idempotencyKey", "")
    return typed or new_uuid(request.entropy)


def new_uuid(entropy: Entropy) -> str:
    """A random UUID (RFC 9562, version 4)."""
    token = entropy.token(UUID_BYTES)
    digits, variant = token.hex(), "89ab"[token[8] % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


WEEK = Field("Week", "Choose a week.", right="Choose one of the weeks.")
NO_WEEK = {Code.SLOT_UNAVAILABLE: ("weekStart", "")}
RESERVING = Form(
    {"weekStart": WEEK, "campaignId": Field("Ad", "Choose an ad."), **TERMS},
    {**NO_WEEK, Code.CAMPAIGN_NOT_BOOKABLE: ("campaignId", "")},
)
STARTING = Form({"weekStart": WEEK, **BRAND, "headline": HEADLINE, "body": BODY, **TERMS}, NO_WEEK)
BOOKING_FORMS = {
    "reserve": RESERVING,
    "reserve-and-pay": RESERVING,
    "start": STARTING,
    "start-and-pay": STARTING,
}

BOOKING_ACTIONS = {
    "reserve": reserve,
    "start": reserve,
    "reserve-and-pay": reserve_and_pay,
    "start-and-pay": reserve_and_pay,
}

PAGES = (
    Page("/sponsor/bookings", bookings, who=Audience.ACCOUNT),
    Page("/sponsor/book", book, BOOKING_ACTIONS, Audience.ACCOUNT, forms=BOOKING_FORMS),
)
