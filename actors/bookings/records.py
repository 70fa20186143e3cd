"""Records of the sponsorship area: slots, sponsors, campaigns and bookings. Times are UTC epoch milliseconds.

A sponsor and its rows belong to an account, identified by its tenant.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple

from actors.times import DAY_MS, WEEK_MS, day_of
from actors.values import NOT_FILTERED, Filtered


class Side(StrEnum):
    """Which side of a page a slot is on."""

    LEFT = "left"
    RIGHT = "right"


class PackageKind(StrEnum):
    """The contents of a slot's package."""

    WEBSITE = "website"
    YOUTUBE = "youtube"
    BUNDLE = "bundle"


WITH_VIDEO = (PackageKind.YOUTUBE, PackageKind.BUNDLE)


class Mode(StrEnum):
    """Whether money moves."""

    TEST = "test"
    LIVE = "live"


class YoutubeStatus(StrEnum):
    """The state of a booking's video, if its package has one."""

    PLANNED = "planned"
    PUBLISHED = "published"


class CampaignStatus(StrEnum):
    """States of a campaign; `transitions.CAMPAIGN_MOVES` connects them."""

    DRAFT = "draft"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    PAUSED = "paused"


RUNNING = (CampaignStatus.APPROVED, CampaignStatus.PAUSED)
"""States in which a campaign has approved content."""


class BookingStatus(StrEnum):
    """States of a booking; `transitions.BOOKING_MOVES` connects them."""

    RESERVED = "reserved"
    CHECKOUT = "checkout"
    PAID = "paid"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REFUNDING = "refunding"
    REFUNDED = "refunded"


class PaymentState(StrEnum):
    """The newest report of the processor about a payment: its refund, or the state of a dispute."""

    REFUNDED = "refunded"
    REFUND_FAILED = "refund_failed"
    DISPUTED = "disputed"
    WON = "won"
    LOST = "lost"


OPEN = (BookingStatus.RESERVED, BookingStatus.CHECKOUT)
"""States in which a booking holds weeks for a time without being paid."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place sold in units of `weeks` weeks. A retired slot is neither sold nor shown."""

    id: str
    name: str
    side: Side
    week_price_cents: int
    created_ms: int
    active: bool = True
    weeks: int = 1
    coming_soon: bool = False
    offer_ends_ms: int | None = None
    package_kind: PackageKind | None = None
    description: str | None = None
    retired_ms: int | None = None
    demo: bool = False


