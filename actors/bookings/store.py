"""The store ports of the ledger, the sweeper and the readers. Both stores of each pass the same contract tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from actors.bookings.demo import DemoCounts, DemoData
from actors.bookings.invoices import Invoice
from actors.bookings.messages import Origin
from actors.bookings.records import (
    BillingDetails,
    Booking,
    BookingLine,
    BookingStatus,
    BookingView,
    CampaignStatus,
    CampaignView,
    Content,
    DayDelivered,
    Mode,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.reports import (
    ALL,
    BookingDelivered,
    BookingTotals,
    DayCounted,
    Days,
    Only,
    Run,
    Sale,
    SharedReport,
    SlotReach,
)
from actors.bookings.state import Decision, LockSet, Snapshot
from actors.values import AuditRecord, BatchId

COUNTED = 10_000
"""Rows of one kind that are counted at most."""


class Before(NamedTuple):
    """A position in a list, newest first."""

    created_ms: int
    id: str


@dataclass(frozen=True, slots=True)
class BookingFilter:
    """Which bookings to list; None means any. `week_ms` is the start of a week that a booking covers. `sponsor` is the id of
    a sponsor or of its account. `text` is the id of a booking or of a payment, or a part of the name of a sponsor or a slot.
    `trouble` is whether a person has to look at its payment, and `requested` whether its sponsor has asked for a refund."""

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
    """The rows of the administrators' lists, each number at most `COUNTED`. `submissions` are those that wait."""

    bookings: Mapping[BookingStatus, int] = field(default_factory=dict)
    campaigns: Mapping[CampaignStatus, int] = field(default_factory=dict)
    trouble: int = 0
    requested: int = 0
    sponsors: int = 0
    submissions: int = 0


Decide = Callable[[Snapshot], Decision]

TOPIC = "sponsorship"
"""The topic announced to all nodes when a change commits that the public can see."""


@dataclass(frozen=True, slots=True)
class UnavailableWeek:
    """A week of a slot that is not free. `until_ms` is when its hold expires; None if it is paid for."""

    slot_id: str
    week_ms: int
    until_ms: int | None


@dataclass(frozen=True, slots=True)
class SoldPlacement:
    """A paid booking with an approved campaign: shown in [week_start_ms, week_end_ms)."""

    booking_id: str
    slot_id: str
    side: Side
    content: Content
    sponsor_name: str
    week_start_ms: int
    week_end_ms: int
    demo: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything the public may see, as of one revision; slots by id, placements by booking id."""

    revision: int
    slots: Sequence[Slot]
    taken: Sequence[UnavailableWeek]
    placements: Sequence[SoldPlacement]


class LedgerStore(Protocol):
    """The rows of the ledger."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        """Lock the rows, decide, and commit all changes with the batch id in one transaction.

        Named bookings, and those of idempotency keys, lead to their sponsor, campaign and slot; campaigns lead to their
        sponsor; sponsors lead to their open bookings; slots lead to their taken weeks from `locks.from_week_ms` or the
        earliest such booking on, and those to the bookings that hold them, with all of their weeks (but not their
        sponsors and campaigns). Payments lead to the bookings paid with them, as if these were named, and to their
        reports. With `locks.recent_ms`, sponsors also lead to their bookings created since. `delivered`
        is read for named bookings and those of idempotency keys, `audited` before the locks on rows. A record with an
        existing id, or a payment that another booking has, raises `Contended`. `days` are those of `locks.followed_ids`; with
        `locks.digest`, the row of the digest is locked, and `reviews` read. Mails of the decision go to the owners of
        accounts and to administrators who have not turned their topic off.

        Locks the names of payments and of accounts whose campaigns are counted, then sponsors, campaigns, slots and
        bookings, in this order, each sorted; the weeks of a slot change only under the slot's lock. A batch id that is
        already in the journal is not decided again: its decision is returned. Invoices are numbered last, each series
        under one lock, so that their numbers have no gaps. If the decision is `visible`, increments the revision and
        announces `TOPIC` with the commit. Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...


