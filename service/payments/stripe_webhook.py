"""Verifies and reads the events that Stripe posts.

Stripe's library checks the signature. Events are parsed field by field, because an endpoint may use any version of the
API, and other systems of the account may have caused an event. Parsing takes no clock and no rows.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from stripe import SignatureVerificationError, WebhookSignature

from actors.bookings.records import PaymentState
from actors.clock import SECOND_MS, Clock
from actors.values import Code, Refused
from service.payments.gateway import DisputeUpdated, PaymentEvent, PaymentSucceeded, RefundUpdated

log = logging.getLogger(__name__)

LONGEST_SIGNATURE = 1_024
"""Characters of the header. Stripe sends a time and a signature of 80 characters for each secret."""
TOLERANCE_SECONDS = 300
"""Maximum age of a signature, as in Stripe's libraries. Events are handled once, whatever their age."""

BOOKING = "booking_id"
"""The metadata key for the booking's id in all our objects at Stripe."""

TERMS = "terms_version"
"""The metadata key for the version of the terms that a checkout session shows."""

LARGEST_AMOUNT = 2**53

_DISPUTES = {
    "needs_response": PaymentState.DISPUTED,
    "under_review": PaymentState.DISPUTED,
    "won": PaymentState.WON,
    "prevented": PaymentState.WON,
    "lost": PaymentState.LOST,
}
"""Status of a dispute -> its state. An inquiry (`warning_...`) is not in it: no money has moved yet."""

_ID = re.compile(r"[A-Za-z0-9_]{1,255}")
_BOOKING_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_VERSION = re.compile(r"[!-~]{1,40}")
_CURRENCY = re.compile(r"[a-z]{3}")


class StripeWebhook:
    """Reads events that are signed with the endpoint's secret."""

    def __init__(self, secret: str, clock: Clock) -> None:
        self._secret = secret
        self._clock = clock

    def read(self, body: bytes, signature: str | None) -> PaymentEvent | Refused | None:
        refused = self._not_stripes(body, signature or "")
        if refused is not None:
            return refused
        try:
            event = json.loads(body)
        except (ValueError, RecursionError):
            return Refused(Code.INVALID_REQUEST, "The body is not valid JSON.")
        return event_of(event)

    def _not_stripes(self, body: bytes, signature: str) -> Refused | None:
        """The refusal if Stripe did not sign the body.

        The age is checked here, because the library uses the system's clock. `_signed_seconds` reads the time exactly as
        the library does, so it is the time that was verified.
        """
        if len(signature) > LONGEST_SIGNATURE:
            return Refused(Code.INVALID_REQUEST, "The Stripe-Signature header is too long.")
        try:
            WebhookSignature.verify_header(body, signature, self._secret)
        except (SignatureVerificationError, ValueError, TypeError):
            # ValueError: the body is not UTF-8. TypeError: the header is not ASCII. Stripe sends neither.
            return Refused(Code.INVALID_REQUEST, "The Stripe-Signature header is missing or does not match the body.")
        if _signed_seconds(signature) < self._clock.now_ms() // SECOND_MS - TOLERANCE_SECONDS:
            return Refused(Code.INVALID_REQUEST, f"The signature is older than {TOLERANCE_SECONDS} s.")
        return None


def _signed_seconds(signature: str) -> int:
    return next(int(part[1]) for part in (text.split("=", 2) for text in signature.split(",")) if part[0] == "t")


def event_of(event: Any) -> PaymentEvent | None:
    """Parse an event. None if its kind is unknown, it concerns another system, it is malformed, or it is a test event:
    this service reads events only in live mode."""
    event_id, kind, thing = _text(event, "id", _ID), _field(event, "type"), _field(_field(event, "data"), "object")
    if event_id is None or not isinstance(thing, dict):
        return None
    if event.get("livemode") is not True:
        log.warning("%s ignored: not an event of live mode", event_id)
        return None
    read = EVENTS.get(kind) if isinstance(kind, str) else None
    return None if read is None else read(event_id, thing, event)


def _session_paid(event_id: str, session: dict[str, Any], _: dict[str, Any]) -> PaymentSucceeded | None:
    if session.get("payment_status") != "paid":
        return None  # a payment method that takes days: `async_payment_succeeded` may follow
    booking_id, session_id = _booking_of(session), _text(session, "id", _ID)
    payment_id, currency = _text(session, "payment_intent", _ID), _text(session, "currency", _CURRENCY)
    amount = _amount(session, "amount_total")
    if booking_id is None:
        log.info("%s ignored: its checkout session is for no booking", event_id)
        return None
    if session_id is None or payment_id is None or currency is None or amount is None:
        return None
    terms_version = _text(_field(session, "metadata"), TERMS, _VERSION)
    return PaymentSucceeded(event_id, booking_id, session_id, payment_id, amount, currency, terms_version)


