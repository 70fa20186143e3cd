"""A sponsor's bookings: the list, the form for a week, and one booking from its hold to its last day."""

from collections.abc import Mapping
from typing import Any

from actors.bookings.prices import days_left
from actors.clock import Entropy
from actors.values import Code
from actors.weeks import week_of
from service.web.pages.chart_words import Counts, Rate
from service.web.pages.charts import Chart, by_day
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template, nothing_here
from service.web.pages.paging import paged

WEEKS = 12
"""Weeks that the form offers, from the chosen one on."""

CAMPAIGNS = 50
"""The newest campaigns that the form offers."""

UUID_BYTES = 16
PERCENT = 100


async def bookings(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    listed = (await request.ask("listBookings", query={"cursor": cursor})).or_refused()
    values = {"bookings": listed, "paging": paged(request, listed), "now_ms": request.now_ms}
    return Template("sponsor_bookings.html", values)


# Booking a week.


async def book(request: PageRequest) -> Template | SeeOther:
    """The form for a week of a slot. It asks for a campaign; a sponsor without one enters brand and creative instead."""
    slot_id = _asked(request, "slotId")
    if not slot_id:
        return SeeOther("/sponsor/inventory")
    query = {"weekStart": _asked(request, "weekStart") or None, "weeks": WEEKS}
    weeks = (await request.ask("getCalendar", query=query)).or_refused()["weeks"]
    slots = {week["weekStart"]: _slot_in(week, slot_id) for week in weeks}
    wanted = weeks[0]["weekStart"]
    me = (await request.ask("getSponsor")).or_refused()
    campaigns = (await request.ask("listCampaigns", query={"limit": CAMPAIGNS})).or_refused()
    bookable = [each for each in campaigns["items"] if each["status"] != "rejected"]
    values = {
        "slot": slots[wanted],
        "wanted": wanted,
        "weeks": [week_start for week_start, slot in slots.items() if slot["available"]],
        "prices": {week_start: slot.get("priceCents") for week_start, slot in slots.items()},
        "full_price": slots[wanted]["durationWeeks"] * slots[wanted]["weekPriceCents"],
        "days_left": days_left(week_of(request.now_ms), request.now_ms),
        "me": me,
        "campaigns": bookable,
        "more_campaigns": campaigns["hasMore"],
        "first": me["profile"] is None or not bookable,
        "key": _key(request),
        "now_ms": request.now_ms,
    }
    return Template("sponsor_book.html", values)


async def reserve(request: PageRequest) -> SeeOther | FormError:
    return await _reserved(request, "createBooking", ("campaignId",))


async def start(request: PageRequest) -> SeeOther | FormError:
    return await _reserved(request, "startBooking", ("name", "website", "headline", "body"))


async def reserve_and_pay(request: PageRequest) -> SeeOther | FormError | Template:
    return await _on_to_checkout(request, await reserve(request))


async def start_and_pay(request: PageRequest) -> SeeOther | FormError | Template:
    return await _on_to_checkout(request, await start(request))


async def _on_to_checkout(request: PageRequest, reserved: SeeOther | FormError) -> SeeOther | FormError | Template:
    """Open the checkout of a booking that was just reserved. If that is refused, the booking's page offers it again."""
    if isinstance(reserved, FormError):
        return reserved
    checkout = await _checkout_of(request, reserved.path.rpartition("/")[2])
    return reserved if isinstance(checkout, FormError) else checkout


async def _reserved(request: PageRequest, operation: str, fields: tuple[str, ...]) -> SeeOther | FormError:
    form = request.form
    body: dict[str, Any] = {name: form.get(name, "").strip() for name in (*fields, "slotId", "idempotencyKey")}
    result = await request.ask(operation, body={**body, "weekStart": _number(form.get("weekStart", ""))})
    if result.refused is not None:
        return FormError(result.refused)
    return SeeOther(f"/sponsor/bookings/{result.json['booking']['id']}", "reserved")


def _slot_in(week: Mapping[str, Any], slot_id: str) -> Mapping[str, Any]:
    for slot in week["slots"]:
        if slot["id"] == slot_id:
            return dict(slot)
    raise nothing_here()


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


# One booking.


async def booking(request: PageRequest) -> Template:
    read = (await request.ask("getBooking", path=request.path_values)).or_refused()
    delivery = (await request.ask("getDelivery", path=request.path_values)).or_refused()
    campaign = (await request.ask("getCampaign", path={"id": read["booking"]["campaignId"]})).or_refused()
    values = {
        "booking": read["booking"],
        "receipt": read["receipt"],
        "delivery": delivery,
        "campaign": campaign["campaign"],
        "chart": chart_of(delivery, read["booking"]["weekEnd"], request.now_ms),
        "refund_unshown": request.config.bookings.refund_unshown,
        "now_ms": request.now_ms,
    }
    return Template("sponsor_booking.html", values)


def chart_of(delivery: Mapping[str, Any], run_ends_ms: int, now_ms: int) -> Chart | None:
    """Times shown and click rate by day, with the clicks in words; None before the first day."""
    items = delivery["items"]
    if not items:
        return None
    rates = [each["clicks"] / each["impressions"] * PERCENT if each["impressions"] else None for each in items]
    return by_day(
        [each["day"] for each in items],
        Counts("Times shown", [each["impressions"] for each in items], "time shown", "Not shown"),
        now_ms=now_ms,
        until_ms=run_ends_ms,
        also=[Counts("Clicks", [each["clicks"] for each in items], "click", "No clicks")],
        rate=Rate("Click rate", rates),
    )


async def check_out(request: PageRequest) -> SeeOther | FormError | Template:
    """Lead to the checkout. Our content policy lets no form redirect to another site, so the page of a payment processor
    is shown as a link."""
    return await _checkout_of(request, request.path_values["id"])


async def _checkout_of(request: PageRequest, booking_id: str) -> SeeOther | FormError | Template:
    result = await request.ask("openCheckout", path={"id": booking_id})
    if result.refused is not None:
        return FormError(result.refused)
    url, ours = str(result.json["checkoutUrl"]), request.base_url
    if url.startswith(f"{ours}/"):
        return SeeOther(url.removeprefix(ours))
    assert url.startswith("https://"), "the address of a payment processor uses https"
    values = {"url": url, "held_until": result.json["expiresAt"], "booking_id": booking_id}
    return Template("sponsor_checkout.html", values)


async def request_refund(request: PageRequest) -> SeeOther | FormError:
    body = {"reason": request.form.get("reason", "").strip()}
    result = await request.ask("requestRefund", path=request.path_values, body=body)
    return result.see_other(request.path, "refund_requested")


async def cancel(request: PageRequest) -> SeeOther | FormError:
    result = await request.ask("cancelBooking", path=request.path_values)
    return result.see_other(request.path, "booking_cancelled")


BOOKING_ACTIONS = {
    "reserve": reserve,
    "start": start,
    "reserve-and-pay": reserve_and_pay,
    "start-and-pay": start_and_pay,
}

PAGES = (
    Page("/sponsor/bookings", bookings, who=Audience.ACCOUNT),
    Page("/sponsor/book", book, BOOKING_ACTIONS, Audience.ACCOUNT),
    Page(
        "/sponsor/bookings/{id}",
        booking,
        {"checkout": check_out, "cancel": cancel, "request_refund": request_refund},
        Audience.ACCOUNT,
    ),
)
