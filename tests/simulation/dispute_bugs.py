"""Bugs to plant in what disputes do to a booking, one at a time: see `key_bugs`."""

from dataclasses import replace
from typing import Any

from actors.bookings import disputes, settlement
from actors.bookings.records import Booking, BookingStatus, PaymentReport, PaymentState
from actors.bookings.unit_of_work import UnitOfWork
from service.payments import stripe_webhook
from tests.simulation.planting import Bugs, replaced
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.SPONSORS)


@BUGS.function(disputes, "_lost")
def loss_of_a_part_forgotten(report: PaymentReport | None, booking: Booking) -> int:
    """A lost dispute about a part takes nothing."""
    return _lost(report, booking) if report is not None and report.refunded_cents == booking.paid_cents else 0


_lost = disputes._lost


@BUGS.around(disputes, "follow")
def closed_dispute_ends_the_others(right: Any, unit: UnitOfWork, booking: Booking, *arguments: Any) -> Any:
    """A booking is no more disputed once one of its disputes is closed."""
    closed = any(each.state in disputes.CLOSED for each in unit.reports(booking.payment_id))
    now = right(unit, booking, *arguments)
    if closed and now.disputed:
        now = replace(now, disputed=False)
        unit.save_booking(now)
    return now


@BUGS.around(disputes, "_lose")
def any_loss_ends_a_booking(right: Any, unit: UnitOfWork, booking: Booking, origin: Any) -> Any:
    """A lost dispute about a part ends the booking."""
    paid = booking.status in (BookingStatus.PAID, BookingStatus.REFUNDING)
    return disputes.end(unit, booking, origin) if paid else right(unit, booking, origin)


@BUGS.around(settlement, "_total_with")
def refund_counted_beside_its_total(right: Any, unit: UnitOfWork, booking: Booking, cents: int | None) -> Any:
    """A refund counts once more after a total that contains it, because a dispute was won in between."""
    return right(unit, booking, cents) if cents is None else booking.by_refunds_cents + cents


@BUGS.function(settlement, "_is_counted")
def failure_of_what_a_total_told_forgotten(unit: UnitOfWork, booking: Booking, message: Any) -> bool:
    """A failed refund takes back only what was reported by its id."""
    return any(each.id == message.refund_id for each in settlement._made(unit, booking))


@BUGS.around(disputes, "_win_back")
def order_of_all_ends_with_cents_left(right: Any, unit: UnitOfWork, booking: Booking, origin: Any) -> Any:
    """A booking whose rest was refunded stays refunded, though the bank returns what a dispute had taken."""
    done = booking.status is BookingStatus.REFUNDED and booking.lost_from is None
    return disputes._note(unit, booking, "dispute_won", origin) if done else right(unit, booking, origin)


BUGS.add(
    "returned-part-stays-lost",
    "What the processor returns of a lost dispute is not read.",
    replaced(stripe_webhook, "_reinstated", lambda *_: 0),
)
BUGS.add(
    "inquiry-taken-for-a-dispute",
    "A question of the bank, which moves no money, hides the booking.",
    replaced(
        stripe_webhook,
        "_DISPUTES",
        {**stripe_webhook._DISPUTES, "warning_needs_response": PaymentState.DISPUTED},
    ),
)
BUGS.add(
    "withdrawn-dispute-stays-open",
    "A dispute that was withdrawn hides its booking for ever.",
    replaced(
        stripe_webhook,
        "_DISPUTES",
        {key: state for key, state in stripe_webhook._DISPUTES.items() if key != "prevented"},
    ),
)
