"""Operations that extend the specification: the calendar, one campaign and delivery."""

from typing import Any

import pytest

from actors.bookings.records import Side
from actors.clock import DAY_MS, MINUTE_MS, day_of
from actors.times import WEEK_MS
from actors.values import NOT_FILTERED
from tests.api.sponsors import API, CAMPAIGN, NEXT_WEEK, THIS_WEEK, Person, add_slot, sponsor
from tests.api.world import NOON_MS, World, away
from tests.snapshots.rows import booking, hold, slot, week

CALENDAR = f"{API}/calendar"


async def weeks_of(world: World, query: str = "") -> list[int]:
    """The returned weeks, counted from the current one."""
    response = await world.client.get(f"{CALENDAR}{query}")
    assert response.words == "200"
    assert response.json.keys() == {"weeks"}
    return [(each["weekStart"] - THIS_WEEK) // WEEK_MS for each in response.json["weeks"]]


async def test_a_calendar_holds_what_the_inventories_of_its_weeks_hold(world: World) -> None:
    rows = slot(), slot("right-1", side=Side.RIGHT, weeks=2), booking("a", start=1)
    world.sponsorship_store.keep(*rows, hold("b", NOON_MS + 30 * MINUTE_MS, "right-1", start=3))
    await world.settled()
    calendar = (await world.client.get(f"{CALENDAR}?weeks=6")).json["weeks"]
    single = [await world.client.get(f"{API}/inventory?weekStart={week(number)}") for number in range(6)]
    assert calendar == [answer.json for answer in single]
    free = [[each["available"] for each in inventory["slots"]] for inventory in calendar]
    assert free == [[True, True], [False, True], [True, False], [True, False], [True, True], [True, True]]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", range(8)),
        ("?weeks=1", range(1)),
        ("?weeks=12", range(12)),
        (f"?weekStart={week(-1)}&weeks=2", range(-1, 1)),
        (f"?weekStart={NOON_MS}&weeks=1", range(1)),
        (f"?weekStart={week(20)}&weeks=12", range(20, 27)),
        (f"?weekStart={week(26)}", range(26, 27)),
    ],
)
async def test_a_calendar_ends_where_weeks_can_be_booked_no_more(world: World, query: str, numbers: range) -> None:
    assert await weeks_of(world, query) == list(numbers)


@pytest.mark.parametrize(
    "query",
    ["weeks=0", "weeks=13", "weeks=-1", "weeks=x", "weeks=", "weeks=1.0", "weeks=1&weeks=2", f"weekStart={week(27)}"],
)
async def test_another_range_is_refused(world: World, query: str) -> None:
    assert (await world.client.get(f"{CALENDAR}?{query}")).words == "400 invalid_request"


async def test_a_calendar_is_kept_by_caches_until_something_in_it_changes(world: World) -> None:
    world.sponsorship_store.keep(slot(), hold("a", NOON_MS + 5_000, start=7))
    await world.settled()
    first = await world.client.get(CALENDAR)
    tag = first.header("etag") or ""
    assert first.header("cache-control") == "public, max-age=5"
    assert (await world.client.get(CALENDAR, headers={"If-None-Match": tag})).status == 304
    await world.pass_seconds(5)
    assert (await world.client.get(CALENDAR, headers={"If-None-Match": tag})).status == 200


async def test_a_calendar_is_answered_while_the_database_is_away(world: World) -> None:
    world.memory.before = away
    assert len(await weeks_of(world)) == 8


async def test_one_campaign_reads_as_it_stands_in_the_list(world: World) -> None:
    person = sponsor(world)
    campaign = await person.campaign()
    read = await person.get(f"{API}/campaigns/{campaign}")
    assert read.json == {"campaign": (await person.get(f"{API}/campaigns")).json["items"][0]}
    assert CAMPAIGN.items() <= read.json["campaign"].items()


@pytest.mark.parametrize("path", ["campaigns/{campaign}", "bookings/{booking}/delivery"])
async def test_what_is_anothers_is_not_found(world: World, path: str) -> None:
    person, shown = await _booked(world)
    target = f"{API}/{path.format(campaign=shown['campaignId'], booking=shown['id'])}"
    assert (await person.get(target)).words == "200"
    assert (await sponsor(world, "other@example.com").get(target)).words == "404 not_found"


async def test_a_booking_says_until_when_it_is_held_while_it_is(world: World) -> None:
    person, shown = await _booked(world)
    assert shown["heldUntil"] == NOON_MS + 30 * MINUTE_MS
    await world.pass_seconds(60)
    await person.checkout(shown["id"])
    assert (await person.read(shown["id"]))["booking"]["heldUntil"] == NOON_MS + 31 * MINUTE_MS
    await person.pay(shown["id"])
    assert "heldUntil" not in (await person.read(shown["id"]))["booking"]


# Delivery.


async def _booked(world: World, at: int = NEXT_WEEK) -> tuple[Person, dict[str, Any]]:
    add_slot(world)
    person = sponsor(world)
    await person.profile()
    return person, await person.booking(await person.campaign(), week=at)


async def _delivery(person: Person, shown: dict[str, Any]) -> Any:
    answer = await person.get(f"{API}/bookings/{shown['id']}/delivery")
    assert answer.words == "200"
    return answer.json


FILTERED = NOT_FILTERED._asdict()
NOTHING = {"items": [], "impressions": 0, "clicks": 0, "ctr": None, "filtered": FILTERED}


async def test_before_it_runs_a_booking_has_delivered_nothing(world: World) -> None:
    person, shown = await _booked(world)
    assert await _delivery(person, shown) == NOTHING
    await person.pay(shown["id"])
    assert await _delivery(person, shown) == NOTHING


async def test_what_was_never_paid_has_no_run(world: World) -> None:
    person, shown = await _booked(world, THIS_WEEK)
    assert await _delivery(person, shown) == NOTHING


async def test_each_day_from_the_first_bought_one_up_to_today_is_there_with_its_counts(world: World) -> None:
    person, shown = await _booked(world, THIS_WEEK)
    await person.pay(shown["id"])
    world.memory.delivery_days[shown["id"], day_of(THIS_WEEK) + 2] = (40, 3)
    world.memory.delivery_days["bok_other", day_of(THIS_WEEK) + 2] = (1_000, 1_000)

    def day(number: int, impressions: int = 0, clicks: int = 0) -> dict[str, Any]:
        counts = {"impressions": impressions, "clicks": clicks, "filtered": FILTERED}
        return {"day": THIS_WEEK + number * DAY_MS, **counts}

    # It was bought at noon of a Wednesday.
    days = [day(2, 40, 3)]
    sums = {"impressions": 40, "clicks": 3, "ctr": 0.075, "filtered": FILTERED}
    assert await _delivery(person, shown) == {"items": days, **sums}
    world.clock.at_ms = NEXT_WEEK + 100 * DAY_MS
    days += [day(3), day(4), day(5), day(6)]
    assert (await _delivery(person, shown))["items"] == days
    world.memory.delivery_days[shown["id"], day_of(NEXT_WEEK)] = (0, 1)
    assert (await _delivery(person, shown))["items"] == [*days, day(7, 0, 1)], "counted just after midnight"
