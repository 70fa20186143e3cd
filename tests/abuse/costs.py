"""What a request with hostile headers costs a node, beside the same request without them: `python -m tests.abuse.costs`.

Each header of `NAMES` is filled with lists of every kind, as long as a head may be: plainly over HTTP/1.1, and over HTTP/2 by
references to one entry of the table, so that 16 KiB cost the client a few bytes. Both engines are measured, in CPU seconds of
the node, in random order until the time is up. A request that looks too dear is measured again, in turn with the plain one,
so that other work on the machine tells on both. What still looks too dear is measured so once more, alone on a fresh node,
before it is a fault.
"""

import argparse
import random
import socket
import ssl
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from tests.abuse.cases import ADDRESSES, HEAD_BYTES, TABLE_BYTES, Case, cases, shuffled
from tests.abuse.http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
)
from tests.abuse.node import HOST, Certificate, Watched, watched
from tests.memory import in_memory

FLOOR_SECONDS = 0.0006
"""A difference below this is none of lists: reading the largest head takes half of it."""
IDLE_SECONDS = 0.0002
MOST_IDLE_SECONDS = 0.5
"""How often it is seen whether the node is idle, and for how long at most."""
LEAST_SECONDS = 0.0001
"""No request costs less; the clock of a busy machine may say so."""
REQUESTS = 4
"""Requests of one measurement."""
AGAIN = 5
"""How often a request that looks too dear is measured again. The cheapest measurement counts."""
SUSPECTS = 40
"""How many requests that looked too dear are measured alone: the dearest."""
SECONDS = 200.0
"""The time of a campaign, without the starts of its nodes. What it does not reach is told."""
ENGINES = ("own", "hypercorn")
TIMES = 3
"""References to the entry in one request."""
TIMEOUT_SECONDS = 30.0

SETTINGS_OF_NODE = {
    "server.trusted_proxies": "127.0.0.0/8",
    "keyless.per_minute": 100_000_000,
    "pages.per_minute": 100_000_000,
    "server.security_contact": "mailto:security@example.com",
    "log.level": "error",
}


