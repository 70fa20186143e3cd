"""Graceful stop: idle connections close at once, requests in flight finish, and every wait has a limit."""

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from service.http.asgi import App, Receive, Scope, Send
from service.http.closing import end_connecting
from service.http.engine import Engine
from service.http.limits import HANDSHAKE_SECONDS, LAST_CALL_SECONDS, LAST_MOMENT_SECONDS
from service.http.listen_address import ListenAddress
from service.http.listeners import adopted_listeners, open_listeners
from service.http.server import TICK_SECONDS, Server
from service.http.transports import SocketTransport
from service.web.error_responses import handlers
from tests.fakes import HandClock
from tests.http import memory_server
from tests.http.memory_server import (
    CLIENT,
    LIMITS,
    NOON_MS,
    SERVER,
    Client,
    Recorder,
    both_engines,
    open_memory_server,
    replies,
)

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
GRACEFUL = 2.0


@dataclass(slots=True)
class Slow:
    """Answers after some seconds."""

    seconds: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(self.seconds)
        await Recorder()(scope, receive, send)


async def test_idle_connections_end_at_once_and_others_with_their_answer() -> None:
    async with open_memory_server(Slow(3)) as server:
        idle, asking, begun = (server.connect() for _ in range(3))
        assert (await idle.ask(GET)).status == 200
        await asking.send(GET)
        await begun.send(GET[:10])
        await wait_all_tasks_blocked()
        began = trio.current_time()
        server.engine.stop()
        assert await idle.rest() == b""
        assert trio.current_time() == began
        [reply] = await asking.replies()
        assert reply.closes
        await begun.send(GET[10:])
        [reply] = await begun.replies()
        assert reply.closes
        assert trio.current_time() == began + 6


@both_engines
async def test_who_has_just_connected_may_still_send_a_request() -> None:
    """A proxy has sent it, and may not send it again to another node."""
    async with open_memory_server(Recorder()) as server:
        old = server.connect()
        await trio.sleep(LAST_CALL_SECONDS)
        fresh, idle = server.connect(), server.connect()
        await trio.sleep(LAST_CALL_SECONDS / 2)
        began = trio.current_time()
        server.engine.announce_stop()
        server.engine.stop()
        assert await old.rest() == b""
        await trio.sleep(LAST_CALL_SECONDS / 4)
        await fresh.send(GET)
        [reply] = await fresh.replies()
        assert (reply.status, reply.closes) == (200, True)
        assert await idle.rest() == b""
        assert trio.current_time() == began + LAST_CALL_SECONDS / 2


@both_engines
async def test_a_request_that_was_pipelined_behind_the_last_answer_is_not_run() -> None:
    app = Recorder()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(1)
        await app(scope, receive, send)

    async with open_memory_server(slow) as server:
        client = server.connect()
        await client.send(GET + GET)
        await wait_all_tasks_blocked()
        server.engine.stop()
        [reply] = await client.replies()
    assert reply.closes
    assert len(app.seen) == 1


# With listeners and sockets.


@asynccontextmanager
async def running(app: App, stop: trio.Event, *more: ListenAddress, **limits: float) -> AsyncIterator[Server]:
    """A server on its own port, and on `more`. Leaving the block stops it and waits for its end."""
    bounds = replace(LIMITS, graceful_seconds=GRACEFUL, **limits)  # type: ignore[arg-type]
    places = [ListenAddress("127.0.0.1", 0), *more]
    async with (
        open_listeners(places, bounds, HandClock(NOON_MS), memory_server.ENGINE) as server,
        trio.open_nursery() as nursery,
    ):
        ready = trio.Event()
        nursery.start_soon(partial(server.serve, handlers(app), stop=stop, ready=ready.set))
        await ready.wait()
        yield server
        stop.set()


async def connected(server: Server) -> Client:
    return Client(await trio.open_tcp_stream("127.0.0.1", port_of(server.url)))


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@both_engines
async def test_a_server_with_idle_connections_ends_at_once() -> None:
    stop = trio.Event()
    async with running(Recorder(), stop) as server:
        clients = [await connected(server) for _ in range(20)]
        for client in clients[:10]:
            assert (await client.ask(GET)).status == 200
        began = trio.current_time()
    for client in clients:
        assert await client.rest() == b""
        await client.stream.aclose()
    assert trio.current_time() - began < 1


@both_engines
async def test_a_request_that_arrives_in_the_moment_of_the_stop_is_served() -> None:
    engine = Engine(handlers(Recorder()), LIMITS, HandClock(NOON_MS))
    ours, theirs = socket.socketpair()
    transport = SocketTransport(trio.SocketStream(trio.socket.from_stdlib_socket(theirs)), CLIENT, SERVER, 10)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(engine.serve, transport)
        await wait_all_tasks_blocked()
        ours.send(GET)
        ours.shutdown(socket.SHUT_WR)
        engine.stop()
    with ours:
        [reply] = replies(ours.recv(65_536))
        assert reply.status == 200
        assert reply.closes
        assert ours.recv(1) == b""


@both_engines
async def test_connections_queued_at_the_stop_are_answered_and_idle_ones_do_not_delay_it() -> None:
    stop = trio.Event()
    async with running(Recorder(), stop) as server:
        # The server does not run between the connection and the stop.
        asking, slow, idle = (socket.create_connection(("127.0.0.1", port_of(server.url)), 5) for _ in range(3))
        asking.send(GET)
        stop.set()
        began = trio.current_time()
        for client in (asking, slow):
            if client is slow:
                client.send(GET)
            await wait_all_tasks_blocked(0.01)
            [reply] = replies(client.recv(65_536))
            assert reply.status == 200
            assert reply.closes
            client.close()
    assert trio.current_time() - began <= LAST_CALL_SECONDS + TICK_SECONDS
    assert idle.recv(1) == b""
    idle.close()


