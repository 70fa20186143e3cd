"""What a payment processor tells us: signed events, each carried into the ledger once."""

import logging

from pydantic import BaseModel

from actors.bookings.records import BookingView
from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.payments.gateway import PaymentSucceeded, RefundUpdated

log = logging.getLogger(__name__)


class Received(BaseModel):
    received: bool


async def stripe_webhook(services: Services, call: Call) -> Answer | Refused:
    """An answer of 200 tells Stripe not to send the event again. What a ledger cannot keep now is answered 503."""
    if services.webhook is None:
        return Refused(Code.NOT_FOUND, "There is nothing at this address.")
    told = services.webhook.read(call.request.body, call.request.headers.get("stripe-signature"))
    match told:
        case Refused():
            return told
        case PaymentSucceeded():
            _look(told, await _take(services, told))
        case RefundUpdated():
            _look(told, await _settle(services, told))
        case None:
            pass
    return Answer.of(Received(received=True), [("cache-control", "no-store")])


async def _take(services: Services, told: PaymentSucceeded) -> BookingView | Refused:
    return await services.ledger.take_payment(
        told.event_id, told.booking_id, told.payment_id, told.amount_cents, told.currency
    )


async def _settle(services: Services, told: RefundUpdated) -> BookingView | Refused:
    """Settle a refund, and before it the payment that was paid back, in whatever order the two are told.

    A booking that was paid twice is not refunded by paying back the payment that it does not count.
    """
    if told.payment is not None:
        taken = await _take(services, told.payment)
        if isinstance(taken, Refused) or taken.booking.payment_id != told.payment.payment_id:
            return taken
    return await services.ledger.settle_refund(told.booking_id, told.declined, told.event_id)


def _look(told: PaymentSucceeded | RefundUpdated, outcome: BookingView | Refused) -> None:
    match outcome:
        case BookingView(booking):
            log.info("%s: %s is %s", told.event_id, booking.id, booking.status)
        case Refused(code=Code.NOT_FOUND):
            log.info("%s is about something that is not ours", told.event_id)
        case Refused():
            log.warning("%s changes nothing: %s", told.event_id, outcome.message)


EVENT_BYTES = 256 * 1024
"""Events are a few KiB, and grow with what a processor adds to them; one that is refused would come again for days."""

ROWS = (
    Operation(
        name="stripeWebhook",
        method="POST",
        path="/api/v1/webhooks/stripe",
        summary="Take an event of Stripe",
        description="For Stripe alone: the body is an event, signed in the header `Stripe-Signature`. Payments and refunds "
        "of bookings are carried out once, however often and in whatever order they are told; everything else is received "
        "and ignored. In test mode there is nothing here.",
        tag="Payments",
        handler=stripe_webhook,
        result=Received,
        access=Access.PUBLIC,
        raw_body=True,
        body_bytes=EVENT_BYTES,
        codes=(Code.NOT_FOUND,),
    ),
)
