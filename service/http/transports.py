"""Sends and receives the bytes of one connection, with a time limit on every wait.

`SocketTransport` is the fast one, for plain sockets. It has no cancel scopes, because moving a deadline costs a tenth of
a small request; `expire_overdue` checks all connections a few times a second instead. `StreamTransport` is for TLS.
"""

import socket
import struct
from collections.abc import Iterable
from math import inf
from typing import Protocol

import trio

from service.http.limits import LINGER_BYTES, LINGER_SECONDS, MINIMUM_RATE

Address = tuple[str, int]

PIECE = MINIMUM_RATE
"""Bytes per send of a stream. A stream reports no progress within one send."""

CLOSE_SECONDS = 1.0
"""Maximum time for TLS to close."""


class ConnectionLost(Exception):
    """The connection is closed, broken, or cut."""


class TransportTimeout(Exception):
    """The client did not send or read in time."""


class Transport(Protocol):
    """One connection."""

    client: Address
    server: Address
    scheme: str

    async def receive(self, most: int, due: float) -> bytes:
        """The next bytes, at most `most`; empty once the client has closed its half.

        Raises `TransportTimeout` at `due` (Trio's clock), and `ConnectionLost`.
        """
        ...

    def receive_nowait(self) -> bytes:
        """Bytes that have already arrived, possibly none."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of `data`. Not always a checkpoint.

        Raises `TransportTimeout` when the client reads too slowly, and `ConnectionLost`.
        """
        ...

    def expire(self, due: float = -inf) -> None:
        """Let a waiting `receive` raise `TransportTimeout` at `due` instead, by default now."""
        ...

    async def finish(self) -> None:
        """Close the sending half, if the transport can."""
        ...

    def cut(self) -> None:
        """Abort the connection. Current and later calls raise `ConnectionLost`."""
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


async def linger(transport: Transport) -> None:
    """Drop what the client still sends, within limits, so that no reset overtakes the last response."""
    due = trio.current_time() + LINGER_SECONDS
    dropped = 0
    try:
        await transport.finish()
        while dropped < LINGER_BYTES and (data := await transport.receive(65_536, due)):
            dropped += len(data)
    except (ConnectionLost, TransportTimeout):
        return


class SocketTransport:
    """A transport over a connected TCP socket, detached from the Trio stream."""

    scheme = "http"

    def __init__(self, stream: trio.SocketStream, client: Address, server: Address, stall_seconds: float) -> None:
        plain = stream.socket
        family, kind, protocol = plain.family, plain.type, plain.proto
        self._socket = socket.socket(family, kind, protocol, fileno=plain.detach())
        self._socket.setblocking(False)
        self._recv = self._socket.recv
        self._send = self._socket.send
        self._stall_seconds = stall_seconds
        self._closed = False
        # The deadline of the latest wait in each direction. A stale one is harmless: only a waiting task checks it.
        self.receive_due = inf
        self.send_due = inf
        self.client = client
        self.server = server

    async def receive(self, most: int, due: float) -> bytes:
        self.receive_due = due
        while not self._closed:
            try:
                await trio.lowlevel.wait_readable(self._socket)
                return self._recv(most)
            except BlockingIOError:
                continue
            except trio.ClosedResourceError:
                # Raised by `wake`.
                if not self._closed and trio.current_time() >= self.receive_due:
                    raise TransportTimeout from None
            except OSError:
                break
        raise ConnectionLost

    def receive_nowait(self) -> bytes:
        try:
            return self._recv(65_536)
        except OSError:
            return b""

    async def send(self, data: bytes) -> None:
        try:
            sent = self._send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            raise ConnectionLost from None
        if sent != len(data):
            await self._send_rest(memoryview(data)[sent:])

    async def _send_rest(self, rest: memoryview) -> None:
        now = trio.current_time()
        latest = now + self._stall_seconds + len(rest) / MINIMUM_RATE
        self.send_due = now + self._stall_seconds
        while rest and not self._closed:
            try:
                await trio.lowlevel.wait_writable(self._socket)
                rest = rest[self._send(rest) :]
                self.send_due = min(trio.current_time() + self._stall_seconds, latest)
            except BlockingIOError:
                continue
            except trio.ClosedResourceError:
                if not self._closed and trio.current_time() >= self.send_due:
                    self.cut()
                    raise TransportTimeout from None
            except OSError:
                break
        if rest:
            raise ConnectionLost

    def wake(self) -> None:
        """Let waiting tasks check their deadline and whether the socket is closed."""
        if not self._closed:
            trio.lowlevel.notify_closing(self._socket)

    def expire(self, due: float = -inf) -> None:
        self.receive_due = due
        if due <= trio.current_time():
            self.wake()

    async def finish(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            raise ConnectionLost from None

    def cut(self) -> None:
        if not self._closed:
            # Close with a reset, so that the kernel drops unsent data too.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._close()

    async def aclose(self) -> None:
        if not self._closed:
            self._close()

    def _close(self) -> None:
        self.wake()
        self._closed = True
        self._socket.close()


def expire_overdue(transports: Iterable[SocketTransport]) -> None:
    """Wake overdue waits, which then raise `TransportTimeout`."""
    now = trio.current_time()
    for transport in transports:
        if transport.receive_due <= now or transport.send_due <= now:
            transport.wake()


class StreamTransport:
    """A transport over any Trio stream: TLS, or memory in tests."""

    def __init__(
        self, stream: trio.abc.Stream, client: Address, server: Address, stall_seconds: float, *, scheme: str = "https"
    ) -> None:
        self._stream = stream
        self._stall_seconds = stall_seconds
        self._receiving = trio.CancelScope()
        self._sending = trio.CancelScope()
        self._closed = False
        self.client = client
        self.server = server
        self.scheme = scheme

    async def receive(self, most: int, due: float) -> bytes:
        self._receiving = trio.CancelScope(deadline=due)
        if self._closed:
            raise ConnectionLost
        with self._receiving:
            try:
                return bytes(await self._stream.receive_some(most))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise ConnectionLost from None
        if self._closed:
            raise ConnectionLost
        raise TransportTimeout

    def receive_nowait(self) -> bytes:
        return b""  # streams cannot receive without waiting

    async def send(self, data: bytes) -> None:
        latest = trio.current_time() + self._stall_seconds + len(data) / MINIMUM_RATE
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            await self._send_piece(piece, min(latest, trio.current_time() + self._stall_seconds))

    async def _send_piece(self, piece: bytes, due: float) -> None:
        self._sending = trio.CancelScope(deadline=due)
        if self._closed:
            raise ConnectionLost
        with self._sending:
            try:
                await self._stream.send_all(piece)
                return
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise ConnectionLost from None
        if self._closed:
            raise ConnectionLost
        self.cut()
        raise TransportTimeout

    def expire(self, due: float = -inf) -> None:
        self._receiving.deadline = due
        if due <= trio.current_time():
            self._receiving.cancel()

    async def finish(self) -> None:
        if not self._closed and isinstance(self._stream, trio.abc.HalfCloseableStream):
            try:
                await self._stream.send_eof()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise ConnectionLost from None

    def cut(self) -> None:
        self._closed = True
        self._receiving.cancel()
        self._sending.cancel()

    async def aclose(self) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + (0 if self._closed else CLOSE_SECONDS)):
            await self._stream.aclose()
        # Objects of the application that refer to each other may keep this one, but not the buffers of TLS.
        self._closed = True
        del self._stream
