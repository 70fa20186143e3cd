"""Health, readiness and metrics."""

from typing import NoReturn

import pytest
import trio
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from actors.events.servers import ServerReport
from actors.values import StorageUnavailable, WritesRefused
from service.api.operations import OPERATIONS
from tests.api.asgi import Response
from tests.api.world import World, away, open_world
from tests.doubles.nodes import MemoryNodes

NODE = {"node", "version"}
NAMES = {operation.name for operation in OPERATIONS} | {"other"}


# Alive and ready.


async def test_a_node_is_alive_and_ready(world: World) -> None:
    alive, ready = [await world.client.get(path) for path in ("/healthz", "/readyz")]
    assert (alive.status, alive.json) == (200, {"status": "ok"})
    assert (ready.status, ready.json) == (200, {"status": "ok", "node": "n1", "liveNodes": 1})


async def test_a_ready_node_says_how_many_live(world: World) -> None:
    await world.meet("n2", "n3")
    assert (await world.client.get("/readyz")).json["liveNodes"] == 3


async def _unready(world: World) -> Response:
    assert (await world.client.get("/healthz")).words == "200", "alive all the same"
    response = await world.client.get("/readyz")
    assert response.words == "503 service_unavailable"
    assert response.json["retryAfter"] == 1
    return response


async def test_without_its_database_a_node_is_not_ready(world: World) -> None:
    before, world.memory.before = world.memory.before, away
    assert "the database is not available" in (await _unready(world)).json["message"]
    world.memory.before = before
    await world.pass_seconds(1)
    assert (await world.client.get("/readyz")).words == "200"


async def test_with_a_database_that_refuses_writes_a_node_is_not_ready_and_names_the_cause(world: World) -> None:
    async def refuse() -> None:
        raise WritesRefused("its disk is full")

    world.services.health.ping = refuse
    await world.pass_seconds(1)
    assert "the database accepts no writes: its disk is full" in (await _unready(world)).json["message"]


async def test_with_a_database_that_does_not_answer_a_node_is_not_ready(world: World) -> None:
    world.memory.before = trio.sleep_forever
    assert "did not answer within 2 s" in (await _unready(world)).json["message"]


@pytest.mark.parametrize("name", ["keys", "key_cache", "session_reader", "sessions", "devices", "quota", "mail"])
async def test_with_an_actor_that_stopped_a_node_is_not_ready(world: World, name: str) -> None:
    actor = getattr(world.services, name)
    actor.close()
    await world.settled()
    assert f"the actor {actor.name} is stopped" in (await _unready(world)).json["message"]


async def test_with_a_full_mailbox_a_node_is_not_ready_and_refuses_at_once() -> None:
    async with open_world(ACTORS__MAILBOX=1, ACTORS__BATCH=1) as world:
        key = world.key()
        assert (await world.client.get("/api/v1/bots", key)).words == "200"
        before, world.memory.before = world.memory.before, trio.sleep_forever
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(world.client.get, "/api/v1/bots", key)
                await world.settled()
            began = trio.current_time()
            assert (await world.client.get("/api/v1/bots", key)).words == "503 service_unavailable"
            assert trio.current_time() == began, "one waits for its commit, one in the mailbox, and no third"
            assert "the actor quota is running with 1 messages waiting" in (await _unready(world)).json["message"]
            nursery.cancel_scope.cancel()
        world.memory.before = before


async def test_all_that_is_wrong_is_said_at_once(world: World) -> None:
    world.memory.before = away
    world.services.health.stopping = True
    world.services.keys.close()
    world.services.quota.close()
    await world.settled()
    message = (await _unready(world)).json["message"]
    causes = ("the node is stopping", "the database", "the actor keys", "the actor quota")
    assert all(cause in message for cause in causes)


async def test_a_node_that_cannot_write_is_not_ready_although_the_database_answers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> NoReturn:
        await trio.lowlevel.checkpoint()
        raise StorageUnavailable("cannot execute UPDATE in a read-only transaction")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryNodes, "heartbeat", refuse)
        await trio.sleep(world.services.config.nodes.live_seconds + 0.5)
        problem = "the node has not been able to write to the database for 10 s"
        assert problem in (await _unready(world)).json["message"]
    await trio.sleep(world.services.config.nodes.beat_seconds)
    assert (await world.client.get("/readyz")).words == "200"


async def test_metrics_are_not_public_where_operators_have_their_own_address() -> None:
    async with open_world(SERVER__OPS_BIND="127.0.0.1:0") as world:
        response = await world.client.get("/metrics")
        assert response.status == 404
        assert b"catalog_" not in response.body


async def test_probes_have_no_limit(world: World) -> None:
    assert {(await world.client.get("/readyz")).status for _ in range(200)} == {200}


# Metrics.


