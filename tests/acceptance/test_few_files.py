"""More idle connections than the process may have open files."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.acceptance.processes import serving

FILES = 400
IDLE = 1_000
ROOM = ("prlimit", f"--nofile={FILES}:{FILES}")


def test_a_fresh_visitor_is_served_or_refused_at_once_and_the_log_stays_short(data_dir: Path) -> None:
    settings = {"http.connections_per_address": 2_000, "http.head_seconds": 60}
    with serving(data_dir, settings, launcher=ROOM) as service, ExitStack() as stack:
        at = ("127.0.0.1", service.port)
        for _ in range(IDLE):
            stack.enter_context(socket.create_connection(at, timeout=5.0))
        for _ in range(20):
            with socket.create_connection(at, timeout=5.0) as visitor:
                visitor.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                with suppress(ConnectionResetError):
                    assert visitor.recv(1_000)[:12] in (b"", b"HTTP/1.1 200")
        log = service.log()
        assert f"the system lets this process open {FILES} files, so at most 200 connections are served" in log
        assert "cannot accept" not in log
        assert log.count("closed ") == log.count("connections at once") <= 2
        stack.close()
        assert service.status("/healthz") == 200
