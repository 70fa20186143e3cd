"""The next step of a booking: for its sponsor, and for administrators."""

from typing import Any

import pytest

from actors.bookings.next_steps import AdminStep, NextStep, admin_step, next_step
from actors.bookings.records import BookingStatus, BookingView, CampaignStatus
from tests.snapshots.rows import NOON_MS, booking, week

PAID = BookingStatus.PAID
REFUNDING = BookingStatus.REFUNDING


def view(campaign: CampaignStatus | None = CampaignStatus.APPROVED, **fields: Any) -> BookingView:
    return BookingView(booking("bok_1", **fields), "Campaign", campaign_status=campaign)


@pytest.mark.parametrize(
    ("status", "hold_ms", "expected"),
    [
        (BookingStatus.RESERVED, NOON_MS + 1, NextStep.PAY),
        (BookingStatus.CHECKOUT, NOON_MS + 1, NextStep.PAY),
        (BookingStatus.CHECKOUT, NOON_MS, NextStep.BOOK_AGAIN),
        (BookingStatus.EXPIRED, 0, NextStep.BOOK_AGAIN),
        (BookingStatus.CANCELLED, 0, NextStep.BOOK_AGAIN),
        (BookingStatus.REFUNDED, 0, NextStep.BOOK_AGAIN),
        (REFUNDING, 0, NextStep.WAIT_FOR_REFUND),
        (PAID, 0, NextStep.WATCH_DELIVERY),
    ],
)
def test_a_sponsor_s_next_step_follows_from_the_state(status: BookingStatus, hold_ms: int, expected: NextStep) -> None:
    assert next_step(view(status=status, hold_ms=hold_ms), NOON_MS) is expected


@pytest.mark.parametrize(
    ("campaign", "expected"),
    [
        (CampaignStatus.DRAFT, NextStep.SUBMIT_CAMPAIGN),
        (CampaignStatus.PENDING, NextStep.WAIT_FOR_REVIEW),
        (CampaignStatus.REJECTED, NextStep.EDIT_CAMPAIGN),
        (CampaignStatus.PAUSED, NextStep.RESUME_CAMPAIGN),
        (CampaignStatus.APPROVED, NextStep.WAIT_FOR_WEEK),
        (None, NextStep.WAIT_FOR_WEEK),
    ],
)
def test_before_its_week_a_paid_booking_waits_for_a_campaign_that_can_be_shown(
    campaign: CampaignStatus | None, expected: NextStep
) -> None:
    assert next_step(view(campaign), week(0) - 1) is expected


@pytest.mark.parametrize(
    ("now_ms", "next_step_ms", "expected"),
    [
        (week(0), 0, NextStep.WATCH_DELIVERY),
        (week(1) - 1, 0, NextStep.WATCH_DELIVERY),
        (week(1), 0, NextStep.WAIT_FOR_END),
        (week(1), None, NextStep.READ_REPORT),
    ],
)
def test_a_report_is_read_once_the_schedule_is_over(now_ms: int, next_step_ms: int | None, expected: NextStep) -> None:
    assert next_step(view(next_step_ms=next_step_ms), now_ms) is expected


def test_a_dispute_comes_before_a_request_and_a_request_before_all_else() -> None:
    assert next_step(view(disputed=True, refund_requested_ms=0), week(2)) is NextStep.WAIT_FOR_BANK
    assert next_step(view(refund_requested_ms=0), week(2)) is NextStep.WAIT_FOR_DECISION


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"disputed": True, "refund_requested_ms": 0}, AdminStep.ANSWER_DISPUTE),
        ({"refund_requested_ms": 0, "payment_issue": "refund_failed"}, AdminStep.DECIDE_REFUND),
        ({"refund_requested_ms": 0, "status": REFUNDING}, AdminStep.NONE),
        ({"payment_issue": "refund_declined"}, AdminStep.REFUND_AGAIN),
        ({"payment_issue": "refund_failed", "status": REFUNDING}, AdminStep.REFUND_AGAIN),
        ({"payment_issue": "dispute_won", "status": REFUNDING, "refund_due_ms": 0}, AdminStep.NONE),
        ({"payment_issue": "refund_failed", "status": BookingStatus.REFUNDED}, AdminStep.NONE),
        ({"payment_issue": "paid_twice", "status": BookingStatus.REFUNDED}, AdminStep.REFUND_SECOND_PAYMENT),
        ({"payment_issue": "other", "status": REFUNDING}, AdminStep.NONE),
        ({"campaign": CampaignStatus.PENDING}, AdminStep.REVIEW_CAMPAIGN),
        ({"campaign": CampaignStatus.PENDING, "status": BookingStatus.RESERVED}, AdminStep.NONE),
        ({}, AdminStep.NONE),
    ],
)
def test_an_administrator_s_next_step_follows_from_what_waits(fields: dict[str, Any], expected: AdminStep) -> None:
    assert admin_step(view(**fields)) is expected
