"""The money of bookings: payments, refunds, and what the processor reports. Pure; source: ADR 0019."""

from dataclasses import replace

from actors.bookings import changes, disputes, notifications
from actors.bookings.messages import (
    Answer,
    OrderRefund,
    Origin,
    RecordPayment,
    SettleRefund,
)
from actors.bookings.records import Booking, BookingStatus, BookingView, Mode, PaymentReport, PaymentState
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork, weeks_of
from actors.times import DAY_MS
from actors.values import Code, Refused

UNSTORED_SESSION_MS = DAY_MS
"""How long after its hold a booking whose checkout sessions were not stored can still be paid. Sessions end earlier."""


def record_payment(unit: UnitOfWork, message: RecordPayment) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if not _is_ours(booking, message.session_id, unit.now_ms):
        return Refused(Code.NOT_FOUND, f"The booking {booking.id} has no checkout session {message.session_id}.")
    if not unit.is_first(message.event_id, booking.id) or booking.payment_id == message.payment_id:
        return unit.view(booking)
    other = unit.paid_with(message.payment_id)
    if other is not None:
        return Refused(Code.INVALID_STATE, f"The payment {message.payment_id} has already paid {other.id}.")
    if booking.payment_id is not None:
        return _paid_twice(unit, booking, message)
    answer = _paid(unit, booking, message)
    return _followed(unit, answer.booking, message) if isinstance(answer, BookingView) else answer


def _is_ours(booking: Booking, session_id: str | None, now_ms: int) -> bool:
    """Whether a payment is for this booking: it came through one of its sessions or, in test mode, our own page."""
    if session_id is None or booking.mode is Mode.TEST:
        return session_id is None and booking.mode is Mode.TEST
    if booking.sessions is None:
        return now_ms < booking.hold_ms + UNSTORED_SESSION_MS
    return session_id in booking.sessions.split()


def _paid(unit: UnitOfWork, booking: Booking, message: RecordPayment) -> Answer:
    paid = replace(
        booking,
        payment_id=message.payment_id,
        paid_ms=unit.now_ms,
        paid_cents=message.amount_cents,
        paid_currency=None if message.currency == booking.currency else message.currency,
        terms_version=message.terms_version,
        terms_accepted_ms=None if message.terms_version is None else unit.now_ms,
    )
    issue = _why_too_late(unit, booking, message)
    if issue is None:
        paid = replace(paid, next_step_ms=booking.week_start_ms)
        changes.reserve_all_weeks(unit, booking, message.origin)
        return changes.changed(unit, paid, BookingMove.PAY, message.origin)
    due_ms = unit.now_ms
    return changes.changed(
        unit, paid, BookingMove.PAY_TOO_LATE, message.origin, payment_issue=issue, refund_due_ms=due_ms
    )


def _followed(unit: UnitOfWork, booking: Booking, message: RecordPayment) -> Answer:
    """Apply what the processor reported about the payment before the payment itself."""
    for report in unit.reports(message.payment_id):
        if report.state is PaymentState.REFUNDED:
            _refunded_so_far(unit, booking, report.cents_of(booking), message.origin)
            booking = unit.booking(booking.id) or booking
    return unit.view(disputes.follow(unit, booking, disputes.lost_before(unit, booking), message.origin))


def _why_too_late(unit: UnitOfWork, booking: Booking, payment: RecordPayment) -> str | None:
    """Return why a payment has to be refunded; None if the booking can have its weeks."""
    if (payment.amount_cents, payment.currency) != (booking.amount_cents, booking.currency):
        return "amount_mismatch"
    if booking.status is BookingStatus.CANCELLED:
        return "paid_after_cancel"
    over = booking.week_end_ms <= unit.now_ms
    others = [week for week in weeks_of(booking) if (holder := unit.holder(week)) is None or holder.id != booking.id]
    return "paid_after_expiry" if over or not changes.are_free(unit, others) else None


def order_refund(unit: UnitOfWork, message: OrderRefund) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if booking.status is BookingStatus.REFUNDED:
        return unit.view(booking)
    if booking.disputed:
        return Refused(Code.INVALID_STATE, "The payment is disputed, so the payer's bank decides on the money.")
    if booking.status is BookingStatus.REFUNDING:
        if booking.refund_due_ms is None:
            # The processor declined it before. An administrator may have it tried again.
            booking = replace(booking, refund_due_ms=unit.now_ms)
            unit.save_booking(booking)
            unit.audit(message.origin, "booking.refund_ordered", "booking", booking.id, {"reason": message.reason})
        return unit.view(booking)
    return changes.changed(
        unit,
        booking,
        BookingMove.ORDER_REFUND,
        message.origin,
        details={"reason": message.reason} if message.reason else {},
        refund_due_ms=unit.now_ms,
        refund_cents=None,
        refund_requested_ms=None,
        # Refunding the first payment does not refund the second: a person still has to.
        payment_issue="paid_twice" if booking.payment_issue == "paid_twice" else None,
    )


