"""The state machines of campaigns and bookings: two tables, and the function that applies them. Pure.

Source: ADR 0019 and 0020. `docs/sponsorship.md` draws both diagrams from these tables.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from actors.bookings.records import BookingStatus, CampaignStatus

S = TypeVar("S", CampaignStatus, BookingStatus)
M = TypeVar("M", bound=StrEnum)


class CampaignMove(StrEnum):
    """Moves of a campaign. `EDIT` changes what visitors see; an approved or paused campaign keeps its approved content until
    the edit is approved. The moves that end in `_EDIT` are about such an edit."""

    SUBMIT = "submit"
    WITHDRAW = "withdraw"
    EDIT = "edit"
    PAUSE = "pause"
    RESUME = "resume"
    APPROVE = "approve"
    REJECT = "reject"
    APPROVE_EDIT = "approve_edit"
    REJECT_EDIT = "reject_edit"
    WITHDRAW_EDIT = "withdraw_edit"


class BookingMove(StrEnum):
    """Moves of a booking. `PAY` is a payment for weeks that the booking holds or can still get. `PAY_TOO_LATE` is one
    that has to be refunded: the weeks are gone or the booking was cancelled. `FAIL_REFUND`: a refund did not arrive.
    `LOSE_DISPUTE`: the payer's bank has taken back what was left of the money. `WIN_DISPUTE`: it returned it after all, and
    the weeks are still free. `WIN_DISPUTE_TOO_LATE`: they are not, or a refund was due before."""

    OPEN_CHECKOUT = "open_checkout"
    PAY = "pay"
    PAY_TOO_LATE = "pay_too_late"
    RUN_OUT = "run_out"
    CANCEL = "cancel"
    ORDER_REFUND = "order_refund"
    REFUND = "refund"
    DECLINE_REFUND = "decline_refund"
    FAIL_REFUND = "fail_refund"
    LOSE_DISPUTE = "lose_dispute"
    WIN_DISPUTE = "win_dispute"
    WIN_DISPUTE_TOO_LATE = "win_dispute_too_late"


CAMPAIGN_MOVES: Mapping[CampaignStatus, Mapping[CampaignMove, CampaignStatus]] = {
    CampaignStatus.DRAFT: {
        CampaignMove.SUBMIT: CampaignStatus.PENDING,
        CampaignMove.EDIT: CampaignStatus.DRAFT,
    },
    CampaignStatus.PENDING: {
        CampaignMove.WITHDRAW: CampaignStatus.DRAFT,
        CampaignMove.EDIT: CampaignStatus.PENDING,
        CampaignMove.APPROVE: CampaignStatus.APPROVED,
        CampaignMove.REJECT: CampaignStatus.REJECTED,
    },
    CampaignStatus.APPROVED: {
        CampaignMove.PAUSE: CampaignStatus.PAUSED,
        CampaignMove.EDIT: CampaignStatus.APPROVED,
        CampaignMove.APPROVE_EDIT: CampaignStatus.APPROVED,
        CampaignMove.REJECT_EDIT: CampaignStatus.APPROVED,
        CampaignMove.WITHDRAW_EDIT: CampaignStatus.APPROVED,
        CampaignMove.REJECT: CampaignStatus.REJECTED,
    },
    CampaignStatus.PAUSED: {
        CampaignMove.RESUME: CampaignStatus.APPROVED,
        CampaignMove.EDIT: CampaignStatus.PAUSED,
        CampaignMove.APPROVE_EDIT: CampaignStatus.PAUSED,
        CampaignMove.REJECT_EDIT: CampaignStatus.PAUSED,
        CampaignMove.WITHDRAW_EDIT: CampaignStatus.PAUSED,
        CampaignMove.REJECT: CampaignStatus.REJECTED,
    },
    CampaignStatus.REJECTED: {
        CampaignMove.SUBMIT: CampaignStatus.PENDING,
        CampaignMove.EDIT: CampaignStatus.REJECTED,
    },
}

BOOKING_MOVES: Mapping[BookingStatus, Mapping[BookingMove, BookingStatus]] = {
    BookingStatus.RESERVED: {
        BookingMove.OPEN_CHECKOUT: BookingStatus.CHECKOUT,
        BookingMove.RUN_OUT: BookingStatus.EXPIRED,
        BookingMove.CANCEL: BookingStatus.CANCELLED,
    },
    BookingStatus.CHECKOUT: {
        BookingMove.PAY: BookingStatus.PAID,
        BookingMove.PAY_TOO_LATE: BookingStatus.REFUNDING,
        BookingMove.RUN_OUT: BookingStatus.EXPIRED,
        BookingMove.CANCEL: BookingStatus.CANCELLED,
    },
    BookingStatus.PAID: {
        BookingMove.ORDER_REFUND: BookingStatus.REFUNDING,
        BookingMove.LOSE_DISPUTE: BookingStatus.REFUNDED,
    },
    BookingStatus.REFUNDING: {
        BookingMove.REFUND: BookingStatus.REFUNDED,
        BookingMove.DECLINE_REFUND: BookingStatus.PAID,
        BookingMove.LOSE_DISPUTE: BookingStatus.REFUNDED,
    },
    # Only money moves these three: a payment that was already under way, a refund that came back, or a bank that returned it.
    BookingStatus.EXPIRED: {
        BookingMove.PAY: BookingStatus.PAID,
        BookingMove.PAY_TOO_LATE: BookingStatus.REFUNDING,
    },
    BookingStatus.CANCELLED: {
        BookingMove.PAY_TOO_LATE: BookingStatus.REFUNDING,
    },
    BookingStatus.REFUNDED: {
        BookingMove.FAIL_REFUND: BookingStatus.REFUNDING,
        BookingMove.WIN_DISPUTE: BookingStatus.PAID,
        BookingMove.WIN_DISPUTE_TOO_LATE: BookingStatus.REFUNDING,
    },
}


def after(table: Mapping[S, Mapping[M, S]], status: S, move: M) -> S | None:
    """The state that a move leads to, or None if the table has no such move."""
    return table[status].get(move)
