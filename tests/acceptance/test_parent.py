"""The parent of several workers: its end, which no process outlives."""

import socket
import time
from pathlib import Path

import pytest
import trio

from tests.acceptance.clients import Wire
from tests.acceptance.processes import complaint, is_alive, run, serving, until
from tests.acceptance.workers import workers_of

KEYS = Path(__file__).parents[1] / "http"
GRACEFUL = 1.0
SETTINGS = {"server.workers": 2, "server.graceful_seconds": GRACEFUL, "log.level": "warning"}


async def test_on_sigterm_all_end_together_in_time_whatever_clients_do_and_postgres_after_them(data_dir: Path) -> None:
    with serving(data_dir, SETTINGS) as service:
        workers, postmaster = workers_of(service), service.postmaster_pid
        wires = [await Wire.open(service.url) for _ in range(16)]
        for wire in wires[:8]:
            await wire.send("/api/v1/auth/agent", method="POST\r\ncontent-length: 1000\r\nx-cut: ")
        for wire in wires[8:]:
            assert (await wire.get("/healthz")).status == 200
        began = time.monotonic()
        service.terminate()
        await trio.to_thread.run_sync(lambda: until(lambda: not any(map(is_alive, workers))))
        seconds = time.monotonic() - began
        assert await trio.to_thread.run_sync(service.wait) == 0, service.log()
        for wire in wires:
            wire.close()
    assert GRACEFUL <= seconds <= GRACEFUL + 1, service.log()
    assert not any(map(is_alive, [*workers, postmaster]))
    assert "Traceback" not in service.log()
    assert "was killed" not in service.log()
    assert not (data_dir / "postgres" / "postmaster.pid").exists(), "Postgres was stopped in order"


def test_a_killed_parent_leaves_nobody_and_the_next_one_takes_over(data_dir: Path) -> None:
    with serving(data_dir, SETTINGS) as service:
        left = [*workers_of(service), service.postmaster_pid]
        key = service.mint()["apiKey"]
        service.close()
        service.kill()
        until(lambda: not any(map(is_alive, left)), 15, what="the end of all")
        assert "Traceback" not in service.log(), service.log()
    with serving(data_dir, {**SETTINGS, "server.workers": 1}, bind=f"127.0.0.1:{service.port}") as successor:
        assert successor.status("/api/v1/bots?limit=1", key) == 200


@pytest.mark.parametrize("setting", ["server.bind", "tls.bind"])
def test_a_port_that_is_taken_is_one_clear_line(setting: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        tls = {
            "tls.bind": where,
            "tls.certificate": KEYS / "localhost.pem",
            "tls.key": KEYS / "localhost.key",
        }
        bind = where if setting == "server.bind" else "127.0.0.1:0"
        settings = {**SETTINGS, **(tls if setting == "tls.bind" else {})}
        done = run("serve", "--bind", bind, "--data-dir", tmp_path / "data", settings=settings)
    assert complaint(done).startswith(f"service: {setting}: cannot listen on {where}: the address is in use ")
    assert not (tmp_path / "data").exists()
