"""The real application and ledger over booking tables that a test can fill."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from actors.bookings.actor import BookingLedger
from actors.bookings.decision import BookingRules, Decision, Snapshot
from actors.bookings.records import (
    BillingDetails,
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    Content,
    Mode,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.state import LockSet
from actors.bookings.store import Decide
from actors.clock import MINUTE_MS
from actors.kernel.supervision import Intensity, running
from actors.times import WEEK_MS, week_of
from actors.values import BatchId
from service.running.limits import actor_limits
from tests.api.world import NOON_MS, World, open_world
from tests.fakes import SeededEntropy

SECRET, WEBHOOK_SECRET = "sk_live_stands_in_for_a_key", "whsec_stands_in_for_a_secret"
LIVE = {"BILLING__MODE": "live", "BILLING__STRIPE_SECRET_KEY": SECRET, "BILLING__STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET}

OWNER = "ten_sponsor"
NEXT_WEEK_MS = week_of(NOON_MS) + WEEK_MS
HOLD_MS = 30 * MINUTE_MS


def booking(booking_id: str = "bok_1", **fields: Any) -> Booking:
    """A booking of next week in checkout, as the ledger creates it at noon."""
    made = Booking(
        id=booking_id,
        tenant_id=OWNER,
        campaign_id="cmp_1",
        slot_id="left",
        slot_name="Left column",
        week_start_ms=NEXT_WEEK_MS,
        weeks=2,
        amount_cents=125_000,
        currency="usd",
        status=BookingStatus.CHECKOUT,
        mode=Mode.TEST,
        created_ms=NOON_MS,
        hold_ms=NOON_MS + HOLD_MS,
        sessions="cs_test_1",
    )
    return replace(made, **fields)


async def _nothing() -> None:
    await trio.lowlevel.checkpoint()


@dataclass(eq=False)
class Books:
    """The tables of the ledger and the pages. `before` runs before each access; a test may raise a storage error there."""

    tables: Snapshot = field(default_factory=Snapshot)
    actions: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    """The templates of mails to administrators."""
    before: Callable[[], Awaitable[None]] = _nothing

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        await self.before()
        decision = decide(self.tables)
        for name in ("sponsors", "campaigns", "slots", "bookings", "reports"):
            getattr(self.tables, name).update(getattr(decision, name))
        for week in decision.weeks_freed:
            del self.tables.weeks[week]
        self.tables.weeks.update(decision.weeks_reserved)
        self.tables.events.update(event_id for event_id, _ in decision.events)
        self.actions += [audit.action for audit in decision.audits]
        self.alerts += [mail.template for mail in decision.mails if mail.tenant_id is None]
        return decision

    async def billing_details(self, tenant_id: str) -> BillingDetails | None:
        return self.tables.billing.get(tenant_id)

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        await self.before()
        found = self.tables.bookings.get(booking_id)
        if found is None or tenant_id not in (None, found.tenant_id):
            return None
        sponsor = self.tables.sponsors.get(found.tenant_id)
        campaign = self.tables.campaigns[found.campaign_id]
        return BookingView(found, campaign.name, sponsor.name if sponsor else None)

    def put(self, made: Booking) -> Booking:
        """Store a booking. An open or paid one occupies its weeks."""
        self.tables.bookings[made.id] = made
        if made.status in (BookingStatus.RESERVED, BookingStatus.CHECKOUT, BookingStatus.PAID):
            weeks = (made.week_start_ms + number * WEEK_MS for number in range(made.weeks))
            self.tables.weeks.update({(made.slot_id, week_ms): made.id for week_ms in weeks})
        return made

    def status(self, booking_id: str = "bok_1") -> str:
        return self.tables.bookings[booking_id].status.value


@dataclass
class Bank:
    """A world and its tables."""

    world: World
    books: Books

    def checkout_path(self, made: Booking) -> str:
        return self._path(self.world.services.links.checkout_url(made))

    def receipt_path(self, made: Booking) -> str:
        return self._path(self.world.services.links.result_url(made))

    def _path(self, url: str) -> str:
        return url.removeprefix(self.world.services.base_url)


@asynccontextmanager
async def open_bank(**settings: object) -> AsyncIterator[Bank]:
    """A node with a ledger over tables that hold one sponsor, campaign and slot."""
    async with open_world(**settings) as world:
        books = Books()
        content = Content("Headline", "Body", "Learn more", "https://example.com/", "S")
        books.tables.sponsors[OWNER] = Sponsor(OWNER, "spo_1", "Sponsor & Co", "https://example.com/", NOON_MS)
        books.tables.campaigns["cmp_1"] = Campaign(
            "cmp_1", OWNER, "Autumn <campaign>", content, CampaignStatus.APPROVED, NOON_MS
        )
        books.tables.slots["left"] = Slot("left", "Left column", Side.LEFT, 62_500, NOON_MS, weeks=2)
        rules = BookingRules(mode=Mode(world.config.billing.mode))
        limits = actor_limits(world.config)
        ledger = BookingLedger(books, world.clock, SeededEntropy(3), rules, node="n1", limits=limits)
        world.services.ledger = ledger
        world.services.sponsorship = books  # type: ignore[assignment]  # the pages read nothing but a booking
        async with running([ledger], intensity=Intensity(5, 60.0)):
            await wait_all_tasks_blocked()
            yield Bank(world, books)
