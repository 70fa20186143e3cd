"""The HTTP engine over streams in memory, and a client that sees every byte."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
import trio
from trio.testing import memory_stream_pair

from service.http.asgi import App, Receive, Scope, Send
from service.http.engine import Engine
from service.http.limits import ServingLimits
from service.http.listeners import EngineName, engine_of
from service.http.transports import StreamTransport
from service.observability.client_address import Proxies
from service.observability.metrics import Metrics
from service.observability.refusal_log import RefusalLog
from service.web.error_responses import handlers, reject
from service.web.middleware import NO_HSTS, RequestMiddleware
from tests.fakes import IDLE, SeededEntropy, TrioClock
from tests.http.http2_client import Http2Client

NOON_MS = 20_775 * 86_400_000 + 43_200_000
"""18 November 2026, 12:00 UTC."""

LIMITS = ServingLimits(
    head_seconds=10.0,
    request_seconds=30.0,
    stall_seconds=10.0,
    connections=2_000,
    connections_per_address=200,
    graceful_seconds=5.0,
)
ENGINE: EngineName = "own"
"""The engine of all servers of these tests. `both_engines` sets it."""

both_engines = pytest.mark.usefixtures("engine")
"""Runs a test under each engine."""

CLIENT, SERVER = ("203.0.113.7", 50_000), ("192.0.2.1", 80)


@dataclass(frozen=True, slots=True)
class Reply:
    """One response with its body unframed. Header names are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    whole: bool = True

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, f"{name} occurs {len(values)} times"
        return values[0] if values else None

    @property
    def closes(self) -> bool:
        return self.header("connection") == "close"


def replies(data: bytes, *methods: str) -> list[Reply]:
    """All responses in `data` to requests of these methods (GET by default). Fails if `data` is malformed."""
    found: list[Reply] = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, f"the responses end within a head: {head!r}"
        line, *fields = head.decode("latin-1").split("\r\n")
        version, status, _ = line.split(" ", 2)
        assert version == "HTTP/1.1"
        pairs = tuple((name.lower(), value) for name, _, value in (field.partition(": ") for field in fields))
        reply = Reply(int(status), pairs, b"")
        if reply.status < 200:
            found.append(reply)
            continue
        answered = sum(each.status >= 200 for each in found)
        method = methods[answered] if answered < len(methods) else "GET"
        body, data, whole = _unframed(reply, method, data)
        found.append(replace(reply, body=body, whole=whole))
    return found


def _unframed(reply: Reply, method: str, data: bytes) -> tuple[bytes, bytes, bool]:
    length = reply.header("content-length")
    if method == "HEAD" or reply.status in (204, 304):
        return b"", data, True
    if reply.header("transfer-encoding") is not None:
        assert reply.header("transfer-encoding") == "chunked"
        assert length is None
        return _unchunked(data)
    if length is None:
        assert reply.closes, "a response without a detectable end"
        return data, b"", True
    size = int(length)
    return data[:size], data[size:], len(data) >= size


def _unchunked(data: bytes) -> tuple[bytes, bytes, bool]:
    body = b""
    while b"\r\n" in data:
        line, _, data = data.partition(b"\r\n")
        size = int(line, 16)
        if len(data) < size + 2:
            break
        assert data[size : size + 2] == b"\r\n"
        body, data = body + data[:size], data[size + 2 :]
        if not size:
            return body, data, True
    return body, b"", False


