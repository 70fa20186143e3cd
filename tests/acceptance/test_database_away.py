"""The database fails and returns: requests are refused with `Retry-After`, and nothing that was answered is lost."""

# ruff: noqa: ASYNC110 - a condition in another process sets no event

import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from tests.acceptance.clients import Crowd, Reply, Tally, once, until_answer
from tests.acceptance.postgres import PostgresServer, answers, started
from tests.acceptance.processes import SECRET, Service, Settings, children_of, serving, until

BACK_SECONDS = 2.0
AWAY_SECONDS = 5.0
CLIENTS = 12
PAUSE_SECONDS = 0.02
BOTS = "/api/v1/bots?limit=3"
SETTINGS: Settings = {
    "tiers.anonymous.lifetime": 1_000_000,
    "tiers.anonymous.daily": 1_000_000,
    "tiers.anonymous.per_minute": 1_000_000,
    # Short limits for short tests, with the usual order between them.
    "database.wait_seconds": 0.5,
    "database.lock_seconds": 0.3,
    "database.statement_seconds": 0.6,
    "database.command_seconds": 1.0,
    "actors.answer_seconds": 2.0,
    "nodes.beat_seconds": 0.2,
    "nodes.live_seconds": 1.0,
    "log.level": "warning",
}


@dataclass(frozen=True, slots=True)
class Load:
    """Clients with a key, which are charged, and keyless clients, which are served from memory."""

    service: Service
    other_key: str
    keyed: Crowd
    keyless: Crowd

    async def until_more(self, outcome: str) -> None:
        """Wait until clients with a key have got ten more such responses."""
        goal = self.keyed.tally.outcomes[outcome] + 10
        with trio.fail_after(20):
            while self.keyed.tally.outcomes[outcome] < goal:
                await trio.sleep(0.01)


@asynccontextmanager
async def under_load(service: Service, *, in_doubt: int = CLIENTS) -> AsyncIterator[Load]:
    """Send load during the block. Afterwards the responses are compared with the stored counts.

    At most `in_doubt` requests may be charged although they were refused.
    """
    key = service.mint()["apiKey"]
    crowds = [Crowd(service.url, BOTS, each, pause_seconds=PAUSE_SECONDS) for each in (key, None)]
    load = Load(service, service.mint()["apiKey"], *crowds)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(load.keyed.run, CLIENTS)
        nursery.start_soon(load.keyless.run, 2)
        await load.until_more("200")
        yield load
        await load.until_more("200")
        load.keyed.stop.set()
        load.keyless.stop.set()
    keyed, keyless = load.keyed.tally, load.keyless.tally
    assert set(keyed.outcomes) == {"200", "503 service_unavailable"}
    _assert_say_when_to_come_again(keyed)
    assert keyless.outcomes == {"200": keyless.yes}, "the catalog is read on from memory"
    assert keyed.lost == keyless.lost == 0
    used = service.usage(key)["requestsUsed"]
    assert keyed.yes <= used <= keyed.answered, "what was answered is kept, and nothing is charged twice"
    assert used - keyed.yes <= in_doubt, "what was under way when it went is all that can be in doubt"


def _assert_say_when_to_come_again(tally: Tally) -> None:
    for reply in tally.replies:
        assert int(reply.headers["retry-after"]) >= 1
        assert reply.json()["retryAfter"] == int(reply.headers["retry-after"])


async def _assert_away(load: Load, words: str = "") -> Reply:
    """The service reports that it is not ready, refuses charged requests, and stays alive."""
    url = load.service.url
    readiness = await until_answer(url, "/readyz", 503, seconds=6)
    assert words in readiness.json()["message"]
    assert readiness.headers["retry-after"] == "1"
    await load.until_more("503 service_unavailable")
    assert (await once(url, "/healthz")).status == 200
    assert (await once(url, "/api/v1/bots/invoice-chaser")).status == 200
    return readiness


