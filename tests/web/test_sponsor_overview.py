"""The overview of a sponsor: what waits, what runs, what comes and is over, and the sums."""

from dataclasses import replace
from typing import Any

from actors.bookings.records import BookingStatus
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS, day_of
from service.api.operations.internal import MAX_PAST
from service.web.pages.sponsor.overview import MAX_TASKS, Task, since_of, tasks_of
from tests.api.sponsors import CAMPAIGN, PROFILE
from tests.api.world import NOON_MS, World
from tests.snapshots.rows import booking, slot, week
from tests.web.browser import Browser
from tests.web.test_sponsor import SPONSOR, booked, browser, with_campaign

ME: dict[str, Any] = {"profile": PROFILE}
BOOKING: dict[str, Any] = {
    "id": "bok_1",
    "campaignId": "cmp_1",
    "campaignName": "Autumn",
    "slotName": "Left",
    "status": "paid",
    "weekStart": week(1),
    "weekEnd": week(2),
    "amountCents": 9_900,
    "currency": "usd",
    "nextStep": "wait_for_week",
}
DRAFT = {"id": "cmp_1", "name": "Autumn", "status": "draft"}


def tasks(bookings: list[dict[str, Any]], campaigns: list[dict[str, Any]], me: dict[str, Any] = ME) -> list[Task]:
    return list(tasks_of(me, campaigns, bookings, NOON_MS))


def test_what_waits_is_told_most_urgent_first() -> None:
    late = BOOKING | {"id": "bok_2", "status": "reserved", "nextStep": "pay", "heldUntil": NOON_MS + HOUR_MS}
    soon = late | {"id": "bok_3", "status": "checkout", "heldUntil": NOON_MS + MINUTE_MS}
    refused = BOOKING | {"id": "bok_4", "campaignId": "cmp_2", "nextStep": "edit_campaign"}
    found = tasks([refused, late, soon], [DRAFT], {"profile": None})
    assert [each.path for each in found] == [
        "/sponsor/bookings/bok_3",
        "/sponsor/bookings/bok_2",
        "/sponsor/bookings/bok_4",
        "/sponsor/campaigns/cmp_1",
        "/sponsor/profile",
    ]
    assert (found[0].title, found[0].pay_cents) == ("Pay for Left, 23 to 29 November", 9_900)
    assert (found[2].title, found[2].rest) == ("“Autumn” was not approved", "You paid for Left, 23 to 29 November.")


def test_an_ad_waits_once_even_if_it_is_paid_for() -> None:
    for step, button in (("submit_campaign", "Open the draft"), ("resume_campaign", "Open the ad")):
        [only] = tasks([BOOKING | {"nextStep": step}], [DRAFT])
        assert (only.path, only.button) == ("/sponsor/campaigns/cmp_1", button)


def test_nothing_waits_while_all_goes_well() -> None:
    assert tasks([BOOKING], [DRAFT | {"status": "approved"}, DRAFT | {"id": "cmp_2", "status": "pending"}]) == []
    assert tasks([], [], {"profile": None}) == []


def test_the_sums_say_what_they_are_over() -> None:
    read = {"more": False, "sinceMs": None, "bookings": 2}
    assert since_of(read) == ""
    assert since_of(read | {"sinceMs": NOON_MS}) == "Since November 2026"
    assert since_of(read | {"sinceMs": NOON_MS, "more": True, "bookings": 1_000}) == "Your newest 1,000 bookings"


async def test_a_new_sponsor_reads_how_to_begin(world: World) -> None:
    person = browser(world)
    await person.open("/sponsor")
    assert "Choose a free week" in person.text
    assert "held for you for 30 minutes while you pay" in person.text
    assert "Test mode: no money moves." in person.text
    assert '<a class="button main" href="/sponsor/inventory">Book a week</a>' in person.html
    for absent in ("Waiting for you", "Running now", "Other bookings", "Times shown"):
        assert absent not in person.text.partition("How to begin")[0]
    person, _ = await with_campaign(world)
    await person.open("/sponsor")
    assert "How to begin" not in person.text
    assert "You have not booked a week yet." in person.text


async def test_a_held_week_is_paid_from_the_overview(world: World) -> None:
    person, path = await booked(world)
    await person.open("/sponsor")
    assert '<a class="button" href="/sponsor/inventory">Book a week</a>' in person.html, "paying is more urgent"
    await person.press("checkout")
    assert person.at.startswith("/checkout/")
    await person.press("pay")
    await person.open("/sponsor")
    assert "Waiting for you" not in person.text
    assert path in person.page.links
    assert '<a class="button main" href="/sponsor/inventory">Book a week</a>' in person.html


