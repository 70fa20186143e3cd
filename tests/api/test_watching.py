"""The status of a node, and its log of recent refusals."""

import pytest
import trio

from actors.clock import HOUR_MS, MINUTE_MS
from actors.events.servers import ServerReport
from service.observability.health import ONLY_EVENTS
from service.observability.refusal_log import LEFT, MINUTES, RECENT, RefusalLog
from service.version import VERSION
from tests.api.sponsors import add_slot, administrator, sponsor
from tests.api.world import NOON_MS, World, away
from tests.fakes import IDLE, HandClock

STATUS = "/api/v1/admin/operations/status"


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON_MS)


@pytest.fixture
def watch(clock: HandClock) -> RefusalLog:
    return RefusalLog(clock, "n1", lambda: IDLE)


# The refusal log.


def test_the_last_refusals_are_kept_the_newest_first_and_no_more_than_that(clock: HandClock, watch: RefusalLog) -> None:
    for number in range(RECENT + 20):
        clock.at_ms = NOON_MS + number
        watch.refused("getBot", "not_found", 404)
    recent = watch.recent()
    assert [each.at_ms - NOON_MS for each in recent] == list(range(RECENT + 19, 19, -1))
    assert watch.last_hour() == {("getBot", "not_found"): RECENT + 20}


def test_refusals_are_counted_for_an_hour_and_minutes_are_bounded(clock: HandClock, watch: RefusalLog) -> None:
    for minute in range(3 * MINUTES):
        clock.at_ms = NOON_MS + minute * MINUTE_MS
        watch.refused("getBot", "rate_limited", 429)
    assert watch.last_hour() == {("getBot", "rate_limited"): MINUTES}
    clock.at_ms += HOUR_MS
    assert watch.last_hour() == {}


def test_a_clock_that_is_put_back_neither_fails_nor_grows_the_watch(clock: HandClock, watch: RefusalLog) -> None:
    for step in range(3 * MINUTES):
        clock.at_ms = NOON_MS + (step % 2) * 5 * MINUTE_MS
        watch.refused("getBot", "not_found", 404)
    clock.at_ms = NOON_MS + 5 * MINUTE_MS
    assert watch.last_hour() == {("getBot", "not_found"): MINUTES}


def test_who_left_was_not_refused(watch: RefusalLog) -> None:
    watch.refused("getBot", "-", LEFT)
    assert (watch.recent(), watch.last_hour()) == ([], {})


# The operation.


async def test_refusals_are_counted_by_operation_and_code(world: World) -> None:
    admin = administrator(world)
    await world.client.get("/api/v1/bots/nothing")
    await world.client.get("/api/v1/bots/nothing")
    await world.client.get("/api/v1/usage")
    await world.client.get("/nowhere")
    assert (await world.client.get("/api/v1/bots")).words == "200"
    refusals = (await admin.get(STATUS)).json["refusals"]
    assert refusals["lastHour"] == [
        {"operation": "getBot", "error": "not_found", "count": 2},
        {"operation": "getUsage", "error": "unauthorized", "count": 1},
        {"operation": "other", "error": "not_found", "count": 1},
    ]
    assert [(each["operation"], each["error"], each["status"]) for each in refusals["recent"]] == [
        ("other", "not_found", 404),
        ("getUsage", "unauthorized", 401),
        ("getBot", "not_found", 404),
        ("getBot", "not_found", 404),
    ]
    assert {each["at"] for each in refusals["recent"]} == {NOON_MS}


async def test_the_watch_holds_nothing_of_anybody(world: World) -> None:
    admin, key = administrator(world), world.key(expires_in_ms=-1)
    await world.client.get("/api/v1/bots/a-secret-slug?q=a-secret-word", key, headers={"X-Request-Id": "a-secret-id"})
    await world.client.post("/api/v1/auth/claim", json={"claimToken": "a-secret-token", "email": "ann@example.com"})
    await world.client.get("/a-secret-path", headers={"Cookie": "session=a-secret-session"})
    told = (await admin.get(STATUS)).body.decode()
    assert world.services.refusal_log.recent()
    for secret in ("secret", key, key[:12], "ann@example.com", "203.0.113.7"):
        assert secret not in told
        assert secret not in repr(world.services.refusal_log.recent())


