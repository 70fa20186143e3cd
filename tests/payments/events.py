"""Events in Stripe's format, and its documented signature scheme."""

import hashlib
import hmac
import json
from typing import Any

from tests.payments.bank import WEBHOOK_SECRET


def event(kind: str, thing: dict[str, Any], event_id: str = "evt_1") -> dict[str, Any]:
    return {
        "id": event_id,
        "object": "event",
        "api_version": "2026-10-28.endive",
        "created": 1_795_003_200,
        "data": {"object": thing},
        "livemode": True,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
    }


def session(booking_id: str | None = "bok_1", **fields: Any) -> dict[str, Any]:
    """A completed Checkout session."""
    return {
        "id": "cs_test_1",
        "object": "checkout.session",
        "amount_total": 125_000,
        "client_reference_id": booking_id,
        "currency": "usd",
        "metadata": {"booking_id": booking_id} if booking_id is not None else {},
        "mode": "payment",
        "payment_intent": "pi_1",
        "payment_status": "paid",
        "status": "complete",
    } | fields


def charge(booking_id: str | None = "bok_1", **fields: Any) -> dict[str, Any]:
    """A fully refunded charge."""
    return {
        "id": "ch_1",
        "object": "charge",
        "amount": 125_000,
        "amount_captured": 125_000,
        "amount_refunded": 125_000,
        "currency": "usd",
        "metadata": {"booking_id": booking_id} if booking_id is not None else {},
        "payment_intent": "pi_1",
        "refunded": True,
        "status": "succeeded",
    } | fields


def refund(booking_id: str | None = "bok_1", **fields: Any) -> dict[str, Any]:
    """A refund that we requested."""
    return {
        "id": "re_1",
        "object": "refund",
        "amount": 125_000,
        "charge": "ch_1",
        "created": 1_795_003_100,
        "currency": "usd",
        "metadata": {"booking_id": booking_id} if booking_id is not None else {},
        "payment_intent": "pi_1",
        "status": "succeeded",
    } | fields


def dispute(**fields: Any) -> dict[str, Any]:
    """A dispute. It names the charge and the payment; its metadata are its own."""
    return {
        "id": "dp_1",
        "object": "dispute",
        "amount": 125_000,
        "charge": "ch_1",
        "currency": "usd",
        "metadata": {},
        "payment_intent": "pi_1",
        "reason": "fraudulent",
        "status": "needs_response",
    } | fields


def disputed(status: str = "needs_response", event_id: str = "evt_d", **fields: Any) -> dict[str, Any]:
    """The event of a dispute that was opened, or that was closed with this status."""
    kind = "charge.dispute.closed" if status in ("won", "lost") else "charge.dispute.created"
    return event(kind, dispute(status=status, **fields), event_id)


PAID = "checkout.session.completed"


def paid(**fields: Any) -> dict[str, Any]:
    return event(PAID, session(**fields))


def dumped(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def signature(body: bytes, seconds: int, secret: str = WEBHOOK_SECRET) -> str:
    """The signature header of a body: HMAC-SHA256 of `<seconds>.<body>`, in hexadecimal."""
    signed = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={signed}"
