"""Disputed payments: a booking is not shown while its payment is disputed. Pure; source: ADR 0059.

A lost dispute takes its amount. Only if nothing is left of the payment does the booking end. A dispute that is won after it
was lost gives the amount back, and a booking that its loss had ended returns.
"""

from dataclasses import replace

from actors.bookings import changes, notifications
from actors.bookings.messages import Answer, Origin, SettleDispute
from actors.bookings.records import Booking, BookingStatus, PaymentReport, PaymentState
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork, weeks_of
from actors.values import Code, Refused

CLOSED = (PaymentState.WON, PaymentState.LOST)

NEEDS_A_PERSON = ("paid_twice", "refund_declined", "refund_failed", "dispute_won")
"""Payment issues that a loss of a part does not replace."""


def settle_dispute(unit: UnitOfWork, message: SettleDispute) -> Answer:
    """Store the state of a dispute, and bring the booking in line with it."""
    booking = unit.paid_with(message.payment_id)
    if booking is not None and message.event_id is not None and not unit.is_first(message.event_id, booking.id):
        return unit.view(booking)
    known = next((each for each in unit.reports(message.payment_id) if each.id == message.dispute_id), None)
    report = _report(unit, message, booking)
    if known is not None and not _is_newer(report, known):
        report = known
    elif known is None or replace(report, reported_ms=known.reported_ms) != known or report.state in CLOSED:
        # An outcome is stored again with its newer time: another one may be on its way that is older.
        unit.save_report(report)
    if booking is None:
        return Refused(Code.NOT_FOUND, f"No booking was paid with {message.payment_id}.")
    booking = _with_loss_of_1_1(booking, known)
    lost_cents = max(0, booking.lost_cents + _lost(report, booking) - _lost(known, booking))
    return unit.view(follow(unit, booking, lost_cents, message.origin))


def _report(unit: UnitOfWork, message: SettleDispute, booking: Booking | None) -> PaymentReport:
    """Return the processor's report. It has no amount, which means the whole payment, if the currency differs."""
    cents = message.amount_cents
    if booking is not None and message.currency not in (None, booking.money_currency):
        cents = None
    at_ms = unit.now_ms if message.at_ms is None else message.at_ms
    return PaymentReport(message.dispute_id, message.payment_id, message.state, at_ms, cents)


def _is_newer(report: PaymentReport, known: PaymentReport) -> bool:
    """Whether a report says more than the one that is stored: events come in any order. A closed dispute never opens again,
    but a bank can decide once more."""
    if known.state in CLOSED and report.state not in CLOSED:
        return False
    if known.state not in CLOSED and report.state in CLOSED:
        return True
    return report.reported_ms >= known.reported_ms


def _lost(report: PaymentReport | None, booking: Booking) -> int:
    """The cents that a dispute has taken."""
    if report is None or report.state is not PaymentState.LOST:
        return 0
    return report.cents_of(booking)


def _with_loss_of_1_1(booking: Booking, known: PaymentReport | None) -> Booking:
    """Nodes of 1.1 read no amounts: a lost dispute took all of the payment and ended the booking."""
    lost = known is not None and known.state is PaymentState.LOST and known.refunded_cents is None
    if not lost or booking.lost_cents or booking.status is not BookingStatus.REFUNDED:
        return booking
    return replace(booking, lost_cents=booking.refunded_cents, lost_from=BookingStatus.PAID)


def lost_before(unit: UnitOfWork, booking: Booking) -> int:
    """The cents that disputes have taken which were reported before the payment itself."""
    return sum(_lost(report, booking) for report in unit.reports(booking.payment_id))


def follow(unit: UnitOfWork, booking: Booking, lost_cents: int, origin: Origin) -> Booking:
    """Bring a booking in line with the disputes about its payment, which have taken `lost_cents` in all, and mail the
    administrators what has changed."""
    disputed = any(report.state is PaymentState.DISPUTED for report in unit.reports(booking.payment_id))
    now = replace(booking.given_back(booking.by_refunds_cents, lost_cents), disputed=disputed)
    if lost_cents > booking.lost_cents:
        return _lose(unit, now, origin)
    if lost_cents < booking.lost_cents:
        return _win_back(unit, now, origin)
    if disputed == booking.disputed:
        return booking
    return _note(unit, now, "dispute_opened" if disputed else "dispute_won", origin)


