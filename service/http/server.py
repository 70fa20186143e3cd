"""The server: accepts connections, serves each with HTTP/1.1 or HTTP/2, and stops gracefully."""

import errno
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from actors.clock import Clock
from service.http.asgi import Handlers
from service.http.closing import begin_connecting, end_connecting
from service.http.connections import Connections
from service.http.engine import Engine
from service.http.limits import HANDSHAKE_SECONDS, LAST_MOMENT_SECONDS, ServingLimits
from service.http.transports import Address, SocketTransport, StreamTransport

log = logging.getLogger(__name__)

Listener = tuple[socket.socket, ssl.SSLContext | None]
"""A listening socket, and the TLS of its connections."""

ACCEPTED_AT_ONCE = 64
"""Maximum number of connections accepted before other tasks run."""

EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
EXHAUSTED_SECONDS = 0.1
"""Pause when the system has no resources for another connection."""

TICK_SECONDS = 0.25
"""Interval of checks for overdue waits, and so the maximum delay of a timeout."""

SETTLE_PASSES = 2
"""Scheduler passes until every accepted connection has started and is counted."""


@dataclass(slots=True)
class Server:
    """Open listeners. They accept no connections before `serve`."""

    urls: list[str]
    """One URL for each configured address, in their order."""
    _listeners: list[Listener]
    _limits: ServingLimits
    _clock: Clock
    certificate_expires: float | None = None
    """The Unix time in seconds at which the certificate of its TLS listeners expires."""
    _engine: type[Engine] = Engine
    _passed: bool = False
    """Whether a process that outlives this one has passed it listeners, and passes them to its successor."""
    _draining: trio.CancelScope = field(default_factory=trio.CancelScope)

    @property
    def url(self) -> str:
        return self.urls[0]

    async def serve(self, handlers: Handlers, *, stop: trio.Event, ready: Callable[[], None]) -> None:
        """Serve until `stop` is set and for `drain_seconds` more, then let requests in flight finish for at most
        `graceful_seconds`.

        Calls `ready` when connections are accepted.
        """
        if any(tls for _, tls in self._listeners):
            import service.http.http2  # noqa: F401 - 2 MiB that only TLS needs, and too slow to load for a connection
        connections = Connections(self._limits)
        engine = self._engine(handlers, self._limits, self._clock)
        async with trio.open_nursery() as open_connections:
            open_connections.start_soon(maintain, engine, connections)
            pairs = [
                (listener, _ConnectionHandler(engine, self._limits, connections, tls))
                for listener, tls in self._listeners
            ]
            async with trio.open_nursery() as accepting:
                for listener, handle in pairs:
                    begin_connecting(listener)
                    listener.listen(self._limits.backlog)
                    accepting.start_soon(_accept, handle, listener, open_connections, connections)
                ready()
                await stop.wait()
                await self._serve_on(engine)
                engine.announce_stop()
                if not self._passed and not self._draining.cancel_called:
                    for listener, _ in pairs:
                        end_connecting(listener)
                    await trio.sleep(HANDSHAKE_SECONDS)
                accepting.cancel_scope.cancel()
            for listener, handle in pairs:
                _accept_queued(handle, listener, open_connections, self._limits.backlog)
            for _ in range(SETTLE_PASSES):
                await trio.lowlevel.checkpoint()
            await self._drain(engine, connections)
            open_connections.cancel_scope.cancel()

    def skip_drain(self) -> None:
        """Stop without `drain_seconds`, because another process has taken over the listeners. End them if they have begun."""
        self._draining.cancel()

    async def _serve_on(self, engine: Engine) -> None:
        """Serve all for `drain_seconds`."""
        if not self._limits.drain_seconds or self._draining.cancel_called:
            return
        with self._draining:
            log.info(
                "draining: serving for %g s more while load balancers remove this node", self._limits.drain_seconds
            )
            engine.announce_drain()
            await trio.sleep(self._limits.drain_seconds)

    async def _drain(self, engine: Engine, connections: Connections) -> None:
        due = trio.current_time() + self._limits.graceful_seconds
        if self._limits.lame_duck_seconds:
            with trio.move_on_at(min(due, trio.current_time() + self._limits.lame_duck_seconds)):
                await connections.wait_empty()
        engine.stop()
        connections.end_handshakes()
        with trio.move_on_at(due):
            await connections.wait_empty()
        if len(connections):
            log.warning("closing %d connections that did not finish within server.graceful_seconds", len(connections))
        connections.cut_all()
        with trio.move_on_after(LAST_MOMENT_SECONDS):
            await connections.wait_empty()


