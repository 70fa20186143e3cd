"""HTTP/2 over one connection: a reader, and one task for each request, which calls the application by ASGI.

h2 follows the protocol's states. What is here bounds them: the frames read, the requests at once, the bytes held, and
every wait.
"""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from typing import Any

import trio
from h2.config import H2Configuration
from h2.connection import AllowedStreamIDs, H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from h2.stream import H2Stream, StreamInputs
from hpack import HeaderTuple
from hyperframe.frame import Frame, HeadersFrame, PriorityFrame

from service.http.asgi import Handlers
from service.http.exchange import Conditions, call, scope_of
from service.http.frames import LAST_STREAM, FrameScanner, TooLong, goaway
from service.http.http2_exchange import Http2Exchange
from service.http.http2_output import LOST, REQUEST_BODIES, STREAMS, Output
from service.http.limits import LAST_CALL_SECONDS
from service.http.request_head import LONGEST_HEAD, BadRequest, head_of_unreadable, parse_fields
from service.http.transports import ConnectionLost, StreamTransport, TransportTimeout, linger

CONTROL_BURST = 16 * 1024
"""Bytes of control frames that a client may send at once."""

CONTROL_RATE = 8 * 1024
"""Bytes of control frames read per second after the burst. After `stall_seconds` of more, the connection is closed."""

READ_BYTES = 4 * 1024
"""Maximum size of one read. All of it is processed before other tasks run."""

FIRST_STREAMS = 2
"""Requests without a body that a new connection runs at once. Each response that the client takes allows one more, up to
`STREAMS`. So a client that reads nothing does not hold the memory of many requests."""

EAGER_STREAMS = 4 * STREAMS
"""Requests that a client may send before it has read the limit. Those above `STREAMS` are refused one by one."""

DEFAULT_WINDOW = 65_535
"""The flow-control window of a new connection (RFC 9113, section 6.9.2)."""

LIST_BYTES = 2 * LONGEST_HEAD
"""Bytes of all fields of a head, each counted with 32 more (RFC 7541, section 4.1). Above, the connection ends."""

_CONFIG = H2Configuration(
    client_side=False,
    # `parse_fields` and `Http2Exchange` do these.
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)


class _Stream(H2Stream):
    """A stream that leaves malformed requests to `parse_fields` and `Http2Exchange`, which answer 400, and resets itself if
    trailers do not end one. h2 would end the connection with all other requests (RFC 9113, section 8.1.1)."""

    def receive_headers(
        self, headers: Iterable[HeaderTuple | tuple[bytes, bytes]], end_stream: bool, header_encoding: bool | str | None
    ) -> tuple[list[Frame], list[Event]]:
        events = self.state_machine.process_input(StreamInputs.RECV_HEADERS)
        head: Any = events[0]
        if isinstance(head, TrailersReceived) and not end_stream:
            reset = StreamReset(stream_id=self.stream_id, error_code=ErrorCodes.PROTOCOL_ERROR, remote_reset=False)
            return self.reset_stream(ErrorCodes.PROTOCOL_ERROR), [reset]
        head.headers = list(headers)
        if end_stream:
            ended = self.state_machine.process_input(StreamInputs.RECV_END_STREAM)
            head.stream_ended = ended[0]
            events += ended
        return [], events

    def _track_content_length(self, length: int, end_stream: bool) -> None:
        pass


class _H2(H2Connection):
    MAX_CLOSED_STREAMS = 256

    def _begin_new_stream(self, stream_id: int, allowed_ids: AllowedStreamIDs) -> H2Stream:
        stream = super()._begin_new_stream(stream_id, allowed_ids)
        stream.__class__ = _Stream
        return stream

    # Priorities are ignored, also those that RFC 7540 refused (RFC 9113, section 5.3.2).

    def _receive_headers_frame(self, frame: HeadersFrame) -> tuple[list[Frame], list[Event]]:
        frame.flags.discard("PRIORITY")
        return super()._receive_headers_frame(frame)

    def _receive_priority_frame(self, frame: HeadersFrame | PriorityFrame) -> tuple[list[Frame], list[Event]]:
        return [], []


