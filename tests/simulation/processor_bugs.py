"""Bugs to plant in how a node asks the processor, one at a time: see `key_bugs`."""

from dataclasses import replace
from typing import Any

import trio

from actors.bookings import prices, refund_leases
from actors.bookings.messages import LeaseRefund
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import Booking, BookingView
from actors.bookings.unit_of_work import UnitOfWork
from actors.values import Refused
from service.payments import stripe_gateway
from tests.simulation.planting import Bugs, replaced
from tests.simulation.rules import Scene
from tests.simulation.sponsorship import CountedSweeper
from tests.simulation.wire import LinkedPayments

BUGS = Bugs(Scene.SPONSORS)


@BUGS.part("sweeper")
class RefundWithoutALease(CountedSweeper):
    """Two nodes ask for one refund at once."""

    async def _lease(self, due: Booking) -> BookingView | Refused:
        await trio.lowlevel.checkpoint()
        return BookingView(due, "")


@BUGS.around(refund_leases, "lease_refund")
def leased_refund_leased_again(right: Any, unit: UnitOfWork, message: LeaseRefund) -> Any:
    """A refund that a node has leased is leased to the next one, too."""
    booking = unit.booking(message.booking_id)
    if booking is not None and booking.refund_due_ms is not None:
        unit.save_booking(replace(booking, refund_due_ms=unit.now_ms))
    return right(unit, message)


@BUGS.part("payments")
class PartNotLookedFor(LinkedPayments):
    """A part is refunded without a look at the refunds that were made before."""

    def _made(self, payment_id: str) -> list[Any]:
        return []


@BUGS.part("payments")
class RepeatedFailureIsFinal(LinkedPayments):
    """What the processor has refused once under a key is never asked for under another."""

    def _keyed(self, key: str, call: Any, *rest: Any) -> Any:
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
