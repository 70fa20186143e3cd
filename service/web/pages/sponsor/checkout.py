"""The documents of a booking: checkout and receipt behind signed links, invoices and credit notes on one sheet each."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from actors.clock import DAY_MS
from service.api.messages import NO_STORE
from service.schemas.countries import COUNTRIES
from service.web.pages.parts.booking_words import HELD, first_day, length
from service.web.pages.parts.forms import ACCEPTING
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, Template, nothing_here
from service.web.pages.parts.paging import paged
from service.web.pages.parts.words import day, money, price
from service.web.pages.sponsor.booking import voice_of


async def receipt(request: PageRequest) -> Template:
    """The receipt, or a page that says that the booking is not paid."""
    bought = (await request.ask("viewReceipt", path=request.path_values)).or_raise()
    values = {
        "state": bought["status"],
        "paid": bought["paidAt"] if bought["receiptUrl"] else None,
        "refunded": money(bought["refundedCents"], bought["currency"]) if bought["refundedCents"] else None,
        "reference": bought["paymentId"],
        "issue": bought["paymentIssue"],
    }
    return Template("receipt.html", await _purchase(request, bought) | values, headers=[*NO_STORE])


def _checkout(operation: str) -> Callable[[PageRequest], Awaitable[Template]]:
    """The page of the checkout after an operation on it."""

    async def show(request: PageRequest) -> Template:
        bought = (await request.ask(operation, path=request.path_values)).or_raise()
        # A reserved booking has to enter checkout through the API before it can be paid.
        state = "open" if bought["status"] == "checkout" else bought["status"]
        values = {"state": state, "just_now": bought["changed"], "receipt_url": bought["receiptUrl"]}
        return Template("checkout.html", await _purchase(request, bought) | values, headers=[*NO_STORE])

    return show


async def _purchase(request: PageRequest, bought: Mapping[str, Any]) -> dict[str, object]:
    """The purchase in words. `own`: the visitor may open the page of the booking as well."""
    person = request.caller.signed_in
    return {
        "booking_id": bought["bookingId"],
        "own": person is not None and person.tenant_id == bought["tenantId"],
        "sponsor": bought["sponsor"],
        "campaign": bought["campaign"],
        "slot": bought["slot"],
        "voice": await voice_of(request, bought) if bought["status"] in (*HELD, "paid") else None,
        "package": bought["package"],
        "weeks": length(bought),
        "first_day": day(first_day(bought)),
        "last_day": day(bought["weekEnd"] - DAY_MS),
        "amount": money(bought["amountCents"], bought["currency"]),
        "price": price(bought["amountCents"], bought["currency"]),
        "held_until": bought["holdUntil"],
        "test_mode": bought["testMode"],
        "demo": bought["demo"],
    }


async def pay(request: PageRequest) -> Template | FormError:
    return request.other_terms or await _checkout("payCheckout")(request)


async def cancelled(request: PageRequest) -> Template:
    """The page to which the payment processor returns someone who leaves its checkout. Its address names no booking, so it
    shows the sponsor all that are held."""
    held: list[Mapping[str, Any]] = []
    if request.caller.signed_in is not None:
        present = (await request.ask("readOverview")).or_raise()["present"]
        held = sorted((each for each in present if each["status"] in HELD), key=lambda each: each["heldUntil"])
    return Template("checkout_cancelled.html", {"held": held})


async def invoices(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    listed = (await request.ask("listInvoices", query={"cursor": cursor})).or_raise()
    total = await request.count("countInvoices", listed)
    return Template("sponsor_invoices.html", {"invoices": listed, "paging": paged(request, listed, total=total)})


async def invoice(request: PageRequest) -> Template:
    """One document of a booking: the one with the number in the address, otherwise the first invoice."""
    read = (await request.ask("getInvoices", path=request.path_values)).or_raise()
    documents, number = read["invoices"], request.query.get("number")
    shown = next((each for each in documents if number in (None, "", each["number"])), None)
    if shown is None and number:
        raise nothing_here()
    values = {
        "booking_id": request.path_values["id"],
        "invoice": shown,
        "country": None if shown is None else COUNTRIES.get(shown["buyer"].get("country")),
        "others": [each for each in documents if each is not shown],
        "processor_url": read.get("processorInvoiceUrl"),
    }
    return Template("sponsor_invoice.html", values)


PAGES = (
    Page(
        "/checkout/{token}",
        _checkout("viewCheckout"),
        {"pay": pay, "cancel": _checkout("cancelCheckout")},
        capability=True,
        forms={"pay": ACCEPTING},
    ),
    Page("/receipt/{token}", receipt, capability=True),
    Page("/checkout-cancelled", cancelled),
    Page("/sponsor/invoices", invoices, who=Audience.ACCOUNT),
    Page("/sponsor/bookings/{id}/invoice", invoice, who=Audience.ACCOUNT),
)
