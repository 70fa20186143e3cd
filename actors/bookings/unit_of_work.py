"""The locked rows of a batch, overlaid with the changes of the batch. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.bookings.invoices import UNNAMED, Invoice, Seller, documents
from actors.bookings.messages import Answer, Origin
from actors.bookings.records import (
    OPEN,
    Booking,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    IdempotencyRecord,
    Mode,
    PaymentReport,
    Slot,
    Sponsor,
)
from actors.times import DAY_MS, MINUTE_MS, day_of
from actors.values import Agent, AuditRecord, OutboxMessage
from actors.weeks import weeks_from

Week = tuple[str, int]
"""A slot's id and the start of a week."""


@dataclass(frozen=True, slots=True)
class BookingRules:
    """Limits of bookings, campaigns and payments. `mode` applies to new bookings; only those of this mode can be paid."""

    hold_ms: int = 30 * MINUTE_MS
    open_holds: int = 3
    holds_per_day: int = 20
    cooldown_ms: int = 60 * MINUTE_MS
    horizon_weeks: int = 26
    campaigns: int = 200
    pending_campaigns: int = 20
    currency: str = "usd"
    mode: Mode = Mode.TEST
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


@dataclass(slots=True)
class Snapshot:
    """The locked rows of a batch. Sponsors are by tenant; `weeks` maps a week to the booking that holds it. `delivered`
    has the impressions and clicks of bookings, `events` the named events that were already handled, `audited` the targets
    of the named audit records. `reports` are about named payments; `campaign_counts` are by tenant, and `administrators`
    are the recipients of mails about disputes."""

    sponsors: dict[str, Sponsor] = field(default_factory=dict)
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
    administrators: tuple[str, ...] = ()


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order.

    Rows are complete, new or changed. `weeks_freed` (week -> previous holder) is applied before `weeks_taken`, and may
    contain weeks before those that were read, because an open booking holds all of its weeks. `events` are pairs of a
    processor's event and a booking, handled at `decided_ms`. `invoices` have no numbers yet. `visible`: the public may see
    a difference.
    """

    sponsors: dict[str, Sponsor] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    bookings: dict[str, Booking] = field(default_factory=dict)
    weeks_freed: dict[Week, str] = field(default_factory=dict)
    weeks_taken: dict[Week, str] = field(default_factory=dict)
    remembered: list[IdempotencyRecord] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    decided_ms: int = 0
    reports: dict[str, PaymentReport] = field(default_factory=dict)
    audits: list[AuditRecord] = field(default_factory=list)
    outbox: list[OutboxMessage] = field(default_factory=list)
    invoices: list[Invoice] = field(default_factory=list)
    visible: bool = False
    answers: list[Answer] = field(default_factory=list)


class UnitOfWork:
    """Reads see the changes of earlier messages of the batch."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: BookingRules) -> None:
        self.now_ms = now_ms
        self.rules = rules
        self.decision = Decision(decided_ms=now_ms)
        self._snapshot = snapshot
        # An open booking holds all its weeks, also those before the first week that was read.
        self._held = {
            week: booking.id
            for booking in snapshot.bookings.values()
            if booking.status in OPEN
            for week in weeks_of(booking)
        } | snapshot.weeks
        self._weeks: dict[Week, str | None] = dict(self._held)
        self._remembered = dict(snapshot.remembered)
        self._events = set(snapshot.events)
        self._audited: dict[str, int] = {}

    # Reading.

    def sponsor(self, tenant_id: str) -> Sponsor | None:
        return self.decision.sponsors.get(tenant_id) or self._snapshot.sponsors.get(tenant_id)

    def campaign(self, campaign_id: str, owner: str | None) -> Campaign | None:
        """A campaign, if it belongs to `owner`; None means an administrator."""
        campaign = self.decision.campaigns.get(campaign_id) or self._snapshot.campaigns.get(campaign_id)
        return campaign if campaign is not None and owner in (None, campaign.tenant_id) else None

    def slot(self, slot_id: str) -> Slot | None:
        return self.decision.slots.get(slot_id) or self._snapshot.slots.get(slot_id)

    def booking(self, booking_id: str, owner: str | None = None) -> Booking | None:
        """A booking, if it belongs to `owner`; None means an administrator or the service itself."""
        booking = self.decision.bookings.get(booking_id) or self._snapshot.bookings.get(booking_id)
        return booking if booking is not None and owner in (None, booking.tenant_id) else None

    def holder(self, week: Week) -> Booking | None:
        """The booking that holds a week. Its hold may have expired."""
        booking_id = self._weeks.get(week)
        if booking_id is None:
            return None
        booking = self.booking(booking_id)
        assert booking is not None, f"the booking {booking_id} holds a week and was not read"
        return booking

    def holds_its_weeks(self, booking: Booking) -> bool:
        return all(self._weeks.get(week) == booking.id for week in weeks_of(booking))

    def bookings_of(self, tenant_id: str) -> list[Booking]:
        """The bookings of an account that were read: all open ones, and those that a new hold has to count."""
        return [booking for booking in self._bookings().values() if booking.tenant_id == tenant_id]

    def open_holds(self, tenant_id: str) -> int:
        """How many unpaid bookings of an account hold weeks."""
        return sum(booking.is_open(self.now_ms) for booking in self.bookings_of(tenant_id))

    def paid_with(self, payment_id: str) -> Booking | None:
        """The booking that was paid with a payment. Before payments were unique there may have been several: the first."""
        paid = (booking for booking in self._bookings().values() if booking.payment_id == payment_id)
        return min(paid, key=lambda booking: (booking.paid_ms or 0, booking.id), default=None)

    def reports(self, payment_id: str | None) -> list[PaymentReport]:
        reports = self._snapshot.reports | self.decision.reports
        return [report for report in reports.values() if report.payment_id == payment_id]

    def campaigns_of(self, tenant_id: str) -> CampaignCounts:
        """How many campaigns an account has, those of this batch included."""
        counts = self._snapshot.campaign_counts.get(tenant_id, CampaignCounts())
        total, pending = counts.total, counts.pending
        for campaign in self.decision.campaigns.values():
            if campaign.tenant_id == tenant_id:
                before = self._snapshot.campaigns.get(campaign.id)
                total += before is None
                pending += _waits(campaign) - _waits(before)
        return CampaignCounts(total, pending)

    @property
    def administrators(self) -> tuple[str, ...]:
        return self._snapshot.administrators

    def recall(self, tenant_id: str, operation: str, key: str) -> IdempotencyRecord | None:
        return self._remembered.get((tenant_id, operation, key))

    def audited(self, audit_id: str) -> str | None:
        """The target of an audit record, if there is such a record."""
        new = (audit.target_id for audit in self.decision.audits if audit.id == audit_id)
        return next(new, self._snapshot.audited.get(audit_id))

    def view(self, booking: Booking) -> BookingView:
        campaign = self.campaign(booking.campaign_id, None)
        assert campaign is not None, f"the campaign of {booking.id} was not read"
        sponsor = self.sponsor(booking.tenant_id)
        impressions, clicks = self._snapshot.delivered.get(booking.id, (0, 0))
        return BookingView(booking, campaign.name, None if sponsor is None else sponsor.name, impressions, clicks)

    def campaign_view(self, campaign: Campaign) -> CampaignView:
        sponsor = self.sponsor(campaign.tenant_id)
        return CampaignView(campaign, None if sponsor is None else sponsor.name)

    def _bookings(self) -> dict[str, Booking]:
        return self._snapshot.bookings | self.decision.bookings

    # Writing.

    def keep_sponsor(self, sponsor: Sponsor) -> None:
        self.decision.sponsors[sponsor.tenant_id] = sponsor
        self.decision.visible = True

    def keep_campaign(self, campaign: Campaign) -> None:
        before = self.campaign(campaign.id, None)
        self.decision.campaigns[campaign.id] = campaign
        self.decision.visible |= CampaignStatus.APPROVED in (campaign.status, before.status if before else None)

    def keep_slot(self, slot: Slot) -> None:
        self.decision.slots[slot.id] = slot
        self.decision.visible = True

    def keep_booking(self, booking: Booking) -> None:
        before, buyer = self.booking(booking.id), self.sponsor(booking.tenant_id)
        self.decision.invoices += documents(before, booking, buyer, self.rules.seller, self.now_ms)
        self.decision.bookings[booking.id] = booking
        self.decision.visible = True

    def take_weeks(self, booking: Booking) -> None:
        self._weeks.update(dict.fromkeys(weeks_of(booking), booking.id))

    def free_weeks(self, booking: Booking) -> None:
        """Free the weeks that the booking holds."""
        self._weeks.update((week, None) for week in weeks_of(booking) if self._weeks.get(week) == booking.id)

    def remember(self, remembered: IdempotencyRecord) -> None:
        self._remembered[remembered.tenant_id, remembered.operation, remembered.key] = remembered
        self.decision.remembered.append(remembered)

    def is_first(self, event_id: str, booking_id: str) -> bool:
        """Whether an event of the processor is new. It is recorded as handled."""
        if event_id in self._events:
            return False
        self._events.add(event_id)
        self.decision.events.append((event_id, booking_id))
        return True

    def keep_report(self, report: PaymentReport) -> None:
        self.decision.reports[report.id] = report

    def audit(
        self, origin: Origin, action: str, target_type: str, target_id: str, changes: Mapping[str, Any] | None = None
    ) -> None:
        number = self._audited[origin.audit_id] = self._audited.get(origin.audit_id, 0) + 1
        self.decision.audits.append(
            AuditRecord(
                id=origin.audit_id if number == 1 else f"{origin.audit_id}_{number}",
                created_ms=self.now_ms,
                actor_type=origin.agent.type,
                actor_id=origin.agent.id,
                actor_email=origin.agent.email,
                action=action,
                target_type=target_type,
                target_id=target_id,
                request_id=origin.request_id,
                changes=json.dumps(_as_on_the_wire(changes or {}), ensure_ascii=False, separators=(",", ":")),
            )
        )

    def finished(self) -> Decision:
        """The decision, with the weeks that the batch freed and took."""
        before = self._held
        for week, booking_id in self._weeks.items():
            if before.get(week) == booking_id:
                continue
            if week in before:
                self.decision.weeks_freed[week] = before[week]
            if booking_id is not None:
                self.decision.weeks_taken[week] = booking_id
        return self.decision


def _waits(campaign: Campaign | None) -> bool:
    return campaign is not None and campaign.status is CampaignStatus.PENDING


def weeks_of(booking: Booking) -> list[Week]:
    return [(booking.slot_id, week_ms) for week_ms in weeks_from(booking.week_start_ms, booking.weeks)]


def _as_on_the_wire(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Audit records are read by clients, so their names are written as in the API: `targetUrl`, not `target_url`."""
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value for name, value in changes.items()}


def as_system(origin: Origin) -> Origin:
    """The same origin, with the service itself as the agent."""
    return Origin(Agent("system", "ledger"), origin.request_id, origin.audit_id)
