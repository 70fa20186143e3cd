"""Rows of the sponsorship area in memory, with decisions applied to them: a store without I/O."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from actors.bookings.decision import CampaignCounts, WaitingReviews
from actors.bookings.messages import (
    Answer,
    Cancel,
    CreateCampaign,
    CreateSlot,
    DescribeVideo,
    EditCampaign,
    EditSlot,
    ExpireHold,
    LeaseRefund,
    Message,
    MoveCampaign,
    OpenCheckout,
    OrderRefund,
    Origin,
    PostponeRefund,
    RecordPayment,
    Reserve,
    RetireSlot,
    SaveBillingDetails,
    SaveProfile,
    SettleDispute,
    SettleRefund,
    StoreCheckoutSession,
)
from actors.bookings.records import (
    OPEN,
    BillingDetails,
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    Content,
    DayDelivered,
    IdempotencyRecord,
    PaymentReport,
    PaymentState,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.reports import SharedReport
from actors.bookings.state import BookingRules, Decision, Snapshot, Week, decide, rows_to_lock
from actors.bookings.transitions import CampaignMove
from actors.bookings.unit_of_work import weeks_of
from actors.shared.announcements import AccountMail, WebhookEvent
from actors.times import WEEK_MS, day_of
from actors.values import Agent, AuditRecord, Code, Refused
from tests.state.manners import well_kept, well_said

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
MONDAY = 20_773 * DAY
"""16 November 2026, 00:00 UTC: the start of the week in which these tests begin."""
NOON = MONDAY + 2 * DAY + 12 * HOUR
HOLD = 30 * MINUTE
ANN, BOB = "ten_ann", "ten_bob"
SLOT, PAIR = "slt_one", "slt_pair"
"""A slot that is sold by the week, and one that is sold two weeks at a time."""
PRICE = 10_000
REST = 7_142
"""The price of the week in which these tests begin, on its Wednesday: 10000 * 5 / 7 = 7142.9."""
AGENT = Agent("key", "key_1", "somebody@example.com")
PAYMENTS = Agent("system", "payments")
CONTENT = Content("A headline", "A body", "Go", "https://example.com/go", "EX")

CHANGEABLE = (
    "status",
    "hold_ms",
    "paid_ms",
    "paid_cents",
    "payment_id",
    "refunded_cents",
    "refund_due_ms",
    "payment_issue",
    "youtube_status",
    "youtube_url",
    "youtube_notes",
    "sessions",
    "cancelled_ms",
    "disputed",
    "refund_requested_ms",
    "refund_reason",
    "refund_note",
    "refund_requests",
    "refund_cents",
    "next_step_ms",
    "paid_currency",
    "lost_cents",
    "excess_cents",
    "lost_from",
    "terms_version",
    "terms_accepted_ms",
    "video_material",
)


@dataclass
class Ledger:
    """All rows. `act` decides on exactly the rows that a batch locks, and applies the decision."""

    rules: BookingRules = field(default_factory=BookingRules)
    now_ms: int = NOON
    sponsors: dict[str, Sponsor] = field(default_factory=dict)
    billing: dict[str, BillingDetails] = field(default_factory=dict)
    shared: dict[str, SharedReport] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    bookings: dict[str, Booking] = field(default_factory=dict)
    weeks: dict[Week, str] = field(default_factory=dict)
    remembered: dict[tuple[str, str, str], IdempotencyRecord] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    delivered: dict[str, tuple[int, int]] = field(default_factory=dict)
    audits: list[AuditRecord] = field(default_factory=list)
    reports: dict[str, PaymentReport] = field(default_factory=dict)
    days: dict[str, list[DayDelivered]] = field(default_factory=dict)
    suspended: set[str] = field(default_factory=set)
    siblings: dict[str, frozenset[str]] = field(default_factory=dict)
    mails: list[AccountMail] = field(default_factory=list)
    webhook_events: list[WebhookEvent] = field(default_factory=list)
    digest_mailed_ms: int = 0
    last: Decision = field(default_factory=Decision)
    made: int = 0
    credited: int = 0
    """The cents of all credit notes, less those of invoices that cancel them."""

    def act(self, *messages: Message) -> list[Answer]:
        """Decide one batch, apply it as a database would, and return its answers."""
        self.last = decision = decide(self.snapshot(messages), messages, self.now_ms, self.rules)
        assert len(decision.answers) == len(messages)
        for booking in decision.bookings.values():
            known = self.bookings.get(booking.id, booking)
            assert replace(booking, **{name: getattr(known, name) for name in CHANGEABLE}) == known
        for each in decision.invoices:
            if each.belongs_to is not None:
                self.credited += each.amount_cents if each.kind == "credit_note" else -each.amount_cents
        self.sponsors |= decision.sponsors
        self.billing |= decision.billing
        self.shared |= decision.shared
        for report_id in decision.unshared:
            self.shared.pop(report_id, None)
        self.campaigns |= decision.campaigns
        self.slots |= decision.slots
        self.bookings |= decision.bookings
        for week, booking_id in decision.weeks_freed.items():
            assert self.weeks.pop(week) == booking_id
        for week, booking_id in decision.weeks_reserved.items():
            assert self.weeks.setdefault(week, booking_id) == booking_id, "a week that is held cannot be taken"
        for row in decision.remembered:
            assert self.remembered.setdefault((row.tenant_id, row.operation, row.key), row) is row
        for event_id, booking_id in decision.events:
            assert booking_id in self.bookings
            assert event_id not in self.events
            self.events.add(event_id)
        self.audits += decision.audits
        self.reports |= decision.reports
        self.mails += decision.mails
        self.webhook_events += decision.webhook_events
        self.digest_mailed_ms = decision.digest_ms or self.digest_mailed_ms
        assert len({mail.id for mail in self.mails}) == len(self.mails)
        assert len({each.id for each in self.webhook_events}) == len(self.webhook_events)
        assert len({record.id for record in self.audits}) == len(self.audits)
        sponsors = {sponsor.id for sponsor in self.sponsors.values()}
        there = {
            "sponsor": sponsors,
            "account": {ANN, BOB, *self.billing},
            "campaign": self.campaigns,
            "slot": self.slots,
            "booking": self.bookings,
        }
        well_kept(decision.audits, self.now_ms, there)
        well_said(decision.answers)
        return decision.answers

    def one(self, message: Message) -> Answer:
        [answer] = self.act(message)
        return answer

    def snapshot(self, messages: Sequence[Message]) -> Snapshot:
        """Exactly the rows that `LedgerStore.transact` promises for a batch."""
        rows = rows_to_lock(messages, self.rules, self.now_ms)
        remembered = {key: self.remembered[key] for key in rows.keys if key in self.remembered}
        named = {*rows.booking_ids, *(row.booking_id for row in remembered.values())} & set(self.bookings)
        named |= {row.id for row in self.bookings.values() if row.payment_id in rows.payment_ids}
        bookings = {each: self.bookings[each] for each in named}
        campaign_ids = {*rows.campaign_ids, *(booking.campaign_id for booking in bookings.values())}
        campaigns = {each: self.campaigns[each] for each in campaign_ids if each in self.campaigns}
        owned: list[Booking | Campaign] = [*bookings.values(), *campaigns.values()]
        tenants = {*rows.tenant_ids, *(row.tenant_id for row in owned)}
        siblings = {each: self.siblings[each] for each in tenants if each in self.siblings}
        together = tenants.union(*siblings.values())
        slot_ids = {*rows.slot_ids, *(booking.slot_id for booking in bookings.values())}
        starts = [booking.week_start_ms for booking in bookings.values()]
        if rows.from_week_ms is not None:
            starts.append(rows.from_week_ms)
        weeks = {
            (slot_id, week_ms): holder
            for (slot_id, week_ms), holder in self.weeks.items()
            if slot_id in slot_ids and starts and week_ms >= min(starts)
        }
        bookings |= {each: self.bookings[each] for each in weeks.values()}
        bookings |= {
            row.id: row
            for row in self.bookings.values()
            if row.tenant_id in together
            and (row.status in OPEN or (rows.recent_ms is not None and row.created_ms >= rows.recent_ms))
        }
        week_ms = rows.week_ms
        last_week = {} if week_ms is None else {each: self._last_week(each, week_ms) for each in tenants}
        return Snapshot(
            suspended=frozenset(self.suspended),
            sponsors={each: self.sponsors[each] for each in tenants if each in self.sponsors},
            billing={each: self.billing[each] for each in tenants if each in self.billing},
            campaigns=campaigns,
            slots={each: self.slots[each] for each in slot_ids if each in self.slots},
            bookings=bookings,
            weeks=weeks,
            remembered=remembered,
            events=self.events & set(rows.event_ids),
            delivered={each: self.delivered[each] for each in named if each in self.delivered},
            audited={record.id: record.target_id for record in self.audits if record.id in rows.audit_ids},
            reports={row.id: row for row in self.reports.values() if row.payment_id in rows.payment_ids},
            campaign_counts={
                each: self._counted(each)
                for owner in rows.campaigns_of
                for each in (owner, *self.siblings.get(owner, ()))
            },
            siblings=siblings,
            days={each: self.days[each] for each in rows.followed_ids if each in self.days},
            shared={
                each: mine
                for each in rows.shared_of
                if (mine := [row for row in self.shared.values() if row.tenant_id == each])
            },
            last_week={each: counts for each, counts in last_week.items() if counts != (0, 0)},
            reviews=self._reviews() if rows.digest else WaitingReviews(),
        )

    def _last_week(self, tenant_id: str, week_ms: int) -> tuple[int, int]:
        first, last = day_of(week_ms - WEEK_MS), day_of(week_ms) - 1
        mine = (days for each, days in self.days.items() if self.bookings[each].tenant_id == tenant_id)
        counts = [each for days in mine for each in days if first <= each.day <= last]
        return sum(each.impressions for each in counts), sum(each.clicks for each in counts)

    def _counted(self, tenant_id: str) -> CampaignCounts:
        mine = [row for row in self.campaigns.values() if row.tenant_id == tenant_id]
        return CampaignCounts(len(mine), sum(row.waits for row in mine))

    def _reviews(self) -> WaitingReviews:
        waiting = [row for row in self.campaigns.values() if row.waits]
        newest_ms = max((row.submitted_ms or row.created_ms for row in waiting), default=0)
        return WaitingReviews(self.digest_mailed_ms, len(waiting), newest_ms, [CampaignView(row) for row in waiting])

    # Reading.

    @property
    def alerts(self) -> list[AccountMail]:
        """The mails to administrators."""
        return [mail for mail in self.mails if mail.tenant_id is None]

    def mailed(self) -> list[str]:
        """The templates of the mails to owners."""
        return [mail.template for mail in self.mails if mail.tenant_id is not None]

    def published(self) -> list[str]:
        """The types of all webhook events."""
        return [webhook_event.type for webhook_event in self.webhook_events]

    def status(self, booking_id: str) -> BookingStatus:
        return self.bookings[booking_id].status

    def held(self, booking_id: str) -> list[int]:
        """The weeks that a booking holds, counted from the first week of these tests."""
        return sorted(
            (week_ms - MONDAY) // WEEK_MS for (_, week_ms), holder in self.weeks.items() if holder == booking_id
        )

    def told(self, since: int = 0) -> list[tuple[str, dict[str, Any]]]:
        """Actions of the audit with their changes."""
        return [(record.action, json.loads(record.changes)) for record in self.audits[since:]]

    def pass_ms(self, span_ms: int) -> None:
        self.now_ms += span_ms

    # Messages.

    def origin(self, agent: Agent = AGENT) -> Origin:
        self.made += 1
        return Origin(agent, "req-1", f"aud_{self.made}")

    def save_profile(
        self, owner: str = ANN, name: str = "A brand", website: str = "https://example.com"
    ) -> SaveProfile:
        return SaveProfile(Sponsor(owner, f"spo_{owner}", name, website, self.now_ms), self.origin())

    def save_billing(self, owner: str = ANN, **fields: str) -> SaveBillingDetails:
        details = BillingDetails(owner, "Example Ltd", "1 Example Street\n10000 Example", "CH")
        return SaveBillingDetails(replace(details, **fields), self.origin())

    def create_campaign(self, campaign_id: str, owner: str = ANN) -> CreateCampaign:
        return CreateCampaign(self.campaign(campaign_id, owner), self.origin())

    def edit(self, campaign_id: str, owner: str = ANN, **fields: str) -> EditCampaign:
        return EditCampaign(owner, campaign_id, self.origin(), **fields)

    def move(
        self, campaign_id: str, move: CampaignMove, owner: str | None = None, note: str | None = None
    ) -> MoveCampaign:
        return MoveCampaign(campaign_id, move, self.origin(), owner, note)

    def reserve(
        self, booking_id: str, slot_id: str = SLOT, week: int = 0, owner: str = ANN, key: str = "", campaign: str = ""
    ) -> Reserve:
        """A reservation of the week with that number. The default key is the booking's id."""
        week_ms = MONDAY + week * WEEK_MS
        campaign = campaign or f"cmp_{owner}"
        body = f"{campaign} {slot_id} {week_ms}".encode()
        return Reserve(
            owner, booking_id, campaign, slot_id, week_ms, "bookings", key or booking_id, body, self.origin()
        )

    def start(
        self, booking_id: str, slot_id: str = SLOT, week: int = 0, owner: str = ANN, key: str = "", name: str = "Brand"
    ) -> Reserve:
        """Profile, campaign and reservation in one."""
        campaign = replace(self.campaign(f"cmp_{booking_id}", owner), name=name)
        return replace(
            self.reserve(booking_id, slot_id, week, owner, key, campaign.id),
            operation="bookings/start",
            fingerprint=f"{name} {slot_id} {week}".encode(),
            sponsor=Sponsor(owner, f"spo_{booking_id}", name, "https://example.com/start", self.now_ms),
            campaign=campaign,
        )

    def checkout(self, booking_id: str, owner: str = ANN) -> OpenCheckout:
        return OpenCheckout(owner, booking_id, self.origin())

    def cancel(self, booking_id: str, owner: str = ANN) -> Cancel:
        return Cancel(owner, booking_id, self.origin())

    def expire(self, booking_id: str) -> ExpireHold:
        return ExpireHold(booking_id, self.origin())

    def session(self, booking_id: str, session: str, owner: str = ANN) -> StoreCheckoutSession:
        return StoreCheckoutSession(owner, booking_id, session)

    def pay(
        self,
        booking_id: str,
        event: str = "evt_1",
        payment: str = "pay_1",
        amount: int | None = None,
        currency: str = "usd",
        session: str | None = None,
    ) -> RecordPayment:
        """A payment, by default of what the booking costs."""
        if amount is None:
            amount = self.bookings[booking_id].amount_cents if booking_id in self.bookings else PRICE
        return RecordPayment(event, booking_id, payment, amount, currency, self.origin(PAYMENTS), session)

    def refund(self, booking_id: str, reason: str | None = None) -> OrderRefund:
        return OrderRefund(booking_id, reason, self.origin())

    def settle(
        self,
        booking_id: str,
        declined: str | None = None,
        event: str | None = None,
        payment: str | None = None,
        cents: int | None = None,
        total_cents: int | None = None,
        refund: str | None = None,
        at_ms: int | None = None,
        made_ms: int | None = None,
    ) -> SettleRefund:
        return SettleRefund(
            booking_id,
            declined,
            self.origin(PAYMENTS),
            event,
            payment,
            cents,
            total_cents,
            None,
            refund,
            at_ms,
            made_ms,
        )

    def dispute(
        self, payment: str, state: PaymentState = PaymentState.DISPUTED, dispute: str = "dp_1", **fields: Any
    ) -> SettleDispute:
        return SettleDispute(dispute, payment, state, self.origin(PAYMENTS), **fields)

    def postpone(self, booking_id: str, due_ms: int) -> PostponeRefund:
        """Put off a refund by the node that leases it now."""
        booking = self.bookings.get(booking_id)
        return PostponeRefund(booking_id, None if booking is None else booking.refund_due_ms, due_ms)

    def lease(self, booking_id: str, until_ms: int) -> LeaseRefund:
        return LeaseRefund(booking_id, until_ms)

    def video(self, booking_id: str, **fields: Any) -> DescribeVideo:
        return DescribeVideo(booking_id, self.origin(), **fields)

    def create_slot(self, slot_id: str, **fields: Any) -> CreateSlot:
        slot = Slot(slot_id, "A slot", Side.LEFT, PRICE, self.now_ms)
        return CreateSlot(replace(slot, **fields), self.origin())

    def edit_slot(self, slot_id: str = SLOT, **fields: Any) -> EditSlot:
        return EditSlot(slot_id, self.origin(), **fields)

    def retire(self, slot_id: str = SLOT) -> RetireSlot:
        return RetireSlot(slot_id, self.origin())

    def campaign(self, campaign_id: str, owner: str) -> Campaign:
        name, status = f"Campaign {campaign_id}", CampaignStatus.PENDING
        return Campaign(campaign_id, owner, name, CONTENT, status, self.now_ms, submitted_ms=self.now_ms)

    # Common starting points.

    def paid(self, booking_id: str, slot_id: str = SLOT, week: int = 0, owner: str = ANN) -> Booking:
        """A booking that is paid with the payment `pay_` and the event `evt_` of its id."""
        self.act(self.reserve(booking_id, slot_id, week, owner))
        amount = self.bookings[booking_id].amount_cents
        self.act(self.checkout(booking_id, owner))
        self.act(self.pay(booking_id, f"evt_{booking_id}", f"pay_{booking_id}", amount))
        assert self.status(booking_id) is BookingStatus.PAID
        return self.bookings[booking_id]


