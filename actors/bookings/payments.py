"""The port of the payment processor. It and the ledger know nothing of each other."""

from dataclasses import dataclass
from typing import Protocol

from actors.bookings.records import BillingDetails, Booking


class PaymentsUnavailable(Exception):
    """The processor did not answer, or its answer was lost. Retrying with the same booking is harmless."""


@dataclass(frozen=True, slots=True)
class RefundAttempt:
    """A refund at the processor. `done` is False while it is in progress. `id` names it in the processor's events, and
    `cents` is its amount; both are None if the processor does not say which refund it was, and in test mode. `made_ms` is
    when the processor made it."""

    done: bool
    id: str | None = None
    cents: int | None = None
    made_ms: int | None = None


class PaymentsRefused(Exception):
    """The processor refuses. The text is for operators and contains no secret. `attempt` is the refund that failed, if one
    was created."""

    def __init__(self, why: str, attempt: RefundAttempt | None = None) -> None:
        super().__init__(why)
        self.attempt = attempt


@dataclass(frozen=True, slots=True)
class Checkout:
    """The page on which a person pays. `expires_ms` is when it stops accepting money. `session_id` names the page in the
    processor's events; None for the page of test mode, which has none."""

    url: str
    expires_ms: int
    session_id: str | None = None


class Payments(Protocol):
    """A payment processor. All methods may be repeated for the same booking, also by another node."""

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        """The page on which this booking is paid, the same one each time while it is in checkout. `email` is the payer's,
        and `billing` what the processor's own invoice names as the buyer: with other details, it is another page.
        Raises `PaymentsUnavailable` or `PaymentsRefused`."""
        ...

    async def refund(self, booking: Booking) -> RefundAttempt:
        """Refund `booking.refund_left_cents`, or all that is left of the payment if that is less or `refund_cents` is None.
        If it is in progress, an event will follow. Repeating it moves the money only once: another refund is made only after
        the one before it has failed. Raises `PaymentsUnavailable` or `PaymentsRefused`."""
        ...

    async def invoice_url(self, booking: Booking) -> str | None:
        """The address of the processor's own invoice for the payment of a booking, if it has one. Raises
        `PaymentsUnavailable` or `PaymentsRefused`."""
        ...
