"""A steady, modest client in its own process: `python -m tests.abuse.probe HOST PORT < errands`.

Four clients send requests at a fixed pace, alternately on an open connection and on a new one. Latency counts from the
time a request was due, so a stalled node delays all requests that fall due meanwhile. Prints a `Report` as JSON. Uses only
the standard library, so that it starts fast.
"""

import json
import math
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from uuid import uuid4

CLIENTS = 4
PER_SECOND = 25
"""Requests of each client."""
ANSWER_SECONDS = 10.0
IDLE_SECONDS = 0.5
"""A connection idle for longer is not reused, because the node might end it at the same moment."""
VISITOR = "{visitor}"
"""A placeholder in a path or body for an identifier that is new in each request."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One kind of request and its expected status."""

    method: str
    path: str
    status: int
    body: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The probe's results. Times are in seconds since a request was due. `errors` are the first few, as text."""

    requests: int
    p50: float
    p99: float
    longest: float
    failed: int
    errors: Sequence[str]

    def __str__(self) -> str:
        times = f"p50 {self.p50 * 1000:.1f} p99 {self.p99 * 1000:.1f} max {self.longest * 1000:.0f} ms"
        return f"{self.requests} requests, {times}, {self.failed} failed"


def start(host: str, port: int, seconds: float, errands: Sequence[Errand]) -> Callable[[], Report]:
    """Start a probe for `seconds`. The returned function waits for its report."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.abuse.probe", host, str(port), str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps([asdict(errand) for errand in errands]))
    process.stdin.close()
    process.stdin = None

    def report() -> Report:
        try:
            output, _ = process.communicate(timeout=seconds + 4 * ANSWER_SECONDS)
        finally:
            process.kill()
            process.wait()
        return Report(**json.loads(output))

    return report


class _Client:
    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._open: socket.socket | None = None
        self._used_at = 0.0

    def ask(self, errand: Errand, *, keep: bool) -> str:
        """The error in the response, or an empty text."""
        try:
            if time.monotonic() - self._used_at > IDLE_SECONDS:
                self._forget()
            connection = self._open if keep and self._open else self._opened()
            if keep:
                self._open, self._used_at = connection, time.monotonic()
            status, more = _exchange(connection, _request(errand, keep=keep))
        except OSError as error:
            self._forget()
            return f"{errand.method} {errand.path}: {type(error).__name__}: {error}"
        if not keep:
            connection.close()
        elif not more:
            self._forget()
        return "" if status == errand.status else f"{errand.method} {errand.path}: status {status}"

    def _opened(self) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=ANSWER_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _forget(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def _request(errand: Errand, *, keep: bool) -> bytes:
    visitor = str(uuid4())
    path, body = errand.path.replace(VISITOR, visitor), errand.body.replace(VISITOR, visitor).encode()
    lines = [f"{errand.method} {path} HTTP/1.1", "host: probe.example.com"]
    lines += [] if keep else ["connection: close"]
    lines += ["content-type: application/json", f"content-length: {len(body)}"] if errand.method == "POST" else []
    return "\r\n".join([*lines, "", ""]).encode() + body


def _exchange(connection: socket.socket, request: bytes) -> tuple[int, bool]:
    """The status, and whether the connection can be reused. Raises OSError, also for an incomplete response."""
    connection.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").lower().split("\r\n")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    left = int(headers["content-length"]) - len(body)
    while left > 0:
        left -= len(_more(connection))
    return int(status_line.split(" ")[1]), headers.get("connection") != "close"


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("closed before the answer was whole")
    return data


def run(host: str, port: int, seconds: float, errands: Sequence[Errand]) -> Report:
    """Send requests at the fixed pace for `seconds`."""
    late: list[float] = []
    errors: list[str] = []
    began = time.monotonic()

    def ask(first: int) -> None:
        client = _Client(host, port)
        for number in range(first, int(seconds * CLIENTS * PER_SECOND), CLIENTS):
            due = began + number / (CLIENTS * PER_SECOND)
            time.sleep(max(0.0, due - time.monotonic()))
            turn = number // CLIENTS
            error = client.ask(errands[turn // 2 % len(errands)], keep=turn % 2 == 0)
            late.append(time.monotonic() - due)
            if error:
                errors.append(f"after {due - began:.2f} s: {error}")

    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(ask, range(CLIENTS)))
    late.sort()
    p50, p99 = (late[math.ceil(share * len(late)) - 1] for share in (0.5, 0.99))
    return Report(len(late), p50, p99, late[-1], len(errors), errors[:5])


def main() -> None:
    host, port, seconds = sys.argv[1:]
    errands = [Errand(**errand) for errand in json.load(sys.stdin)]
    json.dump(asdict(run(host, int(port), float(seconds), errands)), sys.stdout)


if __name__ == "__main__":
    main()