def _charge_refunded(event_id: str, charge: dict[str, Any], event: dict[str, Any]) -> RefundUpdated | None:
    """A charge that was refunded in whole or, as a person may have done, in part."""
    booking_id, payment_id = _booking_of(charge), _text(charge, "payment_intent", _ID)
    if booking_id is None or payment_id is None:
        return None
    so_far = RefundUpdated(event_id, booking_id, payment_id, at_ms=_made_ms(event))
    if charge.get("refunded") is True:
        return so_far
    total = _amount(charge, "amount_refunded") if charge.get("refunded") is False else None
    return replace(so_far, total_cents=total, currency=_text(charge, "currency", _CURRENCY)) if total else None


def _disputed(event_id: str, dispute: dict[str, Any], event: dict[str, Any]) -> DisputeUpdated | None:
    """A dispute, whatever the name of its event: its status says what it has come to. It names the payment alone; the
    metadata are its own."""
    dispute_id, payment_id = _text(dispute, "id", _ID), _text(dispute, "payment_intent", _ID)
    state, amount = _DISPUTES.get(str(dispute.get("status"))), _amount(dispute, "amount")
    if dispute_id is None or payment_id is None or state is None:
        return None
    if not amount and dispute.get("amount") is not None:
        log.warning("%s ignored: the amount of its dispute is not a number of cents above 0", event_id)
        return None
    currency = _text(dispute, "currency", _CURRENCY)
    if state is PaymentState.LOST and amount:
        lost = amount - _reinstated(dispute, currency, amount)
        state, amount = (state, lost) if lost else (PaymentState.WON, amount)
    return DisputeUpdated(event_id, dispute_id, payment_id, state, amount, currency, _made_ms(event))


def _reinstated(dispute: dict[str, Any], currency: str | None, most: int) -> int:
    """The cents that Stripe has returned of a lost dispute, as for a payment that was refunded in part before. Unknown, and
    so 0, if the account's balance is in another currency."""
    moves = dispute.get("balance_transactions")
    cents = [
        cents
        for move in (moves if isinstance(moves, list) else ())
        if _field(move, "currency") == currency and type(cents := _field(move, "amount")) is int and cents > 0
    ]
    return min(most, sum(cents))


def _refund_settled(_: str, refund: dict[str, Any], event: dict[str, Any]) -> RefundUpdated | None:
    """A refund that we requested: one made by hand has no booking in its metadata.

    Stripe reports a failure in two events. The event id is built from the refund and its status, so that the second one,
    which may arrive after the refund was requested again, is a duplicate.
    """
    refund_id, booking_id, status = _text(refund, "id", _ID), _booking_of(refund), refund.get("status")
    payment_id = _text(refund, "payment_intent", _ID)
    cents, currency = _amount(refund, "amount"), _text(refund, "currency", _CURRENCY)
    if refund_id is None or booking_id is None or payment_id is None or not cents:
        return None
    why = None
    match status:
        case "succeeded":
            pass
        case "failed" | "canceled":
            reason = _text(refund, "failure_reason", _ID) or "no reason given"
            why = f"{status} at the processor: {reason}"
        case _:
            return None
    return RefundUpdated(
        f"{refund_id}.{status}",
        booking_id,
        payment_id,
        why,
        cents,
        currency=currency,
        refund_id=refund_id,
        at_ms=_made_ms(event),
        made_ms=_made_ms(refund),
    )


EVENTS: Mapping[str, Callable[[str, dict[str, Any], dict[str, Any]], PaymentEvent | None]] = {
    "checkout.session.completed": _session_paid,
    "checkout.session.async_payment_succeeded": _session_paid,
    "charge.refunded": _charge_refunded,
    "refund.updated": _refund_settled,
    "refund.failed": _refund_settled,
    "charge.refund.updated": _refund_settled,
    "charge.dispute.created": _disputed,
    "charge.dispute.updated": _disputed,
    "charge.dispute.closed": _disputed,
    "charge.dispute.funds_reinstated": _disputed,
}
"""The kinds of events that the endpoint at Stripe has to send, and what reads each: its id, its object, and the event."""


def _booking_of(thing: dict[str, Any]) -> str | None:
    return _text(thing.get("metadata"), BOOKING, _BOOKING_ID)


def _made_ms(thing: dict[str, Any]) -> int | None:
    """When Stripe made an event or a refund."""
    created = _amount(thing, "created")
    return None if created is None else created * SECOND_MS


def _amount(thing: dict[str, Any], name: str) -> int | None:
    """A number of cents."""
    value = thing.get(name)
    return value if type(value) is int and 0 <= value <= LARGEST_AMOUNT else None


def _text(thing: Any, name: str, form: re.Pattern[str]) -> str | None:
    """The text if it matches `form`. No form allows NUL or lone surrogates, which Postgres cannot store."""
    value = _field(thing, name)
    return value if isinstance(value, str) and form.fullmatch(value) else None


def _field(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, dict) else None
