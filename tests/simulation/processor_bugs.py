"""Bugs to plant in how a node asks the processor, one at a time: see `key_bugs`."""

from typing import Any

import stripe

from actors.bookings import prices
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import Booking
from service.payments import stripe_gateway
from service.payments.stripe_gateway import KEYS
from tests.simulation.planting import Bugs, replaced
from tests.simulation.rules import Scene
from tests.simulation.wire import LinkedPayments

BUGS = Bugs(Scene.SPONSORS)


@BUGS.part("payments")
class KeyInFlightReplaced(LinkedPayments):
    """While a request is in flight under its key, the refund is requested again under the next one."""

    def _keyed(self, key: str, call: Any, done_before: Any = None) -> Any:
        for number in range(1, KEYS):
            try:
                return super()._keyed(key if number == 1 else f"{key}-again-{number}", call, done_before)
            except stripe.APIError as error:
                if error.http_status != 409:
                    raise
        return super()._keyed(f"{key}-again", call, done_before)


@BUGS.part("payments")
class PartNotLookedFor(LinkedPayments):
    """A part is refunded without a look at the refunds that were made before."""

    def _made(self, payment_id: str) -> list[Any]:
        return []


@BUGS.part("payments")
class RepeatedFailureIsFinal(LinkedPayments):
    """What the processor has refused once under a key is never asked for under another."""

    def _keyed(self, key: str, call: Any, done_before: Any = None) -> Any:
        return call(key)


@BUGS.part("payments")
class KeyOfTheBookingAlone(LinkedPayments):
    """The key of a page names its booking and not what the page shows."""

    def _created(self, booking: Booking, params: Any) -> Any:
        create = self._client.v1.checkout.sessions.create
        return self._keyed(f"checkout-{booking.id}", lambda key: create(params, {"idempotency_key": key}))


@BUGS.part("payments")
class LatePageRefused(LinkedPayments):
    """A page that is asked for late in the hold ends with the hold, which is too early for the processor."""

    def _session(self, booking: Booking, name: str, email: Any, billing: Any, expires_ms: int) -> Any:
        return super()._session(booking, name, email, billing, booking.hold_ms + self._extra_ms)


@BUGS.around(stripe_gateway, "_translated")
def overload_is_a_refusal(right: Any, call: Any) -> Any:
    """Too many requests decline a refund."""
    try:
        return right(call)
    except PaymentsUnavailable as error:
        if "(429" in str(error):
            raise PaymentsRefused(str(error)) from None
        raise


BUGS.add(
    "price-below-the-processors-least",
    "A booking at the end of a cheap week costs less than the processor takes.",
    replaced(prices, "LEAST_CENTS", 1),
)
