"""HTTP/1.1 over one connection: one task serves its requests in sequence and calls the application by ASGI.

An invalid request gets an error response, and the connection is closed.
"""

from math import inf

import trio

from service.http.asgi import Handlers
from service.http.exchange import Conditions, call, scope_of
from service.http.limits import LAST_CALL_SECONDS
from service.http.request_cycle import ReadBuffer, RequestResponseCycle
from service.http.request_head import BadRequest, Head, find_head, head_of_unreadable, parse_head
from service.http.transports import ConnectionLost, Transport, TransportTimeout

HEAD_BYTES = 16 * 1024
"""Maximum size of one read while waiting for a head, and so of the pipelined requests held in memory."""


class Connection:
    """One client's connection."""

    def __init__(self, handlers: Handlers, conditions: Conditions, transport: Transport) -> None:
        self._handlers = handlers
        self._conditions = conditions
        self._transport = transport
        self._incoming = ReadBuffer(transport)
        self._head_seconds = conditions.limits.head_seconds
        self._idle = True
        # The end of the wait for the first request if the server stops.
        self._last_call = trio.current_time() + LAST_CALL_SECONDS

    def announce_drain(self) -> None:
        """The next response says it."""

    def stop(self) -> None:
        if self._idle:
            self._transport.expire(self._last_call)

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
        due = self._last_call if self._conditions.stopping else trio.current_time() + self._head_seconds
        self._idle = True
        try:
            return await self._transport.receive(HEAD_BYTES, due)
        except TransportTimeout:
            pass
        finally:
            self._idle, self._last_call = False, -inf
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
        await call(self._handlers.app, scope_of(head, self._transport), cycle)
        return await cycle.finish()

    async def _refuse(self, refusal: BadRequest) -> None:
        """Answer a request that the application never sees."""
        head = head_of_unreadable(self._incoming.buffer)
        cycle = RequestResponseCycle(self._incoming, self._conditions, head)
        scope = scope_of(head, self._transport)
        scope["refusal"] = (refusal.status, refusal.message)
        await self._handlers.rejected(scope, cycle.receive, cycle.send)
        await cycle.finish()
