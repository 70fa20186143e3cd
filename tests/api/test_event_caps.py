"""The cap of events that one address adds to one booking in an hour: events beyond it are not recorded."""

from typing import Any

import pytest

from actors.clock import HOUR_MS
from tests.api.events import BATCH, EVENTS, counted, event, fate, report, stock
from tests.api.sponsors import uuid
from tests.api.world import World, away, open_world
from tests.snapshots.rows import booking, slot

READER = "203.0.113.7"


@pytest.fixture
async def three_an_hour() -> Any:
    async with open_world(EVENTS__PER_BOOKING_PER_HOUR=3, EVENTS__EXEMPT_NETWORKS="198.51.100.0/24") as opened:
        await stock(opened, slot("right-1"), booking("b", slot_id="right-1"))
        yield opened


async def reported(world: World, *visitors: int, address: str | None = READER, booking_id: str = "a") -> list[str]:
    """The outcomes of impressions of these visitors, sent one by one."""
    bodies = [event(visitorId=uuid(number), bookingId=booking_id) for number in visitors]
    return [fate(await world.client.post(EVENTS, json=body, address=address)) for body in bodies]


async def batched(world: World, *events: dict[str, Any], address: str = READER) -> list[str]:
    answer = await world.client.post(BATCH, json={"events": list(events)}, address=address)
    assert answer.words == "200"
    return [each.get("dropped", "recorded") for each in answer.json["results"]]


async def test_the_cap_is_120_an_hour_unless_configured(world: World) -> None:
    await stock(world)
    assert await reported(world, *range(125)) == ["recorded"] * 120 + ["capped"] * 5
    assert counted(world) == (120, 0)


async def test_a_capped_event_is_told_in_header_body_and_metrics(three_an_hour: World) -> None:
    await reported(three_an_hour, 1, 2, 3)
    answer = await report(three_an_hour, visitorId=uuid(4))
    assert (answer.words, answer.json, answer.header("x-event-dropped")) == ("200", {"recorded": False}, "capped")
    page = (await three_an_hour.client.get("/metrics")).body.decode()
    assert 'catalog_events_total{fate="capped"} 1.0' in page


async def test_bookings_and_addresses_are_capped_apart_and_kinds_together(three_an_hour: World) -> None:
    assert await reported(three_an_hour, 1, 2) == ["recorded"] * 2
    assert fate(await report(three_an_hour, kind="click")) == "recorded"
    assert fate(await report(three_an_hour, kind="click", visitorId=uuid(2))) == "capped"
    assert await reported(three_an_hour, 1, booking_id="b") == ["recorded"]
    for address in ("203.0.113.8", "2001:db8::1", None):
        assert await reported(three_an_hour, *range(10, 14), address=address) in (
            ["recorded"] * 3 + ["capped"],
            ["duplicate"] * 4,
            ["duplicate"] * 3 + ["recorded"],
        )


async def test_the_addresses_of_one_ipv6_network_share_a_cap(three_an_hour: World) -> None:
    assert await reported(three_an_hour, 1, 2, 3, address="2001:db8:1:2::1") == ["recorded"] * 3
    assert await reported(three_an_hour, 4, address="2001:db8:1:2:ffff::9") == ["capped"]
    assert await reported(three_an_hour, 4, address="2001:db8:1:3::1") == ["recorded"]


async def test_duplicates_do_not_count(three_an_hour: World) -> None:
    outcomes = await reported(three_an_hour, *[1] * 10, 2, 3, 4)
    assert outcomes == ["recorded"] + ["duplicate"] * 9 + ["recorded"] * 2 + ["capped"]
    assert await reported(three_an_hour, 1) == ["capped"], "beyond the cap, the deduper is not asked"


NETWORKS = {
    "an IPv6 /48": ("2001:db8:7:{:x}::1", "2001:db8:8::1"),
    "an IPv4 /24": ("192.0.2.{}", "192.0.3.1"),
}


