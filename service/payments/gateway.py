"""Who moves the money: nobody in test mode, Stripe in live mode. Implements the port of `actors/bookings/payments.py`.

Knows nothing of Stripe; `payments_of` is where the two meet.
"""

from dataclasses import dataclass
from typing import Protocol

import trio

from actors.bookings.payments import Checkout, Payments
from actors.bookings.records import Booking
from actors.clock import MINUTE_MS, Clock
from actors.values import Refused
from service.config import Config
from service.tokens.links import Links


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


class TestPayments:
    """Test mode: a checkout page of our own, and refunds of money that never moved."""

    def __init__(self, links: Links) -> None:
        self._links = links

    async def checkout(self, booking: Booking, campaign_name: str) -> Checkout:
        await trio.lowlevel.checkpoint()
        return Checkout(self._links.checkout_url(booking), booking.hold_ms)

    async def refund(self, booking: Booking) -> bool:
        await trio.lowlevel.checkpoint()
        return True


@dataclass(frozen=True, slots=True)
class Paying:
    """What the configuration asks for. `webhook` is None where no processor may tell us anything."""

    payments: Payments
    webhook: Webhook | None


def payments_of(config: Config, links: Links, clock: Clock) -> Paying:
    """Test payments, or Stripe in live mode. A booking is paid, and paid back, only in the mode that it was made in."""
    billing = config.billing
    if billing.mode == "test":
        return Paying(TestPayments(links), None)
    # Here and not above: the library takes a fifth of a second and 20 MB, which a node in test mode need not spend.
    from service.payments.stripe_gateway import StripePayments
    from service.payments.stripe_webhook import StripeWebhook

    payments = StripePayments(
        billing.stripe_secret_key,
        links,
        seconds=billing.timeout_seconds,
        hold_ms=config.bookings.hold_minutes * MINUTE_MS,
        url=billing.stripe_url or None,
    )
    return Paying(payments, StripeWebhook(billing.stripe_webhook_secret, clock))
