"""Operations for pages of this service only. They are dispatched like all others, but not routed or documented.

The token of a checkout or receipt link grants access to it; an unknown token is a 404.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from actors.bookings.records import OPEN, Booking, BookingView, Mode
from actors.mail.messages import RenderedMessage
from actors.values import Agent, Code, Refused
from service.api.context import Services
from service.api.messages import Answer, Request
from service.api.operation import Call, Handler, Operation
from service.api.operations.booking_steps import read_steps
from service.api.operations.catalog import place_in_catalog
from service.api.operations.notifications import stop_mails, view_stopping
from service.api.operations.revoke_links import end_by_link, view_ending
from service.api.operations.sessions import session_begun
from service.api.operations.sponsor_overview import read_overview
from service.api.policy import Access, Budget
from service.config.deployment import host_of, is_local, is_public
from service.config.model import Config
from service.http.addresses import is_loopback
from service.schemas.internal import (
    BookingSteps,
    CatalogPlace,
    CatalogSize,
    Ending,
    LinkUse,
    OutboxMail,
    OutboxMails,
    Purchase,
    SponsorOverview,
    StoppedMails,
)
from service.schemas.lists import CatalogQuery
from service.schemas.sessions import SessionBegun
from service.tokens.links import Page

CHECKOUT_AGENT = Agent("system", "checkout page")
FORWARDED = frozenset({"forwarded", "x-real-ip", "via"})
"""Headers of proxies, beside X-Forwarded-*."""

OUTBOX_MAILS = 50
"""Maximum mails on the outbox page."""

Change = Callable[[Services, Booking], Awaitable[BookingView | Refused]]


async def count_catalog(services: Services, call: Call) -> Answer | Refused:
    statistics = services.catalog.statistics()
    return Answer.of(CatalogSize(usecases=statistics.usecases, bots=statistics.bots))


async def list_outbox(services: Services, call: Call) -> Answer | Refused:
    if not outbox_is_open(services.config, call.request):
        return _not_found()
    mails = [_outbox_mail(rendered) for rendered in await services.mail.recent(OUTBOX_MAILS)]
    return Answer.of(OutboxMails(mails=mails))


def outbox_is_open(config: Config, request: Request) -> bool:
    """Whether no SMTP server is configured, and the service is for this machine alone: its addresses, its base URL, the
    caller and the host that the caller named are all local, and no proxy is between them."""
    server, tls = config.server, config.tls
    if config.mail.smtp_url or is_public(server.base_url):
        return False
    addresses = [server.bind, *([tls.bind] if tls.bind else []), request.headers.get("host", "")]
    forwarded = any(name.startswith("x-forwarded-") or name in FORWARDED for name in request.headers)
    return not forwarded and is_loopback(request.client) and all(is_local(host_of(address)) for address in addresses)


def _outbox_mail(rendered: RenderedMessage) -> OutboxMail:
    message, mail = rendered.message, rendered.mail
    return OutboxMail(
        id=message.id,
        recipient=message.recipient,
        template=message.template,
        subject=None if mail is None else mail.subject,
        text=None if mail is None else mail.text,
        html=None if mail is None else mail.html,
        createdAt=message.created_ms,
        expiresAt=message.expires_ms,
        sentAt=message.sent_ms,
        failedAt=message.failed_ms,
        attempts=message.attempts,
        lastError=message.last_error,
    )


async def use_sign_in_link(services: Services, call: Call) -> Answer | Refused:
    begun = await services.sessions.use_link(call.body.token, call.request.headers.get("user-agent", ""))
    return begun if isinstance(begun, Refused) else session_begun(services, begun)


async def view_checkout(services: Services, call: Call) -> Answer | Refused:
    view = await _payable(services, call)
    return view if isinstance(view, Refused) else _purchase(services, view)


async def pay_checkout(services: Services, call: Call) -> Answer | Refused:
    return await _change(services, call, _pay)


async def cancel_checkout(services: Services, call: Call) -> Answer | Refused:
    return await _change(services, call, _cancel)


async def view_receipt(services: Services, call: Call) -> Answer | Refused:
    booking_id = services.links.booking_id(Page.RECEIPT, call.path_values["token"])
    view = await services.sponsorship.booking(None, booking_id) if booking_id is not None else None
    return _not_found() if view is None else _purchase(services, view)


async def _change(services: Services, call: Call, change: Change) -> Answer | Refused:
    """Apply a change to an open booking, and return the booking."""
    before = await _payable(services, call)
    if isinstance(before, Refused):
        return before
    if before.booking.status_at(services.clock.now_ms()) not in OPEN:
        return _purchase(services, before)
    changed = await change(services, before.booking)
    services.announce()
    if not isinstance(changed, Refused):
        return _purchase(services, changed, changed=True)
    # Another request closed the booking in the meantime, for example from a second tab.
    return await view_checkout(services, call)


async def _pay(services: Services, booking: Booking) -> BookingView | Refused:
    """No money moves. All clicks share a payment id, so they are one payment."""
    payment_id = f"test_{booking.id}"
    return await services.ledger.record_payment(
        payment_id, booking.id, payment_id, booking.amount_cents, booking.currency
    )


async def _cancel(services: Services, booking: Booking) -> BookingView | Refused:
    return await services.ledger.cancel(booking.tenant_id, booking.id, CHECKOUT_AGENT)


async def _payable(services: Services, call: Call) -> BookingView | Refused:
    """The booking that a checkout token is for. Only bookings of test mode are paid on our own page."""
    booking_id = services.links.booking_id(Page.CHECKOUT, call.path_values["token"])
    if booking_id is None or services.config.billing.mode != "test":
        return _not_found()
    view = await services.sponsorship.booking(None, booking_id)
    if view is None or view.booking.mode is not Mode.TEST:
        return _not_found()
    return view


def _not_found() -> Refused:
    return Refused(Code.NOT_FOUND, "There is nothing at this address.")


def _purchase(services: Services, view: BookingView, *, changed: bool = False) -> Answer:
    booking = view.booking
    purchase = Purchase(
        bookingId=booking.id,
        tenantId=booking.tenant_id,
        status=booking.status_at(services.clock.now_ms()).value,
        sponsor=view.sponsor_name,
        campaign=view.campaign_name,
        slot=booking.slot_name,
        package=booking.package_description,
        weeks=booking.weeks,
        weekStart=booking.week_start_ms,
        weekEnd=booking.week_end_ms,
        amountCents=booking.amount_cents,
        currency=booking.currency,
        holdUntil=booking.hold_ms,
        testMode=booking.mode is Mode.TEST,
        demo=booking.demo,
        receiptUrl=services.links.receipt_url(booking),
        paidAt=booking.paid_ms,
        refundedCents=booking.refunded_cents,
        paymentId=booking.payment_id,
        paymentIssue=booking.issue,
        changed=changed,
    )
    return Answer.of(purchase)


def _row(
    name: str,
    path: str,
    handler: Handler,
    result: type[BaseModel],
    method: str = "GET",
    access: Access = Access.PUBLIC,
    **rest: Any,
) -> Operation:
    return Operation(
        name=name,
        method=method,
        path=f"/internal/{path}",
        summary=name,
        description="Only pages of this service call this operation.",
        tag="Internal",
        handler=handler,
        result=result,
        access=access,
        **rest,
    )


INTERNAL = (
    _row("countCatalog", "catalog", count_catalog, CatalogSize),
    _row("placeInCatalog", "catalog/{kind}", place_in_catalog, CatalogPlace, query=CatalogQuery),
    _row("listOutbox", "outbox", list_outbox, OutboxMails),
    _row(
        "useSignInLink",
        "sign-in-link",
        use_sign_in_link,
        SessionBegun,
        "POST",
        body=LinkUse,
        budget=Budget.SIGN_IN_COMPLETE,
    ),
    _row("viewCheckout", "checkout/{token}", view_checkout, Purchase),
    _row("payCheckout", "checkout/{token}", pay_checkout, Purchase, "POST"),
    _row("cancelCheckout", "checkout/{token}", cancel_checkout, Purchase, "DELETE"),
    _row("viewReceipt", "receipt/{token}", view_receipt, Purchase),
    _row("readBookingSteps", "bookings/{id}/steps", read_steps, BookingSteps, access=Access.REQUIRED),
    _row("readOverview", "overview", read_overview, SponsorOverview, access=Access.REQUIRED),
    _row("viewEnding", "ending/{token}", view_ending, Ending),
    _row("endByLink", "ending/{token}", end_by_link, Ending, "POST"),
    _row("viewStopping", "stopping/{token}", view_stopping, StoppedMails),
    _row("stopMails", "stopping/{token}", stop_mails, StoppedMails, "POST"),
)
