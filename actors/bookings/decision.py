"""The locked rows of a batch, and the changes that the ledger decides on. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from actors.bookings.invoices import UNNAMED, Invoice, Seller
from actors.bookings.messages import Answer
from actors.bookings.records import (
    BillingDetails,
    Booking,
    Campaign,
    CampaignView,
    DayDelivered,
    IdempotencyRecord,
    Mode,
    PaymentReport,
    Slot,
    Sponsor,
)
from actors.bookings.reports import SharedReport
from actors.shared.announcements import AccountMail, WebhookEvent
from actors.times import DAY_MS, HOUR_MS, MINUTE_MS, day_of
from actors.values import AuditRecord

Week = tuple[str, int]
"""A slot's id and the start of a week."""


@dataclass(frozen=True, slots=True)
class BookingRules:
    """Limits of bookings, campaigns and payments. `mode` applies to new bookings; only those of this mode can be paid. The
    counts of a day are final `settle_ms` after it. Digests of reviews are at least `digest_ms` apart."""

    hold_ms: int = 30 * MINUTE_MS
    open_holds: int = 3
    holds_per_day: int = 20
    cooldown_ms: int = 60 * MINUTE_MS
    horizon_weeks: int = 26
    campaigns: int = 200
    pending_campaigns: int = 20
    currency: str = "usd"
    mode: Mode = Mode.TEST
    refund_unshown: bool = True
    settle_ms: int = 5 * MINUTE_MS
    digest_ms: int = HOUR_MS
    seller: Seller = UNNAMED

    def counted_from_ms(self, now_ms: int) -> int:
        """The creation of the oldest booking that can matter for a new hold: today's count, and holds that end within
        the cool-down. A hold lasts twice its time at most."""
        return min(day_of(now_ms) * DAY_MS, now_ms - self.cooldown_ms - 2 * self.hold_ms)


@dataclass(frozen=True, slots=True)
class CampaignCounts:
    """The campaigns of an account, and how many of them wait for review."""

    total: int = 0
    pending: int = 0


@dataclass(frozen=True, slots=True)
class WaitingReviews:
    """The campaigns that wait for review: how many, when the newest was submitted, the first ones, and when administrators
    were last mailed about them."""

    mailed_ms: int = 0
    count: int = 0
    newest_ms: int = 0
    first: Sequence[CampaignView] = ()


@dataclass(slots=True)
class Snapshot:
    """The locked rows of a batch. Sponsors and billing details are by tenant; `weeks` maps a week to the booking that
    holds it. `delivered` has the impressions and clicks of bookings, `events` the named events that were already handled,
    `audited` the targets of the named audit records. `reports` are about named payments; `campaign_counts` are by tenant,
    and `suspended` are the tenants of suspended accounts. `days` has the counts of followed bookings by day. `siblings`
    are, for tenants that never paid, the other ones of their mailbox that never paid and are in the batch or have
    bookings or campaigns that limits count. `shared` are by tenant, and so are the impressions and
    clicks of the `last_week`."""

    sponsors: dict[str, Sponsor] = field(default_factory=dict)
    billing: dict[str, BillingDetails] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    bookings: dict[str, Booking] = field(default_factory=dict)
    weeks: dict[Week, str] = field(default_factory=dict)
    remembered: dict[tuple[str, str, str], IdempotencyRecord] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    delivered: dict[str, tuple[int, int]] = field(default_factory=dict)
    audited: dict[str, str] = field(default_factory=dict)
    reports: dict[str, PaymentReport] = field(default_factory=dict)
    campaign_counts: dict[str, CampaignCounts] = field(default_factory=dict)
    suspended: frozenset[str] = frozenset()
    days: dict[str, list[DayDelivered]] = field(default_factory=dict)
    reviews: WaitingReviews = WaitingReviews()
    siblings: dict[str, frozenset[str]] = field(default_factory=dict)
    shared: dict[str, list[SharedReport]] = field(default_factory=dict)
    last_week: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order.

    Rows are complete, new or changed. `weeks_freed` (week -> previous holder) is applied before `weeks_reserved`, and may
    contain weeks before those that were read, because an open booking holds all of its weeks. `events` are pairs of a
    processor's event and a booking, handled at `decided_ms`. `digest_ms` is when the digest of reviews was mailed.
    `invoices` have no numbers yet. `unshared` are ids of reports that are no longer shared.
    `visible`: the public may see a difference.
    """

    sponsors: dict[str, Sponsor] = field(default_factory=dict)
    billing: dict[str, BillingDetails] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    bookings: dict[str, Booking] = field(default_factory=dict)
    weeks_freed: dict[Week, str] = field(default_factory=dict)
    weeks_reserved: dict[Week, str] = field(default_factory=dict)
    remembered: list[IdempotencyRecord] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    decided_ms: int = 0
    reports: dict[str, PaymentReport] = field(default_factory=dict)
    audits: list[AuditRecord] = field(default_factory=list)
    mails: list[AccountMail] = field(default_factory=list)
    webhook_events: list[WebhookEvent] = field(default_factory=list)
    digest_ms: int | None = None
    invoices: list[Invoice] = field(default_factory=list)
    shared: dict[str, SharedReport] = field(default_factory=dict)
    unshared: list[str] = field(default_factory=list)
    visible: bool = False
    answers: list[Answer] = field(default_factory=list)
