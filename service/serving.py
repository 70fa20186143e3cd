"""Listeners, connections and the graceful stop. HTTP itself is spoken by `http1`."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf

import trio

from actors.clock import Clock
from service.bounds import ServingLimits
from service.callers import is_in, limited_as
from service.config import ConfigError
from service.edge import App
from service.http1 import Engine
from service.transports import Address, SocketTransport, Transport, expire_overdue

log = logging.getLogger(__name__)

LAST_MOMENT_SECONDS = 0.5
"""What connections get to end by themselves after they were cut off."""

TICK_SECONDS = 0.25
"""How often overdue waits are looked for, so how late one may be ended."""


TELL_SECONDS = 10.0
"""How often the log says that connections were turned away."""


class Connections:
    """The open connections, counted in all and by address: over IPv6 by its /64, of which one client has all."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._open: dict[Transport, str] = {}
        self._by_address: Counter[str] = Counter()
        self._turned_away = 0
        self._told = -inf
        self._empty = trio.Event()
        self._empty.set()

    def has_room(self, address: str) -> bool:
        """Whether one more connection of `address` may be served. Relays and proxies are exempt from the limit by address,
        since they speak for many."""
        if len(self._open) >= self._limits.connections:
            return False
        if self._by_address[limited_as(address)] < self._limits.connections_per_address:
            return True
        return is_in(address, self._limits.exempt_networks)

    def enter(self, transport: Transport) -> None:
        address = limited_as(transport.client[0])
        self._open[transport] = address
        self._by_address[address] += 1
        if self._empty.is_set():
            self._empty = trio.Event()

    def leave(self, transport: Transport) -> None:
        address = self._open.pop(transport)
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        if not self._open:
            self._empty.set()

    def turn_away(self) -> None:
        """Note that there was no room for one."""
        self._turned_away += 1

    def tell_turned_away(self) -> None:
        """Say in the log how many there was no room for, once in a while: nothing else does, as they get no answer."""
        now = trio.current_time()
        if self._turned_away and now >= self._told + TELL_SECONDS:
            most, of_one = self._limits.connections, self._limits.connections_per_address
            log.warning(
                "%d connections were closed at once: at most %d may be open, and %d of one address",
                self._turned_away,
                most,
                of_one,
            )
            self._turned_away, self._told = 0, now

    async def wait_empty(self) -> None:
        await self._empty.wait()

    def cut_all(self) -> None:
        for transport in list(self._open):
            transport.cut()

    def expire_overdue(self) -> None:
        expire_overdue([each for each in self._open if isinstance(each, SocketTransport)])

    def __len__(self) -> int:
        return len(self._open)


@dataclass(slots=True)
class Server:
    """Open listeners, which accept nothing before `serve`."""

    url: str
    _listeners: list[trio.SocketListener]
    _limits: ServingLimits
    _clock: Clock

    async def serve(self, app: App, refusals: App, *, stop: trio.Event, ready: Callable[[], None]) -> None:
        """Serve `app` until `stop` is set; then finish the requests in flight, for at most `graceful_seconds`.

        `refusals` answers what is refused before `app` sees it. Calls `ready` once connections are accepted.
        """
        connections = Connections(self._limits)
        engine = Engine(app, refusals, self._limits, self._clock)
        handle = _Handler(engine, self._limits, connections)
        async with trio.open_nursery() as open_connections:
            open_connections.start_soon(watch, engine, connections)
            async with trio.open_nursery() as accepting:
                accepting.start_soon(_accept, handle, self._listeners, open_connections)
                ready()
                await stop.wait()
                accepting.cancel_scope.cancel()
            for listener in self._listeners:
                listener.socket.close()
            engine.stop()
            await self._see_off(connections)
            open_connections.cancel_scope.cancel()

    async def _see_off(self, connections: Connections) -> None:
        with trio.move_on_after(self._limits.graceful_seconds):
            await connections.wait_empty()
        if len(connections):
            log.warning("%d connections did not end in time and are cut off", len(connections))
        connections.cut_all()
        with trio.move_on_after(LAST_MOMENT_SECONDS):
            await connections.wait_empty()


@asynccontextmanager
async def open_listeners(host: str, port: int, limits: ServingLimits, clock: Clock) -> AsyncIterator[Server]:
    """Listeners at `host` (all of its addresses) and `port` (0 takes a free one). Raises ConfigError when it cannot."""
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=limits.backlog)
    except OSError as error:
        raise ConfigError(f"server.bind: cannot listen on {host}:{port}: {error.strerror}") from None
    try:
        bound_port: int = listeners[0].socket.getsockname()[1]
        yield Server(url_of(host, bound_port), listeners, limits, clock)
    finally:
        for listener in listeners:
            listener.socket.close()


def url_of(host: str, port: int) -> str:
    """The address to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


async def _accept(handle: "_Handler", listeners: list[trio.SocketListener], nursery: trio.Nursery) -> None:
    await trio.serve_listeners(handle, listeners, handler_nursery=nursery)


async def watch(engine: Engine, connections: Connections) -> None:
    """The watchman: ends waits that are overdue, keeps the Date header right, and tells of who was turned away."""
    while True:
        await trio.sleep(TICK_SECONDS)
        engine.tick()
        connections.expire_overdue()
        connections.tell_turned_away()


class _Handler:
    """Serves one accepted connection."""

    def __init__(self, engine: Engine, limits: ServingLimits, connections: Connections) -> None:
        self._engine = engine
        self._limits = limits
        self._connections = connections

    async def __call__(self, stream: trio.SocketStream) -> None:
        plain = stream.socket
        try:
            client, server = _address(plain.getpeername()), _address(plain.getsockname())
        except OSError:
            plain.close()
            return
        if not self._connections.has_room(client[0]):
            self._connections.turn_away()
            plain.close()
            return
        transport = SocketTransport(stream, client, server, self._limits.stall_seconds)
        self._connections.enter(transport)
        try:
            await self._engine.serve(transport)
        except Exception:
            # One client's connection must not end the others'.
            log.exception("a connection failed")
        finally:
            self._connections.leave(transport)


def _address(name: tuple[str, int]) -> Address:
    """Host and port of a socket's name, which over IPv6 says more."""
    return name[0].partition("%")[0], name[1]
