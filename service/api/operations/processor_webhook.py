"""Webhooks of the payment processor: signed events, each applied to the ledger once (ADR 0054)."""

import logging

from pydantic import BaseModel, Field

from actors.bookings.records import BookingView
from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.payments.gateway import DisputeUpdated, PaymentEvent, PaymentSucceeded, RefundUpdated

log = logging.getLogger(__name__)


class Received(BaseModel):
    """The event is applied or ignored, and need not be sent again."""

    received: bool = Field(description="Always true")


async def stripe_webhook(services: Services, call: Call) -> Answer | Refused:
    """Respond 200 so that Stripe does not resend the event. If the ledger is unavailable, the dispatcher responds 503."""
    if services.webhook is None:
        return Refused(Code.NOT_FOUND, "There is nothing at this address.")
    event = services.webhook.read(call.request.body, call.request.headers.get("stripe-signature"))
    match event:
        case Refused():
            return event
        case None:
            pass
        case _:
            match await _apply(services, event):
                case BookingView(booking):
                    log.info("%s: %s is %s", event.event_id, booking.id, booking.status)
                    services.announce()
                case Refused(message=why):
                    log.warning("%s ignored: %s", event.event_id, why)
    return Answer.of(Received(received=True))


async def _apply(services: Services, event: PaymentEvent) -> BookingView | Refused:
    ledger = services.ledger
    match event:
        case PaymentSucceeded():
            return await ledger.record_payment(
                event.event_id,
                event.booking_id,
                event.payment_id,
                event.amount_cents,
                event.currency,
                event.session_id,
                event.terms_version,
            )
        case RefundUpdated():
            return await ledger.settle_refund(
                event.booking_id,
                event.declined,
                event.event_id,
                event.payment_id,
                event.cents,
                event.total_cents,
                event.currency,
                event.refund_id,
                event.at_ms,
                event.made_ms,
            )
        case DisputeUpdated():
            return await ledger.settle_dispute(
                event.dispute_id,
                event.payment_id,
                event.state,
                event.amount_cents,
                event.currency,
                f"{event.event_id}.{event.state}",
                event.at_ms,
            )


EVENT_BYTES = 256 * 1024
"""Events are a few KiB, but can grow, and Stripe resends a refused event for days."""

ROWS = (
    Operation(
        name="stripeWebhook",
        method="POST",
        path="/api/v1/webhooks/stripe",
        summary="Receive a webhook of Stripe",
        description="Only Stripe calls this operation. The body is an event signed in the header `Stripe-Signature`. Each "
        "payment, refund and dispute of a booking is applied once, even if events are repeated or out of order. A payment "
        "counts only if it came through a checkout session of the booking. Other events are ignored. In test mode this "
        "returns 404.",
        tag="Payments",
        handler=stripe_webhook,
        result=Received,
        access=Access.PUBLIC,
        raw_body=True,
        example={"id": "evt_1", "object": "event", "type": "checkout.session.completed", "livemode": True},
        body_bytes=EVENT_BYTES,
        codes=(Code.NOT_FOUND,),
    ),
)
