"""Live mode: Stripe Checkout and refunds, through Stripe's own library.

The library's calls block, so each runs in a thread: bounded in time, and so few at once that the loop and the other
actors never wait for a processor that is slow. Nothing here changes a booking: the ledger is told by the webhook.
"""

import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import stripe
import trio

from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import Booking
from actors.clock import MINUTE_MS, SECOND_MS
from service.payments.stripe_webhook import BOOKING
from service.tokens.links import Links

if TYPE_CHECKING:
    from stripe.params import RefundCreateParams
    from stripe.params.checkout import SessionCreateParams

T = TypeVar("T")

log = logging.getLogger(__name__)

CALLS, WAITING = 8, 32
"""Threads at once, and calls that may wait for one, within their own time; one more is refused at once."""

SHORTEST_SESSION_MS = 30 * MINUTE_MS
"""Stripe's minimum from the moment on that a session is made; `MARGIN_MS` is for the way there and for its clock."""

MARGIN_MS = 2 * MINUTE_MS

KEYS = 3
"""How often a call is made under a new key where Stripe only repeats an old failure."""

_SECRET = re.compile(r"(?:sk|rk|pk|whsec)_\w+")


class StripePayments:
    """Payments by Stripe. Every call can be repeated, by any node: what is asked follows from the booking alone.

    `hold_ms` is how long a hold lasts, from which follows when a checkout began. `url` is another address of the
    processor, for tests.
    """

    def __init__(
        self,
        secret_key: str,
        links: Links,
        *,
        seconds: float,
        hold_ms: int,
        url: str | None = None,
        calls: int = CALLS,
        waiting: int = WAITING,
    ) -> None:
        self._links = links
        self._seconds = seconds
        self._extra_ms = max(0, SHORTEST_SESSION_MS + MARGIN_MS - hold_ms)
        self._limiter = trio.CapacityLimiter(calls)
        self._waiting = waiting
        # Below a warning, the library's own log holds what it sends, and with it the links of our pages.
        logging.getLogger("stripe").setLevel(logging.WARNING)
        self._client = stripe.StripeClient(
            secret_key,
            base_addresses={"api": url} if url else {},
            http_client=stripe.RequestsClient(timeout=seconds),
            # Whoever calls us calls again, with a pause and a limit of their own.
            max_network_retries=0,
        )

    async def checkout(self, booking: Booking, campaign_name: str) -> Checkout:
        return await self._in_thread(partial(self._checkout, booking, campaign_name))

    async def refund(self, booking: Booking) -> bool:
        if booking.payment_id is None:
            raise PaymentsRefused(f"{booking.id} has no payment that could be paid back")
        return await self._in_thread(partial(self._refund, booking, booking.payment_id))

    async def _in_thread(self, call: Callable[[], T]) -> T:
        if self._limiter.available_tokens < 1 and self._limiter.statistics().tasks_waiting >= self._waiting:
            raise PaymentsUnavailable("too many calls of the processor are under way")
        with trio.move_on_after(self._seconds):
            # A thread that is left behind keeps its place until its socket gives up, so that there are never more.
            return await trio.to_thread.run_sync(_understood, call, abandon_on_cancel=True, limiter=self._limiter)
        raise PaymentsUnavailable(f"Stripe gave no answer within {self._seconds:g} s")

    # In the thread.

    def _checkout(self, booking: Booking, campaign_name: str) -> Checkout:
        """One session a booking: when it ends follows from the hold, not from the moment of the call.

        A session cannot end less than 30 minutes after it was made, so one that is asked for late in the hold, because
        Stripe could not be reached before, ends half an hour after the hold. A payment that comes after the hold is the
        ledger's to judge.
        """
        first_ms = booking.hold_ms + self._extra_ms
        late_ms = booking.hold_ms + SHORTEST_SESSION_MS + MARGIN_MS
        try:
            session = self._session(booking, campaign_name, first_ms)
        except stripe.InvalidRequestError as error:
            if error.param != "expires_at":
                raise
            # Made before, it would have been repeated to us: so there is none yet, and this one is the only one.
            session = self._session(booking, campaign_name, late_ms)
        if not isinstance(session.url, str) or type(session.expires_at) is not int:
            raise PaymentsUnavailable("Stripe's session has no address or no end")
        return Checkout(session.url, session.expires_at * SECOND_MS)

    def _session(self, booking: Booking, campaign_name: str, expires_ms: int) -> stripe.checkout.Session:
        expires = expires_ms // SECOND_MS
        metadata = {BOOKING: booking.id}
        params: SessionCreateParams = {
            "mode": "payment",
            "client_reference_id": booking.id,
            "metadata": metadata,
            "payment_intent_data": {"metadata": metadata},
            "line_items": [
                {
                    "quantity": 1,
                    "price_data": {
                        "currency": booking.currency,
                        "unit_amount": booking.amount_cents,
                        "product_data": {"name": product_name(booking), "description": f"Campaign: {campaign_name}"},
                    },
                }
            ],
            "expires_at": expires,
            "success_url": self._links.result_url(booking),
            "cancel_url": f"{self._links.base_url}/checkout-cancelled",
        }
        return self._keyed(
            f"checkout-{booking.id}-{expires}",
            lambda key: self._client.v1.checkout.sessions.create(params, {"idempotency_key": key}),
        )

    def _refund(self, booking: Booking, payment_id: str) -> bool:
        """Pay back all that is left of the payment: Stripe does that once, whatever the key."""
        params: RefundCreateParams = {"payment_intent": payment_id, "metadata": {BOOKING: booking.id}}
        try:
            refund = self._keyed(f"refund-{booking.id}", partial(self._refunded, params))
        except stripe.InvalidRequestError as error:
            if error.code == "charge_already_refunded":
                return True
            raise
        match refund.status:
            case "succeeded":
                return True
            case "pending" | "requires_action":
                return False
            case "failed" | "canceled":
                raise PaymentsRefused(f"Stripe: the refund is {refund.status}: {refund.failure_reason}")
            case _:
                raise PaymentsUnavailable("Stripe's refund is in a state that is not known here")

    def _refunded(self, params: "RefundCreateParams", key: str) -> stripe.Refund:
        """A refund as it is now, though Stripe repeats it under its key as it was when it was made."""
        refund = self._client.v1.refunds.create(params, {"idempotency_key": key})
        if _is_repeated(refund.last_response):
            refund = self._client.v1.refunds.retrieve(refund.id)
            if refund.status in ("failed", "canceled"):
                raise _StaleFailure
        return refund

    def _keyed(self, key: str, call: Callable[[str], T]) -> T:
        """Make a call under an idempotency key.

        Stripe keeps failures under their key too, for a day, and repeats them: that is no answer to this attempt, which
        is made under the next key then.
        """
        for number in range(1, KEYS):
            try:
                return call(key if number == 1 else f"{key}-{number}")
            except _StaleFailure:
                pass
            except stripe.IdempotencyError:
                log.warning("%s was used with other parameters, maybe of another version: taking a new key", key)
            except stripe.StripeError as error:
                if not _is_repeated(error):
                    raise
        return call(f"{key}-{KEYS}")


