"""The store ports of the ledger, the sweeper and the readers. Both stores of each pass the same contract tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from actors.bookings.admin_views import Before as Before
from actors.bookings.admin_views import OversightStore
from actors.bookings.demo import DemoCounts, DemoData
from actors.bookings.invoices import Invoice
from actors.bookings.messages import Origin
from actors.bookings.records import (
    Booking,
    BookingView,
    CampaignStatus,
    CampaignView,
    Content,
    DayDelivered,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.reports import BookingDelivered, Days, SlotReach
from actors.bookings.state import Decision, LockSet, Snapshot
from actors.values import AuditRecord, BatchId

Decide = Callable[[Snapshot], Decision]

__all__ = ["TOPIC", "Before", "DayDelivered", "Overview", "SoldPlacement", "UnavailableWeek"]

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


class SponsorshipStore(OversightStore, Protocol):
    """Reads the rows of the ledger. All methods raise `StorageUnavailable`. Lists are newest first (`created_ms`, then
    `id`, both descending), strictly after `before`, at most `limit` long. `tenant_id` None means all tenants."""

    async def sponsor(self, tenant_id: str) -> Sponsor | None: ...
    async def sponsors(self, before: Before | None, limit: int) -> Sequence[Sponsor]: ...
    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]: ...
    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None: ...

    async def everybodys_campaigns(
        self, status: CampaignStatus | None, place: Before | None, limit: int, *, oldest: bool = False
    ) -> Sequence[CampaignView]:
        """Campaigns in a state, or in any. `oldest` lists them oldest first, strictly after `place`."""
        ...

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]: ...
    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None: ...

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        """The days with delivery counts of a booking, in order."""
        ...

    async def deliveries(
        self, tenant_id: str, days: Days, after: Before | None, limit: int
    ) -> Sequence[BookingDelivered]:
        """Bookings of an account that were paid and touch these days, with their counts on them, oldest first, strictly
        after a place."""
        ...

    async def invoices(self, tenant_id: str, before: Before | None, limit: int) -> Sequence[Invoice]:
        """The invoices and credit notes of an account, by `issued_ms` and `number`."""
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

    async def revision(self) -> int:
        """The revision of the newest change that the public can see."""
        ...

    async def overview(self, from_week_ms: int) -> Overview:
        """One consistent picture: slots not retired, their taken weeks from `from_week_ms` on, later placements."""
        ...

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        """The reach of the newest `MOST_ENDED` bookings that were paid in this mode and have ended, by slot. Samples of the
        demo do not count."""
        ...

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        """Ids of open bookings whose hold has expired, longest first."""
        ...

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        """Bookings whose `refund_due_ms` has passed, longest first."""
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
