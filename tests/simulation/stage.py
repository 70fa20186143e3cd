"""The initial data of worlds of sponsors or of websites."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from actors.accounts.messages import MailChoices
from actors.bookings.invoices import documents
from actors.bookings.records import (
    Booking,
    BookingStatus,
    Campaign,
    CampaignStatus,
    Content,
    IdempotencyRecord,
    Mode,
    PaymentReport,
    PaymentState,
    Side,
    Slot,
    Sponsor,
)
from actors.clock import DAY_MS, HOUR_MS, day_of
from actors.events.messages import Kind, Row
from actors.shared.announcements import Topic
from actors.times import WEEK_MS, week_of, weeks_from
from actors.webhooks.messages import EventType, Webhook
from tests.doubles.invoices import issue
from tests.simulation.processor import Dispute, DisputeUpdated, Payment, PaymentSucceeded, ProcessorEvent
from tests.simulation.rules import BOOKINGS, OLD_DAYS

if TYPE_CHECKING:
    from tests.simulation.world import World

TENANT = "ten_stage"
WEBSITE = "https://tools.example.com/"
SOLD = (("top", 0), ("side", 0), ("foot", 1))
"""Slots sold in the past, with the number of the week from now. The second sale is for two weeks."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A paid booking of two weeks that ends with this week: which of them were seen, and the day of the first on which it was
    made. Its refund may be requested, or its payment be disputed."""

    seen: tuple[bool, bool]
    made: int = -1
    requested: bool = False
    disputed: bool = False


CHOICES = {"sponsor-1@example.org": (Topic.REVIEWS,), "admin-1@example.org": (Topic.BOOKINGS, Topic.REPORTS)}
"""The topics that these accounts want mails about, once they exist."""
WEBHOOKS = {
    "stage@example.org": tuple(EventType),
    "sponsor-0@example.org": tuple(EventType),
    "sponsor-1@example.org": (EventType.BOOKING_PAID, EventType.BOOKING_REFUNDED, EventType.CAMPAIGN_APPROVED),
}
"""The events that the webhooks of these accounts want. Nothing is sent: the oracle looks at what is queued."""
ENDING = (
    Ending((True, True)),
    Ending((True, False)),
    Ending((False, True), made=2),
    Ending((False, False)),
    Ending((True, False), requested=True),
    Ending((False, True), disputed=True),
    Ending((False, True)),
)


def open_sponsorship(world: "World") -> None:
    """Create slots and an administrator."""
    slots = [("mini", 60, 1), ("top", 12_000, 1), ("side", 7_500, 2), ("foot", 4_000, 1)]
    if world.shows:
        slots += [("edge", 6_000, 1), ("tail", 3_000, 1)]
    for slot_id, cents, weeks in slots:
        world.memory.slots[slot_id] = Slot(slot_id, slot_id, Side.LEFT, cents, world.base_ms, weeks=weeks)
        world.board.slots.append(slot_id)
    world.memory.administrators["admin-0@example.org"] = world.base_ms
    for email, topics in CHOICES.items():
        world.memory.mail_choices[email] = MailChoices(email, **{str(topic): topic in topics for topic in Topic})
    hear(world, "stage@example.org", TENANT)
    _open_ending_weeks(world)


def hear(world: "World", email: str, tenant_id: str) -> None:
    """Create the webhook of an account, if it is one of those that have one."""
    events = WEBHOOKS.get(email)
    if events is not None and f"whk_{tenant_id}" not in world.memory.webhooks:
        webhook = Webhook(f"whk_{tenant_id}", tenant_id, WEBSITE, "tools.example.com:443", events, world.base_ms)
        world.memory.webhooks[webhook.id] = webhook


def _open_ending_weeks(world: "World") -> None:
    """Every other one was paid to a version without schedules and invoices."""
    memory, week_ms = world.memory, week_of(world.base_ms) - WEEK_MS
    memory.sponsors[TENANT] = Sponsor(TENANT, "spo_stage", "Example Tools", WEBSITE, week_ms - WEEK_MS)
    for number, ending in enumerate(ENDING):
        slot = Slot(f"past-{number}", f"past-{number}", Side.RIGHT, 7_777, week_ms, active=False, weeks=2)
        memory.slots[slot.id] = slot
        booking_id = f"bok_ending_{number}"
        booking = _sell(world, booking_id, slot, week_ms, week_ms + ending.made * DAY_MS + HOUR_MS, approved=False)
        if number % 2:
            booking = replace(booking, next_step_ms=(day_of(world.base_ms) + 1) * DAY_MS + BOOKINGS.settle_ms)
            issue(memory, documents(None, booking, memory.sponsors[TENANT], BOOKINGS.seller, booking.created_ms))
        if ending.requested:
            at_ms = world.base_ms - HOUR_MS
            booking = replace(booking, refund_requested_ms=at_ms, refund_reason="It was not shown.", refund_requests=1)
        if ending.disputed:
            booking = replace(booking, disputed=True)
            report = PaymentReport("dp_stage", booking.payment_id or "", PaymentState.DISPUTED, world.base_ms - HOUR_MS)
            memory.payment_reports[report.id] = report
            world.processor.payments[report.payment_id].disputes[report.id] = Dispute(booking.amount_cents)
        memory.bookings[booking_id] = booking
        for week, seen in enumerate(ending.seen):
            if seen:
                memory.delivery_days[booking_id, day_of(week_ms) + 7 * week + 4] = (3, 1)


def open_site(world: "World") -> None:
    """Create paid and approved placements, with counts of past weeks."""
    memory = world.memory
    for number, (slot_id, week) in enumerate(SOLD):
        week_ms = week_of(world.base_ms) + week * WEEK_MS
        _sell(world, f"bok_stage_{number}", memory.slots[slot_id], week_ms, week_ms - 50 * HOUR_MS)
    today = day_of(world.base_ms)
    for day in range(today - OLD_DAYS, today):
        row = Row("bok_stage_0", b"%16d" % day, Kind.IMPRESSION)
        memory.events[day] = {row.key: row}
        memory.delivery_days["bok_stage_0", day] = (1, 0)
    memory.visitor_secrets.update({day: b"%32d" % day for day in (today - 2, today - 1)})


def told(world: "World") -> list[ProcessorEvent]:
    """The events that the processor had sent before the run: of each payment, and of its dispute."""
    events: list[ProcessorEvent] = []
    for payment_id, payment in world.processor.payments.items():
        events.append(payment.event)
        for id, dispute in payment.disputes.items():
            at_ms = world.memory.payment_reports[id].reported_ms
            events.append(DisputeUpdated(f"evt_{id}", id, payment_id, PaymentState.DISPUTED, dispute.cents, at_ms))
    return events


def _sell(world: "World", booking_id: str, slot: Slot, week_ms: int, made_ms: int, *, approved: bool = True) -> Booking:
    memory = world.memory
    campaign_id, payment_id, cents = f"cmp_{booking_id}", f"pi_{booking_id}", slot.weeks * slot.week_price_cents
    content = Content("Tools today", "A bot that answers your mail.", "Try it", WEBSITE, "ET")
    memory.campaigns[campaign_id] = Campaign(
        campaign_id,
        TENANT,
        "Tools",
        content,
        CampaignStatus.APPROVED if approved else CampaignStatus.PAUSED,
        made_ms,
        shown_as="Example Tools",
    )
    memory.bookings[booking_id] = Booking(
        booking_id,
        TENANT,
        campaign_id,
        slot.id,
        slot.name,
        week_ms,
        slot.weeks,
        cents,
        "usd",
        BookingStatus.PAID,
        Mode.LIVE,
        made_ms,
        made_ms,
        paid_ms=made_ms,
        paid_cents=cents,
        payment_id=payment_id,
    )
    memory.slot_weeks.update(((slot.id, week), booking_id) for week in weeks_from(week_ms, slot.weeks))
    memory.booking_keys[TENANT, "stage", booking_id] = IdempotencyRecord(
        TENANT, "stage", booking_id, b"", booking_id, made_ms
    )
    event = PaymentSucceeded(f"evt_{booking_id}", booking_id, payment_id, cents, "usd")
    world.processor.payments[payment_id] = Payment(event)
    if approved:
        world.board.bookings.append(booking_id)
        world.board.paid.append(booking_id)
    return memory.bookings[booking_id]
