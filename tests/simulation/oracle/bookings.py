"""The rules of the ledger, written again by hand: states, moves, weeks and holds. All its checks rely on them."""

from collections.abc import Mapping

from actors.bookings.records import Booking, BookingStatus, Campaign, CampaignStatus, Content, Slot
from tests.doubles.tables import Memory
from tests.simulation.rules import BOOKINGS, LEAST_CENTS

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS
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
    "booking.dispute_won": (("refunded", "paid"), ("refunded", "refunding")),
}
"""Moves by the action of their audit record."""
STILL = (
    "booking.refund_ordered",
    "booking.refund_declined",
    "booking.refund_failed",
    "booking.refunded_in_part",
    "booking.refund_returned",
    "booking.paid_twice",
    "booking.video_described",
    "booking.material_sent",
    "booking.dispute_opened",
    "booking.dispute_lost",
    "booking.dispute_won",
    "booking.refund_requested",
    "booking.refund_request_declined",
)
"""Actions that may leave a booking in its state."""

CAMPAIGN_MOVES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "campaign.submitted": (("draft", "pending"), ("rejected", "pending")),
    "campaign.withdrawn": (("pending", "draft"),),
    "campaign.paused": (("approved", "paused"),),
    "campaign.resumed": (("paused", "approved"),),
    "campaign.approved": (("pending", "approved"),),
    "campaign.rejected": (("pending", "rejected"), ("approved", "rejected"), ("paused", "rejected")),
}
OF_EDITS = ("campaign.edited", "campaign.edit_approved", "campaign.edit_rejected", "campaign.edit_withdrawn")
"""Actions that leave a campaign in its state."""
MEANS_THE_EDIT = ("approve", "reject", "withdraw")
"""Moves that are about the edit of a campaign that has one."""
CAMPAIGN_ACTIONS = {
    "submit": "campaign.submitted",
    "withdraw": "campaign.withdrawn",
    "pause": "campaign.paused",
    "resume": "campaign.resumed",
    "approve": "campaign.approved",
    "reject": "campaign.rejected",
}
CONTENT = ("headline", "body", "cta", "target_url", "logo_text")
"""The part of a campaign that visitors see. A change requires a new review."""
FIRST_CAMPAIGN_STATUS = CampaignStatus.PENDING


def of_mailbox(memory: Memory, tenant_id: str) -> set[str]:
    """The accounts of the mailbox of one: their addresses differ in tags alone."""
    boxes = {
        row.tenant_id: (row.email.split("@")[0].split("+")[0], row.email.split("@")[1])
        for row in memory.accounts.values()
    }
    return {tenant_id} | {other for other, box in boxes.items() if box == boxes.get(tenant_id)}


def sharing(memory: Memory, tenant_id: str) -> set[str]:
    """The accounts that share the limits of one: those of its mailbox, if it has never paid, that have never paid either."""
    paid = {row.tenant_id for row in memory.bookings.values() if row.paid_ms is not None}
    return {tenant_id} if tenant_id in paid else of_mailbox(memory, tenant_id) - paid


RUNNING = (CampaignStatus.APPROVED, CampaignStatus.PAUSED)
"""States in which an administrator has approved the content. An edit waits beside it."""
REQUESTS = 3
"""The most requests for a refund of one booking."""


def week_at(moment_ms: int) -> int:
    return moment_ms - (moment_ms - MONDAY_MS) % WEEK_MS


def amount_at(slot: Slot, week_ms: int, now_ms: int) -> int:
    """The cents of a booking from a week on: of a week that has begun, every seventh for a day that is over falls away."""
    gone = max(0, (now_ms - week_ms) // (24 * HOUR_MS))
    first = slot.week_price_cents * (7 - gone) // 7
    return max(LEAST_CENTS, first + slot.week_price_cents * (slot.weeks - 1))


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


def waits(campaign: Campaign) -> bool:
    """Return whether an administrator has to review a campaign or its edit."""
    return campaign.status is CampaignStatus.PENDING or (campaign.status in RUNNING and campaign.pending is not None)


def to_review(campaign: Campaign) -> Content:
    """Return the content that the next review is about."""
    edited = campaign.status in RUNNING and campaign.pending is not None
    return campaign.pending if edited and campaign.pending is not None else campaign.content


def may_ask_for_a_refund(booking: Booking, now_ms: int) -> bool:
    over = booking.week_start_ms + booking.weeks * WEEK_MS <= now_ms
    open_request = booking.refund_requested_ms is not None
    return (
        booking.status is BookingStatus.PAID
        and not booking.disputed
        and not open_request
        and not over
        and booking.refund_requests < REQUESTS
    )


def share(booking: Booking, weeks_ms: list[int]) -> int:
    """Return what was paid for these weeks, by their starts, in cents rounded up. The days before the booking was made were
    not sold."""
    gone = max(0, booking.created_ms // DAY_MS - booking.week_start_ms // DAY_MS)
    sold = 7 * booking.weeks - gone
    of_weeks = sum(7 - (gone if week_ms == booking.week_start_ms else 0) for week_ms in weeks_ms)
    return (booking.amount_cents * of_weeks + sold - 1) // sold
