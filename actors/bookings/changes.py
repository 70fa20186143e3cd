"""Steps shared by all changes of bookings: apply a move, reserve and free weeks, end expired holds. Pure.

Source of the rules: ADR 0017.
"""

from dataclasses import replace
from functools import partial

from actors.bookings import notifications
from actors.bookings.decision import Week
from actors.bookings.messages import Answer, Origin
from actors.bookings.records import OPEN, Booking
from actors.bookings.transitions import BOOKING_MOVES, BookingMove, after
from actors.bookings.unit_of_work import UnitOfWork, as_system, weeks_of
from actors.shared.announcements import Topic
from actors.values import Code, Refused, unknown

unknown_booking = partial(unknown, "booking")

PAST = {
    BookingMove.OPEN_CHECKOUT: "checkout_opened",
    BookingMove.PAY: "paid",
    BookingMove.PAY_TOO_LATE: "paid_too_late",
    BookingMove.RUN_OUT: "expired",
    BookingMove.CANCEL: "cancelled",
    BookingMove.ORDER_REFUND: "refund_ordered",
    BookingMove.REFUND: "refunded",
    BookingMove.DECLINE_REFUND: "refund_declined",
    BookingMove.FAIL_REFUND: "refund_failed",
    BookingMove.LOSE_DISPUTE: "dispute_lost",
    BookingMove.WIN_DISPUTE: "dispute_won",
    BookingMove.WIN_DISPUTE_TOO_LATE: "dispute_won",
}
WORDS = {move: past.replace("_", " ") for move, past in PAST.items()} | {
    BookingMove.OPEN_CHECKOUT: "brought to checkout",
    BookingMove.PAY_TOO_LATE: "paid",
    BookingMove.ORDER_REFUND: "refunded",
    BookingMove.LOSE_DISPUTE: "lost in a dispute",
}
"""Moves as words in refusals."""

RELEASING = (
    BookingMove.RUN_OUT,
    BookingMove.CANCEL,
    BookingMove.REFUND,
    BookingMove.PAY_TOO_LATE,
    BookingMove.LOSE_DISPUTE,
)
"""Moves after which a booking no longer holds its weeks."""


def changed(
    unit: UnitOfWork,
    booking: Booking,
    move: BookingMove,
    origin: Origin,
    *,
    details: dict[str, str | None] | None = None,
    **fields: object,
) -> Answer:
    """Apply a move and other changes, or refuse it."""
    moved = apply(unit, booking, move, origin, details=details, **fields)
    if moved is None:
        return Refused(Code.INVALID_STATE, f"A booking that is {booking.status} cannot be {WORDS[move]}.")
    return unit.view(moved)


def apply(
    unit: UnitOfWork,
    booking: Booking,
    move: BookingMove,
    origin: Origin,
    *,
    details: dict[str, str | None] | None = None,
    **fields: object,
) -> Booking | None:
    """Apply, store and audit a move. Returns None if the table has no such move."""
    status = after(BOOKING_MOVES, booking.status, move)
    if status is None:
        return None
    moved = replace(booking, status=status, **fields)  # type: ignore[arg-type]
    unit.save_booking(moved)
    if move in RELEASING:
        unit.free_weeks(moved)
    facts = {"status": [booking.status, status], **(details or {})}
    if moved.payment_issue is not None:
        facts["paymentIssue"] = moved.payment_issue
    unit.audit(origin, f"booking.{PAST[move]}", "booking", booking.id, facts)
    _publish_move(unit, moved, move)
    return moved


def _publish_move(unit: UnitOfWork, booking: Booking, move: BookingMove) -> None:
    """Publish a move, and mail the owner about money."""
    if move in notifications.EVENT_OF_MOVE:
        notifications.publish_booking(unit, booking, notifications.EVENT_OF_MOVE[move])
    match move:
        case BookingMove.PAY:
            notifications.mail_owner(unit, booking, "booking_receipt", None)
            notifications.mail_material(unit, booking)
        case BookingMove.REFUND:
            notifications.mail_owner(unit, booking, "refund_made", None, refund_cents=booking.by_refunds_cents)


def reserved(unit: UnitOfWork, booking: Booking) -> None:
    """Publish a new booking, and mail its owner until when its weeks are held."""
    notifications.publish_booking(unit, booking, "booking.reserved")
    notifications.mail_owner(unit, booking, "booking_reserved", Topic.BOOKINGS, hold_ms=booking.hold_ms)


def current(unit: UnitOfWork, booking_id: str, owner: str | None, origin: Origin) -> Booking | None:
    """A booking as of now. An expired hold is ended first, whether or not the sweeper has found it."""
    booking = unit.booking(booking_id, owner)
    if booking is not None and booking.status in OPEN and not booking.is_open(unit.now_ms):
        return apply(unit, booking, BookingMove.RUN_OUT, as_system(origin))
    return booking


def are_free(unit: UnitOfWork, weeks: list[Week]) -> bool:
    """Whether no booking holds these weeks. Expired holds do not count."""
    return not any(
        holder.status not in OPEN or holder.is_open(unit.now_ms)
        for week in weeks
        if (holder := unit.holder(week)) is not None
    )


def reserve_all_weeks(unit: UnitOfWork, booking: Booking, origin: Origin) -> None:
    """Reserve all weeks of a booking. Expired holds on them end."""
    for week in weeks_of(booking):
        holder = unit.holder(week)
        if holder is not None and holder.id != booking.id:
            apply(unit, holder, BookingMove.RUN_OUT, as_system(origin))
    unit.reserve_weeks(booking)
