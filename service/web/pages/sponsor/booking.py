"""One booking of a sponsor, from its hold to its last day: what to do now, its numbers, what is shown, and what was paid."""

from collections.abc import Iterable, Mapping
from typing import Any

from actors.times import WEEK_MS
from service.web.pages.parts.booking_words import HELD, daily, notice_of, run_of, used_cents, weeks_of
from service.web.pages.parts.charts import delivery_chart
from service.web.pages.parts.forms import ACCEPTING, Field, Form
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template, calling
from service.web.pages.parts.words import money
from service.web.pages.sponsor.booking_history import history

MAX_INVOICES = 50
"""The newest documents of the account, among which those of the booking are found."""

MAX_SITES = 10
"""The websites that the page lists unless all are asked for."""

Json = Mapping[str, Any]


async def booking(request: PageRequest) -> Template:
    now_ms = request.now_ms
    read = (await request.ask("getBooking", path=request.path_values)).or_raise()
    shown, receipt = read["booking"], read["receipt"]
    delivery = (await request.ask("getDelivery", path=request.path_values)).or_raise()
    campaign = (await request.ask("getCampaign", path={"id": shown["campaignId"]})).or_raise()["campaign"]
    steps = (await request.ask("readBookingSteps", path=request.path_values)).or_raise()["items"]
    paid_ms = receipt["paidAt"] if receipt else None
    refundable = shown["status"] == "paid" and shown["weekEnd"] > now_ms and shown.get("paymentIssue") != "disputed"
    paid = money(receipt["amountCents"], receipt["currency"]) if receipt else ""
    unshown = request.config.bookings.refund_unshown
    values = {
        "booking": shown,
        "receipt": receipt,
        "campaign": campaign,
        "held": shown["status"] in HELD,
        "weeks": weeks_of(shown),
        "run": run_of(shown, now_ms),
        "booking_notice": notice_of(shown, now_ms, refund_unshown=unshown),
        "refund_unshown": unshown,
        "can_ask": refundable and not shown.get("refundRequestedAt"),
        "history": history(shown, campaign, paid_ms, now_ms, steps, paid),
        "following": await _following(request, shown) if refundable else None,
        "voice": await voice_of(request, shown),
        "documents": await _documents(request, shown) if receipt and not shown.get("demo") else [],
        "most_sites": len(delivery.get("sites") or []) if request.query.get("sites") == "all" else MAX_SITES,
        "now_ms": now_ms,
    }
    return Template("sponsor_booking.html", values | await figures_of(request, shown, receipt, delivery))


async def voice_of(request: PageRequest, shown: Json) -> Json | None:
    """The share of voice of a booking in each of its weeks; None if it cannot be read."""
    weeks = (shown["weekEnd"] - shown["weekStart"]) // WEEK_MS
    query = {"weekStart": shown["weekStart"], "weeks": weeks}
    read = await request.ask("readShare", path={"id": shown["slotId"]}, query=query)
    return None if read.refused is not None else read.json


async def figures_of(request: PageRequest, shown: Json, receipt: Json | None, delivery: Json) -> dict[str, Any]:
    """The values of the figures and the plot of a booking, here and in its report."""
    rows = [
        (each["day"], each["impressions"], each["clicks"])
        for each in delivery["items"]
        if each["day"] < shown["weekEnd"] or each["impressions"] or each["clicks"]
    ]
    paid_ms = receipt["paidAt"] if receipt else None
    return {
        "delivery": delivery,
        "seen": bool(delivery["impressions"] or delivery["clicks"]),
        "filtered": any(delivery["filtered"].values()),
        "shown_daily": daily(delivery["impressions"], len(rows)),
        "clicks_daily": daily(delivery["clicks"], len(rows)),
        "used": used_cents(shown, paid_ms or shown["weekStart"], request.now_ms),
        "slot_rate": await _slot_rate(request, shown) if delivery["impressions"] else None,
        "chart": delivery_chart(rows, request.now_ms, shown["weekEnd"]) if receipt and rows else None,
    }


async def _slot_rate(request: PageRequest, shown: Json) -> float | None:
    """The click rate of past bookings of the slot, None where the rate card has none."""
    card = await request.ask("getRateCard")
    slot = None if card.refused is not None else _slot_of(card.json["slots"], shown)
    rate = ((slot or {}).get("reach") or {}).get("ctr")
    return None if rate is None else float(rate)


async def _following(request: PageRequest, shown: Json) -> Json | None:
    """The slot from the end of the booking on, as the calendar has it; None beyond the weeks that are sold."""
    calendar = await request.ask("getCalendar", query={"weekStart": shown["weekEnd"], "weeks": 1})
    return None if calendar.refused is not None else _slot_of(calendar.json["weeks"][0]["slots"], shown)


def _slot_of(slots: Iterable[Json], shown: Json) -> Json | None:
    """The slot of a booking; None if it is retired."""
    return next((slot for slot in slots if slot["id"] == shown["slotId"]), None)


async def _documents(request: PageRequest, shown: Json) -> list[Json]:
    """The invoice and credit notes of the booking, oldest first."""
    listed = await request.ask("listInvoices", query={"limit": MAX_INVOICES})
    if listed.refused is not None:
        return []
    return [each for each in reversed(listed.json["items"]) if each["bookingId"] == shown["id"]]


# The forms of a booking.


async def check_out(request: PageRequest) -> SeeOther | FormError | Template:
    """Lead to the checkout. Our content policy lets no form redirect to another site, so the page of a payment processor
    is shown as a link."""
    return request.other_terms or await checkout_of(request, request.path_values["id"])


async def checkout_of(request: PageRequest, booking_id: str) -> SeeOther | FormError | Template:
    result = await request.ask("openCheckout", path={"id": booking_id})
    if result.refused is not None:
        return FormError(result.refused)
    url, ours = str(result.json["checkoutUrl"]), request.base_url
    if url.startswith(f"{ours}/"):
        return SeeOther(url.removeprefix(ours))
    assert url.startswith("https://"), "the address of a payment processor uses https"
    bought = (await request.ask("getBooking", path={"id": booking_id})).or_raise()["booking"]
    values = {"url": url, "held_until": result.json["expiresAt"], "booking_id": booking_id, "now_ms": request.now_ms}
    values["voice"] = await voice_of(request, bought)
    return Template("sponsor_checkout.html", values)


async def request_refund(request: PageRequest) -> SeeOther | FormError:
    body = {"reason": request.form.get("reason", "").strip()}
    result = await request.ask("requestRefund", path=request.path_values, body=body)
    return result.see_other(request.path, "refund_requested")


async def send_material(request: PageRequest) -> SeeOther | FormError:
    body = {"material": request.form.get("material", "").strip() or None}
    result = await request.ask("sendMaterial", path=request.path_values, body=body)
    return result.see_other(request.path, "material_sent")


MATERIAL_FORM = Form({"material": Field("Material for the video")})
REFUND_FORM = Form({"reason": Field("Why?", "Write a few words, so that we can decide.")})

PAGES = (
    Page(
        "/sponsor/bookings/{id}",
        booking,
        {
            "checkout": check_out,
            "cancel": calling("cancelBooking", "booking_cancelled"),
            "request_refund": request_refund,
            "send_material": send_material,
        },
        Audience.ACCOUNT,
        forms={"checkout": ACCEPTING, "request_refund": REFUND_FORM, "send_material": MATERIAL_FORM},
    ),
)
