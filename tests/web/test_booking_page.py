"""The page of one booking: one thing to do in each state, its figures, and the weeks after it."""

import re
from dataclasses import replace
from typing import Any

import pytest

from actors.bookings.transitions import CampaignMove
from actors.clock import DAY_MS, HOUR_MS, day_of
from service.web.pages.sponsor.booking import MAX_SITES
from tests.api.world import NOON_MS, World, open_world
from tests.snapshots.rows import booking, hold, slot, week
from tests.web.browser import Browser
from tests.web.test_sponsor import AGENT, SPONSOR, booked

PATH = "/sponsor/bookings/mine"


async def running(world: World, **fields: Any) -> Browser:
    """A sponsor at a booking of this week that was seen yesterday."""
    token = world.session(SPONSOR)
    tenant = world.memory.accounts[SPONSOR].tenant_id
    made: dict[str, Any] = {"tenant_id": tenant, "payment_id": "pay"} | fields
    made = {"created_ms": NOON_MS - 9 * DAY_MS, "paid_ms": NOON_MS - 9 * DAY_MS} | made
    world.sponsorship_store.keep(slot("left-1", name="Slot left-1"), booking("mine", **made))
    world.memory.delivery_days["mine", day_of(NOON_MS) - 1] = (1_000, 25)
    await world.settled()
    person = Browser(world, token)
    await person.open(PATH)
    return person


def filled(person: Browser) -> list[str]:
    """The words of the filled buttons."""
    found = re.findall(r'class="(?:button )?main"[^>]*>\s*(?:<svg.*?</svg>)?([^<]+)<', person.html)
    return [words.strip() for words in found]


async def test_a_running_booking_offers_its_figures_and_the_week_after_it(world: World) -> None:
    person = await running(world)
    assert filled(person) == ["Download CSV"]
    for words in (
        "Running",
        "Day 3 of 7",
        "$4.29",
        "$107.14 of $250 used",
        "333 a day on average",
        "Up to today, 12:00",
    ):
        assert words in person.text, words
    assert "The next week is still available for $250." in person.text
    assert f"/sponsor/book?slotId=left-1&weekStart={week(1)}" in person.page.links
    assert "slot average" not in person.text


async def test_a_booking_lists_the_websites_that_showed_it_most_and_leads_to_all() -> None:
    async with open_world() as world:
        for number in range(MAX_SITES + 2):
            world.memory.sites[f"site-{number:02}.example"] = number + 1, False
            world.memory.site_days["mine", day_of(NOON_MS) - 1, number + 1] = (100 - number, 1)
        person = await running(world)
        assert person.text.count(".example ") == MAX_SITES
        assert f"site-{MAX_SITES - 1:02}.example" in person.text
        await person.open(f"{PATH}?sites=all")
        assert person.text.count(".example ") == MAX_SITES + 2
        assert "Show all" not in person.text


async def test_a_week_after_it_that_is_held_is_not_offered(world: World) -> None:
    world.sponsorship_store.keep(hold("theirs", NOON_MS + HOUR_MS, "left-1", start=1))
    person = await running(world)
    assert "The next week is no longer available." in person.text
    assert not [link for link in person.page.links if link.startswith("/sponsor/book?")]


async def test_a_slot_that_was_renamed_is_offered_again(world: World) -> None:
    person = await running(world, slot_name="An older name")
    assert "The next week is still available for $250." in person.text


async def test_a_slot_that_is_not_sold_any_more_is_not_offered_again(world: World) -> None:
    world.sponsorship_store.keep(slot("left-9", active=False))
    person = await running(world, slot_id="left-9")
    assert "The next week is no longer available." in person.text
    assert not [link for link in person.page.links if link.startswith("/sponsor/book?")]


async def test_the_click_rate_stands_beside_that_of_the_slot_once_there_is_one(world: World) -> None:
    rows = [booking(f"b{number}", "left-1", start=-9 - number, paid_ms=1) for number in range(5)]
    world.sponsorship_store.keep(*rows)
    for row in rows:
        world.memory.delivery_days[row.id, day_of(row.week_start_ms)] = (1_000, 10)
    await world.pass_seconds(DAY_MS // 1_000)
    person = await running(world)
    assert "slot average 1.00 %" in person.text


async def test_a_held_booking_is_paid_or_cancelled(world: World) -> None:
    person, _ = await booked(world)
    assert filled(person) == ["Pay $120"]
    assert "Pay to keep the week" in person.text
    assert "The week becomes free at once" in person.text
    assert "Ask for a refund" not in person.text
    await person.press("cancel")
    assert filled(person) == ["Choose another week"]


async def test_a_refused_request_for_a_refund_says_so_at_its_field(world: World) -> None:
    person, _ = await booked(world)
    await person.press("checkout")
    await person.press("pay")
    await person.open(next(link for link in person.page.links if link.startswith("/sponsor/bookings/")))
    assert filled(person) == []
    assert '<details class="fold risky">' in person.html
    await person.press("request_refund", reason=" ")
    assert person.status == 400
    assert '<details class="fold risky" open>' in person.html
    assert "Write a few words, so that we can decide." in person.text


async def test_a_rejected_ad_shows_two_ways_and_what_happens_without_any(world: World) -> None:
    person, path = await booked(world)
    await person.press("checkout")
    await person.press("pay")
    row = world.memory.bookings[path.rpartition("/")[2]]
    await world.services.ledger.move_campaign(None, row.campaign_id, CampaignMove.REJECT, AGENT, "The link is dead")
    await person.open(path)
    assert filled(person) == ["Edit the ad"]
    for words in (
        "Paid Ad rejected",
        "The link is dead",
        "It is shown from 23 November on, once it is approved.",
        "USD 120.00 goes back the way it came, and the week becomes free for others.",
        "if the week ends and nobody saw the ad, we refund it all by ourselves from 30 November on",
        "Ad not approved Today, 12:00",
    ):
        assert words in person.text, words


async def test_a_paused_ad_is_resumed_from_its_booking(world: World) -> None:
    person = await running(world)
    campaign = world.memory.campaigns["cmp_mine"]
    await world.services.ledger.move_campaign(None, campaign.id, CampaignMove.PAUSE, AGENT)
    await person.open(PATH)
    assert filled(person) == ["Resume the ad"]
    assert "Your ad is paused, so it is not shown." in person.text


@pytest.mark.parametrize("seen", [False, True])
async def test_a_disputed_booking_cannot_be_refunded(world: World, *, seen: bool) -> None:
    person = await running(world)
    row = replace(world.memory.bookings["mine"], disputed=True, payment_issue="disputed")
    world.memory.bookings["mine"] = row
    if not seen:
        world.memory.delivery_days.clear()
    await person.open(PATH)
    assert "The payment is disputed at the bank that paid it." in person.text
    assert "Ask for a refund" not in person.text
    assert filled(person) == (["Download CSV"] if seen else [])