async def _scraped(world: World) -> dict[str, Metric]:
    response = await world.client.get("/metrics")
    assert response.header("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    assert response.header("cache-control") == "no-store"
    return {family.name: family for family in text_string_to_metric_families(response.body.decode())}


def _values(family: Metric, suffix: str = "") -> dict[tuple[str, ...], float]:
    """The samples of a metric family by their label values."""
    return {
        tuple(sample.labels.values()): sample.value for sample in family.samples if sample.name == family.name + suffix
    }


async def test_requests_are_counted_by_operation_and_status(world: World) -> None:
    for _ in range(3):
        await world.client.get("/api/v1/bots")
    await world.client.get("/api/v1/bots/nobody")
    await world.client.get("/api/v1/usage")
    await world.client.get("/nowhere")
    await world.client.post("/api/v1/auth/agent")
    assert _values((await _scraped(world))["catalog_requests"], "_total") == {
        ("listBots", "200"): 3,
        ("getBot", "404"): 1,
        ("getUsage", "401"): 1,
        ("other", "404"): 1,
        ("mintKey", "200"): 1,
    }


async def test_refusals_are_counted_by_code(world: World) -> None:
    for target in ("/api/v1/usage", "/api/v1/usage", "/api/v1/bots?limit=0", "/nowhere"):
        await world.client.get(target)
    counted = _values((await _scraped(world))["catalog_refusals"], "_total")
    assert counted == {("unauthorized",): 2, ("invalid_request",): 1, ("not_found",): 1}


async def test_the_time_to_answer_is_a_histogram_by_operation(world: World) -> None:
    world.memory.before = _slow
    await world.client.post("/api/v1/auth/agent")
    family = (await _scraped(world))["catalog_request_seconds"]
    assert family.type == "histogram"
    assert _values(family, "_count") == {("mintKey",): 1}
    assert _values(family, "_sum") == {("mintKey",): pytest.approx(0.3, abs=0.01)}
    buckets = {sample.labels["le"]: sample.value for sample in family.samples if sample.name.endswith("_bucket")}
    assert (buckets["0.25"], buckets["0.5"], buckets["+Inf"]) == (0, 1, 1)


async def _slow() -> None:
    await trio.sleep(0.3)


async def test_the_size_of_batches_is_a_histogram_by_actor(world: World) -> None:
    keys = [world.key() for _ in range(6)]
    async with trio.open_nursery() as nursery:
        for key in keys:
            nursery.start_soon(world.client.get, "/api/v1/bots", key)
    families = await _scraped(world)
    batches = families["catalog_batch_messages"]
    assert _values(batches, "_sum")["quota",] == 6
    assert _values(batches, "_count")["quota",] < 6, "requests that came together were committed together"
    assert _values(families["catalog_commit_seconds"], "_count")["quota",] == _values(batches, "_count")["quota",]


async def test_actors_and_the_pool_are_seen(world: World) -> None:
    families = await _scraped(world)
    names = {"keys", "directory", "quota", "bookings", "events", "windows", "mail", "catalog_editor", "submissions"}
    names |= {"session_reader", "sessions", "devices", "passkeys", "accounts", "webhook_keeper", "webhooks"}
    names |= {"catalog_editor"}
    for name in ("catalog_mailbox_depth", "catalog_actor_accepting"):
        assert {actor for (actor,) in _values(families[name])} == names
    assert set(_values(families["catalog_actor_accepting"]).values()) == {1}
    assert _values(families["catalog_database_connections"])["open",] == 1


async def test_the_node_is_named_and_live_nodes_and_the_age_of_its_beat_are_seen(world: World) -> None:
    await world.meet("n2", "n3")
    await trio.sleep(0.5)
    families = await _scraped(world)
    assert _values(families["catalog_node_info"]) == {("n1", "1.0.0"): 1}
    assert _values(families["catalog_nodes_live"]) == {(): 3}
    assert _values(families["catalog_node_beat_age_seconds"]) == {(): pytest.approx(0.5)}


async def test_servers_of_events_are_seen_by_number_and_not_by_address(world: World) -> None:
    away = ServerReport(2, "worker two:5432", 100, error="connection refused")
    world.services.event_servers.reports = [ServerReport(1, "worker one:5432", 156, prepared_seconds=301.0), away]
    families = await _scraped(world)
    assert _values(families["catalog_event_server_up"]) == {("1",): 1, ("2",): 0}
    assert _values(families["catalog_event_server_places"]) == {("1",): 156, ("2",): 100}
    assert _values(families["catalog_event_server_problems"]) == {("1",): 1, ("2",): 1}
    assert _values(families["catalog_event_server_prepared_seconds"]) == {("1",): 301, ("2",): 0}
    assert "worker" not in str(families)


async def test_no_client_can_make_a_label(world: World) -> None:
    for target in ("/x{}", "/api/v1/bots/y{}", "/api/v1/bots?q=z{}", "/static{}", '/"}} 1 {}'):
        for number in range(3):
            await world.client.request(f"METHOD{number}", target.format(number))
            await world.client.get(target.format(number), headers={"X-Request-Id": f"id-{number}"})
    labels = {"operation", "status", "code", "actor", "event", "state", "snapshot", "fate", "outcome", "le", *NODE}
    for family in (await _scraped(world)).values():
        for sample in family.samples:
            assert sample.labels.keys() <= labels
            assert sample.labels.get("operation", "other") in NAMES
            assert sample.labels.get("status", "200").isdigit()


async def test_a_client_that_left_is_counted_too(world: World) -> None:
    world.memory.before = trio.sleep_forever
    with trio.move_on_after(1):
        await world.client.post("/api/v1/auth/agent")
    counted = _values((await _scraped(world))["catalog_requests"], "_total")
    assert counted == {("mintKey", "499"): 1}