def furnished(rules: BookingRules | None = None) -> Ledger:
    """Two slots, and two sponsors with an approved campaign each."""
    ledger = Ledger(rules or BookingRules())
    ledger.act(ledger.create_slot(SLOT), ledger.create_slot(PAIR, name="A pair", side=Side.RIGHT, weeks=2))
    for owner in (ANN, BOB):
        ledger.act(ledger.save_profile(owner, f"Brand of {owner}"), ledger.create_campaign(f"cmp_{owner}", owner))
        ledger.act(ledger.move(f"cmp_{owner}", CampaignMove.APPROVE))
    ledger.audits.clear()
    ledger.mails.clear()
    ledger.webhook_events.clear()
    return ledger


def refused(answer: Answer, code: Code) -> Refused:
    assert isinstance(answer, Refused), answer
    assert answer.code is code
    return answer


def booked(answer: Answer) -> Booking:
    assert isinstance(answer, BookingView), answer
    return answer.booking


def campaigned(answer: Answer) -> Campaign:
    assert isinstance(answer, CampaignView), answer
    return answer.campaign


def holds_only_what_it_may(ledger: Ledger) -> None:
    """Weeks are held only by bookings that may hold them, and these hold all of their weeks."""
    for booking in ledger.bookings.values():
        held = [week for week, holder in ledger.weeks.items() if holder == booking.id]
        match booking.status:
            case BookingStatus.EXPIRED | BookingStatus.CANCELLED | BookingStatus.REFUNDED:
                assert held == []
            case BookingStatus.REFUNDING:
                assert sorted(held) in ([], weeks_of(booking))
            case _:
                assert sorted(held) == weeks_of(booking)
