"""Events that were reported and not counted, as the sponsor is told of them: by reason, booking and day."""

import csv
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest

from actors.clock import DAY_MS, day_of
from tests.api.events import BATCH, EVENTS, event, fate
from tests.api.sponsors import API, Person, uuid
from tests.api.test_event_sites import booked
from tests.api.world import NOON_MS, World, away, open_world

TODAY = day_of(NOON_MS)
TOLD = {"duplicate": 2, "crawler": 3, "prefetch": 1, "capped": 2, "inactive": 3}
NONE = dict.fromkeys(TOLD, 0)
BOT, PREFETCH = {"User-Agent": "ExampleBot/1.0"}, {"Sec-Purpose": "prefetch"}


@dataclass(frozen=True, slots=True)
class Sold:
    """A sponsor and a booking of this week, which an address may add three events to in an hour."""

    world: World
    person: Person
    booking_id: str

    async def report(self, *visitors: int, **headers: str) -> list[str]:
        """The outcomes of impressions of visitors: of one alone, or of several in a batch."""
        bodies = [event(bookingId=self.booking_id, visitorId=uuid(each)) for each in visitors]
        if len(bodies) == 1:
            return [fate(await self.world.client.post(EVENTS, headers=headers, json=bodies[0]))]
        answer = await self.world.client.post(BATCH, headers=headers, json={"events": bodies})
        return [each.get("dropped", "recorded") for each in answer.json["results"]]

    async def read(self, path: str) -> Any:
        answer = await self.person.get(f"{API}/{path}")
        assert answer.words == "200", answer.body
        return answer.json if "csv" not in path else list(csv.DictReader(StringIO(answer.body.decode(), newline="")))

    async def delivery(self) -> Any:
        return await self.read(f"bookings/{self.booking_id}/delivery")


@pytest.fixture
async def sold() -> AsyncIterator[Sold]:
    async with open_world(EVENTS__PER_BOOKING_PER_HOUR=3) as world:
        person, _, booking_id = await booked(world)
        await world.settled()
        yield Sold(world, person, booking_id)


async def test_each_report_tells_what_was_filtered_within_a_second(sold: Sold) -> None:
    campaign = f"{API}/campaigns/{sold.world.memory.bookings[sold.booking_id].campaign_id}"
    assert await sold.report(1) == ["recorded"]
    assert await sold.report(1) == ["duplicate"]
    assert await sold.report(1, 2, 1) == ["duplicate", "recorded", "capped"]
    assert await sold.report(3) + await sold.report(4) == ["recorded", "capped"]
    assert await sold.report(5, **BOT) + await sold.report(1, 5, **BOT) == ["crawler"] * 3
    assert await sold.report(5, **PREFETCH) == ["prefetch"]
    assert (await sold.person.post(f"{campaign}/pause")).words == "200"
    await sold.world.settled()
    assert await sold.report(1) + await sold.report(5, 6) == ["inactive"] * 3
    await sold.world.pass_seconds(1)

    delivery = await sold.delivery()
    assert [(day["impressions"], day["filtered"]) for day in delivery["items"]] == [(3, TOLD)]
    assert (delivery["impressions"], delivery["filtered"]) == (3, TOLD)
    report = await sold.read("delivery")
    for part in (report, *report["items"], *report["campaigns"], *report["slots"]):
        assert (part["impressions"], part["filtered"]) == (3, TOLD)
    for path in (f"bookings/{sold.booking_id}/delivery", "delivery"):
        [line] = await sold.read(f"{path}?format=csv")
        assert {reason: int(line[f"filtered{reason.title()}"]) for reason in TOLD} == TOLD


async def test_a_filtered_event_counts_on_its_day_also_on_one_without_others(sold: Sold) -> None:
    assert await sold.report(1, **BOT) == ["crawler"]
    sold.world.clock.at_ms += 2 * DAY_MS
    assert await sold.report(1, **PREFETCH) == ["prefetch"]
    await sold.world.pass_seconds(1)
    days = (await sold.delivery())["items"]
    assert [(day["day"] // DAY_MS - TODAY, day["filtered"]) for day in days] == [
        (0, NONE | {"crawler": 1}),
        (1, NONE),
        (2, NONE | {"prefetch": 1}),
    ]


async def test_the_day_after_its_weeks_is_told_and_later_ones_are_not(sold: Sold) -> None:
    end_ms = sold.world.memory.bookings[sold.booking_id].week_end_ms
    for at_ms in (end_ms, end_ms + DAY_MS):
        sold.world.clock.at_ms = at_ms
        assert await sold.report(1) == ["inactive"]
        await sold.world.pass_seconds(1)
    days = (await sold.delivery())["items"]
    assert [day["day"] for day in days if day["filtered"]["inactive"]] == [end_ms]
    assert (await sold.delivery())["filtered"] == NONE | {"inactive": 1}


async def test_an_event_that_was_not_recorded_because_the_database_was_away_is_not_filtered(sold: Sold) -> None:
    before, sold.world.memory.before = sold.world.memory.before, away
    body = event(bookingId=sold.booking_id)
    assert (await sold.world.client.post(EVENTS, json=body)).words.startswith("503")
    sold.world.memory.before = before
    await sold.world.pass_seconds(1)
    assert (await sold.delivery())["filtered"] == NONE
