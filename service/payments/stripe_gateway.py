"""Live mode: Stripe Checkout and refunds, through Stripe's library.

The library blocks, so each call runs in a thread. Time and number of calls are limited, so that a slow processor never
delays the event loop. Bookings change only when the webhook reports to the ledger.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Set
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import stripe
import trio

from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import BillingDetails, Booking
from actors.clock import MINUTE_MS, SECOND_MS
from actors.shared.credentials import fingerprint
from actors.shared.dates import length
from service.payments.stripe_webhook import BOOKING, TERMS
from service.tokens.links import Links

if TYPE_CHECKING:
    from stripe.params import RefundCreateParams
    from stripe.params.checkout import (
        SessionCreateParams,
        SessionCreateParamsInvoiceCreationInvoiceData,
        SessionCreateParamsInvoiceCreationInvoiceDataCustomField,
    )

T = TypeVar("T")

log = logging.getLogger(__name__)

CALLS, WAITING = 8, 32
"""Maximum concurrent calls, and calls waiting for a thread. Further calls are refused."""

SHORTEST_SESSION_MS = 30 * MINUTE_MS
"""Stripe's minimum lifetime of a session. `MARGIN_MS` allows for network latency and clock differences."""

MARGIN_MS = 2 * MINUTE_MS

MAX_REFUNDS = 100
"""Refunds of a payment that are looked at."""

MAX_ENDPOINTS = 100
"""Webhook endpoints of the account that are looked at: Stripe allows 16."""

LOOKUP_SECONDS = 2.0
"""Maximum time to look up an invoice: the page is also shown without its link."""

KEYS = 3
"""Maximum idempotency keys per call, in case Stripe repeats an old failure."""

ALREADY_REFUNDED = "charge_already_refunded"
"""Stripe's code for a refund of a payment of which nothing is left."""

KEY_MS = 10 * MINUTE_MS
"""How long the last key of a refund is used. The next one is another, because Stripe repeats failures for a day."""

_SECRET = re.compile(r"(?:sk|rk|pk|whsec)_\w+")


