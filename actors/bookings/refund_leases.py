"""Leases of refunds: one node at a time makes a refund that is due. Pure; source: ADR 0054."""

from dataclasses import replace

from actors.bookings import changes
from actors.bookings.messages import Answer, LeaseRefund, PostponeRefund
from actors.bookings.unit_of_work import UnitOfWork
from actors.values import Code, Refused


def lease_refund(unit: UnitOfWork, message: LeaseRefund) -> Answer:
    """Put off a due refund for the others until its lease ends: two nodes that pay back at once could do so twice."""
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if booking.disputed or booking.refund_due_ms is None or booking.refund_due_ms > unit.now_ms:
        return Refused(Code.INVALID_STATE, f"No refund of {booking.id} is due now.")
    booking = replace(booking, refund_due_ms=message.until_ms)
    unit.save_booking(booking)
    return unit.view(booking)


def postpone_refund(unit: UnitOfWork, message: PostponeRefund) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if booking.refund_due_ms is not None and booking.refund_due_ms == message.leased_ms:
        booking = replace(booking, refund_due_ms=message.due_ms)
        unit.save_booking(booking)
    return unit.view(booking)
