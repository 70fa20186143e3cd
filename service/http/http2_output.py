"""The output of one HTTP/2 connection: frames in turn, bodies as far as the client's windows allow."""

from collections.abc import Iterable
from typing import Any

import trio
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError, StreamClosedError
from hpack import NeverIndexedHeaderTuple

from service.http.limits import MINIMUM_RATE, ServingLimits
from service.http.request_head import LONGEST_HEAD
from service.http.transports import ConnectionLost, Transport, TransportTimeout

STREAMS = 32
"""Concurrent requests of one connection."""

REQUEST_BODIES = 512 * 1024
"""Bytes of all request bodies that a client may send before the application reads them."""

PIECE = 64 * 1024
"""Maximum bytes of a body that are sent before another response has its turn."""

FRAME = 16 * 1024
"""Maximum payload of a frame, which every client accepts."""

HELD = 2 * 1024 * 1024
"""Maximum bytes that a connection holds: heads, request bodies, and responses that wait for the client."""

SMALL = 8 * 1024
"""A body up to this size may always wait."""

LARGE_BODIES = HELD - STREAMS * (LONGEST_HEAD + SMALL) - REQUEST_BODIES - PIECE
"""Maximum bytes of all larger bodies that wait. A single one may be longer."""


class WindowClosed(Exception):
    """The client did not open its flow-control windows in time."""


class Output:
    """The sending half of a connection. Everything that h2 has to send goes through `flush`."""

    def __init__(self, h2: H2Connection, transport: Transport, limits: ServingLimits) -> None:
        self._h2: Any = h2
        self._transport = transport
        self._stall_seconds = limits.stall_seconds
        self._sending = trio.Lock()
        self._windows = trio.lowlevel.ParkingLot()
        self._large = 0
        self._last = b""
        self._closed = False

    async def flush(self) -> None:
        """Send what is ready. Raises `ConnectionLost` and `TransportTimeout`."""
        async with self._sending:
            await self._send_ready()

    async def _send_ready(self) -> None:
        if self._closed:
            raise ConnectionLost
        data, self._last = self._h2.data_to_send() + self._last, b""
        if data:
            await self._transport.send(data)

    def append(self, frame: bytes) -> None:
        """Send a frame that h2 does not know, after those that are ready."""
        self._last += frame

    def headers(self, stream: int, fields: Iterable[tuple[bytes, bytes]], *, end: bool = False) -> None:
        """Prepare the head of a response. Raises `ProtocolError` if the stream has ended."""
        # A compressed cookie could be guessed from the lengths of later responses (RFC 7541, section 7.1).
        encoded = [NeverIndexedHeaderTuple(*pair) if pair[0] == b"set-cookie" else pair for pair in fields]
        self._h2.send_headers(stream, encoded, end_stream=end)

    async def body(self, stream: int, content: bytes, *, end: bool) -> None:
        """Send a part of a body, and what was prepared before it.

        Raises `WindowClosed`, `ConnectionLost`, `TransportTimeout`, and `ProtocolError` if the stream has ended.
        """
        rest = memoryview(content)
        latest = trio.current_time() + self._stall_seconds + len(content) / MINIMUM_RATE
        while True:
            async with self._sending:
                rest = self._fill(stream, rest, end=end)
                await self._send_ready()
            if not rest:
                return
            if self._window(stream) <= 0:
                with trio.move_on_at(min(latest, trio.current_time() + self._stall_seconds)) as bound:
                    await self._windows.park()
                if bound.cancelled_caught:
                    raise WindowClosed

    def _fill(self, stream: int, rest: memoryview, *, end: bool) -> memoryview:
        """Prepare the next piece as far as the windows allow. Returns what is left."""
        if not rest:
            if end:
                self._h2.end_stream(stream)
            return rest
        room = min(PIECE, self._window(stream))
        while room > 0 and rest:
            part = rest[: min(FRAME, room)]
            rest = rest[len(part) :]
            room -= len(part)
            self._h2.send_data(stream, part, end_stream=end and not rest)
        return rest

    def _window(self, stream: int) -> int:
        """Bytes that the client takes on this stream. h2 also counts them for streams that have just ended."""
        if stream not in self._h2.streams or self._h2.streams[stream].closed:
            raise StreamClosedError(stream)
        return int(self._h2.local_flow_control_window(stream))

    def has_room(self, size: int) -> bool:
        """Whether a body of `size` bytes may wait for the client."""
        return size <= SMALL or not self._large or self._large + size <= LARGE_BODIES

    def hold(self, size: int) -> None:
        """Count a body that waits, or with a negative size one that no longer does."""
        if abs(size) > SMALL:
            self._large += size

    def acknowledge(self, stream: int, size: int) -> None:
        """Let the client send as many more bytes of request bodies."""
        try:
            self._h2.acknowledge_received_data(size, stream)
        except StreamClosedError:
            pass
        except ProtocolError:
            return  # the connection has ended

    def reset(self, stream: int, code: ErrorCodes) -> None:
        """End a stream unless it has ended."""
        try:
            self._h2.reset_stream(stream, code)
        except ProtocolError:
            return

    def wake(self) -> None:
        """Wake waiting bodies, which read their windows again."""
        self._windows.unpark_all()

    def close(self) -> None:
        """Let current and later calls raise `ConnectionLost`."""
        self._closed = True
        self.wake()


LOST = (ConnectionLost, TransportTimeout, ProtocolError)
"""The errors that the methods raise when a stream or its connection has ended."""
