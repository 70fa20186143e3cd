"""SIGTERM under load: responses are complete and their effects are kept, and no client can delay the end."""

import time
from pathlib import Path

import pytest
import trio

from tests.acceptance.clients import Crowd, Tally, Wire
from tests.acceptance.engines import ENGINES
from tests.acceptance.processes import Service, serving, until, usecase, write_catalog
from tests.slow import repeats, smoke

GRACEFUL = 2.0
SETTINGS = {
    "server.graceful_seconds": GRACEFUL,
    "tiers.anonymous.lifetime": 1_000_000,
    "tiers.anonymous.daily": 1_000_000,
    "tiers.anonymous.per_minute": 1_000_000,
    "log.level": "warning",
}
LARGE_PAGE = "/api/v1/usecases?limit=100"


async def _seconds_to_end(service: Service) -> float:
    """Stop the service and wait for its end. Asserts that it is graceful. Returns the seconds it took."""
    began = time.monotonic()
    service.terminate()
    code = await trio.to_thread.run_sync(service.wait)
    assert code == 0, service.log()
    assert "Traceback" not in service.log(), service.log()
    return time.monotonic() - began


@smoke
@pytest.mark.parametrize("engine", ["own", pytest.param("hypercorn", marks=repeats("the own engine"))])
async def test_every_answer_of_a_service_that_is_stopped_under_load_is_whole_and_its_charge_is_kept(
    data_dir: Path, engine: str
) -> None:
    with serving(data_dir, {**SETTINGS, "server.engine": engine}) as service:
        key = service.mint()["apiKey"]
        enough = trio.Event()

        def watch(tally: Tally) -> None:
            if tally.yes == 300:
                enough.set()

        crowd = Crowd(service.url, "/api/v1/bots?limit=5", key, on_answer=watch)
        idle = [await Wire.open(service.url) for _ in range(16)]
        for wire in idle:
            assert (await wire.get("/healthz")).status == 200
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crowd.run, 32)
            await enough.wait()
            seconds = await _seconds_to_end(service)
            crowd.stop.set()
        with trio.fail_after(20):
            for wire in idle:
                await wire.until_closed()
                wire.close()
    tally = crowd.tally
    assert seconds < GRACEFUL, service.log() + "nobody but idle clients was left, so there was nothing to wait for"
    assert tally.torn == 0
    assert tally.outcomes == {"200": tally.yes}
    with serving(data_dir, SETTINGS) as service:
        assert service.usage(key)["requestsUsed"] == tally.yes, f"{tally.lost} requests were lost"
        assert service.get("/readyz").json()["liveNodes"] == 1, "who stopped in order does not count any more"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_service_that_drains_is_not_ready_and_serves_on_until_its_time_is_over(data_dir: Path, engine: str) -> None:
    with serving(data_dir, {**SETTINGS, "server.drain_seconds": 2, "server.engine": engine}) as service:
        assert service.is_ready()
        service.mint()  # so that the node has loaded what serves it
        began = time.monotonic()
        service.terminate()
        until(lambda: not service.is_ready(), what="the node says that it stops")
        key = service.mint()["apiKey"]
        assert service.usage(key)["requestsUsed"] == 0
        assert service.wait() == 0, service.log()
        assert 2 <= time.monotonic() - began < 3
        assert "Traceback" not in service.log(), service.log()


@pytest.mark.parametrize("engine", ENGINES)
async def test_clients_that_do_not_read_or_do_not_finish_asking_cannot_keep_it_from_ending(
    data_dir: Path, tmp_path: Path, engine: str
) -> None:
    with serving(data_dir, {**SETTINGS, "server.engine": engine}) as service:
        steps = ["A step that is described at length. " * 27] * 45
        large = [usecase(number, guide={**_guide(number), "steps": steps}) for number in range(100)]
        catalog = write_catalog(tmp_path / "large.jsonl", *large)
        service.command("import-catalog", catalog, "--prune")
        until(lambda: len(service.get(LARGE_PAGE).json()["data"]) == 100, what="the node follows the import")
        reader = await Wire.open(service.url, receive_bytes=4_096)
        wires = [await Wire.open(service.url, receive_bytes=4_096) for _ in range(24)]
        for wire in wires[:16]:
            await wire.send(LARGE_PAGE)
        for wire in wires[16:20]:
            await wire.send("/api/v1/auth/agent", method="POST\r\ncontent-length: 1000\r\nx-cut: ")
        await reader.send(LARGE_PAGE)
        ended: list[float] = []
        async with trio.open_nursery() as nursery:

            async def end() -> None:
                ended.append(await _seconds_to_end(service))

            nursery.start_soon(end)
            reply = await reader.read()
        assert reply.status == 200
        assert len(reply.json()["data"]) == 100, "an answer in flight is finished for who goes on reading"
        assert len(reply.body) > 4_000_000
        assert GRACEFUL <= ended[0] <= GRACEFUL + 1
        for wire in (reader, *wires):
            wire.close()


def _guide(number: int) -> dict[str, object]:
    guide = usecase(number)["guide"]
    assert isinstance(guide, dict)
    return guide
