"""Events of a payment processor, and the port of the webhook that reads them."""

from dataclasses import dataclass
from typing import Protocol

from actors.bookings.records import PaymentState
from actors.values import Refused


@dataclass(frozen=True, slots=True)
class PaymentSucceeded:
    """A checkout session was paid. Whether it is one of the booking's is for the ledger to say."""

    event_id: str
    booking_id: str
    session_id: str
    payment_id: str
    amount_cents: int
    currency: str
    terms_version: str | None = None
    """The version of the terms that the checkout showed."""


@dataclass(frozen=True, slots=True)
class RefundUpdated:
    """The outcome of a payment's refund. `declined` is the reason of a failure; None means that the money is on its way back.
    `cents` is the amount of the refund `refund_id`; `total_cents` what was refunded of the payment so far, if that is only a
    part; with neither, the whole payment was refunded. `currency` is that of both. It may have been made by hand, and its
    payment may still be unknown. `at_ms` is when the processor made the event, and `made_ms` when it made the refund; None
    if it does not say."""

    event_id: str
    booking_id: str
    payment_id: str
    declined: str | None = None
    cents: int | None = None
    total_cents: int | None = None
    currency: str | None = None
    refund_id: str | None = None
    at_ms: int | None = None
    made_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DisputeUpdated:
    """The state of a dispute about a payment: open, won or lost. `amount_cents` is the disputed part in `currency`; None is
    the whole payment. `at_ms` is when the processor made the event; None if it does not say."""

    event_id: str
    dispute_id: str
    payment_id: str
    state: PaymentState
    amount_cents: int | None = None
    currency: str | None = None
    at_ms: int | None = None


PaymentEvent = PaymentSucceeded | RefundUpdated | DisputeUpdated


class Webhook(Protocol):
    """Reads the events that a processor posts."""

    def read(self, body: bytes, signature: str | None) -> PaymentEvent | Refused | None:
        """The event, None if it does not concern the ledger, or a refusal if the processor did not sign it."""
        ...