def settle_refund(unit: UnitOfWork, message: SettleRefund) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if message.payment_id is not None and message.payment_id != booking.payment_id:
        return _remember_refund(unit, booking, message, message.payment_id)
    if message.event_id is not None and not unit.is_first(message.event_id, booking.id):
        return unit.view(booking)
    if message.declined is None and message.currency not in (None, booking.money_currency):
        why = f"was paid in {booking.money_currency}, and the refund is in {message.currency}"
        return Refused(Code.INVALID_STATE, f"The booking {booking.id} {why}.")
    counted = message.declined is not None and _is_counted(unit, booking, message)
    if message.refund_id is not None and not _is_news(unit, booking, message.refund_id, message):
        return unit.view(booking)
    if message.declined is not None:
        return _refund_declined(unit, booking, message, message.declined, counted)
    total_cents = _told_so_far(unit, booking, message)
    if total_cents is not None:
        _note_total(unit, booking, message, total_cents)
        return _refunded_so_far(unit, booking, total_cents, message.origin)
    if _is_outdated(booking, message) or (booking.status is BookingStatus.REFUNDED and message.refund_id is None):
        return unit.view(booking)
    total_cents = _total_with(unit, booking, message.cents)
    if booking.status is BookingStatus.REFUNDED:
        return _refunded_so_far(unit, booking, total_cents, message.origin)
    if booking.refund_cents is None and booking.given_back(total_cents, booking.lost_cents).left_cents:
        return _refunded_a_part(unit, booking, total_cents, message.origin)
    return _refunded(unit, booking, message.origin, total_cents)


def _refunded_a_part(unit: UnitOfWork, booking: Booking, total_cents: int, origin: Origin) -> Answer:
    """Record a refund that is less than what is left of a payment of which all is to be refunded, because a dispute had
    taken the rest and was won since, or because of a part by hand. What is left is due now, unless the order was declined."""
    if booking.refund_due_ms is not None:
        booking = replace(booking, refund_due_ms=unit.now_ms)
        unit.save_booking(booking)
    return _refunded_so_far(unit, booking, total_cents, origin)


def _is_news(unit: UnitOfWork, booking: Booking, refund_id: str, message: SettleRefund) -> bool:
    """Record the outcome of a refund. Returns whether it counts: reports come again and in any order, and a failure is
    final."""
    state = PaymentState.REFUNDED if message.declined is None else PaymentState.REFUND_FAILED
    known = _report(unit, booking.payment_id, refund_id)
    if known is not None and known.state in (PaymentState.REFUND_FAILED, state):
        return False
    made_ms = known.made_ms if known is not None and message.made_ms is None else message.made_ms
    payment_id = booking.payment_id or ""
    report = PaymentReport(refund_id, payment_id, state, _at_ms(unit, message), message.cents, made_ms)
    if state is PaymentState.REFUNDED:
        _note_what_it_replaces(unit, booking, report)
    unit.save_report(report)
    return True


def _note_what_it_replaces(unit: UnitOfWork, booking: Booking, refund: PaymentReport) -> None:
    """The refunds that were known as made have failed if they and this one are more than can be: the next one is made after
    the one before it has failed, unless the order goes on for what is left."""
    ended = booking.status is BookingStatus.REFUNDED and booking.lost_from is None
    most_cents = booking.by_refunds_cents if ended else booking.received_cents
    made = _made(unit, booking)
    if sum(each.cents_of(booking) for each in [refund, *made]) > most_cents:
        for each in made:
            unit.save_report(replace(each, state=PaymentState.REFUND_FAILED))


def _is_counted(unit: UnitOfWork, booking: Booking, message: SettleRefund) -> bool:
    """Whether a refund that failed is part of what was refunded so far: it was reported as made, or the total that counts has
    it, by the times of both, and as much beyond the refunds that were reported."""
    made, total = _made(unit, booking), _report(unit, booking.payment_id, booking.payment_id)
    if any(each.id == message.refund_id for each in made):
        return True
    unnamed_cents = booking.by_refunds_cents - sum(each.cents_of(booking) for each in made)
    in_time = total is not None and (message.made_ms or 0) <= total.reported_ms <= _at_ms(unit, message)
    return in_time and 0 < (message.cents or 0) <= unnamed_cents


def _note_total(unit: UnitOfWork, booking: Booking, message: SettleRefund, total_cents: int) -> None:
    """Store the total that counts, with its time: the largest one and, of equal ones, the newest."""
    at_ms, known = _at_ms(unit, message), _report(unit, booking.payment_id, booking.payment_id)
    more = min(total_cents, booking.received_cents) - booking.by_refunds_cents
    if total_cents and (more, at_ms) > (0, 0 if known is None else known.reported_ms):
        payment_id = booking.payment_id or ""
        unit.save_report(PaymentReport(payment_id, payment_id, PaymentState.REFUNDED, at_ms, total_cents))


