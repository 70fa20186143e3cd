"""What a request with hostile headers costs a node, beside the same request without them: `python -m tests.abuse.costs`.

Each header of `NAMES` is filled with lists of every kind, as long as a head may be: plainly over HTTP/1.1, and over HTTP/2 by
references to one entry of the table, so that 16 KiB cost the client a few bytes. Both engines are measured, in CPU seconds of
the node. A request that looks too dear is measured again, in turn with the plain one, so that other work on the machine tells
on both.
"""

import argparse
import socket
import ssl
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from tests.abuse.header_names import NAMES
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

MOST_RATIO = 3.0
LIMITED_RATIO = 5.0
"""The same at an address with a limit: its plain requests are the fastest, and h11 splits `Connection` before them."""
FLOOR_SECONDS = 0.0006
"""A difference below this is none of lists: reading the largest head takes half of it."""
SETTLE_SECONDS = 0.001
LEAST_SECONDS = 0.0001
"""No request costs less; the clock of a busy machine may say so."""
REQUESTS = 8
"""Requests of one measurement."""
AGAIN = 5
"""How often a request that looks too dear is measured again. The cheapest measurement counts."""
ENGINES = ("own", "hypercorn")
HEAD_BYTES = 15_000
"""Bytes of the hostile value over HTTP/1.1; a head may have 16 KiB."""
TABLE_BYTES = 3_900
"""Bytes of one entry of the table of HPACK, which holds 4,096."""
TIMES = 3
"""References to the entry in one request."""
TARGET_BYTES = 7_000
TIMEOUT_SECONDS = 30.0

PAGE = (("accept", "text/html,*/*;q=0.8"),)
"""Makes a refusal a page."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address, the other headers of each request to it, and the ratio of costs that is too dear."""

    method: str
    path: str
    usual: tuple[tuple[str, str], ...] = ()
    most: float = MOST_RATIO


ADDRESSES = (
    Address("GET", "/embed.js"),
    Address("GET", "/nowhere", PAGE),
    Address("GET", "/api/v1/sponsors/placements", most=LIMITED_RATIO),
    Address("GET", "/robots.txt"),
    Address("GET", "/llms.txt"),
    Address("GET", "/static/style.css"),
    Address("GET", "/favicon.ico"),
    Address("GET", "/sitemap.xml"),
    Address("GET", "/.well-known/api-catalog"),
    Address("GET", "/metrics"),
    Address("GET", "/healthz"),
    Address("GET", "/readyz"),
    Address("GET", "/nowhere"),
    Address("GET", "/api/v1/nowhere"),
    Address("DELETE", "/healthz"),
    Address("OPTIONS", "/api/v1/sponsors/placements"),
    Address("OPTIONS", "/embed.js"),
    Address("OPTIONS", "/mcp"),
    Address("GET", "/mcp"),
    Address("GET", "/openapi.json"),
)
"""Addresses of each kind of view, most of them without a limit. The first `WHOLE` meet all shapes."""
WHOLE = 3

SHAPES: Mapping[str, str] = {
    "commas": ",",
    "spaced": "a, ",
    "pairs": "a=b; ",
    "quotes": '"',
    "tags": '"a",',
    "members": "a,",
    "weighted": "a;q=0,",
    "addresses": "127.0.0.1,",
    "semicolons": ";",
    "parameters": "a;",
    "weak": 'W/"a",',
    "slashes": "a/b,",
    "escapes": "%41",
    "blanks": " ,\t",
    "colons": ":",
    "bytes": "\xe9",
    "one": "a",
}
"""The unit that each value repeats. The first `USUAL` are tried at all addresses."""
USUAL = 5

