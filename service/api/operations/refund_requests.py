"""Operations on requests for refunds: a sponsor asks, and an administrator declines. To accept is to refund."""

from functools import partial

from actors.bookings.changes import unknown_booking
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations.bookings import admin_booking_answer, booking_answer
from service.api.operations.responses import with_id
from service.api.policy import Access
from service.schemas.bookings import BookingAnswer, RefundDecline, RefundRequest


@with_id(unknown_booking)
async def request_refund(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    body: RefundRequest = call.body
    view = await services.ledger.request_refund(call.caller.owner, booking_id, body.reason, call.caller.agent)
    services.announce()
    return booking_answer(services, view)


@with_id(unknown_booking)
async def decline_refund(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    body: RefundDecline = call.body
    view = await services.ledger.decline_refund_request(booking_id, body.note, call.caller.agent)
    services.counts.forget()
    services.announce()
    return admin_booking_answer(services, view)


_posting = partial(
    Operation,
    family=Family.SPONSORSHIP,
    access=Access.REQUIRED,
    metered=True,
    method="POST",
    result=BookingAnswer,
    codes=(Code.NOT_FOUND, Code.INVALID_STATE),
)

ROWS = (
    _posting(
        name="requestRefund",
        tag="Bookings",
        path="/api/v1/sponsors/bookings/{id}/refund-request",
        summary="Request a refund",
        description="Asks for the full refund of a paid booking whose weeks are not over. An administrator accepts or "
        "declines it with a note, and you get a mail either way. If `bookings.refund_unshown` is on, weeks that nobody saw "
        "are refunded without a request when the booking ends.",
        handler=request_refund,
        body=RefundRequest,
        example={"reason": "We booked the wrong week."},
        scopes=(Scope.BILLING_WRITE,),
    ),
    _posting(
        name="declineRefund",
        tag="Administration",
        path="/api/v1/admin/sponsorships/bookings/{id}/refund-decline",
        summary="Decline a requested refund",
        description="Declines the refund that a sponsor requested. The sponsor reads the note. To accept the request, "
        "refund the booking.",
        handler=decline_refund,
        body=RefundDecline,
        example={"note": "The week was shown as booked."},
        admin=True,
        scopes=(Scope.ADMIN_WRITE,),
    ),
)
