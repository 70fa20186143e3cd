"""The port to whoever moves the money. Knows nothing of the ledger; the ledger knows nothing of it."""

from dataclasses import dataclass
from typing import Protocol

from actors.bookings.records import Booking


class PaymentsUnavailable(Exception):
    """The processor could not be asked, or its answer was lost: asking again with the same booking is harmless."""


class PaymentsRefused(Exception):
    """The processor will not do it; the text is for an operator and holds no secret."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where a person pays. `expires_ms` is when the page stops taking money."""

    url: str
    expires_ms: int


class Payments(Protocol):
    """A payment processor. Both methods may be called again for the same booking, also by another node."""

    async def checkout(self, booking: Booking, campaign_name: str) -> Checkout:
        """The page on which this booking is paid; the same one each time while the booking is in checkout.

        Raises `PaymentsUnavailable` or `PaymentsRefused`.
        """
        ...

    async def refund(self, booking: Booking) -> bool:
        """Pay all of `booking.amount_cents` back: True when that is done, False when it is under way and will be told.

        Money moves once, however often this is called. Raises `PaymentsUnavailable` or `PaymentsRefused`.
        """
        ...