class SponsorshipStore(Protocol):
    """Reads the rows of the ledger. All methods raise `StorageUnavailable`. Lists are newest first (`created_ms`, then
    `id`, both descending), strictly after `before`, at most `limit` long. `tenant_id` None means all tenants."""

    async def sponsor(self, tenant_id: str) -> Sponsor | None: ...
    async def billing_details(self, tenant_id: str) -> BillingDetails | None: ...
    async def shared_reports(self, tenant_id: str) -> Sequence[SharedReport]: ...
    async def sponsors(self, before: Before | None, limit: int, text: str | None = None) -> Sequence[Sponsor]:
        """Sponsors; with a search, those with this id or account id, or with the text in their name or website."""
        ...

    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]: ...
    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None: ...

    async def everybodys_campaigns(
        self,
        status: CampaignStatus | None,
        place: Before | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[CampaignView]:
        """Campaigns in a state, or in any. `oldest` lists them oldest first, strictly after `place`. A search finds those
        with this id, or with the text in their name, their target or the name of their sponsor."""
        ...

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]: ...
    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None: ...

    async def present_bookings(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[BookingView]:
        """The bookings that are held, or paid with weeks that are not over, earliest week first."""
        ...

    async def past_bookings(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[BookingView]:
        """The bookings that were paid, and are over or were refunded, latest week first."""
        ...

    async def totals(self, tenant_id: str, most: int) -> BookingTotals:
        """The sums over the newest `most` bookings of an account."""
        ...

    async def count_bookings(self, tenant_id: str, most: int) -> int:
        """How many bookings an account has, counted no further than `most`."""
        ...

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        """The days with delivery counts of a booking, in order."""
        ...

    async def deliveries(
        self, tenant_id: str, days: Days, after: Before | None, limit: int, only: Only = ALL
    ) -> Sequence[BookingDelivered]:
        """Bookings of an account that were paid and touch these days, all or some `only`, with their counts on them, oldest
        first, strictly after a place."""
        ...

    async def runs(self, tenant_id: str, days: Days, most: int) -> Sequence[Run]:
        """The bookings that `deliveries` has on these days, oldest first, without counts. Reads at most `most`."""
        ...

    async def counted(self, booking_ids: Sequence[str], days: Days) -> Sequence[DayCounted]:
        """The counts of bookings on these days, in their order for each booking."""
        ...

    async def shared_report(self, token_hash: bytes) -> SharedReport | None:
        """The report behind a link, if it is shared, and by an account that exists and is not suspended."""
        ...

    async def invoices(self, tenant_id: str, before: Before | None, limit: int) -> Sequence[Invoice]:
        """The invoices and credit notes of an account, by `issued_ms` and `number`."""
        ...

    async def count_invoices(self, tenant_id: str, most: int) -> int:
        """How many of them an account has, counted no further than `most`."""
        ...

    async def invoices_of(self, tenant_id: str, booking_id: str, limit: int) -> Sequence[Invoice]:
        """The first `limit` invoices and credit notes of an account's booking, oldest first."""
        ...

    async def slots(self) -> Sequence[Slot]:
        """All slots, including retired ones, by id."""
        ...

    async def audit(
        self, before: Before | None, limit: int, target_id: str | None = None, actor_email: str | None = None
    ) -> Sequence[AuditRecord]:
        """The audit records, newest first: of one target, of one account that acted, of both, or all."""
        ...

    async def revision(self) -> int: ...

    async def ads_beside(self, slot_id: str, from_ms: int, until_ms: int, now_ms: int) -> Mapping[int, int]:
        """By week from `from_ms` to before `until_ms`: how many other slots on the side of a slot are paid for, or held.
        Weeks without any are left out. Empty for an unknown slot."""
        ...

    async def overview(self, from_week_ms: int) -> Overview:
        """One consistent picture: slots not retired, their taken weeks from `from_week_ms` on, later placements."""
        ...

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        """The reach of the newest `MAX_ENDED` bookings that were paid in this mode and have ended, by slot. Samples of the
        demo do not count."""
        ...

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        """Ids of open bookings whose hold has expired, longest first."""
        ...

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        """Bookings whose `refund_due_ms` has passed, longest first. A refund waits while its payment is disputed: the
        processor would decline it."""
        ...

    async def due_steps(self, now_ms: int, limit: int) -> Sequence[str]:
        """Paid bookings whose schedule goes on at `now_ms`, longest due first, by id. Those of the demo have none."""
        ...

    async def digest_is_due(self, before_ms: int) -> bool:
        """Whether a campaign was submitted since the last digest of reviews, and that was mailed by `before_ms`."""
        ...

    async def waiting_refunds(self, limit: int) -> int:
        """How many bookings have a `refund_due_ms`, now or later; counts no further than `limit`."""
        ...

    # Reads of administrators.

    async def filtered_bookings(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingView]:
        """The bookings that match, newest first, strictly after `before`."""
        ...

    async def booking_lines(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingLine]:
        """The same as lines of a file, with their status at `now_ms`."""
        ...

    async def review_queue(
        self, now_ms: int, after: Urgency | None, limit: int, text: str | None = None
    ) -> Sequence[Waiting]:
        """The campaigns that wait for review, most urgent first, strictly after a place; a search is that of campaigns."""
        ...

    async def revenue(self, from_ms: int, until_ms: int) -> Sequence[MonthRevenue]:
        """The payments of real bookings by month, newest first, then by currency and mode. Both times begin a month."""
        ...

    async def sales(self, from_ms: int, until_ms: int, most: int) -> Sequence[Sale]:
        """The sums of the payments of real bookings in [from_ms, until_ms) by currency and mode: by slot, then by account,
        the `most` of each for which most was paid, and all others together."""
        ...

    async def list_counts(self, now_ms: int) -> ListCounts:
        """How many rows the lists have."""
        ...

    async def refundable(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[Booking]:
        """The paid bookings of an account that are not disputed and whose weeks are not over, by first week."""
        ...


class DemoStore(Protocol):
    """Writes and removes demo data beside real rows."""

    async def replace_demo(
        self, data: DemoData | None, origin: Origin, now_ms: int, *, first: bool = False
    ) -> DemoCounts | None:
        """Replace the existing demo by `data`, or remove it (None), in one transaction.

        Real rows stay, with the slots and campaigns that they need (`demo.plan`). Always increments the revision and
        announces `TOPIC`, so that a removed demo counts as touched. With `first` it does nothing and returns None
        unless the sponsorship area is unused; of several nodes at once, one does it. Writes `demo.seeded` or
        `demo.removed` to the audit. Repeating it is harmless. Raises `StorageUnavailable`, `Contended` or
        `OutcomeUnknown`.
        """
        ...

    async def is_untouched(self) -> bool:
        """Whether there never was a slot, sponsor, booking or demo. Raises `StorageUnavailable`."""
        ...