async def test_the_status_tells_of_node_actors_database_snapshots_and_events(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    add_slot(world)
    await person.profile()
    await world.pass_seconds(90)
    told = (await admin.get(STATUS)).json
    assert (told["ready"], told["problems"]) == (True, [])
    assert told["node"] == {
        "id": "n1",
        "version": VERSION,
        "startedAt": NOON_MS,
        "now": NOON_MS + 90_000,
        "uptimeSeconds": 90,
    }
    actors = {actor["name"]: actor for actor in told["actors"]}
    assert len(actors) == len(told["actors"]) == len(world.services.health.actors())
    ledger = actors["bookings"]
    assert (ledger["state"], ledger["batches"], ledger["messages"], ledger["meanBatch"]) == ("running", 1, 1, 1.0)
    assert 0 == ledger["waiting"] < ledger["peak"] <= ledger["capacity"]
    assert told["database"]["open"] == 1
    snapshots = {each["name"]: each for each in told["snapshots"]}
    assert snapshots.keys() == {"catalog", "placements"}
    for each in snapshots.values():
        assert 0 <= each["ageSeconds"] <= 1
        assert each["revision"] >= 0
        assert each["away"] is False
    outcomes = ("recorded", "duplicate", "inactive", "crawler", "prefetch", "capped", "unavailable")
    assert told["events"] == dict.fromkeys(outcomes, 0)


async def test_servers_of_events_that_are_away_are_told_and_leave_the_node_ready(world: World) -> None:
    admin = administrator(world)
    assert "eventServers" not in (await world.client.get("/readyz")).json
    assert (await admin.get(STATUS)).json["eventServers"] == []
    world.services.event_servers.reports = [
        ServerReport(1, "worker one:5432", 128),
        ServerReport(2, "worker two:5432", 128, error="connection refused"),
    ]
    ready = await world.client.get("/readyz")
    assert ready.words == "200"
    assert ready.json["eventServers"] == {"total": 2, "unavailable": 1}
    assert "problems" not in ready.json
    told = (await admin.get(STATUS)).json
    assert told["ready"]
    assert told["eventServers"] == [
        {"name": "worker one:5432", "available": True, "places": 128, "preparedSeconds": 0.0, "problems": []},
        {
            "name": "worker two:5432",
            "available": False,
            "places": 128,
            "preparedSeconds": 0.0,
            "problems": world.services.event_servers.reports[1].problems(),
        },
    ]


async def test_without_the_coordinator_the_node_is_ready_and_says_that_it_only_records_events(world: World) -> None:
    admin = administrator(world)
    world.services.event_servers.reports = [ServerReport(1, "worker one:5432", 256)]
    await world.pass_seconds(1)
    world.services.health.ping = away
    ready = await world.client.get("/readyz")
    assert ready.words == "200"
    assert ready.json["problems"] == [ONLY_EVENTS.format("the database is not available")]
    told = (await admin.get(STATUS)).json
    assert (told["ready"], told["problems"]) == (True, ready.json["problems"])


async def test_the_status_tells_of_live_nodes_and_which_one_answers(world: World) -> None:
    admin = administrator(world)
    await world.meet("n0", "n2")
    await trio.sleep(0.5)
    told = (await admin.get(STATUS)).json
    assert [(node["id"], node["thisOne"], node["beatAgeSeconds"]) for node in told["liveNodes"]] == [
        ("n0", False, 2.5),
        ("n1", True, 0.5),
        ("n2", False, 2.5),
    ]
    assert told["liveNodes"][1] == {
        "id": "n1",
        "host": "host-1",
        "pid": 7,
        "url": "http://192.0.2.1:8080",
        "version": "1.0.0",
        "startedAt": NOON_MS,
        "beatAgeSeconds": 0.5,
        "thisOne": True,
    }


async def test_the_status_says_what_is_wrong(world: World) -> None:
    """Looking up a key needs the database, so only the health check fails here."""
    admin = administrator(world)
    await world.pass_seconds(1)
    world.services.health.ping = away
    told = await admin.get(STATUS)
    assert told.words == "200"
    assert told.json["ready"] is False
    assert told.json["problems"] == ["the database is not available"]