QUERY, PATH = "the query", "the path"
SETTINGS_OF_NODE = {
    "server.trusted_proxies": "127.0.0.0/8",
    "keyless.per_minute": 100_000_000,
    "pages.per_minute": 100_000_000,
    "log.level": "error",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A request with one hostile part: the header `name`, the query or the path. Without a shape, that part is plain."""

    address: Address
    name: str
    shape: str = ""

    def parts(self, size: int) -> tuple[str, list[tuple[str, str]]]:
        """The target and the hostile fields, with a value of at most `size` bytes."""
        path, unit = self.address.path, SHAPES.get(self.shape, "")
        if self.name in (QUERY, PATH):
            sign = "?" if self.name == QUERY else "/"
            written = unit.replace(" ", "+").replace("\t", "+").replace('"', "%22").replace("\xe9", "&/")
            return f"{path}{sign}a{written * (TARGET_BYTES // max(1, len(written)))}", []
        return path, [(self.name, (unit * (size // len(unit))).strip() or unit.strip())] if unit else []

    def __str__(self) -> str:
        return f"{self.address.method} {self.address.path} with {self.shape} in {self.name}"


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


def cases(paths: Sequence[str] = (), names: Sequence[str] = ()) -> Iterator[Case]:
    """All cases, or those of these paths and names."""
    for number, address in enumerate(ADDRESSES):
        shapes = list(SHAPES) if number < WHOLE or names else list(SHAPES)[:USUAL]
        for name in (QUERY, PATH, *NAMES):
            if (not paths or address.path in paths) and (not names or name in names):
                yield from (Case(address, name, shape) for shape in shapes)


def dear(node: Watched, found: Sequence[Case], tell: Callable[[str], None]) -> list[str]:
    """Measure the cases. Returns those that are too dear."""
    faults = []
    for protocol in (Http1(node), Http2(node)):
        worst, base, of = (0.0, ""), 0.0, Case(ADDRESSES[0], "")
        for case in found:
            plain = Case(case.address, case.name)
            if plain != of:
                of, base = plain, _measured(node, protocol.prepared(plain))
            ratio, cost = _ratio(base, _measured(node, protocol.prepared(case)))
            if ratio > case.address.most:
                ratio, base, cost = _again(node, protocol, plain, case)
            words = f"{protocol.name} {case}: {cost * 1000:.2f} ms instead of {base * 1000:.2f} ms"
            worst = max(worst, (ratio, words))
            if ratio > case.address.most and cost - base > FLOOR_SECONDS:
                faults.append(words)
        tell(f"{len(found)} requests, the dearest {worst[0]:.1f} times its plain cost: {worst[1]}")
        protocol.close()
    return faults


def _again(node: Watched, protocol: Http1 | Http2, plain: Case, case: Case) -> tuple[float, float, float]:
    """The ratio of the costs, and both in seconds: of several measurements in turn."""
    bases, costs = [], []
    for _ in range(AGAIN):
        bases.append(_measured(node, protocol.prepared(plain)))
        costs.append(_measured(node, protocol.prepared(case)))
    ratio, cost = _ratio(median(bases), min(costs))
    return ratio, median(bases), cost


def _ratio(base: float, cost: float) -> tuple[float, float]:
    return cost / max(base, LEAST_SECONDS), cost


def _measured(node: Watched, send: Callable[[], None]) -> float:
    """CPU seconds of the node for one request."""
    time.sleep(SETTLE_SECONDS)  # the node may still be at the end of the request before
    before = node.process_seconds
    send()
    time.sleep(SETTLE_SECONDS)
    return (node.process_seconds - before) / REQUESTS


def compare(
    data: Path, certificate: Certificate, engine: str, found: Sequence[Case], tell: Callable[[str], None]
) -> list[str]:
    """Measure the cases on a node with this engine."""
    with watched(data, certificate, SETTINGS_OF_NODE | {"server.engine": engine}) as node:
        tell(f"costs of requests with hostile headers, engine {engine}")
        return dear(node, found, tell)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse.costs", description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only this engine")
    parser.add_argument("--path", action="append", default=[], help="only this address; can be repeated")
    parser.add_argument("--name", action="append", default=[], help="only this header; can be repeated")
    given = parser.parse_args()
    faults = []
    with tempfile.TemporaryDirectory(prefix="catalog-costs-", dir=in_memory()) as directory:
        place = Path(directory)
        place.chmod(0o711)
        certificate = Certificate.make(place)
        for engine in given.engine or ENGINES:
            faults += compare(place / "data", certificate, engine, list(cases(given.path, given.name)), _say)
    for fault in faults:
        _say(f"FAULT: {fault}")
    return 1 if faults else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
