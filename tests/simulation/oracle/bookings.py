"""The rules of the ledger, written again by hand: states, moves, weeks and holds. All its checks rely on them."""

from collections.abc import Mapping

from actors.bookings.records import Booking, BookingStatus, CampaignStatus, Slot
from tests.simulation.rules import BOOKINGS

HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
MONDAY_MS = 4 * 24 * HOUR_MS
"""The first Monday of the epoch, which began on a Thursday."""

OPEN = (BookingStatus.RESERVED, BookingStatus.CHECKOUT)
HOLDING = (*OPEN, BookingStatus.PAID)
"""States in which a booking has all of its weeks. While `refunding` it has all or none."""

NEW = "(new)"
BOOKING_MOVES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "booking.checkout_opened": (("reserved", "checkout"),),
    "booking.paid": (("checkout", "paid"), ("expired", "paid")),
    "booking.paid_too_late": (("checkout", "refunding"), ("expired", "refunding"), ("cancelled", "refunding")),
    "booking.expired": (("reserved", "expired"), ("checkout", "expired")),
    "booking.cancelled": (("reserved", "cancelled"), ("checkout", "cancelled")),
    "booking.refund_ordered": (("paid", "refunding"),),
    "booking.refunded": (("refunding", "refunded"),),
    "booking.refund_declined": (("refunding", "paid"),),
    "booking.refund_failed": (("refunded", "refunding"),),
    "booking.dispute_lost": (("paid", "refunded"), ("refunding", "refunded")),
}
"""Moves by the action of their audit record."""
STILL = (
    "booking.refund_ordered",
    "booking.refund_declined",
    "booking.refunded_in_part",
    "booking.paid_twice",
    "booking.video_described",
    "booking.dispute_opened",
    "booking.dispute_won",
)
"""Actions that may leave a booking in its state."""

CAMPAIGN_MOVES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "campaign.submitted": (("draft", "pending"), ("rejected", "pending")),
    "campaign.withdrawn": (("pending", "draft"),),
    "campaign.edited": (("approved", "pending"), ("paused", "pending")),
    "campaign.paused": (("approved", "paused"),),
    "campaign.resumed": (("paused", "approved"),),
    "campaign.approved": (("pending", "approved"),),
    "campaign.rejected": (("pending", "rejected"), ("approved", "rejected"), ("paused", "rejected")),
}
CAMPAIGN_ACTIONS = {
    "submit": "campaign.submitted",
    "withdraw": "campaign.withdrawn",
    "pause": "campaign.paused",
    "resume": "campaign.resumed",
    "approve": "campaign.approved",
    "reject": "campaign.rejected",
}
SHOWN = ("headline", "body", "cta", "target_url", "logo_text")
"""The part of a campaign that visitors see. A change requires a new review."""
FIRST_CAMPAIGN_STATUS = CampaignStatus.PENDING


def week_at(moment_ms: int) -> int:
    return moment_ms - (moment_ms - MONDAY_MS) % WEEK_MS


def amount_at(slot: Slot, week_ms: int, now_ms: int) -> int:
    """The cents of a booking from a week on: of a week that has begun, every seventh for a day that is over falls away."""
    gone = max(0, (now_ms - week_ms) // (24 * HOUR_MS))
    first = slot.week_price_cents * (7 - gone) // 7 or 1
    return first + slot.week_price_cents * (slot.weeks - 1)


def weeks(booking: Booking) -> list[tuple[str, int]]:
    return [(booking.slot_id, booking.week_start_ms + number * WEEK_MS) for number in range(booking.weeks)]


def is_over(booking: Booking, now_ms: int) -> bool:
    """Return whether a hold has expired."""
    return booking.status in OPEN and booking.hold_ms <= now_ms


def keeps_others_out(booking: Booking | None, now_ms: int) -> bool:
    """Return whether the booking keeps its weeks from others, if it has them."""
    return booking is not None and (
        booking.status in (BookingStatus.PAID, BookingStatus.REFUNDING)
        or (booking.status in OPEN and booking.hold_ms > now_ms)
    )


def unpaid_since(booking: Booking, now_ms: int) -> int | None:
    """Return when a hold was given up or expired without a payment, or None."""
    if booking.payment_id is not None:
        return None
    if booking.status is BookingStatus.CANCELLED:
        assert booking.cancelled_ms is not None
        return booking.cancelled_ms
    over = booking.status is BookingStatus.EXPIRED or is_over(booking, now_ms)
    return booking.hold_ms if over else None


def is_sold(slot: Slot | None, now_ms: int) -> bool:
    return (
        slot is not None
        and slot.active
        and not slot.coming_soon
        and slot.retired_ms is None
        and (slot.offer_ends_ms is None or now_ms < slot.offer_ends_ms)
    )


def may_begin(week_ms: int, now_ms: int) -> bool:
    """Return whether a booking may begin with this week."""
    this_week = week_at(now_ms)
    return week_at(week_ms) == week_ms and this_week <= week_ms <= this_week + BOOKINGS.horizon_weeks * WEEK_MS
