"""What the ledger, the cashier and the readers need of a store. Two of them pass one contract."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from actors.bookings.demo import DemoCounts, DemoData
from actors.bookings.messages import Origin
from actors.bookings.records import (
    Booking,
    BookingView,
    CampaignStatus,
    CampaignView,
    Content,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.state import Decision, LockSet, Snapshot
from actors.values import AuditRecord, BatchId

Decide = Callable[[Snapshot], Decision]

TOPIC = "sponsorship"
"""What is announced to all nodes with a commit that changes what the public sees."""


class Before(NamedTuple):
    """A place in a list that shows the newest first."""

    created_ms: int
    id: str


@dataclass(frozen=True, slots=True)
class TakenWeek:
    """A week of a slot that is not free. `until_ms` is when it falls free by itself; None when it is paid for."""

    slot_id: str
    week_ms: int
    until_ms: int | None


@dataclass(frozen=True, slots=True)
class SoldPlacement:
    """A paid booking with an approved campaign: shown in [week_start_ms, week_end_ms)."""

    booking_id: str
    side: Side
    content: Content
    sponsor_name: str
    week_start_ms: int
    week_end_ms: int
    demo: bool


@dataclass(frozen=True, slots=True)
class DayDelivered:
    """What was counted for a booking on a day, in days since the epoch, UTC."""

    day: int
    impressions: int
    clicks: int


@dataclass(frozen=True, slots=True)
class Overview:
    """What the public may see, as of one revision; slots by id, placements by booking id."""

    revision: int
    slots: Sequence[Slot]
    taken: Sequence[TakenWeek]
    placements: Sequence[SoldPlacement]


class LedgerStore(Protocol):
    """Where the ledger keeps its rows."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        """Lock the wanted rows, decide, keep all changes and the turn. One transaction.

        Bookings that are named or remembered lead to their sponsor, campaign and slot, and campaigns to their sponsor;
        sponsors lead to their open bookings; slots lead to their taken weeks from `wanted.from_week_ms` or the earliest
        such booking on, and those to the bookings that hold them, with all of their weeks (whose sponsors and campaigns
        are not read for that).
        `delivered` is read for bookings that are named or remembered.

        Locks are taken on sponsors, campaigns, slots and bookings, in this order, each sorted; the weeks of a slot
        change only under the slot's lock. A turn that was kept before is not decided again: its decision is returned.
        Where the decision is `visible` the revision grows, and `TOPIC` is announced with the commit.
        Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...


class SponsorshipStore(Protocol):
    """Reading what the ledger keeps. All methods raise `StorageUnavailable`.

    Lists are newest first (`created_ms`, then `id`, both descending), strictly after `before`, at most `limit` long;
    a None `tenant_id` means everybody's.
    """

    async def sponsor(self, tenant_id: str) -> Sponsor | None: ...
    async def sponsors(self, before: Before | None, limit: int) -> Sequence[Sponsor]: ...
    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]: ...
    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None: ...

    async def everybodys_campaigns(
        self, status: CampaignStatus | None, place: Before | None, limit: int, *, oldest: bool = False
    ) -> Sequence[CampaignView]:
        """Campaigns in a state, or in any. With `oldest` they are oldest first, and strictly after `place`."""
        ...

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]: ...
    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None: ...

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        """The days on which anything was counted for a booking, in order."""
        ...

    async def slots(self) -> Sequence[Slot]:
        """All slots, retired ones too, by id."""
        ...

    async def audit(self, before: Before | None, limit: int, target_id: str | None = None) -> Sequence[AuditRecord]:
        """What was changed, of one target or of all."""
        ...

    async def revision(self) -> int:
        """The revision of the newest change that the public sees."""
        ...

    async def overview(self, from_week_ms: int) -> Overview:
        """One consistent picture: slots that are not retired, their taken weeks from `from_week_ms` on, and placements
        that end after it."""
        ...

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        """Ids of open bookings whose hold has run out, the longest first."""
        ...

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        """Bookings whose `refund_due_ms` has come, the longest first."""
        ...


class DemoStore(Protocol):
    """Where demo data is put beside real rows, and taken away again."""

    async def replace_demo(
        self, data: DemoData | None, origin: Origin, now_ms: int, *, first: bool = False
    ) -> DemoCounts | None:
        """Put `data` in the place of the demo that stands there; None takes that away. One transaction.

        Real rows stay, with the slots and campaigns they are made for (`demo.plan`). The revision grows and `TOPIC` is
        announced in any case, so that a demo taken away counts as touched. With `first` it does nothing, and returns
        None, unless nobody has used the sponsorship area yet; of several nodes that try at once, one does.
        Writes `demo.seeded` or `demo.removed` to the audit. Running it again is harmless.
        Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def is_untouched(self) -> bool:
        """Whether there never was a slot, a sponsor, a booking or a demo. Raises `StorageUnavailable`."""
        ...