def _told_so_far(unit: UnitOfWork, booking: Booking, message: SettleRefund) -> int | None:
    """The total of refunds that an event tells, without a refund that has failed since: a total has no id. None if the
    message is about one refund."""
    if message.event_id is None or message.cents is not None:
        return None
    total_cents = booking.received_cents if message.total_cents is None else message.total_cents
    if message.at_ms is None:
        return total_cents
    # The next refund is made after the one before it has failed, so a total contains one of them at most.
    failed = (
        report.cents_of(booking)
        for report in unit.reports(booking.payment_id)
        if report.state is PaymentState.REFUND_FAILED and (report.made_ms or 0) <= message.at_ms <= report.reported_ms
    )
    return max(0, total_cents - max(failed, default=0))


def _at_ms(unit: UnitOfWork, message: SettleRefund) -> int:
    """When the processor said so."""
    return unit.now_ms if message.at_ms is None else message.at_ms


def _report(unit: UnitOfWork, payment_id: str | None, report_id: str | None) -> PaymentReport | None:
    return next((each for each in unit.reports(payment_id) if each.id == report_id), None)


def _total_with(unit: UnitOfWork, booking: Booking, cents: int | None) -> int:
    """The total of refunds with one that was made, of `cents` if the processor says so. What was refunded so far may be a
    total that contains it. If it does not, because somebody refunded as much by hand, the next total says so."""
    before, refunding = booking.by_refunds_cents, booking.status is BookingStatus.REFUNDING
    known_cents = booking.refund_cents if cents is None else cents
    if known_cents is None:
        return before + booking.left_cents
    if refunding and (cents is None or before < cents):
        return before + (booking.refund_left_cents if cents is None else cents)
    made = sum(each.cents_of(booking) for each in _made(unit, booking))
    return max(before, known_cents, made)


def _made(unit: UnitOfWork, booking: Booking) -> list[PaymentReport]:
    """The refunds of the booking that were reported as made."""
    reports = unit.reports(booking.payment_id)
    return [each for each in reports if each.state is PaymentState.REFUNDED and each.id != booking.payment_id]


def _refunded_so_far(unit: UnitOfWork, booking: Booking, total_cents: int, origin: Origin) -> Answer:
    """Record what was refunded of a payment in all. If that contains the refund that was ordered, or if nothing is left, the
    booking ends: also if the order was declined, because another node's attempt may have been made, or somebody made up for
    it by hand. Otherwise somebody refunded a part by hand, and it stays as it is."""
    paid_cents, before = booking.received_cents, booking.by_refunds_cents
    total_cents = min(total_cents, paid_cents)
    more = total_cents - before
    if booking.status is BookingStatus.REFUNDING and more >= booking.refund_left_cents:
        return _refunded(unit, booking, origin, total_cents)
    if more <= 0:
        return unit.view(booking)
    if booking.status is BookingStatus.PAID and (total_cents == paid_cents or more == booking.refund_cents):
        return _refunded(unit, booking, origin, total_cents)
    if booking.lost_from is BookingStatus.REFUNDING and more >= (booking.refund_cents or paid_cents):
        # The refund that was due when the payment was lost had been made.
        booking = replace(booking, lost_from=None)
    booking = booking.given_back(total_cents, booking.lost_cents)
    unit.save_booking(booking)
    facts = {"refunded_cents": [before, total_cents], "currency": booking.money_currency}
    unit.audit(origin, "booking.refunded_in_part", "booking", booking.id, facts)
    notifications.mail_owner(unit, booking, "refund_made", None, refund_cents=total_cents)
    if booking.status is BookingStatus.PAID and not booking.left_cents:
        booking = disputes.end(unit, booking, origin)
    return unit.view(booking)


def _refunded(unit: UnitOfWork, booking: Booking, origin: Origin, total_cents: int) -> Answer:
    """End a booking whose refund is done. `total_cents` was refunded in all."""
    paid_cents = booking.received_cents
    if booking.status is BookingStatus.PAID:
        # Refunded by hand at the processor's, without an order here; or the order was declined to another node at first.
        cents = None if total_cents >= paid_cents else booking.refund_cents
        ordered = changes.apply(
            unit, booking, BookingMove.ORDER_REFUND, origin, refund_cents=cents, refund_requested_ms=None
        )
        booking = ordered or booking
    booking = booking.given_back(min(paid_cents, total_cents), booking.lost_cents)
    return changes.changed(unit, booking, BookingMove.REFUND, origin, refund_due_ms=None)


