"""Several workers share one port, and the death or replacement of one does not affect the others' clients."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import trio

from service.config.loading import load
from service.running.foundation import storage_options
from storage.opening import OTHER_CONNECTIONS, StorageError, open_storage
from tests.acceptance.clients import Crowd, Wire
from tests.acceptance.engines import ENGINES
from tests.acceptance.processes import Service, serving, until
from tests.acceptance.workers import answers, ask_by_new_connections, operators_of, workers_of
from tests.slow import smoke

WORKERS = 2
CONNECTIONS = 20
DRAINING = "draining: serving for 1 s more while load balancers remove this node"
SETTINGS = {
    "server.workers": WORKERS,
    "server.ops_bind": "127.0.0.1:0",
    "server.drain_seconds": 1,
    "server.graceful_seconds": 3,
    "database.connections": CONNECTIONS,
}
BACK_SECONDS = 15.0
"""Seconds to start an interpreter on a busy machine."""


@pytest.fixture(scope="module")
def config(playground: Path) -> Path:
    """Settings that the tests change at run time."""
    file = playground / "workers.toml"
    file.write_text("")
    return file


@pytest.fixture(scope="module", params=ENGINES)
def service(request: pytest.FixtureRequest, new_data_dir: Callable[[str], Path], config: Path) -> Iterator[Service]:
    settings = {**SETTINGS, "server.engine": request.param}
    with serving(new_data_dir(f"workers-{request.param}"), settings, config=config) as parent:
        yield parent
    assert parent.log().count(DRAINING) == WORKERS, "all drain when the service stops"


def configure(config: Path, text: str) -> None:
    config.write_text(text)


def renew(service: Service) -> str:
    """Send SIGHUP and return what the log says about it."""
    before = len(service.log())
    service.process.send_signal(signal.SIGHUP)
    ends = ("all workers are replaced", "reload failed", "configuration not reloaded")
    until(lambda: any(words in service.log()[before:] for words in ends), 30)
    return service.log()[before:]


async def wires_to(service: Service, count: int) -> list[Wire]:
    wires = [await Wire.open(service.url) for _ in range(count)]
    for wire in wires:
        assert (await wire.get("/healthz")).status == 200
    return wires


@smoke
def test_it_says_once_where_it_listens_and_each_worker_answers_there(service: Service) -> None:
    assert service.out.read_text().splitlines().count(f"listening on {service.url}") == 1
    assert len(workers_of(service)) == WORKERS
    until(lambda: service.status("/healthz") == 200 and all(answered(service, number) for number in (1, 2)))
    assert service.log().count(" accepts connections at ") == 1, "one Postgres"
    options = Path(f"/proc/{service.postmaster_pid}/cmdline").read_bytes().decode().split("\0")
    assert f"max_connections={WORKERS * (CONNECTIONS + 2) + OTHER_CONNECTIONS}" in options, "it has room for all"
    assert " storage.schema " not in "".join(line for line in service.log().splitlines(True) if "worker=" in line)


def answered(service: Service, number: int) -> bool:
    service.close()  # each request uses a new connection
    return any(f" worker={number} " in line and "service.access" in line for line in service.log().splitlines())


def test_operators_see_all_workers_on_a_private_address_and_visitors_see_no_metrics(service: Service) -> None:
    url = operators_of(service)
    assert service.status("/metrics") == 404
    page = httpx.get(f"{url}/metrics").text
    assert re.findall(r'^catalog_worker_up\{worker="(\d)"\} 1\.0$', page, re.MULTILINE) == ["1", "2"]
    nodes = re.findall(r'^catalog_node_info\{node="(\w+)",version="[^"]+",worker="(\d)"\} 1\.0$', page, re.MULTILINE)
    assert [number for _, number in nodes] == ["1", "2"]
    assert len({node for node, _ in nodes}) == WORKERS
    assert httpx.get(f"{url}/readyz").json() == {"status": "ok", "workers": 2, "ready": 2, "problems": {}}
    assert httpx.get(f"{url}/api/v1/bots").status_code == 404


def test_a_key_of_one_worker_works_at_once_on_all(service: Service) -> None:
    key = service.mint()["apiKey"]
    for _ in range(8):
        service.close()
        assert service.status("/api/v1/bots?limit=1", key) == 200
    assert service.usage(key)["requestsUsed"] == 8


async def test_a_killed_worker_costs_its_own_connections_and_is_back_while_the_others_answer(service: Service) -> None:
    before = workers_of(service)
    wires = await wires_to(service, 24)
    os.kill(min(before), signal.SIGKILL)
    # It may take a moment to end, in which the kernel still gives it connections.
    await trio.to_thread.run_sync(until, lambda: min(before) not in workers_of(service))
    held = [await answers(wire) for wire in wires]
    for wire in wires:
        wire.close()
    for _ in range(20):
        wire = await Wire.open(service.url)
        assert (await wire.get("/api/v1/sponsors/placements")).status == 200
        wire.close()
    assert 0 < sum(held) < len(held), "the kernel divides connections among workers"
    await trio.to_thread.run_sync(lambda: until(lambda: " is ready again" in service.log(), BACK_SECONDS))
    assert len(workers_of(service)) == WORKERS
    assert workers_of(service) & before == {max(before)}
    assert f"(pid {min(before)}) was killed by SIGKILL; restarting" in service.log()


async def test_a_renewal_replaces_all_and_no_request_fails(service: Service, config: Path) -> None:
    configure(config, '[server]\nbase_url = "https://renewed.localhost"\n')
    before = workers_of(service)
    stop = trio.Event()
    crowd = Crowd(service.url, "/healthz", stop=stop, pause_seconds=0.01)
    by_new = 0
    async with trio.open_nursery() as nursery:

        async def by_new_connections() -> None:
            nonlocal by_new
            by_new = await ask_by_new_connections(service.url, stop)

        nursery.start_soon(crowd.run, 8)
        nursery.start_soon(by_new_connections)
        said = await trio.to_thread.run_sync(renew, service)
        stop.set()
    assert "all workers are replaced" in said, said
    assert DRAINING not in service.log(), "their successors have the port"
    assert not workers_of(service) & before or len(workers_of(service)) > WORKERS, "old ones end in their own time"
    until(lambda: len(workers_of(service)) == WORKERS)
    assert not workers_of(service) & before
    assert (crowd.tally.lost, crowd.tally.torn) == (0, 0)
    assert crowd.tally.outcomes == {"200": crowd.tally.yes}
    assert min(crowd.tally.yes, by_new) > 100
    assert service.get("/openapi.json").json()["servers"] == [{"url": "https://renewed.localhost"}]
    service.close()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[server]\nworker = 3\n", "unknown setting server.worker in "),
        ("[server\n", "is not valid TOML"),
        ("[database]\nstatement_seconds = 9\n", "database.statement_seconds (9) must be below "),
        ('[server]\nuser = "nobody"\n', "server.user cannot change in a reload: restart the service"),
    ],
)
def test_a_bad_configuration_renews_nobody(service: Service, config: Path, text: str, complaint: str) -> None:
    before = workers_of(service)
    configure(config, text)
    said = renew(service)
    configure(config, "")
    [line] = [line for line in said.splitlines() if "service.process.parent" in line]
    assert " error service.process.parent configuration not reloaded, workers unchanged: " in line
    assert complaint in line
    assert workers_of(service) == before
    assert service.is_ready()


def test_a_configuration_that_only_a_worker_can_see_to_be_bad_ends_with_the_first_and_the_others_stay(
    service: Service, config: Path
) -> None:
    before = workers_of(service)
    configure(config, f'[server]\nsecret = "{"x" * 40}"\n')
    said = renew(service)
    configure(config, "")
    assert "this database is used with another server secret" in said
    assert "x" * 40 not in said
    assert workers_of(service) == before
    assert service.is_ready()


def test_commands_work_beside_them(service: Service) -> None:
    assert "ok: the database answers" in service.command("doctor")


async def test_a_worker_starts_no_postgres_where_its_parent_has_none(playground: Path) -> None:
    place = playground / "no-foundation"
    with pytest.raises(StorageError, match=r"the database in .*/no-foundation is not running any more"):
        async with open_storage(storage_options(load(None, {})), place, beside=True, prepared=True):
            raise AssertionError("it was opened")
    assert not await trio.Path(place).exists()
