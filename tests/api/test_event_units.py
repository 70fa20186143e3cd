"""The query parameter `unit` of events, and the clients that relays name."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.asgi import Response
from tests.api.events import BATCH, EVENTS, counted, event, fate, stock
from tests.api.sponsors import uuid
from tests.api.test_event_batches import RELAY, fates
from tests.api.world import World, open_world

DAILY = f"{EVENTS}?unit=day"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world(EVENTS__EXEMPT_NETWORKS=f"{RELAY}/32") as opened:
        await stock(opened)
        yield opened


async def visit(world: World, address: str, agent: str, number: int = 1, path: str = DAILY, **fields: Any) -> str:
    body = event(visitorId=uuid(number), **fields)
    return fate(await world.client.post(path, headers={"User-Agent": agent}, json=body, address=address))


async def relayed(world: World, *clients: dict[str, Any], path: str = f"{BATCH}?unit=day", by: str = RELAY) -> Response:
    events = [event(visitorId=uuid(number)) | client for number, client in enumerate(clients)]
    return await world.client.post(path, json={"events": events}, address=by)


async def test_with_unit_day_an_address_and_user_agent_is_one_visitor_whatever_the_visitor_id(world: World) -> None:
    visits = [
        ("203.0.113.7", "A", "recorded"),
        ("203.0.113.7", "A", "duplicate"),
        ("::ffff:203.0.113.7", "A", "duplicate"),
        ("203.0.113.7", "B", "recorded"),
        ("203.0.113.8", "A", "recorded"),
        ("2001:db8::1", "A", "recorded"),
        ("2001:db8::ffff", "A", "duplicate"),
        ("2001:db8:0:1::1", "A", "recorded"),
    ]
    for number, (address, agent, expected) in enumerate(visits):
        assert await visit(world, address, agent, number) == expected
    assert await visit(world, "203.0.113.7", "A", kind="click") == "recorded"
    assert await visit(world, "203.0.113.7", "A", 1, f"{EVENTS}?unit=device") == "recorded", "units count by themselves"
    assert await visit(world, "203.0.113.7", "A", 1, EVENTS) == "duplicate", "a request without a unit is of a device"
    assert counted(world) == (6, 1)


@pytest.mark.parametrize(
    "query", ["unit=", "unit=Day", "unit=days", "unit=day&unit=day", "unit=day&unit=device", "unit=%00"]
)
@pytest.mark.parametrize("path", [EVENTS, BATCH])
async def test_a_forged_unit_is_400_that_names_it(world: World, path: str, query: str) -> None:
    body = event() if path == EVENTS else {"events": [event()]}
    answer = await world.client.post(f"{path}?{query}", json=body)
    assert answer.words == "400 invalid_request"
    assert "unit" in answer.json["message"]
    assert [each["name"] for each in answer.json["fields"]] == ["unit"]
    assert counted(world) == (0, 0)


async def test_the_visitor_id_is_validated_with_any_unit(world: World) -> None:
    assert (await world.client.post(DAILY, json=event(visitorId="nobody"))).words == "400 invalid_request"


async def test_a_relay_names_the_clients_that_it_saw(world: World) -> None:
    one = {"clientAddress": "203.0.113.7", "userAgent": "A"}
    clients = [
        one,
        one,
        one | {"userAgent": "B"},
        {"clientAddress": "2001:db8::1"},
        {"clientAddress": "2001:db8::2"},
        {},
        one | {"userAgent": "Mozilla/5.0 (compatible; ExampleBot/1.0)"},
        one | {"userAgent": "C"},
    ]
    expected = ["recorded", "duplicate", "recorded", "recorded", "duplicate", "recorded", "crawler", "recorded"]
    assert fates(await relayed(world, *clients)) == expected
    assert await visit(world, "203.0.113.7", "A") == "duplicate", "the visitor is the same without the relay"
    assert fates(await relayed(world, {}, {})) == ["duplicate", "duplicate"], (
        "without an address, the relay is the visitor"
    )


NAMED: dict[str, Any] = {"clientAddress": "203.0.113.7", "userAgent": "A"}


@pytest.mark.parametrize(
    ("rest", "client", "name", "words"),
    [
        ({"by": "203.0.113.9"}, NAMED, "clientAddress", "only from a network in events.exempt_networks"),
        ({"path": BATCH}, NAMED, "clientAddress", "only with unit=day"),
        ({"path": f"{BATCH}?unit=device"}, NAMED, "clientAddress", "only with unit=day"),
        ({}, {"userAgent": "A"}, "userAgent", "only with clientAddress"),
        *(
            ({}, {"clientAddress": bad}, "clientAddress", "must be an IPv4 or IPv6 address")
            for bad in ("", "203.0.113", "203.0.113.0/24", "203.0.113.7:443", "fe80::1%eth0")
        ),
        ({}, NAMED | {"clientAddress": "1" * 65}, "clientAddress", "at most 64 characters"),
        ({}, NAMED | {"clientAddress": None}, "clientAddress", "must be a string"),
        ({}, NAMED | {"userAgent": "A" * 1_001}, "userAgent", "at most 1000 characters"),
    ],
)
async def test_a_client_that_must_not_be_named_is_400_at_its_event_and_records_nothing(
    world: World, rest: dict[str, str], client: dict[str, Any], name: str, words: str
) -> None:
    answer = await relayed(world, {}, client, **rest)
    assert answer.words == "400 invalid_request"
    assert words in answer.json["message"]
    assert [each["name"] for each in answer.json["fields"]] == [f"events.1.{name}"]
    assert counted(world) == (0, 0)


async def test_a_single_event_names_no_client_because_its_body_is_that_of_the_specification(world: World) -> None:
    answer = await world.client.post(DAILY, json=event() | NAMED, address=RELAY)
    assert answer.words == "400 invalid_request"


async def test_neither_addresses_nor_agents_are_stored_or_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        await visit(world, "203.0.113.7", "Curious/1.0")
        await relayed(world, {"clientAddress": "198.51.100.7", "userAgent": "Curious/2.0"})
        await relayed(world, {"clientAddress": "198.51.100.7", "userAgent": "Curious/2.0"}, by="203.0.113.9")
        await relayed(world, {"clientAddress": "198.51.100.7x", "userAgent": "Curious/2.0"})
    logged = caplog.text + repr([vars(record) for record in caplog.records])
    memory = world.memory
    kept = repr((memory.events, memory.delivery_days, memory.audits, memory.journal, memory.visitor_secrets))
    for secret in ("Curious", "198.51.100.7"):
        assert secret not in logged
        assert secret not in kept
    assert "203.0.113" not in kept


async def test_a_node_without_the_secret_of_the_day_is_503_for_its_unit_only(world: World) -> None:
    world.memory.visitor_secrets.clear()
    world.services.visitor_secrets._hasher.learn({}, 0)
    answer = await world.client.post(DAILY, json=event())
    assert answer.words == "503 service_unavailable"
    assert answer.header("retry-after") == "1"
    assert await visit(world, "203.0.113.7", "A", path=EVENTS) == "recorded"
