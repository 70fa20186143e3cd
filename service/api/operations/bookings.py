"""Operations on bookings (specification, 17 to 19 and 22): reserve, pay, cancel and read; refunds are requested and declined.

To accept a request, an administrator refunds the booking.
"""

import logging
from collections.abc import Sequence
from functools import partial

from actors.bookings.changes import unknown_booking
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import BookingView
from actors.bookings.store import Before
from actors.values import AuditRecord, Code, Refused, Scope
from service.api.context import Services
from service.api.errors import unavailable
from service.api.messages import Answer, respond
from service.api.operation import Call, Tool, account_operation, admin_write
from service.api.operations.responses import list_page, newest_first, with_id
from service.schemas.bookings import (
    Booking,
    BookingAnswer,
    BookingBody,
    BookingPage,
    BookingStart,
    BookingWithReceipt,
    CheckoutAnswer,
    Receipt,
    RefundDecline,
    RefundRequest,
)
from service.schemas.fields import may_exist
from service.schemas.internal import BookingStep, BookingSteps
from service.schemas.lists import SponsorshipQuery

log = logging.getLogger(__name__)


async def list_bookings(services: Services, call: Call) -> Answer | Refused:
    return await list_page(
        services,
        call,
        "bookings",
        partial(services.sponsorship.bookings, call.caller.owner),
        booking_position,
        partial(booking_of, services),
        BookingPage,
    )


def booking_position(view: BookingView) -> Before:
    return newest_first(view.booking)


async def reserve(services: Services, call: Call) -> Answer | Refused:
    body: BookingBody = call.body
    if not (may_exist(body.campaignId) and may_exist(body.slotId)):
        return Refused(Code.NOT_FOUND, "There is no such campaign or slot.")
    view = await services.ledger.reserve(
        call.caller.owner, body.campaignId, body.slotId, body.weekStart, body.idempotencyKey, call.caller.agent
    )
    services.announce()
    return booking_answer(services, view)


async def start(services: Services, call: Call) -> Answer | Refused:
    body: BookingStart = call.body
    if not may_exist(body.slotId):
        return Refused(Code.NOT_FOUND, "There is no such slot.")
    view = await services.ledger.start(
        call.caller.owner,
        body.name,
        body.website,
        body.headline,
        body.body,
        body.slotId,
        body.weekStart,
        body.idempotencyKey,
        call.caller.agent,
    )
    services.announce()
    return booking_answer(services, view)


