"""From the configuration to the payment gateway: test mode, or Stripe."""

from dataclasses import dataclass

from actors.bookings.payments import Payments
from actors.clock import MINUTE_MS, Clock
from service.config import Config
from service.payments.gateway import Webhook
from service.payments.test_mode import TestPayments
from service.tokens.links import Links


@dataclass(frozen=True, slots=True)
class PaymentGateway:
    """What the configuration asks for. `webhook` is None where no processor may tell us anything."""

    payments: Payments
    webhook: Webhook | None


def payment_gateway(config: Config, links: Links, clock: Clock) -> PaymentGateway:
    """Test payments, or Stripe in live mode. A booking is paid, and paid back, only in the mode that it was made in."""
    billing = config.billing
    if billing.mode == "test":
        return PaymentGateway(TestPayments(links), None)
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
    return PaymentGateway(payments, StripeWebhook(billing.stripe_webhook_secret, clock))
