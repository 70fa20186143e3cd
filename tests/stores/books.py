"""Shared by the tests of the ledger stores: rows, a driver for both stores, and reads of tables without a public reader."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from actors.bookings.messages import Answer, Message, Origin, Reserve
from actors.bookings.records import (
    Booking,
    BookingStatus,
    Campaign,
    CampaignStatus,
    Content,
    IdempotencyRecord,
    Mode,
    PackageKind,
    Side,
    Slot,
    Sponsor,
    YoutubeStatus,
)
from actors.bookings.state import BookingRules, Decision, LockSet, Snapshot, decide, rows_to_lock
from actors.events.messages import FilteredRow
from actors.keys.state import Decision as KeysDecision
from actors.keys.state import LockSet as KeysWanted
from actors.keys.state import Snapshot as KeysSnapshot
from actors.times import WEEK_MS, week_of
from actors.values import Account, Agent, AuditRecord, BatchId, Filtered, Tenant, Tier
from storage.connection.pool import Connection
from tests.doubles.tables import Memory
from tests.stores.conftest import Stores

NOW = 1_790_000_000_000
WEEK = week_of(NOW)
DAY = 20_000
AGENT = Agent("key", "key_1", "owner@example.com")
OPERATION = "bookings"
KEY = "00000000-0000-0000-0000-00000000000"
CALM = BookingRules(cooldown_ms=0, holds_per_day=1_000)
"""Rules under which an account may hold the same week again and again."""


def week(number: int) -> int:
    """The start of the week that many weeks ahead."""
    return WEEK + number * WEEK_MS


def sponsor(number: int = 1, **changes: Any) -> Sponsor:
    made = Sponsor(f"ten_{number}", f"spo_{number}", f"Brand {number}", f"https://brand{number}.example.com/", NOW)
    return replace(made, **changes)


def slot(slot_id: str = "left-1", **changes: Any) -> Slot:
    return replace(Slot(slot_id, f"Slot {slot_id}", Side.LEFT, 5_000, NOW), **changes)


FULL_SLOT = slot(
    "right-9",
    side=Side.RIGHT,
    active=False,
    weeks=4,
    coming_soon=True,
    offer_ends_ms=NOW + 9,
    package_kind=PackageKind.BUNDLE,
    description="Site and «video», 4 weeks",
    retired_ms=NOW + 8,
    demo=True,
)


def campaign(number: int = 1, tenant: int = 1, **changes: Any) -> Campaign:
    content = Content("A headline", "A body, «longer»", "Learn more", "https://example.com/?a=1&b=ü", "AB")
    made = Campaign(f"cmp_{number}", f"ten_{tenant}", f"Campaign {number}", content, CampaignStatus.APPROVED, NOW)
    return replace(made, **changes)


def booking(number: int = 1, tenant: int = 1, **changes: Any) -> Booking:
    made = Booking(
        id=f"bok_{number}",
        tenant_id=f"ten_{tenant}",
        campaign_id=f"cmp_{tenant}",
        slot_id="left-1",
        slot_name="Slot left-1",
        week_start_ms=week(1),
        weeks=1,
        amount_cents=5_000,
        currency="usd",
        status=BookingStatus.RESERVED,
        mode=Mode.TEST,
        created_ms=NOW,
        hold_ms=NOW + 1_800_000,
    )
    return replace(made, **changes)


FULL_BOOKING = booking(
    9,
    status=BookingStatus.REFUNDING,
    mode=Mode.LIVE,
    package_kind=PackageKind.YOUTUBE,
    package_description="A video",
    youtube_status=YoutubeStatus.PUBLISHED,
    youtube_url="https://video.example.com/1",
    youtube_notes="At 3:14",
    paid_ms=NOW + 1,
    paid_cents=7,
    payment_id="pay_1",
    refunded_cents=5_000,
    refund_due_ms=NOW + 2,
    payment_issue="paid_after_expiry",
    demo=True,
    refund_requested_ms=NOW + 3,
    refund_reason="A «mistake»",
    refund_note="It was shown",
    refund_requests=2,
    refund_cents=2_500,
    next_step_ms=None,
    video_material="https://example.com/press",
)


def remembered(booking_id: str, number: int = 1, tenant: int = 1, operation: str = OPERATION) -> IdempotencyRecord:
    return IdempotencyRecord(f"ten_{tenant}", operation, f"{KEY}{number}", b"\x00fingerprint\xff", booking_id, NOW)


def audit(number: int, **changes: Any) -> AuditRecord:
    return replace(AuditRecord(f"aud_{number}", NOW, "key", "key_1", "slot.edited", "slot", "left-1"), **changes)


def origin(number: int) -> Origin:
    return Origin(AGENT, f"req_{number}", f"aud_{number}")


def reserve(number: int, tenant: int = 1, slot_id: str = "left-1", start: int = 1, **changes: Any) -> Reserve:
    """`number` names the booking, the key and the audit record."""
    message = Reserve(
        tenant_id=f"ten_{tenant}",
        booking_id=f"bok_{number}",
        campaign_id=f"cmp_{tenant}",
        slot_id=slot_id,
        week_start_ms=week(start),
        operation=OPERATION,
        key=f"{KEY}{number}",
        fingerprint=b"same",
        origin=origin(number),
    )
    return replace(message, **changes)


def beginning(number: int, tenant: int, slot_id: str = "left-1", **changes: Any) -> Reserve:
    """A `bookings/start` request of a brand: profile, campaign and booking."""
    brand: dict[str, Any] = {"sponsor": sponsor(tenant, id=f"spo_of_{number}"), "campaign": campaign(number, tenant)}
    return reserve(number, tenant, slot_id, campaign_id=f"cmp_{number}", **brand, **changes)


@dataclass
class Books:
    """Drives the ledger stores like an actor, with one batch id per call. Rows can also be written as raw decisions."""

    stores: Stores
    owner: str = "one/bookings"
    batches: int = 0

    def next_batch_id(self) -> BatchId:
        self.batches += 1
        return BatchId(self.owner, self.batches)

    async def tenants(self, *numbers: int) -> None:
        made = {f"ten_{number}": Tenant(f"ten_{number}", Tier.CLAIMED) for number in numbers}
        changed = KeysDecision(changed=KeysSnapshot(tenants=made))
        await self.stores.keys.transact(self.next_batch_id(), KeysWanted((), (), ()), lambda _: changed, NOW)

    async def accounts(self, *numbers: int) -> None:
        """Accounts of tenants: `owner1@example.com` and so on."""
        made = {f"owner{each}@example.com": Account(f"owner{each}@example.com", f"ten_{each}", NOW) for each in numbers}
        changed = KeysDecision(changed=KeysSnapshot(accounts=made))
        await self.stores.keys.transact(self.next_batch_id(), KeysWanted((), (), ()), lambda _: changed, NOW)

    async def administrators(self, *emails: str) -> None:
        changed = KeysDecision(changed=KeysSnapshot(administrators=dict.fromkeys(emails, NOW)))
        await self.stores.keys.transact(self.next_batch_id(), KeysWanted((), (), ()), lambda _: changed, NOW)

    async def keep(self, decision: Decision, rows: LockSet | None = None, batch_id: BatchId | None = None) -> Decision:
        """Write a decision unchanged."""
        kept: Decision = await self.stores.ledger.transact(
            batch_id or self.next_batch_id(), rows or LockSet(), lambda _: decision
        )
        return kept

    async def see(self, rows: LockSet) -> Snapshot:
        """The snapshot of a batch that locks these rows."""
        seen: list[Snapshot] = []

        def look(snapshot: Snapshot) -> Decision:
            seen.append(snapshot)
            return Decision()

        await self.stores.ledger.transact(self.next_batch_id(), rows, look)
        return seen[0]

    async def send(
        self,
        *messages: Message,
        now_ms: int = NOW,
        batch_id: BatchId | None = None,
        rows: Callable[[LockSet], LockSet] = lambda rows: rows,
        rules: BookingRules = CALM,
    ) -> list[Answer]:
        """Decide on messages by the real rules."""
        decision = await self.stores.ledger.transact(
            batch_id or self.next_batch_id(),
            rows(rows_to_lock(messages, rules, now_ms)),
            lambda snapshot: decide(snapshot, messages, now_ms, rules),
        )
        return decision.answers

    async def lay_out(self, *rows: Sponsor | Slot | Campaign | Booking, weeks: bool = True) -> None:
        """Write the rows a test starts from. Bookings hold their weeks if `weeks`."""
        made = Decision()
        for row in rows:
            match row:
                case Sponsor():
                    made.sponsors[row.tenant_id] = row
                case Slot():
                    made.slots[row.id] = row
                case Campaign():
                    made.campaigns[row.id] = row
                case Booking():
                    made.bookings[row.id] = row
                    if weeks:
                        starts = [row.week_start_ms + number * WEEK_MS for number in range(row.weeks)]
                        made.weeks_reserved.update(((row.slot_id, start), row.id) for start in starts)
        await self.keep(made)

    async def deliver(self, booking_id: str, day: int, impressions: int, clicks: int) -> None:
        below = self.stores.below
        if isinstance(below, Memory):
            below.delivery_days[booking_id, day] = (impressions, clicks)
            return

        async def insert(connection: Connection) -> None:
            await connection.execute("select count_days($1, $2, $3, $4)", [booking_id], [day], [impressions], [clicks])

        await below.read(insert)

    async def filter(self, *rows: tuple[str, int, Filtered]) -> None:
        """Add to what was filtered of bookings by day."""
        await self.stores.events.add_filtered(self.next_batch_id(), [FilteredRow(*row) for row in rows])

    async def weeks(self) -> dict[tuple[str, int], str]:
        """The booking that holds each week."""
        below = self.stores.below
        if isinstance(below, Memory):
            return dict(below.slot_weeks)
        rows = await below.read(lambda connection: connection.fetch("select * from slot_weeks"))
        return {(row["slot_id"], row["week_ms"]): row["booking_id"] for row in rows}

    async def listen(self) -> Callable[[], Any]:
        """Start to collect announced topics. The returned function gives those heard so far."""
        heard: list[str] = []
        below = self.stores.below
        if isinstance(below, Memory):
            below.listeners.append(heard.append)
        else:
            # The pool reuses the last connection first, so this one also hears its own announcements.
            await below.read(lambda c: c.add_listener("catalog", lambda *message: heard.append(message[-1])))

        async def topics() -> list[str]:
            await self.stores.sponsorship.revision()
            return heard

        return topics


async def a_world(books: Books, tenants: int = 2) -> None:
    """Accounts with a profile and an approved campaign each, and two slots. `right-1` is sold in units of two weeks."""
    numbers = range(1, tenants + 1)
    await books.tenants(*numbers)
    await books.lay_out(
        *map(sponsor, numbers),
        *(campaign(number, number) for number in numbers),
        slot("left-1"),
        slot("right-1", side=Side.RIGHT, weeks=2),
    )
