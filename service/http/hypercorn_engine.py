"""The engine on Hypercorn's protocols instead of our own, behind the same listeners, transports and limits.

Hypercorn parses requests, frames responses and runs the application. This module reads and writes its bytes, so that the
limits of connections, of heads and of slow readers hold, and the graceful stop. `docs/operations.md` lists what does not.
"""

import logging
import sys
from math import inf
from typing import Any

import h11
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState

from actors.clock import Clock
from service.http.asgi import Handlers
from service.http.engine import Engine
from service.http.exchange import Conditions
from service.http.header_lists import MAX_MEMBERS
from service.http.http2_output import STREAMS
from service.http.limits import LAST_CALL_SECONDS, ServingLimits
from service.http.request_head import LONGEST_HEAD
from service.http.transports import ConnectionLost, StreamTransport, Transport, TransportTimeout, linger

READ_BYTES = 64 * 1024

log = logging.getLogger(__name__)


class HypercornEngine(Engine):
    """Serves connections with Hypercorn's HTTP/1.1 and HTTP/2."""

    def __init__(self, handlers: Handlers, limits: ServingLimits, clock: Clock) -> None:
        super().__init__(handlers, limits, clock)
        self._app: AppWrapper = ASGIWrapper(handlers.app)  # type: ignore[arg-type]
        self._http1, self._http2 = _configured(), _configured()

    def announce_drain(self) -> None:
        super().announce_drain()
        self._http1.keep_alive_max_requests = 0  # each response asks the client to reconnect

    def announce_stop(self) -> None:
        super().announce_stop()
        self._http1.keep_alive_max_requests = 0

    async def serve(self, transport: Transport) -> None:
        await self._serve(Connection(self._app, self._http1, self.conditions, transport, Http1), transport)

    async def serve_http2(self, transport: StreamTransport) -> None:
        await self._serve(Connection(self._app, self._http2, self.conditions, transport, Http2), transport)


def _configured() -> Config:
    config = Config()
    config.errorlog = log
    config.include_server_header = False
    config.h11_max_incomplete_size = config.h2_max_header_list_size = LONGEST_HEAD
    config.h2_max_concurrent_streams = STREAMS
    # Beyond it, Hypercorn drops the responses in flight of an HTTP/2 connection.
    config.keep_alive_max_requests = sys.maxsize
    # If a queue is full when its application returns, Hypercorn waits forever. Ours reads bodies at once, or refuses them.
    config.max_app_queue_size = inf  # type: ignore[assignment]
    return config


class _H11(h11.Connection):
    """Refuses a long list in `Connection`, as our engine does, before h11 splits it several times."""

    def _extract_next_receive_event(self) -> Any:
        event = super()._extract_next_receive_event()
        if isinstance(event, h11.Request):
            for name, value in event.headers:
                if name == b"connection" and value.count(b",") >= MAX_MEMBERS:
                    raise h11.RemoteProtocolError(f"Connection has more than {MAX_MEMBERS} members")
        return event


class Http1(H11Protocol):
    """HTTP/1.1 that never changes to HTTP/2: a proxy that passes such a request on could not filter those that follow."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connection = _H11(h11.SERVER, max_incomplete_event_size=LONGEST_HEAD)

    async def _check_protocol(self, event: object) -> None:
        pass


class Http2(H2Protocol):
    """HTTP/2 that drops what a client still sends of a request that has its response, and lets no application wait for a
    client that has left. Hypercorn would fail, and wait forever."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.streams = _Streams()

    async def handle(self, event: Event) -> None:
        await super().handle(event)
        if isinstance(event, Closed):
            for buffer in self.stream_buffers.values():
                await buffer.close()


class _Streams(dict[int, Any]):
    def __missing__(self, stream: int) -> "_Answered":
        return _Answered()


class _Answered:
    """A stream that has its response."""

    async def handle(self, event: object) -> None:
        pass


class Connection:
    """One client's connection."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        conditions: Conditions,
        transport: Transport,
        kind: type[H11Protocol | H2Protocol],
    ) -> None:
        self._app = app
        self._config = config
        self._kind = kind
        self._transport = transport
        self._head_seconds = conditions.limits.head_seconds
        self._context = WorkerContext(max_requests=None)
        self._stopping = trio.Event()
        self._context.terminated = self._stopping  # type: ignore[assignment]  # protocols only ask whether it is set
        self._reading = trio.CancelScope()
        self._sending = trio.Lock()
        # The end of the wait for the first request if the server stops, and that of the wait for any; infinite while
        # requests run. By Trio's clock.
        self._last_call = trio.current_time() + LAST_CALL_SECONDS
        self._idle_due = self._last_call if conditions.stopping else trio.current_time() + self._head_seconds
        self._ended = False  # by Hypercorn, perhaps before it has read all

    def announce_drain(self) -> None:
        """Over HTTP/1.1, the next response says it."""

    def stop(self) -> None:
        self._stopping.set()
        if self._idle_due != inf:
            self._idle_due = self._last_call
            self._transport.expire(self._idle_due)

    async def run(self) -> None:
        transport = self._transport
        try:
            async with TaskGroup() as tasks:
                self._protocol = self._kind(
                    self._app,
                    self._config,
                    self._context,
                    tasks,
                    ConnectionState({}),
                    transport.scheme == "https",
                    transport.client,
                    transport.server,
                    self._send,
                )
                await self._protocol.initiate()
                with self._reading:
                    await self._read()
                await self._protocol.handle(Closed())
        except* Exception as errors:
            # Clients can cause it, for example by a body that goes on after its response.
            log.warning(
                "Hypercorn failed on a connection, which is closed; others go on. Logged in full at log.level debug"
            )
            log.debug("the failure", exc_info=errors)
        if self._ended:
            await linger(transport)

    async def _read(self) -> None:
        while True:
            try:
                data = await self._transport.receive(READ_BYTES, self._idle_due)
            except ConnectionLost:
                return
            except TransportTimeout:
                if trio.current_time() < self._idle_due:
                    continue
                data = self._transport.receive_nowait()  # a request that arrived just as the time ran out
            await self._protocol.handle(RawData(data))
            if not data:
                return

    async def _send(self, event: Event) -> None:
        if isinstance(event, RawData):
            try:
                # Shielded, because nothing may follow half a message. The transport bounds it.
                with trio.CancelScope(shield=True):
                    async with self._sending:
                        await self._transport.send(event.data)
            except (ConnectionLost, TransportTimeout):
                await self._protocol.handle(Closed())
        elif isinstance(event, Updated):
            self._last_call = -inf
            self._idle_due = trio.current_time() + self._head_seconds if event.idle else inf
            self._transport.expire(self._idle_due)
        elif isinstance(event, Closed):
            self._ended = True
            self._reading.cancel()
