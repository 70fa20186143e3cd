"""HTTP/2, as Hypercorn speaks it, over a stream that is guarded here.

Hypercorn's sends have no bound, nor has the wait for a body or for a window, and it handles any number of frames that carry
nothing. So the stream has bounds on what it takes and gives, and the application on what it waits for.
"""

import logging
import socket
from dataclasses import dataclass
from math import inf
from types import SimpleNamespace
from typing import Any

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from service.http.asgi import App, Message, Receive, Scope, Send
from service.http.frames import FrameScanner
from service.http.limits import MINIMUM_RATE, ServingLimits
from service.http.transports import Address, ConnectionLost, Transport, TransportTimeout

log = logging.getLogger(__name__)

CONTROL_BURST = 16 * 1024
"""Bytes of frames without content that a client may send at once."""

CONTROL_RATE = 8 * 1024
"""Bytes of such frames that it may send a second; beyond it, it is read from no faster, and for `stall_seconds` at most."""

READ_BYTES = 4 * 1024
"""How much is read at once: Hypercorn works through all of it before others run."""

STREAMS = 32
"""Requests of one connection that may be under way at once."""


class Http2:
    """Serves connections that chose HTTP/2."""

    def __init__(self, app: App, limits: ServingLimits) -> None:
        self._app = app
        self._limits = limits
        self._config = _hypercorn_config(limits)
        self._context = WorkerContext(None)

    async def stop(self) -> None:
        """End idle connections, and let others begin nothing new."""
        await self._context.terminated.set()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection to its end, and let go of it."""
        stream: Any = GuardedStream(transport, self._limits)
        app: Any = ASGIWrapper(GuardedApp(self._app, stream, self._limits))  # type: ignore[arg-type]
        try:
            with stream.life:
                await _Connection(app, self._config, self._context, ConnectionState({}), stream).run()
        except* Exception as errors:
            # Hypercorn stumbles over streams that end while it answers them. The application's errors are logged by
            # `GuardedApp`, so this is about the client's frames, and ends its connection alone.
            log.info("an HTTP/2 connection was given up: %r", errors.exceptions[0])
        finally:
            await transport.aclose()


class GuardedStream:
    """A transport that looks like a TLS stream to Hypercorn, after its handshake."""

    def __init__(self, transport: Transport, limits: ServingLimits) -> None:
        self._transport = transport
        self._quiet_seconds = limits.request_seconds
        self._scanner = FrameScanner()
        self._tokens = float(CONTROL_BURST)
        self._filled_at = trio.current_time()
        self._over_seconds = limits.stall_seconds
        self._over_since = inf
        self._requests = 0
        self.life = trio.CancelScope(deadline=trio.current_time() + self._quiet_seconds)
        """What serves the connection runs in it. It ends when there was no request for too long, or the stream is closed:
        Hypercorn may go on waiting after it has closed the stream itself."""
        self.transport_stream = SimpleNamespace(socket=_Names(transport))

    async def do_handshake(self) -> None:
        await trio.lowlevel.checkpoint()

    def selected_alpn_protocol(self) -> str:
        return "h2"

    async def send_all(self, data: bytes) -> None:
        try:
            await self._transport.send(data)
        except (ConnectionLost, TransportTimeout):
            self.cut()
            raise trio.BrokenResourceError("the client has gone, or takes too little") from None

    async def receive_some(self, max_bytes: int) -> bytes:
        """Bytes of the client, no faster than what is in them allows."""
        try:
            data = await self._transport.receive(min(max_bytes, READ_BYTES), inf)
        except (ConnectionLost, TransportTimeout):
            raise trio.BrokenResourceError("the client has gone") from None
        await self._pay(self._scanner.cost_of(data))
        return data

    async def _pay(self, cost: int) -> None:
        now = trio.current_time()
        self._tokens = min(CONTROL_BURST, self._tokens + (now - self._filled_at) * CONTROL_RATE) - cost
        self._filled_at = now
        if self._tokens >= 0:
            self._over_since = inf
            return
        self._over_since = min(self._over_since, now)
        if now - self._over_since > self._over_seconds:
            # What it has sent already may take minutes to read at this pace.
            self.cut()
            raise trio.BrokenResourceError("the client sends little but frames without content")
        await trio.sleep(-self._tokens / CONTROL_RATE)

    @property
    def busy(self) -> bool:
        """Whether the application is at work on a request of this connection."""
        return self._requests > 0

    def begin(self) -> None:
        """A request has come whole to the application."""
        self._requests += 1
        self.life.deadline = inf

    def end(self) -> None:
        """The application has ended with a request."""
        self._requests -= 1
        if not self._requests:
            self.life.deadline = trio.current_time() + self._quiet_seconds

    def cut(self) -> None:
        """Give the connection up."""
        self._transport.cut()
        self.life.cancel()

    async def aclose(self) -> None:
        self.life.cancel()
        await self._transport.aclose()


@dataclass(frozen=True, slots=True)
class _Names:
    """What Hypercorn asks a socket for."""

    _transport: Transport
    family: int = socket.AF_INET
    """So that Hypercorn takes the names as they are."""

    def getpeername(self) -> Address:
        return self._transport.client

    def getsockname(self) -> Address:
        return self._transport.server


class GuardedApp:
    """An application whose waits for the client of one connection are bounded."""

    def __init__(self, app: App, stream: GuardedStream, limits: ServingLimits) -> None:
        self._app = app
        self._stream = stream
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        due = trio.current_time() + self._limits.request_seconds
        whole = False

        async def receiving() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            with trio.move_on_at(due):
                message = await receive()
                whole = not message.get("more_body", False)
                return message
            # The body did not arrive in time. There is no request any more.
            return {"type": "http.disconnect"}

        async def sending(message: Message) -> None:
            seconds = self._limits.stall_seconds + len(message.get("body", b"")) / MINIMUM_RATE
            with trio.move_on_after(seconds) as bound:
                await send(message)
            if bound.cancelled_caught:
                # The client opens no window for its answer, or takes too little of it.
                self._stream.cut()

        self._stream.begin()
        try:
            await self._app(scope, receiving, sending)
        except* Exception:
            log.exception("the application failed")
        finally:
            self._stream.end()


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
    config.keep_alive_max_requests = 1_000_000
    config.h2_max_concurrent_streams = STREAMS
    config.h2_max_header_list_size = 16 * 1024
    return config