def _remember_refund(unit: UnitOfWork, booking: Booking, message: SettleRefund, payment_id: str) -> Answer:
    """Remember the refund of a payment that is not the booking's: the payment's own event may still come."""
    state = PaymentState.REFUNDED if message.declined is None else PaymentState.REFUND_FAILED
    report = PaymentReport(payment_id, payment_id, state, _at_ms(unit, message), message.total_cents)
    known = _report(unit, payment_id, payment_id)
    # The events of two parts may come in any order; the larger total is the newer one.
    if (
        message.total_cents is None
        or known is None
        or message.total_cents > (known.refunded_cents or message.total_cents)
    ):
        unit.save_report(report)
    return Refused(Code.INVALID_STATE, f"The booking {booking.id} was not paid with {payment_id}.")


def _is_outdated(booking: Booking, message: SettleRefund) -> bool:
    """Whether a sweeper reports a refund without an id, and one has failed since. No other one was ordered."""
    failed = booking.payment_issue == "refund_failed" and booking.refund_due_ms is None
    return failed and message.event_id is None and message.refund_id is None


def _refund_declined(unit: UnitOfWork, booking: Booking, message: SettleRefund, why: str, counted: bool) -> Answer:
    kept_cents = 0 if message.cents is None else max(0, booking.by_refunds_cents - message.cents)
    moved: Booking | None
    match booking.status:
        case BookingStatus.REFUNDING | BookingStatus.PAID if counted:
            # A part of an order that is not done.
            moved = replace(booking, payment_issue="refund_failed", refund_due_ms=None)
            moved = moved.given_back(kept_cents, booking.lost_cents)
            unit.save_booking(moved)
            unit.audit(message.origin, "booking.refund_failed", "booking", booking.id, {"why": why})
        case BookingStatus.REFUNDING if booking.refund_due_ms is None:
            # It was declined before, and no refund is under way.
            return unit.view(booking)
        case BookingStatus.REFUNDING if unit.holds_its_weeks(booking):
            moved = changes.apply(
                unit,
                booking,
                BookingMove.DECLINE_REFUND,
                message.origin,
                details={"why": why},
                payment_issue="refund_declined",
                refund_due_ms=None,
            )
        case BookingStatus.REFUNDING:
            # Its weeks may be sold by now, so it cannot become paid again: an administrator has to decide.
            moved = replace(booking, payment_issue="refund_declined", refund_due_ms=None)
            unit.save_booking(moved)
            unit.audit(message.origin, "booking.refund_declined", "booking", booking.id, {"why": why})
        # A sweeper's answer without an id may be older than the refund that another node has made since.
        case BookingStatus.REFUNDED if counted or (
            (message.event_id or message.refund_id) and not _another_is_made(unit, booking, message)
        ):
            by_refunds = booking.by_refunds_cents
            booking = booking.given_back(kept_cents, booking.lost_cents)
            if not booking.left_cents:
                return _refund_returned(unit, booking, [by_refunds, kept_cents], message.origin)
            moved = changes.apply(
                unit,
                replace(booking, lost_from=None),
                BookingMove.FAIL_REFUND,
                message.origin,
                details={"why": why},
                payment_issue="refund_failed",
            )
        case _:
            return unit.view(booking)
    assert moved is not None, "the table has these moves"
    notifications.mail_administrators(unit, moved, "refund_failed", why=why)
    return unit.view(moved)


def _another_is_made(unit: UnitOfWork, booking: Booking, message: SettleRefund) -> bool:
    """Whether another attempt was made. The one that failed, which was not reported as made, then never counted."""
    return message.refund_id is not None and any(
        report.state is PaymentState.REFUNDED and report.id not in (message.refund_id, booking.payment_id)
        for report in unit.reports(booking.payment_id)
    )


def _refund_returned(unit: UnitOfWork, booking: Booking, refunded_cents: list[int], origin: Origin) -> Answer:
    """Record that a refund came back of a payment that disputes have taken: nothing is owed."""
    if refunded_cents[0] != refunded_cents[1]:
        unit.save_booking(booking)
        facts = {"refunded_cents": refunded_cents, "currency": booking.money_currency}
        unit.audit(origin, "booking.refund_returned", "booking", booking.id, facts)
    return unit.view(booking)


def _paid_twice(unit: UnitOfWork, booking: Booking, payment: RecordPayment) -> Answer:
    """Record another payment of a paid booking. A person has to refund it at the processor's."""
    booking = replace(booking, payment_issue="paid_twice")
    unit.save_booking(booking)
    facts = {"paymentId": payment.payment_id, "amountCents": payment.amount_cents, "currency": payment.currency}
    unit.audit(payment.origin, "booking.paid_twice", "booking", booking.id, facts)
    return unit.view(booking)