async def test_a_cancelled_checkout_leads_to_another_week(world: World) -> None:
    person, _ = await booked(world)
    await person.open("/sponsor")
    await person.press("checkout")
    await person.press("cancel")
    assert '<a class="button main" href="/sponsor/inventory">Choose another week</a>' in person.html
    await person.open("/sponsor")
    assert "Nothing is booked now." in person.text


async def stocked(world: World) -> Browser:
    """A sponsor whose bookings run, come, and are over."""
    token = world.session(SPONSOR)
    tenant = world.memory.accounts[SPONSOR].tenant_id
    made: dict[str, Any] = {"tenant_id": tenant, "paid_ms": NOON_MS - HOUR_MS, "payment_id": "pay"}
    rows = [
        booking("running", start=0, **made),
        booking("coming", start=2, **made),
        booking("next", start=1, **made),
        replace(booking("back", start=-1, **made), status=BookingStatus.REFUNDED, refunded_cents=25_000),
        replace(booking("lapsed", start=3, tenant_id=tenant), status=BookingStatus.EXPIRED),
        *(booking(f"old-{number}", start=-2 - number, **made) for number in range(MAX_PAST)),
    ]
    world.sponsorship_store.keep(slot("left-1"), *rows)
    world.memory.delivery_days["running", day_of(NOON_MS)] = (1_000, 25)
    world.memory.delivery_days["old-0", day_of(week(-2))] = (3_000, 15)
    await world.settled()
    return Browser(world, token)


async def test_what_runs_has_a_spark_and_the_rest_is_listed_in_the_order_of_its_weeks(world: World) -> None:
    person = await stocked(world)
    await person.open("/sponsor")
    running = person.html.partition("Running now")[2].partition("Other bookings")[0]
    assert 'href="/sponsor/bookings/running"' in running
    assert '<svg class="spark"' in running
    assert running.count("<rect") == 1 + 4, "the day of the booking with a count, and four days to come"
    assert "5 days left" in running
    listed = [link for link in person.page.links if link.startswith("/sponsor/bookings/")]
    past = [f"old-{number}" for number in range(MAX_PAST - 1)]
    assert [link.rpartition("/")[2] for link in listed] == ["running", "next", "coming", "back", *past]
    assert "All 11 bookings" in person.text


async def test_the_sums_are_over_all_bookings(world: World) -> None:
    person = await stocked(world)
    await person.open("/sponsor")
    sums = person.text.partition("Since November 2026")[2]
    for words in ("Times shown 4,000", "Clicks 40", "Click rate 1.00 %", "Spent $2,250", "$250 refunded"):
        assert words in sums, words


async def test_the_list_puts_what_is_to_come_before_what_is_over(world: World) -> None:
    person = await stocked(world)
    await person.open("/sponsor/bookings")
    listed = [link.rpartition("/")[2] for link in person.page.links if link.startswith("/sponsor/bookings/")]
    over = ["lapsed", "back", *(f"old-{number}" for number in range(MAX_PAST))]
    assert listed == ["running", "next", "coming", *over]
    assert "Running and to come Soonest first" in person.text.partition("Over Latest first")[0]
    assert "Each page" not in person.text


async def test_bookings_are_read_page_by_page(world: World) -> None:
    person = await stocked(world)
    tenant = world.memory.accounts[SPONSOR].tenant_id
    made: dict[str, Any] = {"tenant_id": tenant, "paid_ms": NOON_MS - 400 * DAY_MS, "payment_id": "pay"}
    many = [booking(f"more-{number}", start=-40 - number, **made) for number in range(30)]
    world.sponsorship_store.keep(*many)
    await world.settled()
    await person.open("/sponsor")
    assert "All 41 bookings" in person.text
    assert "Since October 2025" in person.text
    await person.open("/sponsor/bookings")
    assert "1 to 20 of 41" in person.text
    assert "The bookings made last are on the first page." in person.text


async def test_more_tasks_than_the_page_has_are_counted(world: World) -> None:
    person, campaign = await with_campaign(world)
    for number in range(MAX_TASKS + 1):
        await person.open("/sponsor/campaigns/new")
        await person.press("create", **CAMPAIGN | {"name": f"Number {number}"})
        await person.press("withdraw")
    await person.open("/sponsor")
    assert f"Waiting for you {MAX_TASKS + 1}" in person.text
    assert "1 more thing waits under Bookings and Ads" in person.text
    assert person.page.links.count(campaign) == 0
