"""The cap of events that one address adds to one booking in an hour: events beyond it are not recorded."""

from typing import Any

import pytest

from actors.clock import HOUR_MS
from service.api.rate_limits import Budgets
from service.config.loading import load
from tests.api.events import BATCH, EVENTS, counted, event, fate, report, stock
from tests.api.sponsors import uuid
from tests.api.world import NOON_MS, World, away, open_world
from tests.fakes import HandClock
from tests.snapshots.rows import booking, slot

READER, RELAY = "203.0.113.7", "198.51.100.7"

# The rule.


def budgets(clock: HandClock, **settings: str) -> Budgets:
    settings = {"EVENTS__EXEMPT_NETWORKS": "198.51.100.0/24", **settings}
    return Budgets(load(None, {f"CATALOG__{name}": value for name, value in settings.items()}), clock)


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({READER: 5}, [3]),
        ({READER: 3, "203.0.113.8": 1, "2001:db8::1": 4}, [3, 1, 3]),
        ({"2001:db8:1:2::1": 3, "2001:db8:1:2:ffff::9": 1, "2001:db8:1:3::1": 1}, [3, 0, 1]),
        ({f"192.0.2.{at}": 4 for at in range(7)} | {"192.0.3.1": 1}, [*[3] * 5, 0, 0, 1]),
        ({f"2001:db8:7:{at:x}::1": 4 for at in range(7)} | {"2001:db8:8::1": 1}, [*[3] * 5, 0, 0, 1]),
        ({f"192.0.2.{at}": 2 for at in range(9)}, [*[2] * 7, 1, 0]),
        ({RELAY: 500}, [500]),
    ],
    ids=[
        "an address",
        "addresses apart",
        "an IPv6 network as an address",
        "an IPv4 /24 five times as much",
        "an IPv6 /48 five times as much",
        "what the network has room for",
        "a relay",
    ],
)
def test_an_address_adds_three_to_a_booking(asked: dict[str, int], allowed: list[int]) -> None:
    clock = HandClock(NOON_MS)
    limits = budgets(clock, EVENTS__PER_BOOKING_PER_HOUR="3")
    for booking_id in "ab":
        assert [limits.count_events(address, booking_id, count) for address, count in asked.items()] == allowed
    clock.at_ms += HOUR_MS
    assert [limits.count_events(address, "a", count) for address, count in asked.items()] == allowed


def test_the_cap_is_120_unless_configured_and_zero_turns_it_off() -> None:
    assert budgets(HandClock(NOON_MS)).count_events(READER, "a", 500) == 120
    assert budgets(HandClock(NOON_MS), EVENTS__PER_BOOKING_PER_HOUR="0").count_events(READER, "a", 500) == 500


def test_what_is_given_back_or_refused_is_not_counted_for_address_or_network() -> None:
    limits = budgets(HandClock(NOON_MS), EVENTS__PER_BOOKING_PER_HOUR="3")
    for at in range(40):
        assert limits.count_events(f"192.0.2.{at}", "a", 3) == 3
        limits.uncount_events(f"192.0.2.{at}", "a", 3)
    assert [limits.count_events(f"192.0.2.{at}", "a", 3) for at in range(6)] == [3] * 5 + [0]
    limits.uncount_events("192.0.2.0", "a", 3)
    assert limits.count_events("192.0.2.5", "a", 3) == 3, "what its network refused is not counted for the address"


# Over HTTP.


@pytest.fixture
async def three_an_hour() -> Any:
    async with open_world(EVENTS__PER_BOOKING_PER_HOUR=3, EVENTS__EXEMPT_NETWORKS="198.51.100.0/24") as opened:
        await stock(opened, slot("right-1"), booking("b", slot_id="right-1"), booking("later", start=1))
        yield opened


async def reported(world: World, *visitors: int, address: str | None = READER, booking_id: str = "a") -> list[str]:
    """The outcomes of impressions of these visitors, sent one by one."""
    bodies = [event(visitorId=uuid(number), bookingId=booking_id) for number in visitors]
    return [fate(await world.client.post(EVENTS, json=body, address=address)) for body in bodies]


async def batched(world: World, *events: dict[str, Any], address: str = READER) -> list[str]:
    answer = await world.client.post(BATCH, json={"events": list(events)}, address=address)
    assert answer.words == "200"
    return [each.get("dropped", "recorded") for each in answer.json["results"]]


async def test_a_capped_event_is_reported_in_header_body_and_metrics(three_an_hour: World) -> None:
    assert await reported(three_an_hour, 1, 2) == ["recorded"] * 2
    assert fate(await report(three_an_hour, kind="click")) == "recorded", "kinds count together"
    answer = await report(three_an_hour, visitorId=uuid(4))
    assert (answer.words, answer.json, answer.header("x-event-dropped")) == ("200", {"recorded": False}, "capped")
    page = (await three_an_hour.client.get("/metrics")).body.decode()
    assert 'catalog_events_total{fate="capped"} 1.0' in page
    assert counted(three_an_hour) == (2, 1)


async def test_duplicates_do_not_count(three_an_hour: World) -> None:
    outcomes = await reported(three_an_hour, *[1] * 10, 2)
    assert outcomes == ["recorded"] + ["duplicate"] * 9 + ["recorded"]
    assert await batched(three_an_hour, event()) == ["duplicate"]
    assert await reported(three_an_hour, 3, 4) == ["recorded", "capped"]
    assert await reported(three_an_hour, 1) == ["capped"], "beyond the cap, the deduper is not asked"


async def test_what_is_dropped_for_another_reason_does_not_count(three_an_hour: World) -> None:
    for headers in ({"User-Agent": "bot"}, {"Purpose": "prefetch"}):
        for number in range(5):
            assert fate(await report(three_an_hour, headers=headers, visitorId=uuid(number))) in ("crawler", "prefetch")
    assert await reported(three_an_hour, 1, 2, 3, 4) == ["recorded"] * 3 + ["capped"]


async def test_an_event_that_failed_does_not_count(three_an_hour: World) -> None:
    before = three_an_hour.memory.before
    three_an_hour.memory.before = away
    for _ in range(5):
        assert (await report(three_an_hour)).words == "503 service_unavailable"
        batch = {"events": [event(visitorId=uuid(number)) for number in range(3)]}
        assert (await three_an_hour.client.post(BATCH, json=batch, address=READER)).words == "503 service_unavailable"
    three_an_hour.memory.before = before
    assert await reported(three_an_hour, 11, 12, 13, 14) == ["recorded"] * 3 + ["capped"]


async def test_of_a_batch_the_first_events_of_each_booking_are_recorded(three_an_hour: World) -> None:
    events = [event(visitorId=uuid(number), bookingId=name) for number in range(5) for name in ("a", "b", "later")]
    outcomes = ["recorded", "recorded", "inactive"] * 3 + ["capped", "capped", "inactive"] * 2
    assert await batched(three_an_hour, *events) == outcomes
    assert set(await batched(three_an_hour, *events)) == {"capped", "inactive"}
    assert counted(three_an_hour, "a") == counted(three_an_hour, "b") == (3, 0)


async def test_relays_in_the_exempt_networks_have_no_cap(three_an_hour: World) -> None:
    events = [event(visitorId=uuid(number)) for number in range(500)]
    assert await batched(three_an_hour, *events, address=RELAY) == ["recorded"] * 500
    assert set(await reported(three_an_hour, *range(500, 510), address=RELAY)) == {"recorded"}


async def test_live_nodes_share_a_cap(world: World) -> None:
    await stock(world)
    await world.meet("n2", "n3")
    assert (await reported(world, *range(60))).count("recorded") == 40
