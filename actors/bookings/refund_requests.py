"""Requests of sponsors for refunds, and the answers of administrators. Pure; source: ADR 0080."""

from dataclasses import replace

from actors.bookings import changes, notifications
from actors.bookings.messages import Answer, DeclineRefundRequest, RequestRefund
from actors.bookings.records import Booking, BookingStatus
from actors.bookings.unit_of_work import UnitOfWork
from actors.values import Code, Refused

MAX_REQUESTS = 3
"""How often a refund of one booking can be requested."""


def request_refund(unit: UnitOfWork, message: RequestRefund) -> Answer:
    """Record a request, and mail it to the sponsor and the administrators."""
    booking = unit.booking(message.booking_id, message.tenant_id)
    if booking is None:
        return changes.unknown_booking()
    refused = _why_not(booking, unit.now_ms, refund_unshown=unit.rules.refund_unshown)
    if refused is not None:
        return Refused(Code.INVALID_STATE, refused)
    requested = replace(
        booking,
        refund_requested_ms=unit.now_ms,
        refund_reason=message.reason,
        refund_note=None,
        refund_requests=booking.refund_requests + 1,
    )
    unit.save_booking(requested)
    # The reason is the sponsor's own words, which the audit would keep beyond the account.
    unit.audit(message.origin, "booking.refund_requested", "booking", booking.id)
    notifications.mail_owner(unit, requested, "refund_requested", None, reason=message.reason)
    notifications.mail_administrators(unit, requested, "refund_to_decide", reason=message.reason)
    return unit.view(requested)


def _why_not(booking: Booking, now_ms: int, *, refund_unshown: bool) -> str | None:
    if booking.status is not BookingStatus.PAID:
        return f"The status of this booking is {booking.status_at(now_ms)}. Only a paid booking can be refunded."
    if booking.disputed:
        return "The payment is disputed, so the payer's bank decides on the money."
    if booking.refund_requested_ms is not None:
        return "A refund of this booking is already requested. An administrator decides on it."
    if booking.week_end_ms <= now_ms:
        rest = " Weeks that were not shown are refunded without a request." if refund_unshown else ""
        return f"The weeks of this booking are over.{rest}"
    if booking.refund_requests >= MAX_REQUESTS:
        return f"A refund of this booking was requested {MAX_REQUESTS} times, the maximum."
    return None


def decline_refund_request(unit: UnitOfWork, message: DeclineRefundRequest) -> Answer:
    """Decline a request, and mail the reason to the sponsor."""
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if booking.refund_requested_ms is None or booking.status is not BookingStatus.PAID:
        return Refused(
            Code.INVALID_STATE, f"No refund of this booking is requested. It is {booking.status_at(unit.now_ms)}."
        )
    declined = replace(booking, refund_requested_ms=None, refund_note=message.note)
    unit.save_booking(declined)
    unit.audit(message.origin, "booking.refund_request_declined", "booking", booking.id, {"note": message.note})
    notifications.mail_owner(unit, declined, "refund_declined", None, note=message.note)
    return unit.view(declined)