@both_engines
@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot drop attempts to connect")
async def test_no_connection_is_made_while_a_server_accepts_the_last_ones() -> None:
    """Its end would be a reset, after which a proxy does not send the request to another node."""
    stop = trio.Event()
    async with running(Recorder(), stop) as server:
        stop.set()
        await wait_all_tasks_blocked()
        with connecting(port_of(server.url)) as late, pytest.raises(OSError, match="not connected"):
            late.getpeername()


async def test_connections_to_a_socket_that_was_passed_are_made_after_the_stop() -> None:
    with socket.create_server(("127.0.0.1", 0)) as passed:
        port, stop = passed.getsockname()[1], trio.Event()
        async with running(Recorder(), stop, ListenAddress("127.0.0.1", port, descriptor=passed.fileno())):
            pass
        with connecting(port) as client:
            assert client.getpeername() == passed.getsockname()


async def test_a_worker_makes_connections_on_the_sockets_of_one_that_has_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as kept:
        kept.setblocking(False)
        end_connecting(kept)
        addresses, sockets = [ListenAddress("127.0.0.1", 0)], [[kept.dup()]]
        with adopted_listeners(addresses, sockets, [""], LIMITS, HandClock(NOON_MS)) as server:
            async with trio.open_nursery() as nursery:
                stop, ready = trio.Event(), trio.Event()
                nursery.start_soon(partial(server.serve, handlers(Recorder()), stop=stop, ready=ready.set))
                await ready.wait()
                with connecting(kept.getsockname()[1]) as client:
                    assert client.getpeername() == kept.getsockname()
                stop.set()


def connecting(port: int) -> socket.socket:
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
    return client


@both_engines
async def test_a_server_that_drains_serves_all_and_asks_clients_to_reconnect() -> None:
    stop = trio.Event()
    async with running(Recorder(), stop, drain_seconds=1.0) as server:
        idle, asking = [await connected(server) for _ in range(2)]
        began = trio.current_time()
        stop.set()
        await wait_all_tasks_blocked(0.01)
        assert (await asking.ask(GET)).closes, "so that a balancer does not keep the connection"
        for _ in range(3):
            fresh = await connected(server)
            assert (await fresh.ask(GET)).status == 200
            await fresh.stream.aclose()
        assert await idle.rest() == b""
        assert 0.9 < trio.current_time() - began < 1.4
        with pytest.raises(OSError, match="all attempts to connect"):
            await connected(server)
        for client in (idle, asking):
            await client.stream.aclose()


@both_engines
@pytest.mark.parametrize("when", ["before the stop", "during the drain"])
async def test_a_server_whose_successor_has_its_listeners_does_not_drain(when: str) -> None:
    stop = trio.Event()
    async with running(Recorder(), stop, drain_seconds=1_000.0) as server:
        client = await connected(server)
        assert not (await client.ask(GET)).closes
        began = trio.current_time()
        if when == "before the stop":
            server.skip_drain()
        stop.set()
        await wait_all_tasks_blocked(0.01)
        server.skip_drain()
        assert await client.rest() == b""
        await client.stream.aclose()
    assert trio.current_time() - began < 0.5


@both_engines
async def test_a_lame_duck_answers_idle_connections_once_more_and_then_closes_them() -> None:
    stop = trio.Event()
    async with running(Recorder(), stop, lame_duck_seconds=1.0) as server:
        idle, asking = [await connected(server) for _ in range(2)]
        for client in (idle, asking):
            assert not (await client.ask(GET)).closes
        began = trio.current_time()
        stop.set()
        await trio.sleep(0.5)
        assert (await asking.ask(GET)).closes
        await asking.stream.aclose()
        with pytest.raises(OSError, match="all attempts to connect"):
            await connected(server)
        assert await idle.rest() == b""
        await idle.stream.aclose()
        assert 0.9 < trio.current_time() - began < 1.5
    assert trio.current_time() - began < 1.5


@both_engines
async def test_the_lame_duck_time_ends_with_the_last_connection() -> None:
    stop = trio.Event()
    async with running(Recorder(), stop, lame_duck_seconds=1.0) as server:
        client = await connected(server)
        assert (await client.ask(GET)).status == 200
        await client.stream.aclose()
        began = trio.current_time()
    assert trio.current_time() - began < 0.5


@both_engines
@pytest.mark.parametrize("what", ["thinks", "streams", "does not end asking", "does not read", "refused"])
async def test_whatever_a_client_does_the_server_ends_soon_after_the_graceful_time(what: str) -> None:
    apps: dict[str, App] = {
        "thinks": Slow(1_000),
        "streams": endless,
        "does not read": Recorder(answer=b"a" * 20_000_000),
    }
    app = apps.get(what, Recorder())
    data = {"does not end asking": GET[:-2], "refused": b"nonsense\r\n\r\n"}.get(what, GET)
    stop = trio.Event()
    async with running(app, stop) as server:
        clients = [await connected(server) for _ in range(5)]
        for client in clients:
            await client.send(data)
        await wait_all_tasks_blocked(0.01)
        began = trio.current_time()
    assert trio.current_time() - began <= 2 + HANDSHAKE_SECONDS + LAST_MOMENT_SECONDS + 0.01
    for client in clients:
        await client.stream.aclose()


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    """An endless response."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await trio.sleep(0.01)


@both_engines
async def test_connections_beyond_the_limits_are_closed_unanswered() -> None:
    async with running(Recorder(), trio.Event(), connections_per_address=2) as server:
        clients = [await connected(server) for _ in range(3)]
        assert await clients[2].rest() == b""
        for client in clients[:2]:
            assert (await client.ask(GET)).status == 200
        for client in clients:
            await client.stream.aclose()
