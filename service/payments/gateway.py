"""The payment port's values: what a processor reports, and the webhook that reads it."""

from dataclasses import dataclass
from typing import Protocol

from actors.values import Refused


@dataclass(frozen=True, slots=True)
class PaymentSucceeded:
    """The processor says that a booking was paid."""

    event_id: str
    booking_id: str
    payment_id: str
    amount_cents: int
    currency: str


@dataclass(frozen=True, slots=True)
class RefundUpdated:
    """The processor says how a refund went; `declined` None means that all of it is on its way back.

    `payment` is set where somebody may have paid back by hand: what was paid back had been paid.
    """

    event_id: str
    booking_id: str
    declined: str | None = None
    payment: PaymentSucceeded | None = None


Told = PaymentSucceeded | RefundUpdated


class Webhook(Protocol):
    """Opens what a processor posts."""

    def opened(self, body: bytes, signature: str | None) -> Told | Refused | None:
        """What an event tells the ledger; None where it tells it nothing; a refusal where it is not the processor's."""
        ...