@with_id(unknown_booking)
async def read_booking(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    booking = booking_of(services, view)
    return Answer.of(BookingWithReceipt(booking=booking, receipt=Receipt.of(view.booking, booking.receiptUrl)))


@with_id(unknown_booking)
async def open_checkout(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    # The booking moves to checkout first, so that every payment finds it there. Repeating this has no effect.
    view = await services.ledger.open_checkout(call.caller.owner, booking_id, call.caller.agent)
    if isinstance(view, Refused):
        return view
    billing = await services.sponsorship.billing_details(call.caller.owner)
    email = (billing and billing.email) or call.caller.email
    try:
        checkout = await services.payments.checkout(view.booking, view.campaign_name, email, billing)
    except PaymentsUnavailable as error:
        log.warning("no checkout for %s: %s", booking_id, error)
        return unavailable("Payment is unavailable right now. Try again in a moment.")
    except PaymentsRefused as error:
        log.error("no checkout for %s: %s", booking_id, error)
        return unavailable("Payment is unavailable right now. Try again later.")
    if checkout.session_id is not None:
        # Before anyone sees the page: a payment of a session that is not stored does not count.
        kept = await services.ledger.store_checkout_session(call.caller.owner, booking_id, checkout.session_id)
        if isinstance(kept, Refused):
            return kept
    answer = CheckoutAnswer(checkoutUrl=checkout.url, expiresAt=view.booking.hold_ms)
    if services.config.site.terms:
        answer.termsUrl, answer.termsVersion = services.config.site.terms_url, services.config.site.terms
    return Answer.of(answer)


@with_id(unknown_booking)
async def cancel(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.ledger.cancel(call.caller.owner, booking_id, call.caller.agent)
    services.announce()
    return booking_answer(services, view)


def booking_of(services: Services, view: BookingView) -> Booking:
    """The wire model of a booking at this moment."""
    return Booking.of(view, services.clock.now_ms(), services.links.receipt_url(view.booking))


def admin_booking_of(services: Services, view: BookingView) -> Booking:
    """The wire model of a booking for administrators."""
    return Booking.of(view, services.clock.now_ms(), services.links.receipt_url(view.booking), admin=True)


def admin_booking_answer(services: Services, view: BookingView | Refused) -> Answer | Refused:
    return respond(view, lambda found: BookingAnswer(booking=admin_booking_of(services, found)))


@with_id(unknown_booking)
async def read_steps(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    booking = view.booking
    records = [
        *await services.sponsorship.audit(None, MAX_STEPS, booking.id),
        *await services.sponsorship.audit(None, MAX_STEPS, booking.campaign_id),
    ]
    return Answer.of(BookingSteps(items=steps_of(records, booking.created_ms)))


def steps_of(records: Sequence[AuditRecord], since_ms: int) -> list[BookingStep]:
    """The steps from a moment on, oldest first. Whoever made them is left out: it may be an administrator."""
    since = [each for each in records if each.created_ms >= since_ms]
    since.sort(key=lambda each: (each.created_ms, each.id))
    return [BookingStep(action=each.action, at=each.created_ms) for each in since]


def booking_answer(services: Services, view: BookingView | Refused) -> Answer | Refused:
    return respond(view, lambda found: BookingAnswer(booking=booking_of(services, found)))


MAX_STEPS = 50
"""The newest records of a booking, and of its campaign, that are read."""

_bookings = partial(account_operation, tag="Bookings")
_changing = partial(_bookings, method="POST", result=BookingAnswer)
LEADS_TO = dict.fromkeys(("getBooking", "getDelivery", "getInvoices", "openCheckout", "cancelBooking"), "/booking/id")
RESERVING_CODES = (Code.NOT_FOUND, Code.SLOT_UNAVAILABLE, Code.HOLD_LIMIT, Code.IDEMPOTENCY_CONFLICT)
"""`hold_limit` says in `retryAfter` when to try again, unless paying or cancelling a booking is what helps."""
KEY = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
MONDAY_MS = 1_798_416_000_000
"""28 December 2026."""


@with_id(unknown_booking)
async def request_refund(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    body: RefundRequest = call.body
    view = await services.ledger.request_refund(call.caller.owner, booking_id, body.reason, call.caller.agent)
    services.announce()
    return booking_answer(services, view)


@with_id(unknown_booking)
async def send_material(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    material = call.body.material
    view = await services.ledger.send_material(call.caller.owner, booking_id, material, call.caller.agent)
    services.announce()
    return booking_answer(services, view)


@with_id(unknown_booking)
async def decline_refund(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    body: RefundDecline = call.body
    view = await services.ledger.decline_refund_request(booking_id, body.note, call.caller.agent)
    services.counts.forget()
    services.announce()
    return admin_booking_answer(services, view)


ROWS = (
    _bookings(
        name="listBookings",
        tool=Tool("list_bookings", "Use it to see which weeks an account has booked, and their states.", {"limit": 5}),
        method="GET",
        path="/api/v1/sponsors/bookings",
        summary="List your bookings",
        description="Returns your bookings, newest first, each with its impressions and clicks.",
        handler=list_bookings,
        result=BookingPage,
        query=SponsorshipQuery,
        third_party=True,
        scopes=(Scope.SPONSOR_READ,),
    ),
    _changing(
        name="createBooking",
        path="/api/v1/sponsors/bookings",
        summary="Create a booking",
        description="Holds the slot's weeks until `heldUntil`. Pay before then. A repeated `idempotencyKey` returns "
        "the same booking in its current state if the body is the same, and an error otherwise.",
        handler=reserve,
        body=BookingBody,
        leads_to=LEADS_TO,
        example={
            "campaignId": "cmp_1B2c3D4e5F6g7H8i9J0kLm",
            "slotId": "left-top",
            "weekStart": MONDAY_MS,
            "idempotencyKey": KEY,
        },
        scopes=(Scope.BILLING_WRITE,),
        codes=(*RESERVING_CODES, Code.CAMPAIGN_NOT_BOOKABLE, Code.PROFILE_REQUIRED),
    ),
    _changing(
        name="startBooking",
        path="/api/v1/sponsors/bookings/start",
        summary="Start a booking with a new brand and ad",
        description="Saves the profile, a campaign and a booking, or none of them. The campaign has the brand's name, "
        "links to the website and waits for review.",
        handler=start,
        body=BookingStart,
        leads_to=LEADS_TO,
        example={
            "name": "Example Tools",
            "website": "https://tools.example.com/",
            "headline": "Ship your first agent today",
            "body": "Example Tools turns a prompt into a bot that answers your mail.",
            "slotId": "left-top",
            "weekStart": MONDAY_MS,
            "idempotencyKey": KEY,
        },
        scopes=(Scope.SPONSOR_WRITE, Scope.BILLING_WRITE),
        codes=(*RESERVING_CODES, Code.CAMPAIGN_LIMIT),
    ),
    _bookings(
        name="getBooking",
        tool=Tool(
            "get_booking",
            "Use it to see the state, the next step and the payment of a booking.",
            {"id": "bok_1B2c3D4e5F6g7H8i9J0kLm"},
        ),
        method="GET",
        path="/api/v1/sponsors/bookings/{id}",
        summary="Get one booking and its receipt",
        description="Returns one of your bookings. The receipt is null until the booking is paid.",
        handler=read_booking,
        result=BookingWithReceipt,
        third_party=True,
        scopes=(Scope.SPONSOR_READ,),
        codes=(Code.NOT_FOUND,),
    ),
    _bookings(
        name="openCheckout",
        pays=True,
        method="POST",
        path="/api/v1/sponsors/bookings/{id}/checkout",
        summary="Open the checkout of a booking",
        description="Returns the address where a person can pay for a booking. The first call restarts the hold. In "
        "test mode no money moves. Whoever pays accepts the terms at `termsUrl`, which the payment page shows.",
        handler=open_checkout,
        result=CheckoutAnswer,
        scopes=(Scope.BILLING_WRITE,),
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, Code.CAMPAIGN_NOT_BOOKABLE),
    ),
    _changing(
        name="cancelBooking",
        path="/api/v1/sponsors/bookings/{id}/cancel",
        summary="Cancel a booking",
        description="Cancels a booking that is not paid. Its weeks are free immediately.",
        handler=cancel,
        scopes=(Scope.BILLING_WRITE,),
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _changing(
        name="requestRefund",
        path="/api/v1/sponsors/bookings/{id}/refund-request",
        summary="Request a refund",
        description="Asks for the full refund of a paid booking whose weeks are not over. An administrator accepts or "
        "declines it with a note, and you get a mail either way. If `bookings.refund_unshown` is on, weeks that nobody saw "
        "are refunded without a request when the booking ends.",
        handler=request_refund,
        body=RefundRequest,
        example={"reason": "We booked the wrong week."},
        scopes=(Scope.BILLING_WRITE,),
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    admin_write(
        name="declineRefund",
        method="POST",
        path="/api/v1/admin/sponsorships/bookings/{id}/refund-decline",
        summary="Decline a requested refund",
        description="Declines the refund that a sponsor requested. The sponsor reads the note. To accept the request, "
        "refund the booking.",
        handler=decline_refund,
        body=RefundDecline,
        result=BookingAnswer,
        example={"note": "The week was shown as booked."},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
)
