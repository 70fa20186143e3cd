"""The sponsorship area as administrators read it: filtered bookings, the review queue, revenue and counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from actors.bookings.records import (
    Booking,
    BookingStatus,
    BookingView,
    CampaignStatus,
    CampaignView,
    Mode,
)

COUNTED = 10_000
"""Rows of one kind that are counted at most."""


class Before(NamedTuple):
    """A position in a list, newest first."""

    created_ms: int
    id: str


@dataclass(frozen=True, slots=True)
class BookingFilter:
    """Which bookings to list; None means any. `week_ms` is the start of a week that a booking covers. `sponsor` is the id of
    a sponsor or of its account. `text` is the id of a booking or of a payment, or a part of a sponsor's name. `trouble` is
    whether a person has to look at its payment, and `requested` whether its sponsor has asked for a refund."""

    status: BookingStatus | None = None
    week_ms: int | None = None
    sponsor: str | None = None
    slot_id: str | None = None
    text: str | None = None
    trouble: bool | None = None
    requested: bool | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A campaign that waits for review, or whose edit does, with its sponsor's email, and how many of the sponsor's
    campaigns were approved and rejected before. `begins_ms` is the first week that is `paid`, or else held; None if there
    is neither."""

    view: CampaignView
    email: str | None
    begins_ms: int | None
    paid: bool
    approved: int
    rejected: int

    @property
    def urgency(self) -> "Urgency":
        campaign = self.view.campaign
        since_ms = campaign.created_ms if campaign.submitted_ms is None else campaign.submitted_ms
        return urgency(self.begins_ms, since_ms, campaign.id, paid=self.paid)


Urgency = tuple[int, str]
"""A position in the review queue: paid campaigns by their first week, then held ones, then the others by age."""

APPROVALS = ("campaign.approved", "campaign.edit_approved")
REJECTIONS = ("campaign.rejected", "campaign.edit_rejected")
"""The actions in the audit that make up a sponsor's record."""

HELD, UNBOOKED = 2**50, 2**51
"""Added to the time by which a campaign is ordered, so that those that are not paid come later. Times are far below."""


def urgency(begins_ms: int | None, since_ms: int, campaign_id: str, *, paid: bool) -> Urgency:
    """The position in the review queue of a campaign that waits since `since_ms`."""
    if begins_ms is None:
        return UNBOOKED + since_ms, campaign_id
    return begins_ms + (0 if paid else HELD), campaign_id


@dataclass(frozen=True, slots=True)
class MonthRevenue:
    """The payments of a month (`2026-11`, UTC), in one currency and mode, and what of them was refunded, whenever."""

    month: str
    currency: str
    mode: Mode
    payments: int
    paid_cents: int
    refunded_cents: int


@dataclass(frozen=True, slots=True)
class ListCounts:
    """The rows of the administrators' lists, each number at most `COUNTED`."""

    bookings: Mapping[BookingStatus, int] = field(default_factory=dict)
    campaigns: Mapping[CampaignStatus, int] = field(default_factory=dict)
    trouble: int = 0
    requested: int = 0
    sponsors: int = 0


class OversightStore(Protocol):
    """Reads of administrators. All methods raise `StorageUnavailable`."""

    async def filtered_bookings(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingView]:
        """The bookings that match, newest first, strictly after `before`."""
        ...

    async def review_queue(self, now_ms: int, after: Urgency | None, limit: int) -> Sequence[Waiting]:
        """The campaigns that wait for review, most urgent first, strictly after a place."""
        ...

    async def revenue(self, from_ms: int, until_ms: int) -> Sequence[MonthRevenue]:
        """The payments of real bookings by month, newest first, then by currency and mode."""
        ...

    async def list_counts(self, now_ms: int) -> ListCounts:
        """How many rows the lists have."""
        ...

    async def refundable(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[Booking]:
        """The paid bookings of an account that are not disputed and whose weeks are not over, by first week."""
        ...