async def _assert_back(load: Load) -> None:
    """Assert that the service is ready and serves within two seconds from now, the database's return."""
    began = trio.current_time()
    await until_answer(load.service.url, BOTS, 200, load.other_key, seconds=BACK_SECONDS)
    await until_answer(load.service.url, "/readyz", 200, seconds=BACK_SECONDS - (trio.current_time() - began))
    minted = await trio.to_thread.run_sync(load.service.mint)
    assert (await once(load.service.url, BOTS, minted["apiKey"])).status == 200


async def test_an_embedded_postgres_that_is_killed_under_load_is_started_again(data_dir: Path) -> None:
    with serving(data_dir, SETTINGS) as service:
        async with under_load(service) as load:
            # A backend that stands still survives the postmaster, and no other can start beside it: so it is away for
            # as long as we want.
            postmaster = service.postmaster_pid
            backend = children_of(postmaster)[0]
            os.kill(backend, signal.SIGSTOP)
            os.kill(postmaster, signal.SIGKILL)
            await _assert_away(load, "the database")
            os.kill(backend, signal.SIGKILL)
            await trio.to_thread.run_sync(lambda: until(lambda: answers(service.sockets), 20, what="the recovery"))
            await _assert_back(load)
        assert service.postmaster_pid != postmaster


@pytest.fixture(scope="module")
def node(external: PostgresServer, playground: Path) -> Iterator[Service]:
    """A service on the external server, through several outages."""
    url = external.url(external.fresh_database())
    with serving(playground / "away", {**SETTINGS, "database.url": url, "server.secret": SECRET}) as service:
        yield service
        assert "Traceback" not in service.log(), service.log()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["is stopped", "crashes"])
async def test_an_external_postgres_that_ends_is_used_again_when_it_is_back(
    node: Service, external: PostgresServer, how: signal.Signals
) -> None:
    async with under_load(node) as load:
        external.stop(how)
        await _assert_away(load, "the database is not available")
        external.start()
        await _assert_back(load)


async def test_a_postgres_that_hangs_with_its_connections_open_is_given_up_and_found_again(
    node: Service, external: PostgresServer
) -> None:
    # Waiting requests are refused in the end, but carried out when the database resumes.
    async with under_load(node, in_doubt=1_000) as load:
        external.freeze()
        try:
            await _assert_away(load, "the database")
        finally:
            external.thaw()
        await _assert_back(load)


async def test_a_postgres_that_becomes_read_only_is_not_ready_until_it_takes_writes_again(
    node: Service, external: PostgresServer
) -> None:
    async with under_load(node) as load:
        external.configure("alter system set default_transaction_read_only = on")
        try:
            await _assert_away(load)
        finally:
            external.configure("alter system reset default_transaction_read_only")
        await _assert_back(load)


@contextmanager
def _small_disk(place: Path) -> Iterator[Path]:
    """A small file system that a test can fill."""
    place.mkdir()
    options = "size=112m,mode=0711"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_refuses_what_cannot_be_kept_and_serves_again_when_there_is_room(
    playground: Path, new_server: Callable[..., PostgresServer]
) -> None:
    with _small_disk(playground / "small-disk") as disk, started(new_server(disk)) as server:
        settings = {**SETTINGS, "database.url": server.url(), "server.secret": SECRET}
        with serving(playground / "full", settings) as service:
            kept = [service.mint()["apiKey"]]
            ballast = disk / "ballast"
            _fill(ballast)
            while (answer := service.post("/api/v1/auth/agent")).status_code == 200:
                kept.append(answer.json()["apiKey"])
                assert len(kept) < 3_000, "the disk is not full"
            assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
            assert answer.headers["retry-after"] == "1"
            assert service.status("/healthz") == 200
            assert service.status(BOTS) == 200
            until(lambda: service.status("/readyz") == 503, AWAY_SECONDS)
            ballast.unlink()
            until(lambda: service.post("/api/v1/auth/agent").status_code == 200, BACK_SECONDS)
            until(service.is_ready, AWAY_SECONDS + BACK_SECONDS)
            sample = [*kept[:3], *kept[-3:]]
            assert [service.status(BOTS, key) for key in sample] == [200] * len(sample), (
                "what was answered is kept, and nothing is charged twice"
            )


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as stream:
        for size in (1 << 20, 1 << 12):
            while True:
                try:
                    stream.write(bytes(size))
                except OSError:
                    break
