"""A load generator over raw sockets, in its own process: `python -m bench.generator`.

Slower than wrk, but it waits for every response before it ends, so its counts are exact.
"""

import argparse
import json
import re
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench.workloads import HOST, Events, Reads, Workload

DRAIN_SECONDS = 20.0

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class Connection:
    """One connection with one request in flight."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._received = bytearray()

    def send(self, request: bytes) -> None:
        self._received.clear()
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """The status once the response is complete, otherwise None."""
        chunk = self.socket.recv(262_144)
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        self._received += chunk
        head = self._received.find(b"\r\n\r\n")
        if head < 0:
            return None
        length = _LENGTH.search(self._received, 0, head + 2)
        if length is None:
            assert _CHUNKED.search(self._received, 0, head + 2), "an answer has neither Content-Length nor chunks"
            complete = self._received.endswith(b"\r\n0\r\n\r\n")
        else:
            complete = len(self._received) >= head + 4 + int(length[1])
        return int(self._received[9:12]) if complete else None

    @property
    def body(self) -> bytes:
        """The body of a response with a Content-Length."""
        return bytes(self._received).partition(b"\r\n\r\n")[2]

    @property
    def recorded(self) -> int:
        """Number of events that the response reports as recorded."""
        return self._received.count(b'"recorded":true')


class _Run:
    """Keeps all connections busy until `ends` or the last request, then waits for the outstanding responses."""

    def __init__(self, port: int, connections: int, requests: Iterator[bytes]) -> None:
        self._requests = requests
        self._ready = selectors.DefaultSelector()
        self._due = 0
        self.failures = 0
        self.recorded = 0
        self.latencies: list[float] = []
        for _ in range(connections):
            connection = Connection(port)
            self._ready.register(connection.socket, selectors.EVENT_READ, connection)

    def until(self, ends: float) -> None:
        for key in list(self._ready.get_map().values()):
            self._next(key.data, ends)
        while self._due and time.perf_counter() < ends + DRAIN_SECONDS:
            for key, _ in self._ready.select(1.0):
                self._take(key.data, ends)
        self.failures += self._due

    def _next(self, connection: Connection, ends: float) -> None:
        request = next(self._requests, None) if time.perf_counter() < ends else None
        if request is not None:
            connection.send(request)
            self._due += 1

    def _take(self, connection: Connection, ends: float) -> None:
        try:
            status = connection.receive()
        except OSError:
            self._ready.unregister(connection.socket)
            self.failures += 1
            self._due -= 1
            return
        if status is None:
            return
        self._due -= 1
        if status > 399:
            self.failures += 1
        else:
            self.latencies.append(time.perf_counter() - connection.sent_at)
            self.recorded += connection.recorded
        self._next(connection, ends)


def requests_of(workload: Workload) -> Iterator[bytes]:
    """Endless requests: reads in rotation; events are made on demand."""
    lines = workload.requests() if isinstance(workload, Events) else cycle(workload.lines)
    return (line.replace("~", "\r\n").encode() for line in lines)


def run(port: int, connections: int, seconds: float, requests: Iterator[bytes]) -> dict[str, float]:
    """Load `port` until the time or the requests run out. Returns the fields of `load.Measured`."""
    load = _Run(port, connections, requests)
    started = time.perf_counter()
    load.until(started + seconds)
    spent = time.perf_counter() - started
    latencies = sorted(load.latencies) or [0.0]

    def percentile(share: float) -> float:
        return latencies[min(len(latencies) - 1, int(len(latencies) * share))] * 1e3

    return {
        "answers": len(load.latencies),
        "failures": load.failures,
        "recorded": load.recorded,
        "seconds": spent,
        "p50_ms": percentile(0.50),
        "p99_ms": percentile(0.99),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Load a server from this process and print what was measured as JSON.")
    parser.add_argument("port", type=int)
    parser.add_argument("connections", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("workload", type=Path, help="a file with the fields of `workloads.Events` or `.Reads` as JSON")
    parser.add_argument("--most", type=int, help="end after as many requests")
    given: Any = parser.parse_args()
    fields = json.loads(given.workload.read_text())
    workload: Workload = Reads(**fields) if "lines" in fields else Events(**fields)
    requests = islice(requests_of(workload), given.most)
    sys.stdout.write(json.dumps(run(given.port, given.connections, given.seconds, requests)) + "\n")


if __name__ == "__main__":
    main()
