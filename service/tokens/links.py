"""Links to the pages of one booking, and those in mails that end a key, a session or an administratorship, or turn a topic
of mails off.

Anyone with a link can open its page; nobody can forge one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from actors.bookings.records import Booking
from actors.shared.announcements import Topic
from actors.shared.notices import Ending
from actors.times import DAY_MS
from service.tokens.signing import BadToken, TokenSigner

ENDING = "end"
STOPPING = "stop mails"
LINK_PREFIX = "lnk_"
"""The prefix of every token, so that the log can mask it."""


class Page(StrEnum):
    """The target of a link. A link to one page does not open the other."""

    CHECKOUT = "checkout"
    RECEIPT = "receipt"


ENDING_MS = 30 * DAY_MS
"""The lifetime of an ending link in a mail."""


@dataclass(frozen=True, slots=True)
class EndingLink:
    """The target of an ending link in a mail to `email`: its id, for an administratorship the time of its grant in
    milliseconds; and its name for the reader."""

    ending: Ending
    target_id: str
    label: str
    email: str


class Links:
    """Makes links, and reads their tokens. Links to bookings do not expire."""

    def __init__(self, base_url: str, secret: bytes) -> None:
        self.base_url = base_url
        self._signer = TokenSigner(secret)

    def checkout_url(self, booking: Booking) -> str:
        """The checkout page of test mode."""
        return self._url(Page.CHECKOUT, booking)

    def receipt_url(self, booking: Booking) -> str | None:
        """The receipt of a paid booking (`receiptUrl` in the API). A payment of a wrong amount or
        currency is refunded and has none."""
        paid_in_full = booking.paid_cents == booking.amount_cents and booking.paid_currency is None
        return self.result_url(booking) if paid_in_full else None

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

    def ending_url(self, facts: Mapping[str, str], email: str, sent_ms: int) -> str:
        """The page that ends what a mail tells of. `facts` are those of `actors.shared.notices.telling`."""
        values = (facts["ends"], facts["target"], facts["label"], email, sent_ms + ENDING_MS)
        return f"{self.base_url}/end/{LINK_PREFIX}{self._signer.sign(ENDING, values)}"

    def ending(self, token: str, now_ms: int) -> EndingLink | None:
        """Return the target of an ending link; None if its token is not valid or too old."""
        try:
            ending, target_id, label, email, until_ms = self._signer.verify(ENDING, token.removeprefix(LINK_PREFIX))
        except BadToken:
            return None
        if not token.startswith(LINK_PREFIX) or now_ms >= until_ms:
            return None
        if ending == Ending.ADMIN and not target_id.isdecimal():
            return None  # of a previous version, and would end every grant
        return EndingLink(Ending(ending), target_id, label, email)

    def stop_url(self, email: str, topic: Topic) -> str:
        """The page that turns a topic of mails to an email off. It does not expire, because old mails are kept for long."""
        return f"{self.base_url}/unsubscribe/{LINK_PREFIX}{self._signer.sign(STOPPING, (email, topic.value))}"

    def stopping(self, token: str) -> tuple[str, Topic] | None:
        """The email and the topic of a link that turns a topic off; None if its token is not valid."""
        try:
            email, topic = self._signer.verify(STOPPING, token.removeprefix(LINK_PREFIX))
        except BadToken:
            return None
        return (email, Topic(topic)) if token.startswith(LINK_PREFIX) else None

    def _url(self, page: Page, booking: Booking) -> str:
        return f"{self.base_url}/{page}/{LINK_PREFIX}{self._signer.sign(page, [booking.id])}"
