"""Placement events over HTTP: bodies, content types, callers, limits, CORS and database outages."""

import json
from typing import Any

import pytest

from tests.actors.events import Even
from tests.api.asgi import READER
from tests.api.events import BATCH, EVENTS, counted, event, report, stock
from tests.api.sponsors import uuid
from tests.api.world import World, away, fails_once, open_world

# Bodies.


WRONG: dict[str, Any] = {
    "another property": event() | {"when": 1},
    "a name in another case": event() | {"VisitorId": uuid(1)},
    "no booking": {"kind": "click", "visitorId": uuid(1)},
    "no visitor": {"bookingId": "a", "kind": "click"},
    "a booking that is a number": event(bookingId=1),
    "an empty booking": event(bookingId=""),
    "a kind in upper case": event(kind="CLICK"),
    "a visitor as a URN": event(visitorId=f"urn:uuid:{uuid(1)}"),
    "a visitor without dashes": event(visitorId=uuid(1).replace("-", "")),
    "a visitor with dashes elsewhere": event(visitorId="3f2a8c1e5-b7d-4e90-a1c6-0d9e8f7b6a54"),
    "a visitor with a letter beyond f": event(visitorId="g" + uuid(1)[1:]),
    "a visitor and a line break": event(visitorId=uuid(1) + "\n"),
    "a visitor in other digits": event(visitorId=uuid(1).replace("0", "\u0660")),
    "a list": [event()],
    "a batch": {"events": [event()]},
    "a text": json.dumps(event()),
}


@pytest.mark.parametrize("what", WRONG)
async def test_any_other_body_is_400_and_changes_nothing(world: World, what: str) -> None:
    await stock(world)
    for path, body in ((EVENTS, WRONG[what]), (BATCH, {"events": [event(), WRONG[what]]})):
        answer = await world.client.post(path, json=body)
        assert answer.words == "400 invalid_request"
        assert ("events.1" in answer.json["message"]) == (path == BATCH)
    assert counted(world) == (0, 0)


async def test_a_batch_of_the_most_events_fits_also_when_it_is_indented(world: World) -> None:
    await stock(world)
    events = [event(bookingId="bok_4kQ9ZpR1sT7vX2yB5cD8eF", visitorId=uuid(number)) for number in range(500)]
    answer = await world.client.post(BATCH, body=json.dumps({"events": events}, indent=4).encode(), address="127.0.0.1")
    assert answer.words == "400 invalid_request", "there is no such booking; but it was read"


async def test_a_body_of_many_faults_is_answered_briefly(world: World) -> None:
    faults = {f"f{number}": 0 for number in range(9_000)}
    bodies: list[dict[str, Any]] = [faults, {"events": [faults]}, {"events": [{}] * 500}]
    for body in bodies:
        answer = await world.client.post(BATCH, json=body)
        assert answer.words == "400 invalid_request"
        assert len(answer.json["message"]) < 500
    message = (await world.client.post(BATCH, json=faults)).json["message"]
    assert message == "The body is not valid: there are 9001 problems"


# Callers.


async def test_a_key_counts_the_request_and_its_limits_are_reported(world: World) -> None:
    await stock(world)
    key = world.key()
    for path, body in ((EVENTS, event()), (BATCH, {"events": [event()] * 7})):
        answer = await world.client.post(path, key, json=body)
        assert answer.words == "200"
        assert '"minute";q=60;w=60' in (answer.header("ratelimit-policy") or "")
    assert world.tenant_of(key).lifetime_used == 2, "a batch is one request"
    assert (await report(world)).header("ratelimit") is None


# Limits.


@pytest.fixture
async def three_a_minute() -> Any:
    async with open_world(EVENTS__PER_MINUTE=3) as opened:
        await stock(opened)
        yield opened


async def passed(world: World, address: str | None, count: int = 1) -> int:
    """Report events one by one. Returns how many were allowed."""
    statuses = [(await world.client.post(EVENTS, json=event(), address=address)).status for _ in range(count)]
    assert set(statuses) <= {200, 429}
    return statuses.count(200)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
async def test_nobody_is_exempt_unless_configured(three_a_minute: World, address: str) -> None:
    assert await passed(three_a_minute, address, 50) == 3