def _lose(unit: UnitOfWork, booking: Booking, origin: Origin) -> Booking:
    if not booking.left_cents and booking.status in (BookingStatus.PAID, BookingStatus.REFUNDING):
        return end(unit, booking, origin)
    return _note(unit, replace(booking, payment_issue=_issue(booking)), "dispute_lost", origin)


def end(unit: UnitOfWork, booking: Booking, origin: Origin) -> Booking:
    """End a booking of whose payment a loss has left nothing."""
    ended = changes.apply(
        unit,
        booking,
        BookingMove.LOSE_DISPUTE,
        origin,
        payment_issue="paid_twice" if booking.payment_issue == "paid_twice" else "dispute_lost",
        refund_due_ms=None,
        refund_requested_ms=None,
        lost_from=booking.status,
    )
    assert ended is not None, "the table has this move"
    return _notify_administrators(unit, ended, "dispute_lost")


def _issue(booking: Booking) -> str:
    issue = booking.payment_issue
    return issue if issue in NEEDS_A_PERSON else "dispute_lost"


def _win_back(unit: UnitOfWork, booking: Booking, origin: Origin) -> Booking:
    """Take back a loss. A booking that it had ended is paid again if its weeks are free. Otherwise its refund is due if it
    was before, or an administrator decides."""
    issue = None if booking.payment_issue == "dispute_lost" and not booking.lost_cents else booking.payment_issue
    booking = replace(booking, payment_issue=issue)
    came_from = booking.lost_from
    if booking.status is BookingStatus.REFUNDED and came_from is None and booking.refund_cents is None:
        # All was to be refunded, and the dispute had taken a part of it.
        came_from = BookingStatus.REFUNDING
    if came_from is None or not booking.left_cents:
        return _note(unit, booking, "dispute_won", origin)
    booking = replace(booking, lost_from=None)
    if came_from is BookingStatus.PAID and _has_free_weeks(unit, booking):
        changes.reserve_all_weeks(unit, booking, origin)
        won = changes.apply(unit, booking, BookingMove.WIN_DISPUTE, origin)
    else:
        was_due = came_from is BookingStatus.REFUNDING
        won = changes.apply(
            unit,
            booking,
            BookingMove.WIN_DISPUTE_TOO_LATE,
            origin,
            payment_issue=issue if was_due or issue == "paid_twice" else "dispute_won",
            refund_due_ms=unit.now_ms if was_due else None,
        )
    assert won is not None, "the table has these moves"
    return _notify_administrators(unit, won, "dispute_won")


def _has_free_weeks(unit: UnitOfWork, booking: Booking) -> bool:
    return changes.are_free(unit, weeks_of(booking))


def _note(unit: UnitOfWork, booking: Booking, outcome: str, origin: Origin) -> Booking:
    """Store a booking that stays in its status."""
    unit.save_booking(booking)
    unit.audit(origin, f"booking.{outcome}", "booking", booking.id, {"paymentId": booking.payment_id})
    return _notify_administrators(unit, booking, outcome)


def _notify_administrators(unit: UnitOfWork, booking: Booking, outcome: str) -> Booking:
    """Mail them. `disputed_cents` is what open disputes are about, `lost_cents` what closed ones have taken."""
    disputed = [each for each in unit.reports(booking.payment_id) if each.state is PaymentState.DISPUTED]
    notifications.mail_administrators(
        unit,
        booking,
        outcome,
        disputed_cents=sum(each.cents_of(booking) for each in disputed),
        lost_cents=booking.lost_cents,
        status=booking.status,
        decide="yes" if booking.payment_issue == "dispute_won" else "",
    )
    return booking