class Connection:
    """One client's connection."""

    def __init__(self, handlers: Handlers, conditions: Conditions, transport: StreamTransport) -> None:
        self._handlers = handlers
        self._conditions = conditions
        self._transport = transport
        self._h2 = _H2(_CONFIG)
        self._h2.local_settings.update(
            {SettingCodes.MAX_CONCURRENT_STREAMS: EAGER_STREAMS, SettingCodes.MAX_HEADER_LIST_SIZE: LIST_BYTES}
        )
        self._h2.local_settings.acknowledge()
        self._h2.decoder.max_header_list_size = LIST_BYTES
        self._output = Output(self._h2, transport, conditions.limits)
        self._exchanges: dict[int, Http2Exchange] = {}
        self._waiting: deque[tuple[Http2Exchange, list[tuple[bytes, bytes]]]] = deque()  # not started yet
        self._allowed = FIRST_STREAMS
        self._budget = _Budget(conditions.limits.stall_seconds)
        self._last_call = conditions.stopping
        self._idle_due = 0.0
        self._announced = False
        self._leaving = False

    def announce_drain(self) -> None:
        """Ask the client to use a new connection, and serve what it sends until then (RFC 9113, section 6.8)."""
        self._announced = True
        self._output.append(goaway(LAST_STREAM))
        self._transport.expire()

    def stop(self) -> None:
        """Close the connection if it is idle, or else after the current responses."""
        if not self._last_call:
            self._leave()

    def _leave(self) -> None:
        """Send GOAWAY and refuse new requests."""
        if not self._leaving:
            self._leaving = True
            self._output.append(goaway(self._h2.highest_inbound_stream_id))
        self._transport.expire()

    async def run(self) -> None:
        seconds = LAST_CALL_SECONDS if self._last_call else self._conditions.limits.head_seconds
        self._idle_due = trio.current_time() + seconds
        self._h2.initiate_connection()
        self._h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS})
        self._h2.increment_flow_control_window(REQUEST_BODIES - DEFAULT_WINDOW)
        try:
            async with trio.open_nursery() as nursery:
                await self._read_to_the_end(nursery)
                self._refuse_waiting()
                if self._exchanges:
                    self._transport.cut()
                for exchange in self._exchanges.values():
                    exchange.lose()
                self._output.close()
        finally:
            # h2 refers to itself through a table of its methods. Without it, the last reference frees everything.
            vars(self._h2).clear()

    async def _read_to_the_end(self, nursery: trio.Nursery) -> None:
        try:
            await self._output.flush()
            await self._read(nursery)
            self._leave()
            await self._output.flush()
        except (ConnectionLost, TransportTimeout):
            return
        except (ProtocolError, TooLong) as error:
            if isinstance(error, TooLong):
                self._output.append(goaway(self._h2.highest_inbound_stream_id, error.code))
            with suppress(*LOST):
                await self._output.flush()
                await linger(self._transport)

    async def _read(self, nursery: trio.Nursery) -> None:
        """Handle frames until the client closes or is idle for too long, or the last response of a connection that ends.

        Raises `ProtocolError`, `TooLong`, `ConnectionLost` and `TransportTimeout`.
        """
        while self._exchanges or not self._leaving:
            try:
                data = await self._transport.receive(READ_BYTES, inf if self._exchanges else self._idle_due)
            except TransportTimeout:
                if not self._exchanges and (self._leaving or trio.current_time() >= self._idle_due):
                    return
            else:
                if not data:
                    return
                await self._budget.spend(data)
                for event in self._h2.receive_data(data):
                    self._handle(event, nursery)
            await self._output.flush()

    def _handle(self, event: Event, nursery: trio.Nursery) -> None:
        if isinstance(event, RequestReceived):
            self._begin(event, nursery)
        elif isinstance(event, DataReceived):
            exchange = self._exchanges.get(event.stream_id)
            if exchange is None:
                self._output.acknowledge(event.stream_id, event.flow_controlled_length)
            else:
                exchange.feed(event.data, event.flow_controlled_length)
        elif isinstance(event, StreamEnded | TrailersReceived):
            if event.stream_id in self._exchanges:
                trailers = event.headers if isinstance(event, TrailersReceived) else []
                self._exchanges[event.stream_id].end_body(trailers)
        elif isinstance(event, StreamReset):
            self._lose(event.stream_id)
        elif isinstance(event, WindowUpdated | RemoteSettingsChanged):
            self._output.wake()
        elif isinstance(event, ConnectionTerminated):
            raise ConnectionLost  # h2 sends nothing more

    def _lose(self, stream: int) -> None:
        """The client has reset a stream. A request that waits is forgotten, another one ends by itself."""
        exchange = self._exchanges.get(stream)
        if exchange is None:
            return
        exchange.lose()
        self._output.wake()
        for waiting in self._waiting:
            if waiting[0] is exchange:
                self._waiting.remove(waiting)
                del self._exchanges[stream]
                break

    def _begin(self, event: RequestReceived, nursery: trio.Nursery) -> None:
        stream = event.stream_id
        if self._leaving or len(self._exchanges) == STREAMS:
            self._output.reset(stream, ErrorCodes.REFUSED_STREAM)
            return
        exchange = Http2Exchange(self._output, self._conditions, stream, whole=event.stream_ended is not None)
        self._exchanges[stream] = exchange
        if exchange.whole:
            self._waiting.append((exchange, event.headers))
            self._start(nursery)
        else:
            # Its body must be read, because all bodies share the window of the connection.
            nursery.start_soon(self._serve, exchange, event.headers, nursery)

    def _start(self, nursery: trio.Nursery) -> None:
        """Start the requests that wait, as far as the client has earned it."""
        while self._waiting and len(self._exchanges) - len(self._waiting) < self._allowed:
            nursery.start_soon(self._serve, *self._waiting.popleft(), nursery)

    async def _serve(self, exchange: Http2Exchange, fields: list[tuple[bytes, bytes]], nursery: trio.Nursery) -> None:
        """Answer one request."""
        app = self._handlers.app
        try:
            head = parse_fields(fields, whole=exchange.whole)
            scope = scope_of(head, self._transport)
        except BadRequest as refusal:
            app = self._handlers.rejected
            head = head_of_unreadable(_named(fields))
            scope = scope_of(head, self._transport) | {"refusal": (refusal.status, refusal.message)}
        exchange.begin(head)
        try:
            await call(app, scope, exchange)
            await exchange.finish()
        finally:
            self._end(exchange, nursery)

    def _end(self, exchange: Http2Exchange, nursery: trio.Nursery) -> None:
        del self._exchanges[exchange.stream]
        if exchange.stalled:
            self._refuse_waiting()
        elif not exchange.lost:
            self._allowed = min(STREAMS, self._allowed + 1)
        self._start(nursery)
        if self._conditions.leaving and not self._announced:
            self.announce_drain()
        if self._leaving or self._conditions.stopping or exchange.stalled:
            self._leave()
        elif not self._exchanges:
            self._idle_due = trio.current_time() + self._conditions.limits.head_seconds
            self._transport.expire(self._idle_due)

    def _refuse_waiting(self) -> None:
        """Refuse the requests that wait. The client may send them again."""
        while self._waiting:
            exchange, _ = self._waiting.popleft()
            del self._exchanges[exchange.stream]
            self._output.reset(exchange.stream, ErrorCodes.REFUSED_STREAM)


class _Budget:
    """Limits the cost of control frames per second."""

    def __init__(self, over_seconds: float) -> None:
        self._scanner = FrameScanner()
        self._tokens = float(CONTROL_BURST)
        self._filled_at = trio.current_time()
        self._over_seconds = over_seconds
        self._over_since = inf

    async def spend(self, data: bytes) -> None:
        """Pause if the client sends too many control frames. Raises `ConnectionLost` if it goes on, and `TooLong`."""
        cost, now = self._scanner.cost_of(data), trio.current_time()
        self._tokens = min(CONTROL_BURST, self._tokens + (now - self._filled_at) * CONTROL_RATE) - cost
        self._filled_at = now
        if self._tokens >= 0:
            self._over_since = inf
            return
        self._over_since = min(self._over_since, now)
        if now - self._over_since > self._over_seconds:
            # Data that is queued already may take minutes to read at this rate.
            raise ConnectionLost
        await trio.sleep(-self._tokens / CONTROL_RATE)


def _named(fields: list[tuple[bytes, bytes]]) -> bytes:
    """A request line of method and path, for `head_of_unreadable`."""
    named = dict(fields)
    return b"%b %b " % (named.get(b":method", b"-"), named.get(b":path", b"-"))