class _StaleFailure(Exception):
    """What Stripe repeats has failed since it was made."""


def _is_repeated(answer: Any) -> bool:
    """Whether Stripe has only repeated an answer that it gave before under the same key."""
    headers = getattr(answer, "headers", None) or {}
    return str(headers.get("idempotent-replayed", "")).lower() == "true"


def product_name(booking: Booking) -> str:
    """What a person sees on the processor's page: the slot and its weeks."""
    first = datetime.fromtimestamp(booking.week_start_ms / SECOND_MS, UTC)
    weeks = "1 week" if booking.weeks == 1 else f"{booking.weeks} weeks"
    return f"{booking.slot_name}, {weeks} from {first:%d %B %Y}"


def _understood(call: Callable[[], T]) -> T:
    """Run a call, and put the library's errors into the words of the port."""
    try:
        return call()
    except _StaleFailure:
        raise PaymentsRefused("Stripe: the refund has failed each time") from None
    except (stripe.CardError, stripe.InvalidRequestError) as error:
        raise PaymentsRefused(_words(error)) from None
    except stripe.StripeError as error:
        # The connection, 5xx, 429, an answer that is no JSON; and a key that is not accepted, which can be mended.
        raise PaymentsUnavailable(_words(error)) from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        # JSON of another shape than Stripe's, in which the library or we miss something.
        raise PaymentsUnavailable(f"Stripe's answer is not understood: {type(error).__name__}") from None


def _words(error: stripe.StripeError) -> str:
    """What went wrong, for an operator: one line without secrets."""
    known = [str(error.http_status or ""), str(error.code or ""), str(error.request_id or "")]
    message = " ".join((error.user_message or type(error).__name__).split())
    words = f"Stripe: {message[:200]}"
    facts = ", ".join(fact for fact in known if fact)
    return _SECRET.sub("***", f"{words} ({facts})" if facts else words)