@pytest.mark.parametrize("network", NETWORKS)
async def test_the_addresses_of_a_network_add_five_times_as_much_as_one(three_an_hour: World, network: str) -> None:
    address, elsewhere = NETWORKS[network]
    outcomes = [
        await reported(three_an_hour, *range(4 * at, 4 * at + 4), address=address.format(at)) for at in range(20)
    ]
    assert outcomes == [["recorded"] * 3 + ["capped"]] * 5 + [["capped"] * 4] * 15
    assert counted(three_an_hour) == (15, 0)
    answer = await three_an_hour.client.post(EVENTS, json=event(visitorId=uuid(900)), address=address.format(99))
    assert (answer.words, answer.json, answer.header("x-event-dropped")) == ("200", {"recorded": False}, "capped")
    assert await reported(three_an_hour, 901, address=address.format(99), booking_id="b") == ["recorded"]
    assert await reported(three_an_hour, 902, address=elsewhere) == ["recorded"]
    three_an_hour.clock.at_ms += HOUR_MS
    assert await reported(three_an_hour, 903, address=address.format(99)) == ["recorded"]


async def test_of_a_batch_a_network_records_what_it_has_room_for(three_an_hour: World) -> None:
    events = [event(visitorId=uuid(number)) for number in range(2, 30)]
    for at in range(4):
        assert (await batched(three_an_hour, *events[3 * at :], address=f"192.0.2.{at}")).count("recorded") == 3
    assert await reported(three_an_hour, 20, address="192.0.2.4") == ["recorded"]
    assert await batched(three_an_hour, *events[20:], address="192.0.2.5") == ["recorded"] * 2 + ["capped"] * 6
    assert counted(three_an_hour) == (15, 0)
    again = [await batched(three_an_hour, *events[20:23], address=f"192.0.2.{at}") for at in (5, 6)]
    assert again == [["capped"] * 3] * 2, "what the network refused is not counted for the address either"
    assert await reported(three_an_hour, 26, address="198.18.0.1") == ["recorded"]


async def test_duplicates_and_failures_do_not_use_up_a_network(three_an_hour: World) -> None:
    await reported(three_an_hour, 1, address="192.0.2.1")
    for at in range(2, 20):
        assert await reported(three_an_hour, 1, address=f"192.0.2.{at}") == ["duplicate"]
        assert (
            await batched(three_an_hour, *[event(visitorId=uuid(1))] * 3, address=f"192.0.2.{at}") == ["duplicate"] * 3
        )
    assert [await reported(three_an_hour, at, address=f"192.0.2.{at}") for at in range(20, 36)] == [
        *[["recorded"]] * 14,
        *[["capped"]] * 2,
    ]


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
    events = [event(visitorId=uuid(number), bookingId=name) for number in range(5) for name in "ab"]
    assert await batched(three_an_hour, *events) == ["recorded"] * 6 + ["capped"] * 4
    assert await batched(three_an_hour, *events) == ["capped"] * 10
    assert counted(three_an_hour, "a") == counted(three_an_hour, "b") == (3, 0)


async def test_a_batch_tells_events_that_are_capped_from_others(three_an_hour: World) -> None:
    await stock(three_an_hour, booking("later", start=1))
    events = [event(bookingId=name, visitorId=uuid(number)) for number in range(4) for name in ("a", "later")]
    assert await batched(three_an_hour, *events) == ["recorded", "inactive"] * 3 + ["capped", "inactive"]


async def test_relays_in_the_exempt_networks_have_no_cap(three_an_hour: World) -> None:
    events = [event(visitorId=uuid(number)) for number in range(500)]
    assert await batched(three_an_hour, *events, address="198.51.100.7") == ["recorded"] * 500
    assert set(await reported(three_an_hour, *range(500, 510), address="198.51.100.7")) == {"recorded"}


async def test_zero_turns_the_cap_off() -> None:
    async with open_world(EVENTS__PER_BOOKING_PER_HOUR=0) as world:
        await stock(world)
        assert set(await reported(world, *range(200))) == {"recorded"}
        assert set(await batched(world, *(event(visitorId=uuid(number)) for number in range(200, 500)))) == {"recorded"}


async def test_live_nodes_share_a_cap(world: World) -> None:
    await stock(world)
    await world.meet("n2", "n3")
    assert (await reported(world, *range(60))).count("recorded") == 40