async def _accept(
    handle: "_ConnectionHandler", listener: socket.socket, nursery: trio.Nursery, connections: Connections
) -> None:
    """Accept connections until cancelled, a bounded burst at a time.

    With one accept per scheduler pass, the last connection of a burst would wait for seconds under load.
    """
    while True:
        await trio.lowlevel.wait_readable(listener)
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in EXHAUSTED:
                    connections.note_failure(error.strerror or str(error.errno))
                    await trio.sleep(EXHAUSTED_SECONDS)
                    break
                continue  # the client has disconnected already
            nursery.start_soon(handle, trio.SocketStream(trio.socket.from_stdlib_socket(accepted)))


def _accept_queued(handle: "_ConnectionHandler", listener: socket.socket, nursery: trio.Nursery, most: int) -> None:
    """Accept the connections that are queued in the kernel, then close. Closing alone would reset them."""
    for _ in range(most + 1):
        try:
            accepted, _ = listener.accept()
        except OSError as error:
            if isinstance(error, BlockingIOError) or error.errno in EXHAUSTED:
                break
            continue  # the client has disconnected already
        nursery.start_soon(handle, trio.SocketStream(trio.socket.from_stdlib_socket(accepted)))
    listener.close()


async def maintain(engine: Engine, connections: Connections) -> None:
    """End overdue waits, update the Date header and log rejected connections, every `TICK_SECONDS` while there are any."""
    while True:
        await connections.wait_busy()
        await trio.sleep(TICK_SECONDS)
        engine.tick()
        connections.expire_overdue()
        connections.log_rejected()


class _ConnectionHandler:
    """Serves one accepted connection."""

    def __init__(
        self,
        engine: Engine,
        limits: ServingLimits,
        connections: Connections,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._connections = connections
        self._tls = tls

    async def __call__(self, stream: trio.SocketStream) -> None:
        try:
            await self._serve(stream)
        finally:
            stream.socket.close()

    async def _serve(self, stream: trio.SocketStream) -> None:
        plain = stream.socket
        try:
            client, server = _address(plain.getpeername()), _address(plain.getsockname())
        except OSError:
            return
        if not self._connections.has_room(client[0]):
            self._connections.reject()
            return
        if not len(self._connections):
            self._engine.tick()  # nothing has updated the Date header while there was no connection
        try:
            if self._tls is None:
                transport = SocketTransport(stream, client, server, self._limits.stall_seconds)
                with self._connections.holding(transport):
                    await self._engine.serve(transport)
            else:
                await self._serve_tls(stream, self._tls, client, server)
        except Exception:
            # An error on one connection must not end the others.
            log.exception("a connection failed")

    async def _serve_tls(
        self, stream: trio.SocketStream, tls: ssl.SSLContext, client: Address, server: Address
    ) -> None:
        secured = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        transport = StreamTransport(secured, client, server, self._limits.stall_seconds)
        with self._connections.holding(transport):
            try:
                with self._connections.handshake():
                    await secured.do_handshake()
            except (trio.BrokenResourceError, trio.TooSlowError):
                return
            if secured.selected_alpn_protocol() == "h2":
                await self._engine.serve_http2(transport)
            else:
                await self._engine.serve(transport)


def _address(name: tuple[str, int]) -> Address:
    """Host and port of a socket's name; an IPv6 name has more parts."""
    return name[0].partition("%")[0], name[1]
