"""The initial data of worlds of sponsors or of websites."""

from typing import TYPE_CHECKING

from actors.bookings.records import (
    Booking,
    BookingStatus,
    Campaign,
    CampaignStatus,
    Content,
    IdempotencyRecord,
    Mode,
    Side,
    Slot,
    Sponsor,
)
from actors.clock import HOUR_MS, day_of
from actors.events.messages import Kind, Row
from actors.weeks import WEEK_MS, week_of, weeks_from
from tests.simulation.processor import Payment, PaymentSucceeded
from tests.simulation.rules import OLD_DAYS

if TYPE_CHECKING:
    from tests.simulation.world import World

TENANT = "ten_stage"
WEBSITE = "https://tools.example.com/"
SOLD = (("top", 0), ("side", 0), ("foot", 1))
"""Slots sold in the past, with the number of the week from now. The second sale is for two weeks."""


def open_office(world: "World") -> None:
    """Create slots and an administrator."""
    slots = [("top", 12_000, 1), ("side", 7_500, 2), ("foot", 4_000, 1)]
    if world.shows:
        slots += [("edge", 6_000, 1), ("tail", 3_000, 1)]
    for slot_id, cents, weeks in slots:
        world.memory.slots[slot_id] = Slot(slot_id, slot_id, Side.LEFT, cents, world.base_ms, weeks=weeks)
        world.board.slots.append(slot_id)
    world.memory.administrators["admin-0@example.org"] = world.base_ms


def open_site(world: "World") -> None:
    """Create paid and approved placements, with counts of past weeks."""
    memory = world.memory
    memory.sponsors[TENANT] = Sponsor(TENANT, "spo_stage", "Example Tools", WEBSITE, world.base_ms - WEEK_MS)
    for number, (slot_id, week) in enumerate(SOLD):
        _sell(world, f"bok_stage_{number}", memory.slots[slot_id], week_of(world.base_ms) + week * WEEK_MS)
    today = day_of(world.base_ms)
    for day in range(today - OLD_DAYS, today):
        row = Row("bok_stage_0", b"%16d" % day, Kind.IMPRESSION)
        memory.events[day] = {row.key: row}
        memory.delivery_days["bok_stage_0", day] = (1, 0)


def _sell(world: "World", booking_id: str, slot: Slot, week_ms: int) -> None:
    memory, made_ms = world.memory, week_ms - 50 * HOUR_MS
    campaign_id, payment_id, cents = f"cmp_{booking_id}", f"pi_{booking_id}", slot.weeks * slot.week_price_cents
    content = Content("Tools today", "A bot that answers your mail.", "Try it", WEBSITE, "ET")
    memory.campaigns[campaign_id] = Campaign(
        campaign_id, TENANT, "Tools", content, CampaignStatus.APPROVED, made_ms, shown_as="Example Tools"
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
    told = PaymentSucceeded(f"evt_{booking_id}", booking_id, payment_id, cents, "usd")
    world.processor.payments[payment_id] = Payment(told)
    world.board.bookings.append(booking_id)
    world.board.paid.append(booking_id)