class StripePayments:
    """Payments by Stripe. Any node may repeat a call, because its parameters depend only on the booking, its campaign's name,
    its owner's details and the terms.

    `hold_ms` is the duration of a hold. `terms` are the address and the version of the terms that the checkout shows. `url`
    is another address of the processor, for tests.
    """

    def __init__(
        self,
        secret_key: str,
        links: Links,
        *,
        seconds: float,
        hold_ms: int,
        terms: tuple[str, str] | None = None,
        url: str | None = None,
        calls: int = CALLS,
        waiting: int = WAITING,
    ) -> None:
        self._links = links
        self._seconds = seconds
        self._terms = terms
        self._extra_ms = max(0, SHORTEST_SESSION_MS + MARGIN_MS - hold_ms)
        self._key_ms = KEY_MS
        self._limiter = trio.CapacityLimiter(calls)
        self._waiting = waiting
        # At lower levels the library logs its requests, which contain the links of our pages.
        logging.getLogger("stripe").setLevel(logging.WARNING)
        self._client = stripe.StripeClient(
            secret_key,
            base_addresses={"api": url} if url else {},
            http_client=stripe.RequestsClient(timeout=seconds),
            max_network_retries=0,  # callers retry with their own pauses and limits
        )

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        return await self._in_thread(partial(self._checkout, booking, campaign_name, email, billing))

    async def refund(self, booking: Booking) -> RefundAttempt:
        if booking.payment_id is None:
            raise PaymentsRefused(f"{booking.id} has no payment to refund")
        return await self._in_thread(partial(self._refund, booking, booking.payment_id))

    async def invoice_url(self, booking: Booking) -> str | None:
        if booking.payment_id is None:
            return None
        seconds = min(LOOKUP_SECONDS, self._seconds)
        return await self._in_thread(partial(self._invoice_url, booking.payment_id), seconds)

    async def enabled_events(self, address: str) -> Collection[str] | None:
        """The kinds of events that Stripe sends to an address; None if the key may not read endpoints. Raises
        `PaymentsUnavailable` or `PaymentsRefused`."""
        return await self._in_thread(partial(self._enabled_events, address))

    async def _in_thread(self, call: Callable[[], T], seconds: float | None = None) -> T:
        seconds = seconds or self._seconds
        if self._limiter.available_tokens < 1 and self._limiter.statistics().tasks_waiting >= self._waiting:
            raise PaymentsUnavailable("too many Stripe calls are in progress")
        with trio.move_on_after(seconds):
            # An abandoned thread keeps its slot until its socket times out, so the number of threads stays limited.
            return await trio.to_thread.run_sync(_translated, call, abandon_on_cancel=True, limiter=self._limiter)
        raise PaymentsUnavailable(f"Stripe did not answer within {seconds:g} s")

    # In the thread.

    def _checkout(
        self, booking: Booking, campaign_name: str, email: str | None, billing: BillingDetails | None
    ) -> Checkout:
        """Create the booking's one session. Its end depends on the hold, not on the time of the call.

        Sessions last at least 30 minutes. One created late in the hold, because Stripe was unreachable before, therefore
        ends half an hour after the hold. The ledger decides on payments after the hold.
        """
        first_ms = booking.hold_ms + self._extra_ms
        late_ms = booking.hold_ms + SHORTEST_SESSION_MS + MARGIN_MS
        try:
            session = self._session(booking, campaign_name, email, billing, first_ms)
        except stripe.InvalidRequestError as error:
            if error.param != "expires_at":
                raise
            # Stripe would have repeated an earlier session, so there is none yet.
            session = self._session(booking, campaign_name, email, billing, late_ms)
        if not isinstance(session.url, str) or type(session.expires_at) is not int or not isinstance(session.id, str):
            raise PaymentsUnavailable("Stripe's session has no id, no url or no expires_at")
        return Checkout(session.url, session.expires_at * SECOND_MS, session.id)

    def _session(
        self, booking: Booking, campaign_name: str, email: str | None, billing: BillingDetails | None, expires_ms: int
    ) -> stripe.checkout.Session:
        expires = expires_ms // SECOND_MS
        metadata = {BOOKING: booking.id}
        params: SessionCreateParams = {
            "mode": "payment",
            "client_reference_id": booking.id,
            "metadata": metadata,
            "payment_intent_data": {"metadata": metadata},
            "invoice_creation": {"enabled": True, "invoice_data": {"metadata": metadata, **_buyer(billing)}},
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
        if email is not None:
            params["customer_email"] = email
        if self._terms is not None:
            terms_url, version = self._terms
            # In Markdown, where a closing bracket would end the address.
            words = f"By paying you accept the [terms]({terms_url.replace(')', '%29')})."
            params["custom_text"] = {"submit": {"message": words}}
            params["metadata"] = {**metadata, TERMS: version}
        try:
            return self._created(booking, params)
        except stripe.InvalidRequestError as error:
            if error.param != "customer_email":
                raise
        # Stripe knows fewer addresses than we do. The payer then types one.
        params.pop("customer_email")
        return self._created(booking, params)

    def _created(self, booking: Booking, params: "SessionCreateParams") -> stripe.checkout.Session:
        """Create a session, or have Stripe repeat the one with equal parameters: the key names all of them."""
        create = self._client.v1.checkout.sessions.create
        digest = fingerprint(json.dumps(params, sort_keys=True)).hex()[:32]
        return self._keyed(f"checkout-{booking.id}-{digest}", lambda key: create(params, {"idempotency_key": key}))

    def _invoice_url(self, payment_id: str) -> str | None:
        """Stripe's invoice of a payment, found through its checkout session. The address expires, so it is not stored."""
        found = self._client.v1.checkout.sessions.list(
            {"payment_intent": payment_id, "limit": 1, "expand": ["data.invoice"]}
        )
        for session in found.data:
            url = None if session.invoice is None else getattr(session.invoice, "hosted_invoice_url", None)
            if isinstance(url, str) and url.startswith("https://"):
                return url
        return None

    def _enabled_events(self, address: str) -> Collection[str] | None:
        try:
            found = self._client.v1.webhook_endpoints.list({"limit": MAX_ENDPOINTS})
        except stripe.PermissionError:
            return None
        ours = [each for each in found.data if each.url.rstrip("/") == address and each.status == "enabled"]
        return {kind for each in ours for kind in each.enabled_events}

    def _refund(self, booking: Booking, payment_id: str) -> RefundAttempt:
        """Refund what was ordered, or the rest of the payment if that is less.

        Stripe refunds the rest once, whatever the key. A part it would refund again once it has forgotten the key, which it
        does after a day: so look for the refund first. A part that is larger than what is left Stripe refuses: somebody has
        refunded a part by hand, and its event has not arrived yet. What a lost dispute has taken is a part of the rest for
        Stripe, but not ours to refund.
        """
        params: RefundCreateParams = {"payment_intent": payment_id, "metadata": {BOOKING: booking.id}}
        key, refund = f"refund-{booking.id}", None
        made_before: Callable[[], stripe.Refund | None] | None = None
        made = self._made(payment_id) if booking.refund_cents is not None or booking.refunded_cents else []
        ours = [each for each in made if _is_of(booking, each)]
        if booking.refund_cents is not None or booking.lost_cents:
            cents = booking.refund_left_cents
            # An order of all may go on after a refund of as much: of that, the list of refunds says how much is left.
            refund = None if booking.refund_cents is None else _of_amount(ours, cents)
            if refund is None and booking.lost_cents:
                cents = min(cents, booking.received_cents - booking.lost_cents - sum(each.amount for each in made))
                if cents <= 0:
                    # Nothing is left to refund. What was refunded may not be decided yet. The dispute may be won meanwhile.
                    return _attempt(ours[0]) if ours else RefundAttempt(_all_succeeded(made))
            params["amount"] = cents
            key = f"{key}-{cents}"
            made_before = partial(self._made_since, booking, payment_id, cents, {each.id for each in made})
        if ours and booking.refund_cents is None:
            # Stripe would repeat the refund before.
            key = f"{key}-after-{sum(each.amount for each in ours)}"
        last = f"{key}-at-{(booking.refund_due_ms or 0) // self._key_ms}"
        try:
            refund = refund or self._keyed(key, partial(self._refunded, params), made_before, last)
        except _Repeated as error:
            raise PaymentsUnavailable(f"Stripe only repeats earlier answers: {error}") from None
        except stripe.InvalidRequestError as error:
            if error.code == ALREADY_REFUNDED:
                made = self._made(payment_id)
                return RefundAttempt(bool(made) and _all_succeeded(made))  # none: it has just failed
            if error.param == "amount" and "amount" in params and not booking.lost_cents:
                return self._refund(replace(booking, refund_cents=None), payment_id)
            raise
        if not isinstance(refund.id, str) or type(refund.amount) is not int or refund.amount <= 0:
            raise PaymentsUnavailable("Stripe's refund has no id or no amount")
        attempt = _attempt(refund)
        match refund.status:
            case "succeeded" | "pending" | "requires_action":
                return attempt
            case "failed" | "canceled":
                raise PaymentsRefused(f"Stripe: the refund is {refund.status}: {refund.failure_reason}", attempt)
            case _:
                raise PaymentsUnavailable(f"Stripe's refund has an unknown status: {refund.status}")

    def _made(self, payment_id: str) -> list[stripe.Refund]:
        """The refunds of a payment that have not failed."""
        made = self._client.v1.refunds.list({"payment_intent": payment_id, "limit": MAX_REFUNDS})
        return [refund for refund in made.data if refund.status not in ("failed", "canceled")]

    def _made_since(self, booking: Booking, payment_id: str, cents: int, known: Set[str]) -> stripe.Refund | None:
        made = [each for each in self._made(payment_id) if each.id not in known]
        return _of_amount([each for each in made if _is_of(booking, each)], cents)

    def _refunded(self, params: "RefundCreateParams", key: str) -> stripe.Refund:
        """Create a refund, or load its current state if Stripe repeats the response to an earlier call."""
        refund = self._client.v1.refunds.create(params, {"idempotency_key": key})
        if _is_repeated(refund.last_response):
            refund = self._client.v1.refunds.retrieve(refund.id)
            if refund.status in ("failed", "canceled"):
                raise _Repeated(f"the refund {refund.id} has failed")
        return refund

    def _keyed(
        self,
        key: str,
        call: Callable[[str], T],
        done_before: Callable[[], T | None] | None = None,
        last: str | None = None,
    ) -> T:
        """Make a call under an idempotency key.

        For a day, Stripe repeats failures under their key too. The call is then made again under the next key, unless
        `done_before` finds that it was carried out: a failure of Stripe's own says nothing about that. A failure that Stripe
        only repeats under the `last` key, if that is given, raises `_Repeated`: it answers an earlier call.
        """
        for name in (key, *(f"{key}-{number}" for number in range(2, KEYS)), last or f"{key}-{KEYS}"):
            final, why = name == (last or f"{key}-{KEYS}"), ""
            self._check_wanted()
            try:
                return call(name)
            except _Repeated as error:
                why = str(error)
            except stripe.IdempotencyError:
                if final:
                    raise
                log.warning("idempotency key %s was used with other parameters; trying a new key", name)
            except stripe.StripeError as error:
                if not _is_repeated(error) or (final and (last is None or error.code == ALREADY_REFUNDED)):
                    raise
                why = _words(error)
            done = None if done_before is None else done_before()
            if done is not None:
                return done
        raise _Repeated(why)

    def _check_wanted(self) -> None:
        """End a call whose caller has given up, before it moves money: another one may be under way by now."""
        trio.from_thread.check_cancelled()


def _of_amount(refunds: list[stripe.Refund], cents: int) -> stripe.Refund | None:
    return next((refund for refund in refunds if refund.amount == cents), None)


def _is_of(booking: Booking, refund: stripe.Refund) -> bool:
    metadata = refund.metadata
    return metadata is not None and BOOKING in metadata and metadata[BOOKING] == booking.id


def _attempt(refund: stripe.Refund) -> RefundAttempt:
    created = getattr(refund, "created", None)
    made_ms = created * SECOND_MS if type(created) is int else None
    return RefundAttempt(refund.status == "succeeded", refund.id, refund.amount, made_ms)


def _all_succeeded(made: list[stripe.Refund]) -> bool:
    return all(refund.status == "succeeded" for refund in made)


class _Repeated(Exception):
    """Stripe only repeated what it had answered to an earlier call, whose refund has failed."""


def _is_repeated(answer: Any) -> bool:
    """Whether Stripe repeated its response to an earlier call under the same key."""
    headers = getattr(answer, "headers", None) or {}
    return str(headers.get("idempotent-replayed", "")).lower() == "true"


def _buyer(billing: BillingDetails | None) -> "SessionCreateParamsInvoiceCreationInvoiceData":
    """The fields of Stripe's own invoice about the buyer."""
    if billing is None:
        return {}
    lines = f"Billed to:\n{billing.legal_name}\n{billing.address}\n{billing.country}"
    named = {"Tax number": billing.tax_id, "Reference": billing.reference}
    fields: list[SessionCreateParamsInvoiceCreationInvoiceDataCustomField]
    fields = [{"name": name, "value": value} for name, value in named.items() if value]
    return {"description": lines, "custom_fields": fields} if fields else {"description": lines}


def product_name(booking: Booking) -> str:
    """The name on the processor's page: the slot and the days that are bought."""
    first = datetime.fromtimestamp(booking.period_start_ms / SECOND_MS, UTC)
    return f"{booking.slot_name}, {length(booking.period_start_ms, booking.week_end_ms)} from {first:%d %B %Y}"


def _translated(call: Callable[[], T]) -> T:
    """Run a call and translate the library's errors into those of the port."""
    try:
        return call()
    except (stripe.CardError, stripe.InvalidRequestError) as error:
        raise PaymentsRefused(_words(error)) from None
    except stripe.StripeError as error:
        # Network errors, 5xx, 429, invalid JSON, and a rejected API key, which the operator can fix.
        raise PaymentsUnavailable(_words(error)) from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        # JSON of an unexpected shape.
        log.debug("what the response lacks", exc_info=error)
        raise PaymentsUnavailable("Stripe sent a response of an unexpected form") from None


def _words(error: stripe.StripeError) -> str:
    """The error as one line for the operator, without secrets."""
    known = [str(error.http_status or ""), str(error.code or ""), str(error.request_id or "")]
    unreachable = "the connection failed" if isinstance(error, stripe.APIConnectionError) else "the request failed"
    message = " ".join((error.user_message or unreachable).split())
    words = f"Stripe: {message[:200]}"
    facts = ", ".join(fact for fact in known if fact)
    return _SECRET.sub("***", f"{words} ({facts})" if facts else words)
