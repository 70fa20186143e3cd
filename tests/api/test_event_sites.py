"""Counting by website: what the host of an `Origin` becomes, who earns a place, and who sees it."""

from typing import Any

import pytest

from actors.clock import DAY_MS, day_of
from tests.api.events import BATCH, counted, event, fate, report, stock
from tests.api.sponsors import ADMIN, API, THIS_WEEK, Person, add_slot, administrator, sponsor, uuid
from tests.api.world import NOON_MS, World, open_world
from tests.memory_sums import sums_by_site

BLOG = "https://blog.example.com"
TODAY = day_of(NOON_MS)


@pytest.fixture
async def counting() -> Any:
    async with open_world(EVENTS__SITE_NETWORKS=2, EVENTS__PER_MINUTE=100_000) as opened:
        yield opened


@pytest.fixture
async def silent() -> Any:
    async with open_world(EVENTS__COUNT_SITES="false") as opened:
        yield opened


async def seen(world: World, number: int, origin: str | None, network: int = 0, **fields: Any) -> str:
    """Report the event of a visitor in a network, on a page of this origin."""
    headers = {} if origin is None else {"origin": origin}
    body = event(visitorId=uuid(number), **fields)
    return fate(await world.client.post(f"{API}/events", headers=headers, json=body, address=f"198.51.{network}.7"))


async def admitted(world: World, origin: str = BLOG, booking_id: str = "a") -> None:
    """Let a website earn its place."""
    for network in (200, 201):
        assert await seen(world, 900 + network, origin, network, bookingId=booking_id) == "recorded"
    await world.settled()


async def booked(world: World) -> tuple[Person, Person, str]:
    """A sponsor, an administrator, and a paid booking of this week."""
    add_slot(world)
    person, boss = sponsor(world), administrator(world)
    await person.profile()
    campaign = await person.campaign()
    assert (await boss.post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"})).words == "200"
    booking_id = (await person.booking(campaign, week=THIS_WEEK))["id"]
    await person.pay(booking_id)
    return person, boss, booking_id


async def test_a_website_with_a_place_is_counted_by_its_host_and_all_others_together(counting: World) -> None:
    await stock(counting)
    await admitted(counting)
    for number, origin in enumerate([BLOG, "https://BLOG.example.com:8443", "https://new.example.com", "null", None]):
        assert await seen(counting, number, origin) == "recorded"
    assert await seen(counting, 0, BLOG, kind="click") == "recorded"
    assert await seen(counting, 0, "https://new.example.com") == "duplicate"
    assert sums_by_site(counting.memory) == {("a", TODAY, "other"): (5, 0), ("a", TODAY, "blog.example.com"): (2, 1)}
    assert counted(counting) == (7, 1)


async def test_a_relay_counts_as_other_websites(counting: World) -> None:
    await stock(counting)
    events = [event(visitorId=uuid(number)) for number in range(5)]
    assert (await counting.client.post(BATCH, json={"events": events})).words == "200"
    assert sums_by_site(counting.memory) == {("a", TODAY, "other"): (5, 0)}


async def test_a_batch_of_a_page_counts_for_its_website(counting: World) -> None:
    await stock(counting)
    await admitted(counting)
    events = [event(visitorId=uuid(number)) for number in range(5)]
    assert (await counting.client.post(BATCH, headers={"origin": BLOG}, json={"events": events})).words == "200"
    assert sums_by_site(counting.memory)["a", TODAY, "blog.example.com"] == (5, 0)


async def test_without_the_setting_nothing_is_counted_by_website(silent: World) -> None:
    await stock(silent)
    assert fate(await report(silent, headers={"origin": BLOG})) == "recorded"
    assert silent.memory.site_days == {}
    assert silent.memory.sites == {}


async def test_another_node_knows_a_website_after_a_while(counting: World) -> None:
    async with open_world(counting.memory, 2, counting.clock, EVENTS__SITE_NETWORKS=2) as other:
        assert other.services.sites.number_of(BLOG) == 0
        await stock(counting)
        await admitted(counting)
        other.services.sites.wake()
        await other.settled()
        assert other.services.sites.number_of(BLOG) == counting.services.sites.number_of(BLOG) != 0


async def test_the_report_of_a_booking_tells_its_websites_and_they_add_up(counting: World) -> None:
    person, _, booking_id = await booked(counting)
    await admitted(counting, booking_id=booking_id)
    for number in range(4):
        assert await seen(counting, number, BLOG if number % 2 else None, bookingId=booking_id) == "recorded"
    assert await seen(counting, 1, BLOG, kind="click", bookingId=booking_id) == "recorded"
    told = (await person.get(f"{API}/bookings/{booking_id}/delivery")).json
    assert told["sites"] == [
        {"site": "other", "impressions": 4, "clicks": 0, "sharePercent": 66.7},
        {"site": "blog.example.com", "impressions": 2, "clicks": 1, "sharePercent": 33.3},
    ]
    for name in ("impressions", "clicks"):
        assert sum(each[name] for each in told["sites"]) == told[name]


async def test_a_report_without_the_setting_has_no_websites(silent: World) -> None:
    person, _, booking_id = await booked(silent)
    assert "sites" not in (await person.get(f"{API}/bookings/{booking_id}/delivery")).json


async def test_administrators_see_the_sums_of_a_period(counting: World) -> None:
    _, boss, booking_id = await booked(counting)
    await admitted(counting, booking_id=booking_id)
    assert await seen(counting, 1, BLOG, bookingId=booking_id) == "recorded"
    shown = (await boss.get(f"{ADMIN}/sites")).json
    today_ms = TODAY * DAY_MS
    assert shown == {
        "items": [
            {"site": "other", "impressions": 2, "clicks": 0, "sharePercent": 66.7},
            {"site": "blog.example.com", "impressions": 1, "clicks": 0, "sharePercent": 33.3},
        ],
        "counting": True,
        "from": today_ms - 27 * DAY_MS,
        "to": today_ms,
    }
    before = (await boss.get(f"{ADMIN}/sites?from={today_ms - DAY_MS}&to={today_ms - 1}")).json
    assert (before["items"], before["from"], before["to"]) == ([], today_ms - DAY_MS, today_ms - DAY_MS)
    first = (await boss.get(f"{ADMIN}/sites?to={DAY_MS}")).json
    assert (first["from"], first["to"]) == (0, DAY_MS), "no period begins before the epoch"


@pytest.mark.parametrize("query", ["from=2&to=1&from=3", "from=86400000&to=0", "from=0", "from=-1", "to=x"])
async def test_a_period_that_is_none_or_too_long_is_refused(counting: World, query: str) -> None:
    answer = await administrator(counting).get(f"{ADMIN}/sites?{query}")
    assert answer.words == "400 invalid_request", answer.body
