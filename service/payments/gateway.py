"""Events of a payment processor, and the port of the webhook that reads them."""

from dataclasses import dataclass
from typing import Protocol

from actors.values import Refused


@dataclass(frozen=True, slots=True)
class PaymentSucceeded:
    """A booking was paid."""

    event_id: str
    booking_id: str
    payment_id: str
    amount_cents: int
    currency: str


@dataclass(frozen=True, slots=True)
class RefundUpdated:
    """The outcome of a refund. `declined` is the reason of a failure; None means that the whole amount is on its way back.

    `payment` is the refunded payment if the refund may have been made by hand, because its own event may be missing.
    """

    event_id: str
    booking_id: str
    declined: str | None = None
    payment: PaymentSucceeded | None = None


PaymentEvent = PaymentSucceeded | RefundUpdated


class Webhook(Protocol):
    """Reads the events that a processor posts."""

    def read(self, body: bytes, signature: str | None) -> PaymentEvent | Refused | None:
        """The event, None if it does not concern the ledger, or a refusal if the processor did not sign it."""
        ...
