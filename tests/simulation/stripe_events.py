"""Events of the simulated processor as Stripe posts them, for the service's own reader."""

from typing import Any

from actors.bookings.records import PaymentState
from actors.clock import SECOND_MS
from service.payments.stripe_webhook import BOOKING
from tests.simulation.processor import DisputeUpdated, PaymentSucceeded, ProcessorEvent, RefundUpdated

_CLOSED = {PaymentState.WON: "won", PaymentState.LOST: "lost"}


def posted(event: ProcessorEvent) -> dict[str, Any]:
    """The body of an event, as documented."""
    match event:
        case PaymentSucceeded():
            return _session(event)
        case RefundUpdated():
            return _charge(event) if event.refund_id is None else _refund(event)
        case DisputeUpdated():
            return _dispute(event)


def _body(event_id: str, kind: str, thing: dict[str, Any], at_ms: int | None = None) -> dict[str, Any]:
    body = {"id": event_id, "object": "event", "livemode": True, "type": kind, "data": {"object": thing}}
    return body if at_ms is None else body | {"created": at_ms // SECOND_MS}


def _session(event: PaymentSucceeded) -> dict[str, Any]:
    session = {
        "id": event.session_id,
        "object": "checkout.session",
        "amount_total": event.amount_cents,
        "currency": event.currency,
        "metadata": {BOOKING: event.booking_id},
        "payment_intent": event.payment_id,
        "payment_status": "paid",
    }
    return _body(event.event_id, "checkout.session.completed", session)


def _charge(event: RefundUpdated) -> dict[str, Any]:
    """A charge tells what was refunded of it in all."""
    whole = event.total_cents is None
    charge = {
        "object": "charge",
        "amount_refunded": event.total_cents,
        "currency": "usd",
        "metadata": {BOOKING: event.booking_id},
        "payment_intent": event.payment_id,
        "refunded": whole,
    }
    return _body(event.event_id, "charge.refunded", charge, event.at_ms)


def _refund(event: RefundUpdated) -> dict[str, Any]:
    failed = event.declined is not None
    refund = {
        "id": event.refund_id,
        "object": "refund",
        "amount": event.cents,
        "created": None if event.made_ms is None else event.made_ms // SECOND_MS,
        "currency": "usd",
        "failure_reason": "expired_or_canceled_card" if failed else None,
        "metadata": {BOOKING: event.booking_id},
        "payment_intent": event.payment_id,
        "status": "failed" if failed else "succeeded",
    }
    return _body(event.event_id, "refund.failed" if failed else "refund.updated", refund, event.at_ms)


def _dispute(event: DisputeUpdated) -> dict[str, Any]:
    """A dispute that the payer withdraws, or that a refund of the card network's has prevented, is won."""
    dispute = {
        "id": event.dispute_id,
        "object": "dispute",
        "amount": event.amount_cents,
        "currency": event.currency,
        "metadata": {},
        "payment_intent": event.payment_id,
        "status": event.status or _CLOSED.get(event.state, "needs_response"),
    }
    kind = "charge.dispute.closed" if event.state in _CLOSED else "charge.dispute.updated"
    if event.returned_cents:
        moves = [{"amount": cents, "currency": event.currency} for cents in (-event.amount_cents, event.returned_cents)]
        kind, dispute = "charge.dispute.funds_reinstated", dispute | {"balance_transactions": moves}
    return _body(event.event_id, kind, dispute, event.at_ms)
