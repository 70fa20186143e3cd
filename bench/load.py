"""The load generator: many connections that each send the next request as soon as the answer is there.

`wrk` where it is installed, else a process of our own over raw sockets (`python -m bench.load`), which is slower but
waits for every answer before it ends, so that what it counts is exact. Both take their requests in turn from one list.
"""

import argparse
import asyncio
import json
import re
import selectors
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.programs import ROOT, pinned_to

DRAIN_SECONDS = 20.0
HOST = "127.0.0.1"

WRK_SCRIPT = """
local requests, at = {}, 0
function init(arguments)
    for line in io.lines(arguments[1]) do requests[#requests + 1] = line:gsub("~", "\\r\\n") end
end
function request()
    at = at % #requests + 1
    return requests[at]
end
function done(summary, latency)
    local errors = summary.errors
    io.write(string.format('\\n{"answers":%d,"failures":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f}\\n', summary.requests,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout, summary.duration / 1e6,
        latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run. `failures` are answers above 399 and broken connections."""

    answers: int
    failures: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


def request(path: str, authorization: str | None = None) -> str:
    """A GET as it goes over the wire, with `~` for line ends, so that a list of them is a file of lines."""
    assert "~" not in f"{path}{authorization}"
    key = "" if authorization is None else f"Authorization: {authorization}~"
    return f"GET {path} HTTP/1.1~Host: {HOST}~{key}~"


def generator(*, exact: bool = False) -> str:
    return "python" if exact or shutil.which("wrk") is None else "wrk"


async def measure(
    port: int, requests: Sequence[str], connections: int, seconds: float, core: int | None, *, exact: bool = False
) -> Measured:
    """Load `port` for `seconds`. `exact` waits for every answer, so that none is in flight at the end."""
    with tempfile.TemporaryDirectory() as directory:
        command = _command(Path(directory), port, requests, connections, seconds, exact)
        with pinned_to(core):
            process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
        output, errors = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed: {(errors or output).decode().strip()}")
    return Measured(**json.loads(output.decode().strip().rpartition("\n")[2]))


def _command(
    directory: Path, port: int, requests: Sequence[str], connections: int, seconds: float, exact: bool
) -> list[str]:
    lines, script = directory / "requests", directory / "script.lua"
    lines.write_text("".join(f"{line}\n" for line in requests))
    if generator(exact=exact) == "python":
        return [sys.executable, "-m", "bench.load", str(port), str(connections), str(seconds), str(lines)]
    script.write_text(WRK_SCRIPT)
    # wrk knows whole seconds only.
    options = ["-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "20s", "-s", str(script)]
    return ["wrk", *options, f"http://{HOST}:{port}", "--", str(lines)]


# Our own generator.


class _Connection:
    """One connection with one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._received = bytearray()

    def send(self, line: bytes) -> None:
        self._received.clear()
        self.sent_at = time.perf_counter()
        self.socket.sendall(line)

    def receive(self) -> int | None:
        """The status once the whole answer is there."""
        chunk = self.socket.recv(262_144)
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        self._received += chunk
        head = self._received.find(b"\r\n\r\n")
        if head < 0:
            return None
        length = _LENGTH.search(self._received, 0, head + 2)
        assert length is not None, "an answer has no Content-Length"
        return int(self._received[9:12]) if len(self._received) >= head + 4 + int(length[1]) else None


class _Run:
    """Keeps all connections busy until `ends`, then waits for the answers that are still due."""

    def __init__(self, port: int, connections: int, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._ready = selectors.DefaultSelector()
        self._due = 0
        self.failures = 0
        self.latencies: list[float] = []
        for _ in range(connections):
            connection = _Connection(port)
            self._ready.register(connection.socket, selectors.EVENT_READ, connection)

    def until(self, ends: float) -> None:
        for key in list(self._ready.get_map().values()):
            self._next(key.data, ends)
        while self._due and time.perf_counter() < ends + DRAIN_SECONDS:
            for key, _ in self._ready.select(1.0):
                self._take(key.data, ends)
        self.failures += self._due

    def _next(self, connection: _Connection, ends: float) -> None:
        if time.perf_counter() < ends:
            connection.send(next(self._lines))
            self._due += 1

    def _take(self, connection: _Connection, ends: float) -> None:
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
        self.latencies.append(time.perf_counter() - connection.sent_at)
        self.failures += status > 399
        self._next(connection, ends)


def run(port: int, connections: int, seconds: float, lines: Sequence[str]) -> Measured:
    """Load `port` from this process."""
    load = _Run(port, connections, cycle([line.replace("~", "\r\n").encode() for line in lines]))
    started = time.perf_counter()
    load.until(started + seconds)
    spent = time.perf_counter() - started
    latencies = sorted(load.latencies) or [0.0]

    def percentile(share: float) -> float:
        return latencies[min(len(latencies) - 1, int(len(latencies) * share))] * 1e3

    return Measured(len(load.latencies), load.failures, spent, percentile(0.50), percentile(0.99))


def main() -> None:
    parser = argparse.ArgumentParser(description="Load a server from this process and print what was measured as JSON.")
    parser.add_argument("port", type=int)
    parser.add_argument("connections", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("requests", type=Path, help="a file of requests, one a line, with ~ for line ends")
    given: Any = parser.parse_args()
    measured = run(given.port, given.connections, given.seconds, given.requests.read_text().splitlines())
    sys.stdout.write(json.dumps(asdict(measured)) + "\n")


if __name__ == "__main__":
    main()
