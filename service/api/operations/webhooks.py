"""Webhooks of the payment processor: signed events, each applied to the ledger once (ADR 0055)."""

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
    """Respond 200 so that Stripe does not resend the event. If the ledger is unavailable, the dispatcher responds 503."""
    if services.webhook is None:
        return Refused(Code.NOT_FOUND, "There is nothing at this address.")
    event = services.webhook.read(call.request.body, call.request.headers.get("stripe-signature"))
    match event:
        case Refused():
            return event
        case PaymentSucceeded():
            _log(event, await _take(services, event))
        case RefundUpdated():
            _log(event, await _settle(services, event))
        case None:
            pass
    return Answer.of(Received(received=True))


async def _take(services: Services, event: PaymentSucceeded) -> BookingView | Refused:
    return await services.ledger.take_payment(
        event.event_id, event.booking_id, event.payment_id, event.amount_cents, event.currency
    )


async def _settle(services: Services, event: RefundUpdated) -> BookingView | Refused:
    """Record the payment if its own event has not arrived yet, then settle its refund.

    If a booking was paid twice, refunding the surplus payment does not refund the booking.
    """
    if event.payment is not None:
        taken = await _take(services, event.payment)
        if isinstance(taken, Refused) or taken.booking.payment_id != event.payment.payment_id:
            return taken
    return await services.ledger.settle_refund(event.booking_id, event.declined, event.event_id)


def _log(event: PaymentSucceeded | RefundUpdated, outcome: BookingView | Refused) -> None:
    match outcome:
        case BookingView(booking):
            log.info("%s: %s is %s", event.event_id, booking.id, booking.status)
        case Refused(code=Code.NOT_FOUND):
            log.info("%s ignored: no such booking", event.event_id)
        case Refused():
            log.warning("%s has no effect: %s", event.event_id, outcome.message)


EVENT_BYTES = 256 * 1024
"""Events are a few KiB, but can grow, and Stripe resends a refused event for days."""

ROWS = (
    Operation(
        name="stripeWebhook",
        method="POST",
        path="/api/v1/webhooks/stripe",
        summary="Receive a Stripe event",
        description="Only Stripe calls this operation. The body is an event signed in the header `Stripe-Signature`. Each "
        "payment and refund of a booking is applied once, even if events are repeated or out of order. Other events are "
        "ignored. In test mode this returns 404.",
        tag="Payments",
        handler=stripe_webhook,
        result=Received,
        access=Access.PUBLIC,
        raw_body=True,
        body_bytes=EVENT_BYTES,
        codes=(Code.NOT_FOUND,),
    ),
)
