"""Disputed payments: a booking is not shown while its payment is disputed. Pure; source: ADR 0059."""

from dataclasses import replace

from actors.bookings import changes, notifications
from actors.bookings.messages import Answer, Origin, SettleDispute
from actors.bookings.records import Booking, BookingStatus, PaymentReport, PaymentState
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork
from actors.values import Code, Refused

CLOSED = (PaymentState.WON, PaymentState.LOST)


def settle_dispute(unit: UnitOfWork, message: SettleDispute) -> Answer:
    """Store the state of a dispute, and bring the booking in line with it. A closed dispute stays as it is."""
    known = {report.id: report.state for report in unit.reports(message.payment_id)}.get(message.dispute_id)
    if known not in (*CLOSED, message.state):
        unit.save_report(PaymentReport(message.dispute_id, message.payment_id, message.state, unit.now_ms))
    booking = unit.paid_with(message.payment_id)
    if booking is None:
        return Refused(Code.NOT_FOUND, f"No booking was paid with {message.payment_id}.")
    return unit.view(follow(unit, booking, message.origin))


def is_lost(unit: UnitOfWork, booking: Booking) -> bool:
    """Whether the payer's bank has taken the money back."""
    return PaymentState.LOST in _states(unit, booking)


def _states(unit: UnitOfWork, booking: Booking) -> set[PaymentState]:
    return {report.state for report in unit.reports(booking.payment_id)}


def follow(unit: UnitOfWork, booking: Booking, origin: Origin) -> Booking:
    """Bring a booking in line with the disputes about its payment, and mail the administrators what has changed."""
    disputed, lost = PaymentState.DISPUTED in _states(unit, booking), is_lost(unit, booking)
    if lost:
        moved = changes.apply(
            unit,
            booking,
            BookingMove.LOSE_DISPUTE,
            origin,
            payment_issue="dispute_lost",
            disputed=disputed,
            refunded_cents=booking.paid_cents,
            refund_due_ms=None,
            refund_requested_ms=None,
        )
        if moved is not None:
            return _notify_administrators(unit, moved, "dispute_lost")
    paid_cents = booking.paid_cents or 0
    # If a part was refunded before, the bank has now taken the rest.
    taken = lost and booking.status is BookingStatus.REFUNDED and booking.refunded_cents < paid_cents
    if disputed == booking.disputed and not taken:
        return booking
    issue = "dispute_lost" if lost else booking.payment_issue
    outcome = "dispute_opened" if disputed else "dispute_lost" if lost else "dispute_won"
    refunded_cents = paid_cents if taken else booking.refunded_cents
    booking = replace(booking, disputed=disputed, payment_issue=issue, refunded_cents=refunded_cents)
    unit.save_booking(booking)
    unit.audit(origin, f"booking.{outcome}", "booking", booking.id, {"paymentId": booking.payment_id})
    return _notify_administrators(unit, booking, outcome)


def _notify_administrators(unit: UnitOfWork, booking: Booking, outcome: str) -> Booking:
    notifications.mail_administrators(unit, booking, outcome)
    return booking
