"""The one next step of a booking, for its sponsor and for administrators. Pure; source: ADR 0080."""

from enum import StrEnum

from actors.bookings.records import Booking, BookingStatus, BookingView, CampaignStatus


class NextStep(StrEnum):
    """The next step of a booking. Names that begin with `wait`, and `none`, ask for nothing."""

    PAY = "pay"
    BOOK_AGAIN = "book_again"
    SUBMIT_CAMPAIGN = "submit_campaign"
    EDIT_CAMPAIGN = "edit_campaign"
    RESUME_CAMPAIGN = "resume_campaign"
    WAIT_FOR_REVIEW = "wait_for_review"
    WAIT_FOR_WEEK = "wait_for_week"
    WAIT_FOR_DECISION = "wait_for_decision"
    WAIT_FOR_REFUND = "wait_for_refund"
    WAIT_FOR_BANK = "wait_for_bank"
    WAIT_FOR_END = "wait_for_end"
    WATCH_DELIVERY = "watch_delivery"
    READ_REPORT = "read_report"


class AdminStep(StrEnum):
    """The next step of an administrator about a booking."""

    DECIDE_REFUND = "decide_refund"
    REFUND_AGAIN = "refund_again"
    REFUND_SECOND_PAYMENT = "refund_second_payment"
    ANSWER_DISPUTE = "answer_dispute"
    REVIEW_CAMPAIGN = "review_campaign"
    NONE = "none"


FAILED_REFUNDS = ("refund_declined", "refund_failed", "dispute_won")
"""Payment issues after which an administrator may order the refund again."""

BY_CAMPAIGN = {
    CampaignStatus.DRAFT: NextStep.SUBMIT_CAMPAIGN,
    CampaignStatus.PENDING: NextStep.WAIT_FOR_REVIEW,
    CampaignStatus.REJECTED: NextStep.EDIT_CAMPAIGN,
    CampaignStatus.PAUSED: NextStep.RESUME_CAMPAIGN,
}
"""The next step of a paid booking whose campaign is not shown."""


def next_step(view: BookingView, now_ms: int) -> NextStep:
    """The next step of the sponsor, or the event to wait for."""
    booking = view.booking
    match booking.status_at(now_ms):
        case BookingStatus.RESERVED | BookingStatus.CHECKOUT:
            return NextStep.PAY
        case BookingStatus.EXPIRED | BookingStatus.CANCELLED | BookingStatus.REFUNDED:
            return NextStep.BOOK_AGAIN
        case BookingStatus.REFUNDING:
            return NextStep.WAIT_FOR_REFUND
        case BookingStatus.PAID:
            return _of_paid(booking, view.campaign_status, now_ms)


def _of_paid(booking: Booking, campaign: CampaignStatus | None, now_ms: int) -> NextStep:
    if booking.disputed:
        return NextStep.WAIT_FOR_BANK
    if booking.refund_requested_ms is not None:
        return NextStep.WAIT_FOR_DECISION
    if booking.week_end_ms <= now_ms:
        # The last counts settle, and unseen weeks are refunded, before the report is final.
        return NextStep.READ_REPORT if booking.next_step_ms is None else NextStep.WAIT_FOR_END
    if campaign in BY_CAMPAIGN:
        return BY_CAMPAIGN[campaign]
    return NextStep.WAIT_FOR_WEEK if now_ms < booking.week_start_ms else NextStep.WATCH_DELIVERY


def admin_step(view: BookingView) -> AdminStep:
    """The next step of an administrator."""
    booking = view.booking
    if booking.disputed:
        return AdminStep.ANSWER_DISPUTE
    if booking.status is BookingStatus.PAID and booking.refund_requested_ms is not None:
        return AdminStep.DECIDE_REFUND
    if booking.payment_issue in FAILED_REFUNDS and booking.status in (BookingStatus.PAID, BookingStatus.REFUNDING):
        return AdminStep.REFUND_AGAIN if booking.refund_due_ms is None else AdminStep.NONE
    if booking.payment_issue == "paid_twice":
        return AdminStep.REFUND_SECOND_PAYMENT
    if booking.status is BookingStatus.PAID and view.campaign_status is CampaignStatus.PENDING:
        return AdminStep.REVIEW_CAMPAIGN
    return AdminStep.NONE
