"""The webhook endpoint at Stripe, as `doctor` checks it: whether it sends the events that the service reads."""

from collections.abc import Collection

from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from service.config.model import Config
from service.payments.stripe_gateway import StripePayments
from service.payments.stripe_webhook import EVENTS

PATH = "/api/v1/webhooks/stripe"
ALL = "*"
"""An endpoint can be sent every kind of event."""


def address_of(base_url: str) -> str:
    """The address of the service's endpoint."""
    return base_url.rstrip("/") + PATH


def needed_events(base_url: str) -> str:
    """A line that names the events, for operators."""
    return f"live billing needs an endpoint at Stripe that sends to {address_of(base_url)}: {', '.join(EVENTS)}"


def missing_events(enabled: Collection[str]) -> list[str]:
    """The events that an endpoint with these does not send, in the order of the table."""
    return [] if ALL in enabled else [kind for kind in EVENTS if kind not in enabled]


async def check_endpoint(payments: StripePayments, config: Config) -> tuple[str, str]:
    """A line about the endpoint, and the problem, of which one is empty."""
    address = address_of(config.server.base_url)
    try:
        enabled = await payments.enabled_events(address)
    except (PaymentsUnavailable, PaymentsRefused) as error:
        return f"note: the webhook endpoint at Stripe was not checked: {error}", ""
    if enabled is None:
        words = "billing.stripe_secret_key may not read webhook endpoints, so the endpoint at Stripe was not checked"
        return f"note: {words}", ""
    missing = missing_events(enabled)
    if not enabled:
        return "", f"no enabled webhook endpoint at Stripe sends to {address}: add one with {', '.join(missing)}"
    if missing:
        return "", f"the webhook endpoint at Stripe for {address} does not send {', '.join(missing)}: enable them there"
    return f"ok: the webhook endpoint at Stripe sends all {len(EVENTS)} kinds of events", ""
