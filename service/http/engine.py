"""The engine: serves connections with HTTP/1.1 or HTTP/2, and notifies all of them when the server stops."""

from email.utils import formatdate
from typing import Protocol

from actors.clock import Clock
from service.http import http1
from service.http.asgi import Handlers
from service.http.exchange import Conditions
from service.http.limits import ServingLimits
from service.http.transports import StreamTransport, Transport


class Connection(Protocol):
    """One client's connection, in any version of HTTP."""

    async def run(self) -> None: ...
    def announce_drain(self) -> None: ...
    def stop(self) -> None: ...


class Engine:
    """The state that all connections share: handlers, limits, and whether the server is stopping."""

    def __init__(self, handlers: Handlers, limits: ServingLimits, clock: Clock) -> None:
        self.handlers = handlers
        self.conditions = Conditions(limits, handlers.render_error)
        self._clock = clock
        self._second = 0
        self._connections: set[Connection] = set()
        self.tick()

    def tick(self) -> None:
        """Update the Date header. Call it a few times a second."""
        second = self._clock.now_ms() // 1000
        if second != self._second:
            self._second = second
            self.conditions.date = formatdate(second, usegmt=True).encode()

    def announce_drain(self) -> None:
        """Ask clients to reconnect, which a balancer then sends elsewhere. All requests are served."""
        self.conditions.leaving = True
        for connection in self._connections:
            connection.announce_drain()

    def announce_stop(self) -> None:
        """Close each connection after its next response. Idle ones may still send a request."""
        self.conditions.leaving = self.conditions.stopping = True

    def stop(self) -> None:
        """Close idle connections now, and the others after their current responses."""
        self.announce_stop()
        for connection in self._connections:
            connection.stop()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection of HTTP/1.1 until it ends, then close it."""
        await self._serve(http1.Connection(self.handlers, self.conditions, transport), transport)

    async def serve_http2(self, transport: StreamTransport) -> None:
        """Serve one connection that chose HTTP/2 until it ends, then close it."""
        from service.http import http2

        await self._serve(http2.Connection(self.handlers, self.conditions, transport), transport)

    async def _serve(self, connection: Connection, transport: Transport) -> None:
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            await transport.aclose()
