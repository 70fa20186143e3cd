"""Test mode: our own checkout page, and refunds that move no money."""

import trio

from actors.bookings.payments import Checkout
from actors.bookings.records import Booking
from service.tokens.links import Links


class TestPayments:
    """Implements the port of `actors/bookings/payments.py` without a processor."""

    def __init__(self, links: Links) -> None:
        self._links = links

    async def checkout(self, booking: Booking, campaign_name: str, email: str | None = None) -> Checkout:
        await trio.lowlevel.checkpoint()
        return Checkout(self._links.checkout_url(booking), booking.hold_ms)

    async def refund(self, booking: Booking) -> bool:
        await trio.lowlevel.checkpoint()
        return True

    async def invoice_url(self, booking: Booking) -> None:
        await trio.lowlevel.checkpoint()
