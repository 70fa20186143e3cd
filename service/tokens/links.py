"""Links to the pages of one booking. Each is a capability: who has it sees that page, and nobody can make one up.

Knows nothing of who pays or of the pages themselves.
"""

from enum import StrEnum

from actors.bookings.records import Booking
from service.tokens.signing import BadSeal, TokenSigner

LINK_PREFIX = "lnk_"
"""How every token begins, so that the log can mask it."""


class Page(StrEnum):
    """What a link leads to; one does not open the other."""

    CHECKOUT = "checkout"
    RECEIPT = "receipt"


class Links:
    """Makes links, and says which booking a token of one is for. They do not expire; what a page allows may."""

    def __init__(self, base_url: str, secret: bytes) -> None:
        self.base_url = base_url
        self._seals = TokenSigner(secret)

    def checkout_url(self, booking: Booking) -> str:
        """Our own checkout page of a booking, for test mode."""
        return self._url(Page.CHECKOUT, booking)

    def receipt_url(self, booking: Booking) -> str | None:
        """The receipt of a booking, from the moment on that it is paid: `receiptUrl` of the wire.

        A payment of another amount than ours has none: it goes back as it came.
        """
        return self.result_url(booking) if booking.paid_cents == booking.amount_cents else None

    def result_url(self, booking: Booking) -> str:
        """The page of the receipt whether or not it is paid yet: where a processor sends who has paid."""
        return self._url(Page.RECEIPT, booking)

    def booking_id(self, page: Page, token: str) -> str | None:
        """The booking that a token opens this page of; None where nobody was given such a token."""
        try:
            [booking_id] = self._seals.open(page, token.removeprefix(LINK_PREFIX))
        except BadSeal:
            return None
        return str(booking_id) if token.startswith(LINK_PREFIX) else None

    def _url(self, page: Page, booking: Booking) -> str:
        return f"{self.base_url}/{page}/{LINK_PREFIX}{self._seals.close(page, [booking.id])}"
