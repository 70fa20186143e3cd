"""Listeners, connections and the graceful stop. HTTP itself is Hypercorn's, on streams that are guarded here.

Hypercorn's sends are shielded and have no deadline, and it holds a connection whose body nobody reads for ever: so every
stream has a bound on each send, on each request, and can be cut off.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from service.callers import is_loopback
from service.config import ConfigError
from service.edge import App

log = logging.getLogger(__name__)

MINIMUM_RATE = 16 * 1024
"""Bytes a second at which a client must take an answer, beyond `stall_seconds`."""

LAST_MOMENT_SECONDS = 0.5
"""What connections get to end by themselves after they were cut off."""


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Bounds of the HTTP edge; see `[http]` in config.toml."""

    head_seconds: float
    request_seconds: float
    stall_seconds: float
    connections: int
    connections_per_address: int
    graceful_seconds: float
    backlog: int = 1_024


class GuardedStream:
    """A socket stream whose every wait has a bound. Looks like a plain `SocketStream` to Hypercorn."""

    def __init__(self, stream: trio.SocketStream, limits: ServingLimits) -> None:
        self._stream = stream
        self._limits = limits
        self.socket = stream.socket
        self.life = trio.CancelScope()
        """What serves the connection runs in it. Hypercorn may go on waiting after it has closed the stream itself."""
        # When the bytes of the current request began to arrive; None between requests.
        self._request_since: float | None = None
        self._quiet_since = trio.current_time()

    async def send_all(self, data: bytes) -> None:
        seconds = self._limits.stall_seconds + len(data) / MINIMUM_RATE
        with trio.move_on_after(seconds) as bound:
            await self._stream.send_all(data)
        if bound.cancelled_caught:
            self.cut()
            raise trio.BrokenResourceError(f"the client took no byte for {seconds:.0f} s")
        self._request_since = None
        self._quiet_since = trio.current_time()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        since = self._request_since if self._request_since is not None else self._quiet_since
        with trio.move_on_at(since + self._limits.request_seconds) as bound:
            data = bytes(await self._stream.receive_some(max_bytes))
        if bound.cancelled_caught:
            self.cut()
            raise trio.BrokenResourceError("the request took too long")
        if self._request_since is None:
            self._request_since = trio.current_time()
        return data

    @property
    def busy(self) -> bool:
        """Whether a request has begun to arrive that is not answered yet."""
        return self._request_since is not None

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        self.life.cancel()
        await self._stream.aclose()

    def cut(self) -> None:
        """Close the socket at once; whoever waits on it gets an error."""
        self.socket.close()


class Connections:
    """The open connections, counted in all and by address."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._open: dict[GuardedStream, str] = {}
        self._by_address: Counter[str] = Counter()
        self._empty = trio.Event()
        self._empty.set()

    def admit(self, stream: GuardedStream, address: str) -> bool:
        """Count a connection, or refuse it. Loopback has no limit by address: relays and tests live there."""
        if len(self._open) >= self._limits.connections:
            return False
        if self._by_address[address] >= self._limits.connections_per_address and not is_loopback(address):
            return False
        self._open[stream] = address
        self._by_address[address] += 1
        self._empty = trio.Event() if self._empty.is_set() else self._empty
        return True

    def leave(self, stream: GuardedStream) -> None:
        address = self._open.pop(stream)
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        if not self._open:
            self._empty.set()

    async def wait_empty(self) -> None:
        await self._empty.wait()

    def cut_all(self) -> None:
        for stream in list(self._open):
            stream.cut()

    def __len__(self) -> int:
        return len(self._open)


@dataclass(slots=True)
class Server:
    """Open listeners, which accept nothing before `serve`."""

    url: str
    _listeners: list[trio.SocketListener]
    _limits: ServingLimits

    async def serve(self, app: App, *, stop: trio.Event, ready: Callable[[], None]) -> None:
        """Serve `app` until `stop` is set; then finish the requests in flight, for at most `graceful_seconds`.

        Calls `ready` once connections are accepted.
        """
        connections = Connections(self._limits)
        context = WorkerContext(None)
        handle = _Handler(app, self._limits, connections, context)
        async with trio.open_nursery() as open_connections:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(_accept, handle, self._listeners, open_connections)
                ready()
                await stop.wait()
                accepting.cancel_scope.cancel()
            for listener in self._listeners:
                listener.socket.close()
            await context.terminated.set()
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
async def open_listeners(host: str, port: int, limits: ServingLimits) -> AsyncIterator[Server]:
    """Listeners at `host` (all of its addresses) and `port` (0 takes a free one). Raises ConfigError when it cannot."""
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=limits.backlog)
    except OSError as error:
        raise ConfigError(f"server.bind: cannot listen on {host}:{port}: {error.strerror}") from None
    try:
        bound_port: int = listeners[0].socket.getsockname()[1]
        yield Server(url_of(host, bound_port), listeners, limits)
    finally:
        for listener in listeners:
            listener.socket.close()


def url_of(host: str, port: int) -> str:
    """The address to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


async def _accept(handle: "_Handler", listeners: list[trio.SocketListener], nursery: trio.Nursery) -> None:
    await trio.serve_listeners(handle, listeners, handler_nursery=nursery)


class _Handler:
    """Serves one accepted connection."""

    def __init__(
        self,
        app: App,
        limits: ServingLimits,
        connections: Connections,
        context: WorkerContext,
    ) -> None:
        self._app = ASGIWrapper(app)  # type: ignore[arg-type]
        self._limits = limits
        self._connections = connections
        self._context = context
        self._config = _hypercorn_config(limits)

    async def __call__(self, stream: trio.SocketStream) -> None:
        guarded = GuardedStream(stream, self._limits)
        try:
            address = str(stream.socket.getpeername()[0])
        except OSError:
            stream.socket.close()
            return
        if not self._connections.admit(guarded, address):
            stream.socket.close()
            return
        try:
            with guarded.life:
                await self._serve(guarded)
        except Exception:
            # One client's connection must not end the others'.
            log.exception("a connection failed")
        finally:
            guarded.cut()
            self._connections.leave(guarded)

    async def _serve(self, stream: Any) -> None:
        await _Connection(self._app, self._config, self._context, ConnectionState({}), stream).run()


class _Connection(TCPServer):
    """Hypercorn's connection, but for how an idle one ends."""

    async def _idle_timeout(self) -> None:
        with trio.move_on_after(self.config.keep_alive_timeout):
            await self.context.terminated.wait()
        # A request may arrive in this very moment. Whoever reads it runs before the next line, and is not cut off.
        await trio.lowlevel.checkpoint()
        if not self.stream.busy:
            self.stream.life.cancel()


def _hypercorn_config(limits: ServingLimits) -> HypercornConfig:
    config = HypercornConfig()
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = None
    config.keep_alive_timeout = limits.head_seconds
    config.read_timeout = None  # the guard bounds reads
    config.graceful_timeout = limits.graceful_seconds
    config.h11_max_incomplete_size = 16 * 1024
    config.keep_alive_max_requests = 1_000_000
    config.h2_max_concurrent_streams = 32
    config.h2_max_header_list_size = 16 * 1024
    return config