class Http1:
    """Requests over one connection of HTTP/1.1."""

    name = "HTTP/1.1"

    def __init__(self, node: Watched) -> None:
        self._node = node
        self._socket: socket.socket | None = None

    def prepared(self, case: Case) -> Callable[[], None]:
        """A function that sends the requests of one measurement, on a connection that is open already."""
        target, fields = case.parts(HEAD_BYTES)
        lines = [f"{case.address.method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (("host", HOST), *case.address.usual, *fields)]
        self._connect()
        return partial(self._send, "\r\n".join([*lines, "", ""]).encode("latin-1"))

    def _send(self, data: bytes) -> None:
        for _ in range(REQUESTS):
            try:
                self._exchange(data)
            except OSError:
                self.close()

    def _connect(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection((HOST, self._node.service.port), timeout=TIMEOUT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _exchange(self, data: bytes) -> None:
        self._connect().sendall(data)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._more()
        head, _, body = got.partition(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        left = int(length[0].partition(b":")[2]) - len(body) if length else 0
        while left > 0:
            left -= len(self._more())
        if b"connection: close" in head.lower():
            self.close()

    def _more(self) -> bytes:
        data = self._connect().recv(1 << 18)
        if not data:
            raise ConnectionError("closed")
        return data

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Http2:
    """Requests over HTTP/2, on one connection for each measurement. The first request of it fills the table."""

    name = "HTTP/2"

    def __init__(self, node: Watched) -> None:
        self._node = node
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.set_alpn_protocols(["h2"])

    def prepared(self, case: Case) -> Callable[[], None]:
        """A function that sends the requests of one measurement, on a connection that is open already."""
        plain = socket.create_connection((HOST, self._node.tls_port), timeout=TIMEOUT_SECONDS)
        stream = self._context.wrap_socket(plain)
        stream.sendall(_OPENING)
        return partial(_send_http2, stream, _requests(case))

    def close(self) -> None:
        """Each measurement closes its own connection."""


_WINDOW = (1 << 30) - 1
_OPENING = (
    PREFACE
    + frame(SETTINGS, struct.pack(">HI", INITIAL_WINDOW_SIZE, _WINDOW))
    + frame(WINDOW_UPDATE, struct.pack(">I", _WINDOW))
    + frame(SETTINGS, flags=ACK)
)
_SCHEME, _INDEXED, _NEWEST = b"\x87", b"\x40", b"\xbe"
"""`https`; a field that enters the table; the newest entry of the table, 62 (RFC 7541)."""
_GOAWAY = 7


def _requests(case: Case) -> bytes:
    target, fields = case.parts(TABLE_BYTES)
    pseudo = ((":method", case.address.method), (":path", target), (":authority", HOST))
    plain = _SCHEME + b"".join(_literal(b"\0", *pair) for pair in (*pseudo, *case.address.usual))
    first = plain + b"".join(_literal(_INDEXED, *pair) for pair in fields)
    later = plain + (_NEWEST * TIMES if fields else b"")
    heads = (later if number else first for number in range(REQUESTS))
    return b"".join(
        frame(HEADERS, head, flags=END_STREAM | END_HEADERS, stream=2 * number + 1) for number, head in enumerate(heads)
    )


def _literal(first: bytes, name: str, value: str) -> bytes:
    return first + _text(name.encode()) + _text(value.encode("latin-1"))


def _text(text: bytes) -> bytes:
    """A string after its length, an integer of a 7-bit prefix (RFC 7541, section 5)."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, encoded = len(text) - 127, bytearray([127])
    while rest >= 128:
        encoded.append(rest % 128 + 128)
        rest //= 128
    return bytes([*encoded, rest]) + text


def _send_http2(stream: ssl.SSLSocket, requests: bytes) -> None:
    with stream:
        try:
            stream.sendall(requests)
            _read_streams(stream, REQUESTS)
        except OSError:
            return


def _read_streams(stream: ssl.SSLSocket, left: int) -> None:
    """Read until this many streams have ended. Raises ConnectionError if the connection ends before that."""
    data = b""
    while left:
        more = stream.recv(1 << 18)
        if not more:
            raise ConnectionError("closed")
        data += more
        while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
            kind, flags = data[3], data[4]
            if kind == _GOAWAY:
                raise ConnectionError("GOAWAY")
            left -= kind == RST_STREAM or (kind in (DATA, HEADERS) and bool(flags & END_STREAM))
            data = data[9 + int.from_bytes(data[:3], "big") :]


PROTOCOLS: tuple[type[Http1 | Http2], ...] = (Http1, Http2)

Measure = Callable[[Case], float]
"""Sends the requests of a case. Returns the CPU seconds of the node for one of them."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The CPU seconds of one request of a case, and of the plain one."""

    case: Case
    base: float
    cost: float

    @property
    def ratio(self) -> float:
        return self.cost / max(self.base, LEAST_SECONDS)

    @property
    def too_dear(self) -> bool:
        return self.ratio > self.case.address.most and self.cost - self.base > FLOOR_SECONDS

    def __str__(self) -> str:
        return f"{self.case}: {self.cost * 1000:.2f} ms instead of {self.base * 1000:.2f} ms"


@dataclass(slots=True)
class Screening:
    """What one look at many cases found."""

    measured: int = 0
    dearest: Costs = field(default_factory=lambda: Costs(Case(ADDRESSES[0], ""), 0.0, 0.0))
    suspects: list[Costs] = field(default_factory=list)


def screen(measure: Measure, found: Sequence[Case], goes_on: Callable[[], bool]) -> Screening:
    """Measure the cases as long as it `goes_on`, and those that look too dear again."""
    result = Screening()
    plain, base = Case(ADDRESSES[0], ""), 0.0
    for case in found:
        if case.plain != plain:
            if not goes_on():
                break
            plain, base = case.plain, measure(case.plain)
        costs = Costs(case, base, measure(case))
        if costs.ratio > case.address.most:
            costs = again(measure, case)
            base = costs.base
        result.measured += 1
        result.dearest = max(result.dearest, costs, key=lambda each: each.ratio)
        if costs.too_dear:
            result.suspects.append(costs)
    return result


def again(measure: Measure, case: Case) -> Costs:
    """The costs of a case from several measurements in turn with the plain one. The cheapest counts."""
    turns = [(measure(case.plain), measure(case)) for _ in range(AGAIN)]
    return Costs(case, median(base for base, _ in turns), min(cost for _, cost in turns))


def confirmed(measure: Measure, suspects: Sequence[Costs]) -> list[Costs]:
    """Those of the dearest suspects that are too dear alone, too."""
    dearest = sorted(suspects, key=lambda costs: costs.ratio, reverse=True)[:SUSPECTS]
    return [costs for costs in (again(measure, suspect.case) for suspect in dearest) if costs.too_dear]


def _measure(node: Watched, protocol: Http1 | Http2, case: Case) -> float:
    send = protocol.prepared(case)
    before = _idle_seconds(node)
    send()
    return (_idle_seconds(node) - before) / REQUESTS


def _idle_seconds(node: Watched) -> float:
    """CPU seconds of the node, as soon as it is idle: it may still be at the end of the request before."""
    end = time.monotonic() + MOST_IDLE_SECONDS
    while not node.idle and time.monotonic() < end:
        time.sleep(IDLE_SECONDS)
    return node.process_seconds


def compare(
    data: Path,
    certificate: Certificate,
    engine: str,
    found: Sequence[Case],
    tell: Callable[[str], None],
    seconds: float,
) -> list[str]:
    """Measure the cases on a node with this engine, for so many seconds. Returns those that are too dear."""
    settings = SETTINGS_OF_NODE | {"server.engine": engine}
    suspects: list[tuple[type[Http1 | Http2], Sequence[Costs]]] = []
    with watched(data, certificate, settings) as node:
        end = time.monotonic() + seconds
        for number, kind in enumerate(PROTOCOLS):
            until = time.monotonic() + (end - time.monotonic()) / (len(PROTOCOLS) - number)
            with closing(kind(node)) as protocol:
                seen = screen(partial(_measure, node, protocol), found, partial(_is_before, until))
            heading = f"costs, engine {engine}, {kind.name}: {seen.measured} of {len(found)} requests"
            tell(f"{heading}, the dearest {seen.dearest.ratio:.1f} times its plain cost: {seen.dearest}")
            if seen.suspects:
                suspects.append((kind, seen.suspects))
    return _alone(partial(watched, data, certificate, settings), suspects, engine, tell) if suspects else []


def _alone(
    run: Callable[[], AbstractContextManager[Watched]],
    suspects: Sequence[tuple[type[Http1 | Http2], Sequence[Costs]]],
    engine: str,
    tell: Callable[[str], None],
) -> list[str]:
    """Measure the suspects once more, on a node of their own. Returns those that are too dear."""
    faults = []
    with run() as node:
        for kind, costs in suspects:
            with closing(kind(node)) as protocol:
                dear = confirmed(partial(_measure, node, protocol), costs)
            tell(f"{kind.name}: {len(dear)} of {len(costs)} suspects are too dear alone")
            faults += [f"engine {engine}, {kind.name} {each}" for each in dear]
    return faults


def _is_before(moment: float) -> bool:
    return time.monotonic() < moment


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse.costs", description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only this engine")
    parser.add_argument("--path", action="append", default=[], help="only this address; can be repeated")
    parser.add_argument("--name", action="append", default=[], help="only this header; can be repeated")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for all engines")
    parser.add_argument("--seed", type=int, default=None, help="seed of the order; random by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="catalog-costs-", dir=in_memory()) as directory:
        place = Path(directory)
        place.chmod(0o711)
        faults = campaign(
            place / "data",
            Certificate.make(place),
            list(cases(given.path, given.name)),
            _say,
            seconds=given.seconds,
            seed=random.randrange(10**6) if given.seed is None else given.seed,
            engines=given.engine or ENGINES,
        )
    for fault in faults:
        _say(f"FAULT: {fault}")
    return 1 if faults else 0


def campaign(
    data: Path,
    certificate: Certificate,
    found: Sequence[Case],
    tell: Callable[[str], None],
    *,
    seconds: float,
    seed: int,
    engines: Sequence[str] = ENGINES,
) -> list[str]:
    """Measure the cases in the order of a seed, with each engine. Returns those that are too dear."""
    tell(f"costs of requests with hostile headers, in the order of seed {seed}")
    order = shuffled(found, seed)
    shares = [compare(data, certificate, engine, order, tell, seconds / len(engines)) for engine in engines]
    return [fault for faults in shares for fault in faults]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
