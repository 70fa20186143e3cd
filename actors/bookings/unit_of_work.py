"""The locked rows of a batch, overlaid with the changes of the batch. Pure."""

import json
import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from actors.bookings.decision import BookingRules, CampaignCounts, Decision, Snapshot, WaitingReviews, Week
from actors.bookings.invoices import documents
from actors.bookings.messages import Origin
from actors.bookings.records import (
    OPEN,
    BillingDetails,
    Booking,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    IdempotencyRecord,
    PaymentReport,
    Slot,
    Sponsor,
)
from actors.bookings.reports import SharedReport
from actors.shared.groups import Groups
from actors.times import WEEK_MS, weeks_from
from actors.values import Agent, AuditRecord, Filtered, together


class UnitOfWork:
    """Reads see the changes of earlier messages of the batch."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: BookingRules) -> None:
        self.now_ms = now_ms
        self.rules = rules
        self.suspended = snapshot.suspended
        self.decision = Decision(decided_ms=now_ms)
        self._snapshot = snapshot
        # An open booking holds all its weeks, also those before the first week that was read.
        self._held = {
            week: booking.id
            for booking in snapshot.bookings.values()
            if booking.status in OPEN
            for week in weeks_of(booking)
        } | snapshot.weeks
        self._by_tenant = Groups(attrgetter("tenant_id"), snapshot.bookings.values())
        self._by_payment = Groups(attrgetter("payment_id"), snapshot.bookings.values())
        self._reports = Groups(attrgetter("payment_id"), snapshot.reports.values())
        self._weeks: dict[Week, str | None] = dict(self._held)
        self._remembered = dict(snapshot.remembered)
        self._events = set(snapshot.events)
        self._audited: dict[str, int] = {}

    # Reading.

    def sponsor(self, tenant_id: str) -> Sponsor | None:
        return self.decision.sponsors.get(tenant_id) or self._snapshot.sponsors.get(tenant_id)

    def billing(self, tenant_id: str) -> BillingDetails | None:
        return self.decision.billing.get(tenant_id) or self._snapshot.billing.get(tenant_id)

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

    def booked_weeks(self, slot_id: str) -> list[int]:
        """The starts of the weeks of a slot that are not over, and that are paid for or held. They are read from this week on
        if a message changes the side of the slot."""
        return sorted(
            week_ms
            for (of, week_ms), booking_id in self._weeks.items()
            if of == slot_id and booking_id and self.now_ms < week_ms + WEEK_MS and self._is_kept(booking_id)
        )

    def _is_kept(self, booking_id: str) -> bool:
        booking = self.booking(booking_id)
        return booking is not None and (booking.status not in OPEN or booking.is_open(self.now_ms))

    def holds_its_weeks(self, booking: Booking) -> bool:
        return all(self._weeks.get(week) == booking.id for week in weeks_of(booking))

    def bookings_of(self, tenant_id: str) -> list[Booking]:
        """The bookings of an account that were read: all open ones, and those that a new hold has to count. Accounts that
        never paid count as one with the others of their mailbox, because anybody can make up tags of an address."""
        return [booking for each in self._mailbox_of(tenant_id) for booking in self._by_tenant.within(each)]

    def _mailbox_of(self, tenant_id: str) -> frozenset[str]:
        """The tenants that share the limits of this one."""
        return self._snapshot.siblings.get(tenant_id, frozenset()) | {tenant_id}

    def having(self, tenant_id: str) -> str:
        """The beginning of a sentence about a limit: who has reached it."""
        alone = not self._snapshot.siblings.get(tenant_id)
        return "This account has" if alone else "The accounts of this mailbox, none of which has paid yet, have"

    def open_holds(self, tenant_id: str) -> int:
        """How many unpaid bookings of an account hold weeks."""
        return sum(booking.is_open(self.now_ms) for booking in self.bookings_of(tenant_id))

    def paid_with(self, payment_id: str) -> Booking | None:
        """The booking that was paid with a payment. Before payments were unique there may have been several: the first."""
        paid = self._by_payment.within(payment_id)
        return min(paid, key=lambda booking: (booking.paid_ms or 0, booking.id), default=None)

    def reports(self, payment_id: str | None) -> list[PaymentReport]:
        return self._reports.within(payment_id)

    def campaigns_of(self, tenant_id: str) -> CampaignCounts:
        """How many campaigns an account has, and how many of it and of those that share its limits wait, those of this batch
        included."""
        together = self._mailbox_of(tenant_id)
        counts = self._snapshot.campaign_counts
        total = counts.get(tenant_id, CampaignCounts()).total
        pending = sum(counts.get(each, CampaignCounts()).pending for each in together)
        for campaign in self.decision.campaigns.values():
            if campaign.tenant_id in together:
                before = self._snapshot.campaigns.get(campaign.id)
                total += before is None and campaign.tenant_id == tenant_id
                pending += campaign.waits - (before is not None and before.waits)
        return CampaignCounts(total, pending)

    def last_week(self, tenant_id: str) -> tuple[int, int]:
        """The impressions and clicks of all bookings of an account with a followed one, in the week before this one."""
        return self._snapshot.last_week.get(tenant_id, (0, 0))

    def shared(self, tenant_id: str) -> list[SharedReport]:
        """The reports that an account shares."""
        known = {each.id: each for each in self._snapshot.shared.get(tenant_id, [])} | self.decision.shared
        ended = self.decision.unshared
        return [each for each in known.values() if each.tenant_id == tenant_id and each.id not in ended]

    @property
    def reviews(self) -> WaitingReviews:
        return self._snapshot.reviews

    def delivered(self, booking_id: str) -> tuple[int, int]:
        """The impressions and clicks of a booking that was named."""
        return self._snapshot.delivered.get(booking_id, (0, 0))

    def delivered_on(self, booking_id: str, day: int) -> tuple[int, int]:
        """The impressions and clicks of a followed booking on a day (since the epoch)."""
        days = self._snapshot.days.get(booking_id, [])
        return next(((each.impressions, each.clicks) for each in days if each.day == day), (0, 0))

    def filtered(self, booking_id: str, day: int | None = None) -> Filtered:
        """The filtered events of a followed booking: on a day (since the epoch), or so far."""
        days = self._snapshot.days.get(booking_id, [])
        return together(each.filtered for each in days if day in (None, each.day))

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
        name = None if sponsor is None else sponsor.name
        return BookingView(booking, campaign.name, name, *self.delivered(booking.id), campaign.status)

    def campaign_view(self, campaign: Campaign) -> CampaignView:
        sponsor = self.sponsor(campaign.tenant_id)
        return CampaignView(campaign, None if sponsor is None else sponsor.name)

    # Writing.

    def save_sponsor(self, sponsor: Sponsor) -> None:
        self.decision.sponsors[sponsor.tenant_id] = sponsor
        self.decision.visible = True

    def save_campaign(self, campaign: Campaign) -> None:
        before = self.campaign(campaign.id, None)
        self.decision.campaigns[campaign.id] = campaign
        shown = CampaignStatus.APPROVED in (campaign.status, before.status if before else None)
        self.decision.visible |= shown and before is not None and _visible_content(campaign) != _visible_content(before)

    def save_slot(self, slot: Slot) -> None:
        self.decision.slots[slot.id] = slot
        self.decision.visible = True

    def save_booking(self, booking: Booking, *, visible: bool = True) -> None:
        before, buyer = self.booking(booking.id), self.sponsor(booking.tenant_id)
        billing = self.billing(booking.tenant_id)
        self.decision.invoices += documents(before, booking, buyer, self.rules.seller, self.now_ms, billing)
        self.decision.bookings[booking.id] = booking
        self._by_tenant.save(booking)
        self._by_payment.save(booking)
        self.decision.visible |= visible

    def reserve_weeks(self, booking: Booking) -> None:
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

    def save_report(self, report: PaymentReport) -> None:
        self.decision.reports[report.id] = report
        self._reports.save(report)

    def audit(
        self, origin: Origin, action: str, target_type: str, target_id: str, changes: Mapping[str, Any] | None = None
    ) -> None:
        number = self._audited[origin.audit_id] = self._audited.get(origin.audit_id, 0) + 1
        record_id = origin.audit_id if number == 1 else f"{origin.audit_id}_{number}"
        facts = json.dumps(_as_on_the_wire(changes or {}), ensure_ascii=False, separators=(",", ":"))
        target = (target_type, target_id)
        record = AuditRecord.by(origin.agent, record_id, self.now_ms, action, target, origin.request_id, facts)
        self.decision.audits.append(record)

    def finished(self) -> Decision:
        """The decision, with the weeks that the batch freed and took."""
        before = self._held
        for week, booking_id in self._weeks.items():
            if before.get(week) == booking_id:
                continue
            if week in before:
                self.decision.weeks_freed[week] = before[week]
            if booking_id is not None:
                self.decision.weeks_reserved[week] = booking_id
        return self.decision


def _visible_content(campaign: Campaign) -> tuple[object, ...]:
    """The content of a campaign that visitors see."""
    return campaign.status, campaign.content, campaign.shown_as


def weeks_of(booking: Booking) -> list[Week]:
    return [(booking.slot_id, week_ms) for week_ms in weeks_from(booking.week_start_ms, booking.weeks)]


def _as_on_the_wire(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Audit records are read by clients, so their names are written as in the API: `targetUrl`, not `target_url`."""
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value for name, value in changes.items()}


def as_system(origin: Origin) -> Origin:
    """The same origin, with the service itself as the agent."""
    return Origin(Agent("system", "ledger"), origin.request_id, origin.audit_id)
