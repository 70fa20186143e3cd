"""Every wait for a client has a time limit, over streams and over real sockets. Virtual time."""

import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network

import pytest
import trio
from trio.testing import lockstep_stream_pair, wait_all_tasks_blocked

from service.http.asgi import App, Receive, Scope, Send
from service.http.connections import Connections
from service.http.engine import Engine
from service.http.limits import LINGER_BYTES, LINGER_SECONDS, MINIMUM_BODY_RATE, MINIMUM_RATE
from service.http.server import TICK_SECONDS, maintain
from service.http.transports import ConnectionLost, SocketTransport
from service.web.error_responses import handlers
from tests.fakes import HandClock
from tests.http.memory_server import CLIENT, LIMITS, NOON_MS, SERVER, Client, Recorder, both_engines, open_memory_server

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BODY_BEGINS = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"


@pytest.fixture(params=["stream", "socket"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of transport."""
    return str(request.param)


@asynccontextmanager
async def connected(app: App, kind: str, *, small: bool = False) -> AsyncIterator[Client]:
    """One connection to an engine that serves `app`."""
    if kind == "stream":
        async with open_memory_server(app, pair=lockstep_stream_pair if small else None) as server:
            yield server.connect()
        return
    engine = Engine(handlers(app), LIMITS, HandClock(NOON_MS))
    connections = Connections(LIMITS)
    ours, theirs = socket.socketpair()
    if small:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    ours.setblocking(False)
    transport = SocketTransport(_stream(theirs), CLIENT, SERVER, LIMITS.stall_seconds)
    with connections.holding(transport):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(maintain, engine, connections)
            nursery.start_soon(engine.serve, transport)
            client = _stream(ours)
            yield Client(client)
            await client.aclose()
            nursery.cancel_scope.cancel()


def _stream(plain: socket.socket) -> trio.SocketStream:
    return trio.SocketStream(trio.socket.from_stdlib_socket(plain))


def within(seconds: float) -> object:
    """Overdue waits are found within one tick."""
    return pytest.approx(seconds, abs=TICK_SECONDS + 0.01)


async def until_closed(client: Client) -> tuple[bytes, float]:
    """The bytes received until the server closed, and the seconds that took."""
    began = trio.current_time()
    data = await client.rest()
    return data, trio.current_time() - began


@both_engines
async def test_an_idle_connection_ends_without_a_response(kind: str) -> None:
    async with connected(Recorder(), kind) as client:
        assert await until_closed(client) == (b"", within(10))


async def test_the_time_for_a_head_begins_anew_with_its_first_byte(kind: str) -> None:
    async with connected(Recorder(), kind) as client:
        await trio.sleep(9)
        await client.send(GET[:5])
        data, seconds = await until_closed(client)
    assert seconds == within(10)
    assert data.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in data


async def test_a_head_that_drips_in_is_ended(kind: str) -> None:
    app = Recorder()
    async with connected(app, kind) as client:
        began = trio.current_time()

        async def drip() -> None:
            for number in range(1_000):
                await client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: "[number : number + 1] or b"x")
                await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(drip)
            data = await client.rest()
            nursery.cancel_scope.cancel()
    assert data.startswith(b"HTTP/1.1 408 ")
    assert trio.current_time() - began == within(10)
    assert app.seen == []


@pytest.mark.parametrize(
    ("every", "size", "seconds"), [(1.0, 1, 10.0), (5.0, 100, 10.5), (0.5, 512, 30.0), (0.1, 200, 30.0)]
)
async def test_a_body_that_comes_too_slowly_is_ended(kind: str, every: float, size: int, seconds: float) -> None:
    """A body at the minimum rate may take `request_seconds`; a slower one is rejected earlier."""
    app = Recorder()
    async with connected(app, kind) as client:
        began = trio.current_time()

        async def drip() -> None:
            while True:
                await client.send(b"a" * size)
                await trio.sleep(every)

        async with trio.open_nursery() as nursery:
            await client.send(BODY_BEGINS)
            nursery.start_soon(drip)
            data = await client.rest()
            nursery.cancel_scope.cancel()
    assert data.startswith(b"HTTP/1.1 408 ")
    assert trio.current_time() - began == pytest.approx(seconds, abs=1.0)
    assert app.bodies == []


async def test_a_body_at_the_minimum_rate_is_taken(kind: str) -> None:
    app = Recorder()
    async with connected(app, kind) as client:
        await client.send(BODY_BEGINS.replace(b"100000", b"20480"))
        for _ in range(20):
            await trio.sleep(1)
            await client.send(b"a" * MINIMUM_BODY_RATE)
        assert (await client.reply()).status == 200


@both_engines
async def test_an_application_may_think_longer_than_any_client_may(kind: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(300)
        await Recorder()(scope, receive, send)

    async with connected(app, kind) as client:
        assert (await client.ask(GET)).status == 200


def page(size: int) -> App:
    return Recorder(answer=b"a" * size)


@both_engines
async def test_a_reader_that_does_not_read_is_dropped(kind: str) -> None:
    gone: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await page(10_000_000)(scope, receive, send)
        gone.append((await receive())["type"])

    async with connected(app, kind, small=True) as client:
        await client.send(GET)
        await trio.sleep(10 + TICK_SECONDS)
        await wait_all_tasks_blocked()
        assert gone == ["http.disconnect"]


@both_engines
async def test_readers_that_do_not_read_share_the_bytes_of_a_large_body() -> None:
    size, readers = 1_000_000, 8
    app = page(size)
    tracemalloc.start()
    try:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connected(app, "socket", small=True)) for _ in range(readers)]
            before, _ = tracemalloc.get_traced_memory()
            for client in clients:
                await client.send(GET)
            await wait_all_tasks_blocked()
            after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < size


@both_engines
async def test_a_reader_that_reads_too_slowly_is_dropped_too() -> None:
    size = 1_000_000
    async with connected(page(size), "socket", small=True) as client:
        await client.send(GET)
        began, read = trio.current_time(), 0
        while data := await client.receive(MINIMUM_RATE):
            read += len(data)
            await trio.sleep(2)
        assert read < size
        assert trio.current_time() - began == pytest.approx(10 + size / MINIMUM_RATE, abs=3)


@both_engines
async def test_a_slow_reader_at_the_minimum_rate_gets_everything(kind: str) -> None:
    async with connected(page(500_000), kind, small=True) as client:
        await client.send(GET.replace(b"1.1", b"1.0"))
        read = 0
        while data := await client.receive(MINIMUM_RATE):
            if (read + len(data)) // MINIMUM_RATE > read // MINIMUM_RATE:
                await trio.sleep(0.9)
            read += len(data)
    assert read > 500_000


async def test_a_refused_client_that_goes_on_sending_is_cut_off_in_time(kind: str) -> None:
    async with connected(Recorder(), kind) as client:
        began = trio.current_time()
        await client.send(b"nonsense\r\n\r\n")
        assert (await client.reply()).status == 400
        await client.send_until_refused(b"a" * 100, every=0.1)
        assert trio.current_time() - began == pytest.approx(LINGER_SECONDS, abs=TICK_SECONDS + 0.1)


async def test_a_refused_client_that_sends_much_is_cut_off_at_once(kind: str) -> None:
    async with connected(Recorder(), kind) as client:
        began = trio.current_time()
        sent = await client.send_until_refused(b"nonsense" * 1_000, every=0)
        assert sent < 3 * LINGER_BYTES
        assert trio.current_time() == began


async def test_a_cut_connection_is_gone_for_whoever_comes(kind: str) -> None:
    ours, theirs = socket.socketpair()
    transport = SocketTransport(_stream(theirs), CLIENT, SERVER, 10)
    async with trio.open_nursery() as nursery:

        async def read() -> None:
            with pytest.raises(ConnectionLost):
                await transport.receive(10, trio.current_time() + 100)

        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        transport.cut()
    for step in (transport.send(b"a"), transport.receive(10, 1e9), transport.finish()):
        with pytest.raises(ConnectionLost):
            await step
    assert transport.receive_nowait() == b""
    transport.cut()
    await transport.aclose()
    with ours, pytest.raises(ConnectionError):
        ours.send(b"a")


# Counting connections.


def fake(address: str) -> SocketTransport:
    transport = object.__new__(SocketTransport)
    transport.client = (address, 1)
    return transport


def test_connections_are_counted_by_address_and_in_all() -> None:
    limits = replace(LIMITS, connections=5, connections_per_address=2, exempt_networks=(ip_network("127.0.0.0/8"),))
    connections = Connections(limits)
    with ExitStack() as held:
        with connections.holding(fake("192.0.2.1")):
            held.enter_context(connections.holding(fake("192.0.2.1")))
            assert not connections.has_room("192.0.2.1")
            for relay in ("127.0.0.1", "127.0.0.1", "127.0.0.1"):
                assert connections.has_room(relay), "relays have no limit of their own"
                assert connections.has_room(f"::ffff:{relay}")
                held.enter_context(connections.holding(fake(relay)))
            assert not connections.has_room("127.0.0.1")
            assert not connections.has_room("192.0.2.2")
        assert connections.has_room("192.0.2.1")
        assert len(connections) == 4
    assert len(connections) == 0