@dataclass(frozen=True, slots=True)
class Sponsor:
    """An account's profile as a sponsor. Fields of the profile that are added later have a default."""

    tenant_id: str
    id: str
    name: str
    website: str
    created_ms: int
    demo: bool = False

    @property
    def profile(self) -> dict[str, Any]:
        """The fields that the sponsor can change."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NO_PROFILE}

    @property
    def erased(self) -> "Sponsor":
        """Its name, which its paid bookings need, and nothing else of the profile."""
        return Sponsor(self.tenant_id, self.id, self.name, "", self.created_ms, self.demo)


_NO_PROFILE = ("tenant_id", "id", "created_ms", "demo")


@dataclass(frozen=True, slots=True)
class BillingDetails:
    """Whom the invoices of an account name as their buyer. `country` is a code of ISO 3166-1 in upper case; lines of the
    address are separated by line feeds. Empty texts were not given."""

    tenant_id: str
    legal_name: str
    address: str
    country: str
    tax_id: str = ""
    reference: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """The part of a campaign that visitors see."""

    headline: str
    body: str
    cta: str
    target_url: str
    logo_text: str


@dataclass(frozen=True, slots=True)
class Campaign:
    """A creative. `name` is for its owner only; `shown_as` is the sponsor's name approved with the content.

    `pending` is an edit of an approved or paused campaign, which keeps its approved content until an administrator has
    decided. `submitted_ms` is when it, or its edit, last began to wait for review.
    """

    id: str
    tenant_id: str
    name: str
    content: Content
    status: CampaignStatus
    created_ms: int
    review_note: str | None = None
    shown_as: str | None = None
    demo: bool = False
    pending: Content | None = None
    submitted_ms: int | None = None

    @property
    def edit(self) -> Content | None:
        """The edit that waits for review beside the approved content."""
        return self.pending if self.status in RUNNING else None

    @property
    def newest(self) -> Content:
        """The content that its owner wrote last: what the next review is about."""
        return self.edit or self.content

    @property
    def waits(self) -> bool:
        """Whether an administrator has to decide on it, or on its edit."""
        return self.status is CampaignStatus.PENDING or self.edit is not None


@dataclass(frozen=True, slots=True)
class Booking:
    """`weeks` consecutive weeks of a slot for a campaign. The ids, the weeks and the amount never change.

    `paid_cents` is what arrived: the amount, unless the processor says otherwise. `paid_currency` is its currency if that is
    not `currency`; nodes of 1.1 stored 0 cents instead. `hold_ms` is when an open hold expires. `payment_id` is the
    processor's id of the payment, used to refund it. `refund_due_ms` is set while a refund is due: when to try it (again).

    `refunded_cents` is what went back in all, by refunds and lost disputes, as the processor says. If a refund and a dispute
    cross, that is more than `paid_cents`: `excess_cents` is the part beyond it. `lost_cents` is the part that lost disputes
    took. `lost_from` is the status in which a loss left nothing of the payment and ended the booking; None if something else
    ended it.

    `refund_cents` is the amount of the refund that was ordered last; None means all of it. `refund_requested_ms` is set
    while a request for a refund waits for an administrator. `next_step_ms` is when the schedule of a paid booking goes on
    (`schedule.py`); None once it is over.

    `sessions` are the ids of its checkout sessions at the processor, separated by spaces; None if the booking was made
    by a version that did not store them. A `disputed` booking keeps its weeks and is not shown. The payer accepted the terms
    of `terms_version` at `terms_accepted_ms`. `video_material` is what the sponsor sent for the video of its package.
    """

    id: str
    tenant_id: str
    campaign_id: str
    slot_id: str
    slot_name: str
    week_start_ms: int
    weeks: int
    amount_cents: int
    currency: str
    status: BookingStatus
    mode: Mode
    created_ms: int
    hold_ms: int
    package_kind: PackageKind | None = None
    package_description: str | None = None
    youtube_status: YoutubeStatus | None = None
    youtube_url: str | None = None
    youtube_notes: str | None = None
    paid_ms: int | None = None
    paid_cents: int | None = None
    payment_id: str | None = None
    refunded_cents: int = 0
    refund_due_ms: int | None = None
    payment_issue: str | None = None
    demo: bool = False
    sessions: str | None = ""
    cancelled_ms: int | None = None
    disputed: bool = False
    refund_requested_ms: int | None = None
    refund_reason: str | None = None
    refund_note: str | None = None
    refund_requests: int = 0
    refund_cents: int | None = None
    next_step_ms: int | None = 0
    paid_currency: str | None = None
    lost_cents: int = 0
    excess_cents: int = 0
    lost_from: BookingStatus | None = None
    terms_version: str | None = None
    terms_accepted_ms: int | None = None
    video_material: str | None = None

    @property
    def week_end_ms(self) -> int:
        return self.week_start_ms + self.weeks * WEEK_MS

    @property
    def period_start_ms(self) -> int:
        """The first day that was bought, up to `week_end_ms`: of a week that had begun, the day of the booking."""
        return max(self.week_start_ms, day_of(self.created_ms) * DAY_MS)

    @property
    def money_currency(self) -> str:
        """The currency of `paid_cents` and of all that went back."""
        return self.paid_currency or self.currency

    @property
    def received_cents(self) -> int:
        """The cents of the payment; 0 before it."""
        return self.paid_cents or 0

    @property
    def left_cents(self) -> int:
        """The cents of the payment that neither a refund nor a dispute has taken."""
        return max(0, self.received_cents - self.refunded_cents)

    @property
    def refund_left_cents(self) -> int:
        """The amount of the refund that is ordered: at most what is left of the payment."""
        return self.left_cents if self.refund_cents is None else min(self.left_cents, self.refund_cents)

    @property
    def by_refunds_cents(self) -> int:
        """The cents that refunds alone gave back, which is the processor's total. Lost disputes are not part of it."""
        return self.refunded_cents - self.lost_cents

    def given_back(self, by_refunds_cents: int, lost_cents: int) -> "Booking":
        """The booking after so much was refunded, and so much lost in disputes, in all."""
        back_cents = by_refunds_cents + lost_cents
        excess_cents = max(0, back_cents - self.received_cents)
        return replace(self, refunded_cents=back_cents, excess_cents=excess_cents, lost_cents=lost_cents)

    @property
    def issue(self) -> str | None:
        """The problem to show. An open dispute hides an earlier one until it is closed."""
        return "disputed" if self.disputed else self.payment_issue

    def unpaid_until_ms(self, now_ms: int) -> int | None:
        """Return when its hold was cancelled or expired; None if it is still open or was ever paid."""
        ended = self.status_at(now_ms) in (BookingStatus.EXPIRED, BookingStatus.CANCELLED)
        ended_ms = self.hold_ms if self.cancelled_ms is None else self.cancelled_ms
        return ended_ms if ended and self.payment_id is None else None

    def is_open(self, now_ms: int) -> bool:
        """Whether it holds its weeks without being paid."""
        return self.status in OPEN and now_ms < self.hold_ms

    def status_at(self, now_ms: int) -> BookingStatus:
        """The status to show: an expired hold counts as expired even before the sweeper has found it."""
        return BookingStatus.EXPIRED if self.status in OPEN and not self.is_open(now_ms) else self.status


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """The booking that an idempotency key led to; stored as long as the booking."""

    tenant_id: str
    operation: str
    key: str
    fingerprint: bytes
    booking_id: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class PaymentReport:
    """A refund or dispute that the processor reported, whether or not a booking was paid with its payment. `id` is that of
    the dispute, or of the refund if it is one of a booking's. That of the payment stands for the total of its refunds that
    counts. `refunded_cents` is the amount of the dispute or refund, or what was refunded so far; None is all of the
    payment. `reported_ms` is when it was reported; for a dispute, a failed refund or a total, when the processor said so.
    `made_ms` is when a refund was made there: a total since then has it, until it fails. None if that is not known."""

    id: str
    payment_id: str
    state: PaymentState
    reported_ms: int
    refunded_cents: int | None = None
    made_ms: int | None = None

    def cents_of(self, booking: Booking) -> int:
        """The cents of the booking's payment that it is about."""
        return booking.received_cents if self.refunded_cents is None else self.refunded_cents


