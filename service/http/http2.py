"""HTTP/2 by Hypercorn, with the limits that Hypercorn lacks.

Hypercorn waits without limit for sends, bodies and flow-control windows, and handles any number of empty frames.
`GuardedStream` limits what a connection reads and sends, `GuardedApp` how long the application waits for its client.
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
"""Bytes of control frames that a client may send at once."""

CONTROL_RATE = 8 * 1024
"""Bytes of control frames read per second after the burst. After `stall_seconds` of more, the connection is closed."""

READ_BYTES = 4 * 1024
"""Maximum size of one read. Hypercorn processes all of it before other tasks run."""

STREAMS = 32
"""Concurrent requests of one connection."""


class Http2:
    """Serves connections that chose HTTP/2."""

    def __init__(self, app: App, limits: ServingLimits) -> None:
        self._app = app
        self._limits = limits
        self._config = _hypercorn_config(limits)
        self._context = WorkerContext(None)

    async def stop(self) -> None:
        """Close idle connections, and start no new requests on the others."""
        await self._context.terminated.set()

    async def serve(self, transport: Transport) -> None:
        """Serve one connection until it ends, then close it."""
        stream: Any = GuardedStream(transport, self._limits)
        app: Any = ASGIWrapper(GuardedApp(self._app, stream, self._limits))  # type: ignore[arg-type]
        try:
            with stream.life:
                await _Connection(app, self._config, self._context, ConnectionState({}), stream).run()
        except* Exception as errors:
            # Hypercorn fails on streams that end while it answers them. `GuardedApp` logs the application's own errors.
            log.info("closing an HTTP/2 connection after an error: %r", errors.exceptions[0])
        finally:
            await transport.aclose()


class GuardedStream:
    """Presents a transport to Hypercorn as a TLS stream whose handshake is done."""

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
        """Cancelled when the connection is idle for too long or closed. Hypercorn may keep waiting after it closes."""
        self.transport_stream = SimpleNamespace(socket=_SocketNames(transport))

    async def do_handshake(self) -> None:
        await trio.lowlevel.checkpoint()

    def selected_alpn_protocol(self) -> str:
        return "h2"

    async def send_all(self, data: bytes) -> None:
        try:
            await self._transport.send(data)
        except (ConnectionLost, TransportTimeout):
            self.cut()
            raise trio.BrokenResourceError("the client disconnected or reads too slowly") from None

    async def receive_some(self, max_bytes: int) -> bytes:
        """Receive bytes, then pause if the client sends too many control frames."""
        try:
            data = await self._transport.receive(min(max_bytes, READ_BYTES), inf)
        except (ConnectionLost, TransportTimeout):
            raise trio.BrokenResourceError("the client disconnected") from None
        await self._charge(self._scanner.cost_of(data))
        return data

    async def _charge(self, cost: int) -> None:
        now = trio.current_time()
        self._tokens = min(CONTROL_BURST, self._tokens + (now - self._filled_at) * CONTROL_RATE) - cost
        self._filled_at = now
        if self._tokens >= 0:
            self._over_since = inf
            return
        self._over_since = min(self._over_since, now)
        if now - self._over_since > self._over_seconds:
            # Data that is queued already may take minutes to read at this rate.
            self.cut()
            raise trio.BrokenResourceError("the client sends too many control frames")
        await trio.sleep(-self._tokens / CONTROL_RATE)

    @property
    def busy(self) -> bool:
        """Whether the application is handling a request of this connection."""
        return self._requests > 0

    def begin(self) -> None:
        self._requests += 1
        self.life.deadline = inf

    def end(self) -> None:
        self._requests -= 1
        if not self._requests:
            self.life.deadline = trio.current_time() + self._quiet_seconds

    def cut(self) -> None:
        self._transport.cut()
        self.life.cancel()

    async def aclose(self) -> None:
        self.life.cancel()
        await self._transport.aclose()


@dataclass(frozen=True, slots=True)
class _SocketNames:
    """The socket methods that Hypercorn calls."""

    _transport: Transport
    family: int = socket.AF_INET  # Hypercorn then uses the names unchanged

    def getpeername(self) -> Address:
        return self._transport.client

    def getsockname(self) -> Address:
        return self._transport.server


class GuardedApp:
    """Limits how long the application waits for the client of one connection."""

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
            return {"type": "http.disconnect"}  # the body did not arrive in time

        async def sending(message: Message) -> None:
            seconds = self._limits.stall_seconds + len(message.get("body", b"")) / MINIMUM_RATE
            with trio.move_on_after(seconds) as bound:
                await send(message)
            if bound.cancelled_caught:
                # The client opens no flow-control window, or reads too slowly.
                self._stream.cut()

        self._stream.begin()
        try:
            await self._app(scope, receiving, sending)
        except* Exception:
            log.exception("the application failed")
        finally:
            self._stream.end()


class _Connection(TCPServer):
    """Hypercorn's connection with another idle timeout."""

    async def _idle_timeout(self) -> None:
        with trio.move_on_after(self.config.keep_alive_timeout):
            await self.context.terminated.wait()
        # Let the reader handle a request that has just arrived, so that it is not cancelled.
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
