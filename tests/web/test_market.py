"""From the front page to a paid week, and the reports that follow it."""

from dataclasses import replace

import pytest

from actors.bookings.records import BookingStatus
from actors.clock import DAY_MS, day_of
from tests.api.sponsors import THIS_WEEK, add_slot
from tests.api.world import NOON_MS, World, open_world
from tests.snapshots.rows import booking, slot, week
from tests.web.browser import Browser

EMAIL = "new-sponsor@example.com"
BRAND = {
    "name": "Example Tools",
    "website": "https://tools.example.com/",
    "headline": "Ship your first agent today",
    "body": "A prompt becomes a bot that answers your mail.",
}


def visitor(world: World) -> Browser:
    return Browser(world, None)


async def test_a_visitor_comes_from_the_front_page_to_a_paid_week_in_seven_screens(world: World) -> None:
    world.sponsorship_store.keep(add_slot(world, name="Left, top"))
    await world.settled()
    person = visitor(world)
    screens = []

    def seen() -> None:
        assert person.status == 200, person.text
        screens.append(person.at.partition("?")[0])

    await person.open("/")
    seen()
    assert "/advertise" in person.page.links
    await person.open("/advertise")
    seen()
    chosen = [link for link in person.page.links if link.startswith("/sponsor/book?")][1]
    await person.open(chosen)
    seen()
    await person.press("send", email=EMAIL)
    seen()
    # Slot and week wait in the form of the code, so nobody chooses twice.
    onward = person.form_with("complete").fields["next"]
    assert onward == chosen
    person.token = world.session(EMAIL)
    await person.open(onward)
    seen()
    assert f'<option value="{week(1)}" selected>' in person.html
    await person.press("start-and-pay", **BRAND)
    seen()
    await person.press("pay")
    seen()
    assert "The booking is paid" in person.text
    assert len(screens) == 7, screens
    [made] = world.memory.bookings.values()
    assert (made.slot_id, made.week_start_ms, made.amount_cents) == ("left-top", week(1), 12_000)


async def test_a_checkout_that_cannot_open_leaves_the_visitor_at_the_booking(world: World) -> None:
    world.sponsorship_store.keep(add_slot(world))
    await world.settled()
    person = Browser(world, world.session(EMAIL))
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={THIS_WEEK}")
    assert "USD 85.71" in person.text
    assert "5 days left" in person.text
    await person.press("start", **BRAND)
    assert "Held for you until 12:30 today, 30 minutes from now." in person.text
    assert "Pay $85.71" in person.text


async def test_the_page_for_sponsors_names_prices_free_weeks_and_no_reach_of_a_few(world: World) -> None:
    world.sponsorship_store.keep(
        slot("left-1", name="Left, top"), slot("left-2", name="Soon", coming_soon=True), slot("left-3", weeks=4)
    )
    await world.settled()
    person = visitor(world)
    await person.open("/advertise")
    for words in ("$250", "Coming soon", "4 weeks at once: $1,000", "$178.57 for the days left", "for 30 minutes"):
        assert words in person.text
    assert "Too new to say" not in person.text
    assert "What past sponsors reached" not in person.text
    rows = [booking(f"b{number}", "left-1", start=-9 - number, paid_ms=1) for number in range(5)]
    world.sponsorship_store.keep(*rows)
    for row in rows:
        world.memory.delivery_days[row.id, day_of(row.week_start_ms)] = (1_000, 10)
    await world.pass_seconds(DAY_MS // 1_000)
    world.sponsorship_store.keep(slot("left-1", name="Left, first"))
    await world.settled()
    await person.open("/advertise")
    for words in (
        "What past sponsors reached",
        "5,000",
        "Shown 1,000 times a week, a click rate of 1.00 %",
        "Too new to say",
    ):
        assert words in person.text


async def test_without_slots_the_page_offers_no_button(world: World) -> None:
    person = visitor(world)
    await person.open("/advertise")
    assert "No slot is for sale right now." in person.text
    assert "/sponsor/inventory" not in person.page.links


async def test_reports_sum_up_the_asked_days_and_lead_to_files(world: World) -> None:
    token = world.session(EMAIL)
    tenant = world.memory.accounts[EMAIL].tenant_id
    world.sponsorship_store.keep(
        slot("left-1", name="Left, top"), booking("a", start=0, tenant_id=tenant, paid_ms=NOON_MS)
    )
    world.memory.delivery_days["a", day_of(NOON_MS)] = (12_345, 67)
    await world.settled()
    person = Browser(world, token)
    await person.open("/sponsor/reports")
    for words in ("12,345", "67", "0.54 %", "By booking", "By ad", "By slot", "Slot left-1"):
        assert words in person.text
    [file] = [link for link in person.page.links if "format=csv" in link]
    assert "from=2026-10-20&to=2026-11-18" in file
    await person.open("/sponsor/reports?from=2026-11-01&to=2026-11-17")
    assert "12,345" not in person.text
    await person.open("/sponsor/reports?from=2026-11-20&to=2026-11-17")
    assert "Choose a day that is not after the last one" in person.text
    assert person.status == 200
    await person.open("/sponsor/bookings/a/report")
    for words in ("Report: Slot left-1", "12,345", "Cost per click", "$1.60", "$107.14 of $250 used", "Download CSV"):
        assert words in person.text
    stranger = Browser(world, world.session("other@example.com"))
    await stranger.open("/sponsor/bookings/a/report")
    assert stranger.status == 404


@pytest.mark.parametrize("ends", [False, True])
async def test_a_held_week_tells_how_long_it_is_held_and_is_free_afterwards(world: World, *, ends: bool) -> None:
    held = replace(booking("a", start=0), status=BookingStatus.RESERVED, hold_ms=NOON_MS + 22 * 60_000)
    world.sponsorship_store.keep(slot(), held)
    if ends:
        await world.pass_seconds(22 * 60)
    await world.settled()
    person = Browser(world, world.session(EMAIL))
    await person.open("/sponsor/inventory")
    assert ("22 minutes left" in person.text) != ends
    assert ("$178.57" in person.text) == ends


@pytest.mark.parametrize("refunds", [False, True])
async def test_weeks_that_nobody_saw_are_promised_back_only_if_they_are_refunded(*, refunds: bool) -> None:
    async with open_world(BOOKINGS__REFUND_UNSHOWN=str(refunds).lower()) as world:
        person = visitor(world)
        await person.open("/advertise")
        assert ("You get back what you paid" in person.text) == refunds
        assert ("A person decides." in person.text) != refunds