@dataclass(slots=True)
class Client:
    """One connection from the client's side."""

    stream: trio.abc.HalfCloseableStream
    methods: list[str] = field(default_factory=list)

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def send_until_refused(self, data: bytes, *, every: float) -> int:
        """Send `data` repeatedly until the connection breaks. Returns the number of bytes sent."""
        sent = 0
        while True:
            try:
                await self.stream.send_all(data)
            except trio.BrokenResourceError:
                return sent
            sent += len(data)
            await trio.sleep(every)

    async def receive(self, most: int = 65_536) -> bytes:
        """The next bytes; empty at the end."""
        try:
            return bytes(await self.stream.receive_some(most))
        except trio.BrokenResourceError:
            return b""

    async def rest(self) -> bytes:
        """All bytes until the server closes."""
        data = b""
        while more := await self.receive():
            data += more
        return data

    async def replies(self, *methods: str) -> list[Reply]:
        """All responses until the server closes."""
        return replies(await self.rest(), *methods)

    async def reply(self, method: str = "GET") -> Reply:
        """The next response. No other may follow it yet."""
        data = b""
        while True:
            more = await self.receive()
            data += more
            if b"\r\n\r\n" in data or not more:
                found = replies(data, method)
                if not more or (found and found[-1].status >= 200 and found[-1].whole):
                    [one] = [each for each in found if each.status >= 200]
                    return one

    async def ask(self, data: bytes, method: str = "GET") -> Reply:
        """Send a request and read its response."""
        await self.send(data)
        return await self.reply(method)


Pair = Callable[[], tuple[trio.abc.HalfCloseableStream, trio.abc.HalfCloseableStream]]


@dataclass(slots=True)
class MemoryServer:
    """A running engine that clients can connect to."""

    engine: Engine
    metrics: Metrics
    _nursery: trio.Nursery
    _pair: Pair
    serving: int = 0

    def connect(self) -> Client:
        ours, theirs = self._pair()
        limits = self.engine.conditions.limits
        transport = StreamTransport(theirs, CLIENT, SERVER, limits.stall_seconds, scheme="http")
        self._nursery.start_soon(self._serve, transport, self.engine.serve)
        return Client(ours)

    async def connect_http2(self) -> Http2Client:
        """A connection that has chosen HTTP/2."""
        ours, theirs = self._pair()
        transport = StreamTransport(theirs, CLIENT, SERVER, self.engine.conditions.limits.stall_seconds)
        self._nursery.start_soon(self._serve, transport, self.engine.serve_http2)
        client = Http2Client(ours)
        await client.begin()
        return client

    async def _serve(self, transport: StreamTransport, serve: Callable[[StreamTransport], Awaitable[None]]) -> None:
        self.serving += 1
        await serve(transport)
        self.serving -= 1


@asynccontextmanager
async def open_memory_server(
    app: App, limits: ServingLimits = LIMITS, *, pair: Pair | None = None, bare: bool = False
) -> AsyncIterator[MemoryServer]:
    """Serve `app`, behind the request middleware unless it is `bare`, over streams in memory."""
    metrics, entropy = Metrics(), SeededEntropy()
    clock = TrioClock(NOON_MS - int(trio.current_time() * 1000))
    refusal_log, proxies = RefusalLog(clock, "n1", lambda: IDLE), Proxies((), clock)
    engine = engine_of(ENGINE)(
        handlers(
            app if bare else RequestMiddleware(app, metrics, refusal_log, entropy, NO_HSTS, proxies),
            RequestMiddleware(reject, metrics, refusal_log, entropy, NO_HSTS, proxies),
        ),
        limits,
        clock,
    )
    async with trio.open_nursery() as nursery:
        yield MemoryServer(engine, metrics, nursery, pair or memory_stream_pair)
        nursery.cancel_scope.cancel()


async def answers_of(app: App, data: bytes, *methods: str, ends: bool = True) -> list[Reply]:
    """All responses to `data` on one connection until the server closes it. The client closes its half first if `ends`."""
    async with open_memory_server(app) as server:
        client = server.connect()
        await client.send(data)
        if ends:
            await client.stream.send_eof()
        return await client.replies(*methods)


@dataclass(slots=True)
class Recorder:
    """Answers 200 to every request, and records each request and its body."""

    seen: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    answer: bytes = b'{"ok":true}'

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(f"{scope['method']} {scope['path']}")
        self.scopes.append(scope)
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            if not message["more_body"]:
                break
        self.bodies.append(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(self.answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.answer})
