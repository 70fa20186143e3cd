"""Links to the pages of one booking. Anyone with a link can open its page; nobody can forge one."""

from enum import StrEnum

from actors.bookings.records import Booking
from service.tokens.signing import BadToken, TokenSigner

LINK_PREFIX = "lnk_"
"""The prefix of every token, so that the log can mask it."""


class Page(StrEnum):
    """The target of a link. A link to one page does not open the other."""

    CHECKOUT = "checkout"
    RECEIPT = "receipt"


class Links:
    """Makes links, and reads the booking from a link's token. Links do not expire."""

    def __init__(self, base_url: str, secret: bytes) -> None:
        self.base_url = base_url
        self._signer = TokenSigner(secret)

    def checkout_url(self, booking: Booking) -> str:
        """The checkout page of test mode."""
        return self._url(Page.CHECKOUT, booking)

    def receipt_url(self, booking: Booking) -> str | None:
        """The receipt of a paid booking (`receiptUrl` in the API). A payment of a wrong amount is refunded and has none."""
        return self.result_url(booking) if booking.paid_cents == booking.amount_cents else None

    def result_url(self, booking: Booking) -> str:
        """The receipt page, paid or not. The processor redirects to it after the payment."""
        return self._url(Page.RECEIPT, booking)

    def booking_id(self, page: Page, token: str) -> str | None:
        """The booking whose `page` this token opens; None if the token is not valid."""
        try:
            [booking_id] = self._signer.verify(page, token.removeprefix(LINK_PREFIX))
        except BadToken:
            return None
        return str(booking_id) if token.startswith(LINK_PREFIX) else None

    def _url(self, page: Page, booking: Booking) -> str:
        return f"{self.base_url}/{page}/{LINK_PREFIX}{self._signer.sign(page, [booking.id])}"