async def test_relays_in_the_exempt_networks_have_no_limit() -> None:
    networks = "198.51.100.0/24, 2001:db8:a::/48"
    async with open_world(EVENTS__PER_MINUTE=3, EVENTS__EXEMPT_NETWORKS=networks) as world:
        await stock(world)
        for address in ("198.51.100.7", "2001:db8:a:b::1", "::ffff:198.51.100.8"):
            assert await passed(world, address, 50) == 50
            batch = {"events": [event()] * 500}
            assert (await world.client.post(BATCH, json=batch, address=address)).status == 200
        for address in ("198.51.101.7", "2001:db8:b::1", "127.0.0.1"):
            assert await passed(world, address, 5) == 3


async def test_what_is_not_valid_counts_too(three_a_minute: World) -> None:
    statuses = [(await three_a_minute.client.post(EVENTS, body=b"x")).status for _ in range(5)]
    assert statuses == [400, 400, 400, 429, 429]


async def test_a_batch_counts_all_of_its_events_or_one() -> None:
    async with open_world(EVENTS__PER_MINUTE=10) as world:
        await stock(world)

        async def batch(count: int) -> int:
            events = [event(visitorId=uuid(number)) for number in range(count)]
            return (await world.client.post(BATCH, json={"events": events})).status

        assert [await batch(count) for count in (7, 4, 2, 1)] == [200, 429, 200, 429]
        assert counted(world) == (7, 0)
        world.clock.at_ms += 60_000
        assert [await batch(count) for count in (10, 1)] == [200, 429]


async def test_a_batch_that_is_refused_counts_as_one_event() -> None:
    async with open_world(EVENTS__PER_MINUTE=10) as world:
        await stock(world)
        batch = {"events": [event()] * 11}
        statuses = [(await world.client.post(BATCH, json=batch)).status for _ in range(7)]
        assert statuses == [429] * 7
        assert await passed(world, READER, 10) == 3, "seven of ten are used up"
        assert await passed(world, "203.0.113.8", 11) == 10
        assert counted(world) == (1, 0)


async def test_a_batch_that_is_too_much_is_not_charged_to_a_key() -> None:
    async with open_world(EVENTS__PER_MINUTE=10) as world:
        await stock(world)
        key = world.key()
        refused = await world.client.post(BATCH, key, json={"events": [event()] * 11})
        assert refused.words == "429 rate_limited"
        assert refused.header("retry-after") == str(refused.json["retryAfter"]) == "60"
        await world.settled()
        assert world.tenant_of(key).lifetime_used == 0
        assert (await world.client.post(BATCH, key, json={"events": [event()] * 9})).status == 200
        assert world.tenant_of(key).lifetime_used == 1


# The database away.


@pytest.mark.parametrize("path", [EVENTS, BATCH])
async def test_without_the_database_nothing_counts_and_a_retry_does(world: World, path: str) -> None:
    await stock(world)
    body = event() if path == EVENTS else {"events": [event(), event(kind="click")]}
    before, world.memory.before = world.memory.before, away
    answer = await world.client.post(path, json=body)
    assert answer.words == "503 service_unavailable"
    assert answer.header("retry-after") == "1"
    assert answer.header("access-control-allow-origin") == "*"
    assert counted(world) == (0, 0)
    world.memory.before = before
    answer = await world.client.post(path, json=body)
    assert answer.json == ({"recorded": True} if path == EVENTS else {"results": [{"recorded": True}] * 2})
    assert counted(world) == ((1, 0) if path == EVENTS else (1, 1))


async def test_events_of_a_batch_that_cannot_be_recorded_now_are_reported_in_their_place() -> None:
    async with open_world(None, 1, None, None, Even(2)) as world:
        await stock(world)
        events = [event(visitorId=uuid(number)) for number in range(20)]
        # The first section to ask finds the store away.
        fails_once(world.memory, away)
        answer = await world.client.post(BATCH, json={"events": events})
        assert answer.words == "200"
        results = answer.json["results"]
        missing = [number for number, each in enumerate(results) if each == {"error": "service_unavailable"}]
        assert 0 < len(missing) < len(events)
        assert [each for each in results if each != {"error": "service_unavailable"}] == [{"recorded": True}] * (
            len(events) - len(missing)
        )
        again = (await world.client.post(BATCH, json={"events": events})).json["results"]
        assert [number for number, each in enumerate(again) if each["recorded"]] == missing
        assert counted(world) == (len(events), 0)
        page = (await world.client.get("/metrics")).body.decode()
        assert f'catalog_events_total{{fate="unavailable"}} {len(missing)}.0' in page
