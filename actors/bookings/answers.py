"""Answers of the booking ledger: committed, as it is now."""

from dataclasses import dataclass

from actors.bookings.records import BookingView, CampaignView, Slot, Sponsor
from actors.values import Refused


@dataclass(frozen=True, slots=True)
class ProfileKept:
    """The profile."""

    sponsor: Sponsor


@dataclass(frozen=True, slots=True)
class SlotKept:
    """The slot."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class DigestSent:
    """Whether a digest was written."""

    sent: bool


Answer = ProfileKept | CampaignView | BookingView | SlotKept | DigestSent | Refused


def as_campaign(answer: Answer) -> CampaignView | Refused:
    """The answer to a message about a campaign."""
    assert isinstance(answer, CampaignView | Refused)
    return answer


def as_booking(answer: Answer) -> BookingView | Refused:
    """The answer to a message about a booking."""
    assert isinstance(answer, BookingView | Refused)
    return answer


def as_slot(answer: Answer) -> Slot | Refused:
    """The answer to a message about a slot."""
    assert isinstance(answer, SlotKept | Refused)
    return answer if isinstance(answer, Refused) else answer.slot
