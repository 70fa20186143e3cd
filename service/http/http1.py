"""HTTP/1.1 over one connection: one task, one request after another, ASGI to the application.

Requests are read by `heads` and `framing`, answers framed by `exchange`, bytes come from `transports`. What is refused is
answered and the connection is closed; nothing is guessed. Knows no listener and no framework.
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
"""How much is read at once while a head is waited for. So many pipelined requests may wait here, and no more."""


LAST_CALL_SECONDS = 0.5
"""How long a connection that was accepted in the moment of a stop may take to ask."""

EXTENSIONS: dict[str, dict[str, object]] = {BOUNDED: {}}
"""What an application may rely on beyond ASGI."""


class Engine:
    """What all connections share: the handlers, the limits, and whether the server is stopping."""

    def __init__(self, handlers: Handlers, limits: ServingLimits, clock: Clock) -> None:
        self.handlers = handlers
        self.conditions = Conditions(limits, handlers.render_error)
        self._clock = clock
        self._second = 0
        self._connections: set[Connection] = set()
        self.tick()

    def tick(self) -> None:
        """Renew the Date header. To be called a few times a second."""
        second = self._clock.now_ms() // 1000
        if second != self._second:
            self._second = second
            self.conditions.date = b"date: " + formatdate(second, usegmt=True).encode() + b"\r\n"

    def announce_stop(self) -> None:
        """Let each connection end with its next answer. Idle ones may still ask, and those that come now have a moment."""
        self.conditions.stopping = True

    def stop(self) -> None:
        """End idle connections now, and each other one with the answer that is under way."""
        self.conditions.stopping = True
        for connection in self._connections:
            connection.stop()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection to its end and let go of it, whatever its client does."""
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
        self._wire = ReadBuffer(transport)
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
        """The next request's head, or None when there is none to come. Raises `BadRequest` and `ConnectionLost`."""
        wire = self._wire
        wire.began = None
        if wire.buffer:
            # Answers to pipelined requests may all have gone out without a wait. Others want to run, too.
            await trio.lowlevel.checkpoint()
        else:
            wire.buffer = await self._first_bytes()
            if not wire.buffer:
                return None
        end = find_head(wire.buffer) or await self._rest_of_head()
        data = wire.buffer
        if end == len(data):
            head = parse_head(data)
            wire.buffer = b""
            return head
        if not end:
            return None
        head = parse_head(data[:end])
        wire.buffer = data[end:]
        return head

    async def _first_bytes(self) -> bytes:
        """The first bytes of a request, or none when the client ends or the time for them is over."""
        last_call = self._conditions.stopping
        seconds = LAST_CALL_SECONDS if last_call else self._head_seconds
        self._idle = not last_call
        try:
            return await self._transport.receive(HEAD_BYTES, trio.current_time() + seconds)
        except TransportTimeout:
            pass
        finally:
            self._idle = False
        # A request may have arrived in the very moment in which its time was over; then it is served.
        return self._transport.receive_nowait()

    async def _rest_of_head(self) -> int:
        """Wait until a head that has begun is whole; returns where it ends, or 0 when the client ends before."""
        wire = self._wire
        wire.began = trio.current_time()
        end = 0
        while not end:
            try:
                data = await self._transport.receive(HEAD_BYTES, wire.began + self._head_seconds)
            except TransportTimeout:
                raise BadRequest(408, "The request's head did not arrive in time.") from None
            if not data:
                return 0
            looked_at = len(wire.buffer)
            wire.buffer += data
            end = find_head(wire.buffer, looked_at)
        return end

    async def _answer(self, head: Head) -> bool:
        """Let the application answer; returns whether another request may follow."""
        exchange = RequestResponseCycle(self._wire, self._conditions, head)
        try:
            await self._app(self._scope(head), exchange.receive, exchange.send)
        except* Exception:
            log.exception("the application failed")
        return await exchange.finish()

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
        """Answer what the application is not shown, and end."""
        head = head_of_unreadable(self._wire.buffer)
        exchange = RequestResponseCycle(self._wire, self._conditions, head)
        scope = self._scope(head)
        scope["refusal"] = (refusal.status, refusal.message)
        await self._engine.handlers.rejected(scope, exchange.receive, exchange.send)
        await exchange.finish()
