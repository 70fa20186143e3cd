"""HTTP/1.1 over one connection: one task serves its requests in sequence and calls the application by ASGI.

An invalid request gets an error response, and the connection is closed.
"""

import logging
from email.utils import formatdate
from urllib.parse import unquote

import trio

from actors.clock import Clock
from service.http.asgi import BOUNDED, Handlers, Scope
from service.http.limits import ServingLimits
from service.http.request_cycle import Conditions, ReadBuffer, RequestResponseCycle
from service.http.request_head import BadRequest, Head, find_head, head_of_unreadable, parse_head
from service.http.transports import ConnectionLost, Transport, TransportTimeout

log = logging.getLogger(__name__)

HEAD_BYTES = 16 * 1024
"""Maximum size of one read while waiting for a head, and so of the pipelined requests held in memory."""

LAST_CALL_SECONDS = 0.5
"""Time for the first request on a connection that was accepted just before the server stopped."""

EXTENSIONS: dict[str, dict[str, object]] = {BOUNDED: {}}


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
            self.conditions.date = b"date: " + formatdate(second, usegmt=True).encode() + b"\r\n"

    def announce_stop(self) -> None:
        """Close each connection after its next response. Idle ones may still send a request."""
        self.conditions.stopping = True

    def stop(self) -> None:
        """Close idle connections now, and the others after their current response."""
        self.conditions.stopping = True
        for connection in self._connections:
            connection.stop()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection until it ends, then close it."""
        connection = Connection(self, transport)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
            await transport.aclose()


class Connection:
    """One client's connection."""

    def __init__(self, engine: Engine, transport: Transport) -> None:
        self._engine = engine
        self._conditions = engine.conditions
        self._app = engine.handlers.app
        self._transport = transport
        self._incoming = ReadBuffer(transport)
        self._head_seconds = engine.conditions.limits.head_seconds
        self._idle = True

    def stop(self) -> None:
        if self._idle:
            self._transport.expire()

    async def run(self) -> None:
        try:
            while (head := await self._next_head()) is not None and await self._answer(head):
                pass
        except BadRequest as refusal:
            await self._refuse(refusal)
        except (ConnectionLost, TransportTimeout):
            pass

    async def _next_head(self) -> Head | None:
        """The next request's head, or None at the end of the connection. Raises `BadRequest` and `ConnectionLost`."""
        incoming = self._incoming
        incoming.began = None
        if incoming.buffer:
            # Pipelined requests may be served without a single wait, which would starve other tasks.
            await trio.lowlevel.checkpoint()
        else:
            incoming.buffer = await self._first_bytes()
            if not incoming.buffer:
                return None
        end = find_head(incoming.buffer) or await self._rest_of_head()
        data = incoming.buffer
        if end == len(data):
            head = parse_head(data)
            incoming.buffer = b""
            return head
        if not end:
            return None
        head = parse_head(data[:end])
        incoming.buffer = data[end:]
        return head

    async def _first_bytes(self) -> bytes:
        """The first bytes of a request; empty if the client closed or sent none in time."""
        last_call = self._conditions.stopping
        seconds = LAST_CALL_SECONDS if last_call else self._head_seconds
        self._idle = not last_call
        try:
            return await self._transport.receive(HEAD_BYTES, trio.current_time() + seconds)
        except TransportTimeout:
            pass
        finally:
            self._idle = False
        # Serve a request that arrived just as the time ran out.
        return self._transport.receive_nowait()

    async def _rest_of_head(self) -> int:
        """Wait for the rest of a head. Returns the index of its end, or 0 if the client closed before that."""
        incoming = self._incoming
        incoming.began = trio.current_time()
        end = 0
        while not end:
            try:
                data = await self._transport.receive(HEAD_BYTES, incoming.began + self._head_seconds)
            except TransportTimeout:
                raise BadRequest(408, "The request's head did not arrive in time.") from None
            if not data:
                return 0
            scanned = len(incoming.buffer)
            incoming.buffer += data
            end = find_head(incoming.buffer, scanned)
        return end

    async def _answer(self, head: Head) -> bool:
        """Call the application. Returns whether the connection may carry another request."""
        cycle = RequestResponseCycle(self._incoming, self._conditions, head)
        try:
            await self._app(self._scope(head), cycle.receive, cycle.send)
        except* Exception:
            log.exception("the application failed")
        return await cycle.finish()

    def _scope(self, head: Head) -> Scope:
        transport, path = self._transport, head.path.decode()
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": head.version,
            "scheme": transport.scheme,
            "method": head.method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": head.path,
            "query_string": head.query,
            "root_path": "",
            "headers": head.headers,
            "client": transport.client,
            "server": transport.server,
            "state": {},
            "extensions": EXTENSIONS,
        }

    async def _refuse(self, refusal: BadRequest) -> None:
        """Answer a request that the application never sees."""
        head = head_of_unreadable(self._incoming.buffer)
        cycle = RequestResponseCycle(self._incoming, self._conditions, head)
        scope = self._scope(head)
        scope["refusal"] = (refusal.status, refusal.message)
        await self._engine.handlers.rejected(scope, cycle.receive, cycle.send)
        await cycle.finish()