@dataclass(frozen=True, slots=True)
class DayDelivered:
    """The counts of a booking on a day (since the epoch, UTC)."""

    day: int
    impressions: int
    clicks: int
    filtered: Filtered = NOT_FILTERED


@dataclass(frozen=True, slots=True)
class CampaignView:
    """A campaign with its sponsor's name, if there is a profile."""

    campaign: Campaign
    sponsor_name: str | None = None


@dataclass(frozen=True, slots=True)
class BookingView:
    """A booking with the related data of a response."""

    booking: Booking
    campaign_name: str
    sponsor_name: str | None = None
    impressions: int = 0
    clicks: int = 0
    campaign_status: CampaignStatus | None = None


class BookingLine(NamedTuple):
    """A booking as a line of a file. Names, currencies and the issue are as they are stored. The other texts are written,
    several cells with commas between them: times are ISO 8601 in UTC, and null is empty."""

    created_ms: int
    id: str
    status: str
    slot: str
    campaign: str
    sponsor: str | None
    weeks: str
    """Their start, their end and the amount."""

    currency: str
    payment: str
    """The mode, when the booking was made and paid, and the cents that were paid and refunded."""

    issue: str | None
    days: str
    """Whether it is of the demo, and the first day that was bought."""

    paid_currency: str | None
    impressions: int
    clicks: int
