"""The steps of a booking and of its campaign, as the audit has them. Only pages call it."""

from collections.abc import Sequence

from actors.bookings.changes import unknown_booking
from actors.values import AuditRecord, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.operations.responses import with_id
from service.schemas.internal import BookingStep, BookingSteps

MOST_STEPS = 50
"""The newest records of the booking, and of its campaign, that are read."""


@with_id(unknown_booking)
async def read_steps(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    booking = view.booking
    records = [
        *await services.sponsorship.audit(None, MOST_STEPS, booking.id),
        *await services.sponsorship.audit(None, MOST_STEPS, booking.campaign_id),
    ]
    return Answer.of(BookingSteps(items=steps_of(records, booking.created_ms)))


def steps_of(records: Sequence[AuditRecord], since_ms: int) -> list[BookingStep]:
    """The steps from a moment on, oldest first. Whoever made them is left out: it may be an administrator."""
    since = sorted(
        (each for each in records if each.created_ms >= since_ms), key=lambda each: (each.created_ms, each.id)
    )
    return [BookingStep(action=each.action, at=each.created_ms) for each in since]
