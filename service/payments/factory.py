"""Creates the configured payment gateway: test mode or Stripe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from actors.bookings.payments import Checkout, Payments, RefundAttempt
from actors.bookings.records import BillingDetails, Booking
from actors.clock import MINUTE_MS, Clock
from service.config.model import Config
from service.payments.gateway import Webhook
from service.tokens.links import Links

if TYPE_CHECKING:
    from service.payments.stripe_gateway import StripePayments


@dataclass(frozen=True, slots=True)
class PaymentGateway:
    """The configured payments, and the webhook for the processor's events (None in test mode)."""

    payments: Payments
    webhook: Webhook | None


def payment_gateway(config: Config, links: Links, clock: Clock) -> PaymentGateway:
    """Stripe in live mode, otherwise test payments. A booking is paid and refunded only in the mode it was made in."""
    billing = config.billing
    if billing.mode == "test":
        return PaymentGateway(TestPayments(links), None)
    # Imported here, because the library costs 0.2 s and 20 MB, which test mode does not need.
    from service.payments.stripe_webhook import StripeWebhook

    payments = stripe_payments(config, links)
    return PaymentGateway(payments, StripeWebhook(billing.stripe_webhook_secret, clock))


def stripe_payments(config: Config, links: Links) -> "StripePayments":
    """Stripe with the configured key."""
    from service.payments.stripe_gateway import StripePayments

    billing, site = config.billing, config.site
    return StripePayments(
        billing.stripe_secret_key,
        links,
        seconds=billing.timeout_seconds,
        hold_ms=config.bookings.hold_minutes * MINUTE_MS,
        terms=(site.terms_url, site.terms) if site.terms else None,
        url=billing.stripe_url or None,
    )


class TestPayments:
    """Implements the port of `actors/bookings/payments.py` without a processor."""

    def __init__(self, links: Links) -> None:
        self._links = links

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        await trio.lowlevel.checkpoint()
        return Checkout(self._links.checkout_url(booking), booking.hold_ms)

    async def refund(self, booking: Booking) -> RefundAttempt:
        await trio.lowlevel.checkpoint()
        return RefundAttempt(done=True)

    async def invoice_url(self, booking: Booking) -> None:
        await trio.lowlevel.checkpoint()
