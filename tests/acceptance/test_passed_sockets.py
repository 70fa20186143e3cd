"""The service takes the listening sockets that a supervisor keeps open: systemd's own tool, and one that restarts it."""

import shutil
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.processes import Service, serving, until
from tests.acceptance.workers import workers_of

ACTIVATE = "systemd-socket-activate"
RESTARTING = ("bash", "-c", 'exec 3<&$0; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"')
"""Passes the descriptor that follows, as the first one, to the command after it."""


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in sockets]


def answer_of(port: int, path: str = "/healthz") -> int:
    """The status over a new connection, which may wait in the queue for the start of the service."""
    return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=60.0, trust_env=False).status_code


@contextmanager
def activated(data_dir: Path, lines: str, ports: list[int]) -> Iterator[Service]:
    """systemd's tool, which starts the service for the first connection, without the environment of the test."""
    config = data_dir.with_name("activated.toml")
    config.write_text(f'[server]\nops_bind = "127.0.0.1:1"\n{lines}\n')
    listens = [f"--listen=127.0.0.1:{port}" for port in ports]
    launcher = [ACTIVATE, *listens, "--fdname=web:ops"]
    with serving(data_dir, config=config, launcher=launcher, wait=False) as service:
        until(lambda: "Listening on" in service.log(), what="the sockets")
        yield service


@pytest.mark.skipif(shutil.which(ACTIVATE) is None, reason="needs systemd")
@pytest.mark.parametrize("lines", ["", 'engine = "hypercorn"', "workers = 2"], ids=["own", "hypercorn", "two workers"])
def test_the_first_connection_to_the_sockets_of_systemd_is_answered_and_all_that_follow(
    data_dir: Path, lines: str
) -> None:
    port, operators = free_ports(2)
    with activated(data_dir, lines, [port, operators]) as service:
        assert answer_of(port) == 200
        service.wait_ready()
        assert service.port == port
        assert answer_of(operators, "/readyz") == 200
        if "workers" in lines:
            before = workers_of(service)
            service.process.send_signal(signal.SIGHUP)
            while "all workers are replaced" not in service.log() or before & workers_of(service):
                assert answer_of(port) == 200


@pytest.mark.parametrize("workers", [1, 2])
def test_no_client_gets_an_error_while_a_supervisor_restarts_the_service(data_dir: Path, workers: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as kept, ThreadPoolExecutor(8) as clients:
        port, options = kept.getsockname()[1], {"server.workers": workers}
        passed: dict[str, Any] = {"launcher": (*RESTARTING, str(kept.fileno())), "pass_fds": (kept.fileno(),)}
        with serving(data_dir, options, **passed) as service:
            assert service.port == port
        asked = [clients.submit(answer_of, port) for _ in range(8)]
        with serving(data_dir, options, **passed):
            assert [each.result() for each in asked] == [200] * 8
