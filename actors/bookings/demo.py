"""Demo data, and how it makes way for real rows. Pure; source: ADR 0024.

Real rows always win: what they need stays, and what they have taken is left to them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from actors.bookings.decision import Week
from actors.bookings.messages import Origin
from actors.bookings.records import OPEN, Booking, BookingStatus, Campaign, Slot, Sponsor
from actors.bookings.unit_of_work import weeks_of
from actors.values import AuditRecord

HOLDING = (*OPEN, BookingStatus.PAID, BookingStatus.REFUNDING)
"""States in which a demo booking holds its weeks."""


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """An account that owns demo rows. `tenant_id` is used only if the email has no account yet."""

    email: str
    tenant_id: str


@dataclass(frozen=True, slots=True)
class DeliveryDay:
    """The delivery counts of a booking on one day (since the epoch, UTC)."""

    booking_id: str
    day: int
    impressions: int
    clicks: int


@dataclass(frozen=True, slots=True)
class DemoData:
    """All rows of a demo. Each is marked as demo and belongs to one of the accounts."""

    accounts: tuple[DemoAccount, ...] = ()
    sponsors: tuple[Sponsor, ...] = ()
    slots: tuple[Slot, ...] = ()
    campaigns: tuple[Campaign, ...] = ()
    bookings: tuple[Booking, ...] = ()
    days: tuple[DeliveryDay, ...] = ()

    @property
    def weeks(self) -> dict[Week, str]:
        """The weeks held by its bookings, each with its one holder."""
        held = [(week, booking.id) for booking in self.bookings if holds(booking) for week in weeks_of(booking)]
        weeks = dict(held)
        assert len(weeks) == len(held), "a demo sells no week twice"
        return weeks


@dataclass(frozen=True, slots=True)
class DemoCounts:
    """How many rows were written, how many of an older demo were removed, and how many gave way to real ones. `retired`
    counts slots with a real booking, `left_out` rows that were not written."""

    sponsors: int = 0
    slots: int = 0
    campaigns: int = 0
    bookings: int = 0
    days: int = 0
    removed: int = 0
    retired: int = 0
    left_out: int = 0


@dataclass(slots=True)
class ExistingRows:
    """Existing rows that concern a demo, locked until it is written.

    `tenants` are those of accounts, by email. The next four contain demo rows and rows with the ids of the data, and
    whether each is demo. `used_*` are needed by a real campaign or booking; `weeks` are held by real bookings.
    """

    tenants: dict[str, str] = field(default_factory=dict)
    sponsors: dict[str, bool] = field(default_factory=dict)
    slots: dict[str, bool] = field(default_factory=dict)
    campaigns: dict[str, bool] = field(default_factory=dict)
    bookings: dict[str, bool] = field(default_factory=dict)
    used_sponsors: set[str] = field(default_factory=set)
    used_slots: set[str] = field(default_factory=set)
    used_campaigns: set[str] = field(default_factory=set)
    weeks: set[Week] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """The steps: remove rows (sponsors by tenant), retire slots, create accounts, then write `data`. All sorted by id."""

    sponsors: tuple[str, ...]
    slots: tuple[str, ...]
    campaigns: tuple[str, ...]
    bookings: tuple[str, ...]
    retired: tuple[str, ...]
    accounts: tuple[DemoAccount, ...]
    data: DemoData
    counts: DemoCounts

    @property
    def counted(self) -> set[str]:
        """Bookings whose delivery counts are deleted: the removed ones, and the new ones, for which a late event may
        have been counted after an older demo was removed."""
        return {*self.bookings, *(booking.id for booking in self.data.bookings)}


def holds(booking: Booking) -> bool:
    """Whether a demo booking holds its weeks."""
    return booking.status in HOLDING


def plan(ground: ExistingRows, data: DemoData | None) -> DemoPlan:
    """How to replace the existing demo by `data`; None removes it."""
    wanted = data or DemoData()
    accounts = tuple(account for account in wanted.accounts if account.email not in ground.tenants)
    writable = _writable(_with_existing_tenants(wanted, ground.tenants), ground)
    written = {slot.id for slot in writable.slots}
    sponsors = _removable(ground.sponsors, ground.used_sponsors)
    replaced = _removable(ground.slots, ground.used_slots)
    campaigns = _removable(ground.campaigns, ground.used_campaigns)
    bookings = _removable(ground.bookings, set())
    # Slots that are written again are not deleted: a reservation that waits for their lock must find them.
    slots = tuple(slot_id for slot_id in replaced if slot_id not in written)
    retired = tuple(sorted(row_id for row_id in ground.used_slots - written if ground.slots.get(row_id)))
    return DemoPlan(
        sponsors=sponsors,
        slots=slots,
        campaigns=campaigns,
        bookings=bookings,
        retired=retired,
        accounts=accounts,
        data=writable,
        counts=DemoCounts(
            sponsors=len(writable.sponsors),
            slots=len(writable.slots),
            campaigns=len(writable.campaigns),
            bookings=len(writable.bookings),
            days=len(writable.days),
            removed=len(sponsors) + len(replaced) + len(campaigns) + len(bookings),
            retired=len(retired),
            left_out=_rows(wanted) - _rows(writable),
        ),
    )


def audit_record(data: DemoData | None, counts: DemoCounts, origin: Origin, now_ms: int) -> AuditRecord:
    """The audit record of a replacement."""
    action = "demo.removed" if data is None else "demo.seeded"
    facts = json.dumps(asdict(counts), separators=(",", ":"))
    return AuditRecord.by(origin.agent, origin.audit_id, now_ms, action, ("demo", "demo"), origin.request_id, facts)


def _removable(found: Mapping[str, bool], used: set[str]) -> tuple[str, ...]:
    """The demo rows that nothing real needs."""
    return tuple(sorted(row_id for row_id, demo in found.items() if demo and row_id not in used))


def _with_existing_tenants(data: DemoData, tenants: Mapping[str, str]) -> DemoData:
    """The data, with the tenants of accounts that already exist."""
    moved = {account.tenant_id: tenants.get(account.email, account.tenant_id) for account in data.accounts}
    return replace(
        data,
        sponsors=tuple(replace(row, tenant_id=moved[row.tenant_id]) for row in data.sponsors),
        campaigns=tuple(replace(row, tenant_id=moved[row.tenant_id]) for row in data.campaigns),
        bookings=tuple(replace(row, tenant_id=moved[row.tenant_id]) for row in data.bookings),
    )


def _writable(data: DemoData, ground: ExistingRows) -> DemoData:
    """The part of the data that can be written. Real rows stay, and so do profiles and campaigns that they need."""
    kept_sponsors = _rows_in_use(ground.sponsors, ground.used_sponsors)
    kept_campaigns = _rows_in_use(ground.campaigns, ground.used_campaigns)
    real_slots = _rows_in_use(ground.slots, set())
    bookings = tuple(_with_free_weeks(data.bookings, ground, real_slots))
    written = {booking.id for booking in bookings}
    return replace(
        data,
        sponsors=tuple(row for row in data.sponsors if row.tenant_id not in kept_sponsors),
        slots=tuple(row for row in data.slots if row.id not in real_slots),
        campaigns=tuple(row for row in data.campaigns if row.id not in kept_campaigns),
        bookings=bookings,
        days=tuple(row for row in data.days if row.booking_id in written),
    )


def _rows_in_use(found: Mapping[str, bool], used: set[str]) -> set[str]:
    return {row_id for row_id, demo in found.items() if not demo or row_id in used}


def _with_free_weeks(bookings: tuple[Booking, ...], ground: ExistingRows, real_slots: set[str]) -> Iterator[Booking]:
    """The bookings of demo slots whose weeks are not held by a real booking."""
    for booking in bookings:
        taken = holds(booking) and any(week in ground.weeks for week in weeks_of(booking))
        if not taken and booking.slot_id not in real_slots and ground.bookings.get(booking.id, True):
            yield booking


def _rows(data: DemoData) -> int:
    """Rows that can be left out separately. Delivery days belong to their booking."""
    return len(data.sponsors) + len(data.slots) + len(data.campaigns) + len(data.bookings)
