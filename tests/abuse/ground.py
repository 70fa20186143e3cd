"""The base of an attack: its connections, which stay open and silent at its end, and its counts."""

import random
import resource
import socket
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

ATTACKER = "127.0.0.2"
"""The source address of attacks. Its own ports keep an attack from using up those of the probe."""

RESET = struct.pack("ii", 1, 0)
AT_ONCE, APART_SECONDS = 4, 0.002
"""The number of connections opened between two pauses."""
LONGEST_PAUSE_SECONDS = 1.0
"""Pause before a connection that the node ended is replaced, randomized to avoid waves."""


@dataclass(slots=True)
class Ground:
    """The node's address, the counts so far, and all open connections.

    Connections end with a reset, so that no port stays in TIME_WAIT.
    """

    host: str
    port: int
    tls_port: int
    counts: Counter[str] = field(default_factory=Counter)
    begun: trio.Event = field(default_factory=trio.Event)
    """Set at the first connection."""
    _open: set[trio.socket.SocketType] = field(default_factory=set)
    _most: int = 0

    @property
    def most_open(self) -> int:
        return self._most

    async def connect(
        self, *, port: int | None = None, receive_bytes: int | None = None, source: str = ATTACKER
    ) -> trio.SocketStream:
        """A connection from `source` that stays open until it is dropped, even if its task is cancelled. Raises OSError."""
        connection = trio.socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        if receive_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            await connection.bind((source, 0))
            await connection.connect((self.host, port or self.port))
        except BaseException:
            connection.close()
            raise
        self.counts["opened"] += 1
        self.begun.set()
        self._open.add(connection)
        self._most = max(self._most, len(self._open))
        return trio.SocketStream(connection)

    def drop(self, stream: trio.SocketStream) -> None:
        self._open.discard(stream.socket)
        stream.socket.close()

    @asynccontextmanager
    async def connection(
        self, *, receive_bytes: int | None = None, source: str = ATTACKER
    ) -> AsyncIterator[trio.SocketStream]:
        """A connection that is dropped if the node ends it or the block completes, but not on cancellation."""
        stream = await self.connect(receive_bytes=receive_bytes, source=source)
        try:
            yield stream
        except (trio.BrokenResourceError, trio.ClosedResourceError, ConnectionError):
            self.counts["ended by the node"] += 1
        self.drop(stream)

    @asynccontextmanager
    async def tls_connection(self) -> AsyncIterator[trio.SSLStream[trio.SocketStream]]:
        """A connection to the TLS port for HTTP/2, without checking the certificate. Raises OSError."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        stream = await self.connect(port=self.tls_port)
        secured = trio.SSLStream(stream, context)
        try:
            await secured.do_handshake()
        except (trio.BrokenResourceError, trio.ClosedResourceError, OSError) as error:
            self.drop(stream)
            raise ConnectionAbortedError("the node ended the handshake") from error
        self.counts[f"agreed on {secured.selected_alpn_protocol()}"] += 1
        try:
            yield secured
        except* (trio.BrokenResourceError, trio.ClosedResourceError, ConnectionError, ssl.SSLError):
            self.counts["ended by the node"] += 1
        self.drop(stream)

    async def many(self, number: int, one: Callable[["Ground"], Awaitable[None]]) -> None:
        """Run `number` of them at once, each repeatedly. They start one by one, because the attack is to hold connections,
        not to open them fast: that is the churn's."""
        async with trio.open_nursery() as nursery:
            for count in range(1, number + 1):
                nursery.start_soon(self._again_and_again, one)
                if count % AT_ONCE == 0:
                    await trio.sleep(APART_SECONDS)

    async def _again_and_again(self, one: Callable[["Ground"], Awaitable[None]]) -> None:
        while True:
            try:
                await one(self)
            except OSError:
                # A node may refuse or reset a handshake, and the attacker tries again.
                self.counts["refused"] += 1
            await trio.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))


async def wait_closed(stream: trio.SocketStream) -> None:
    """Read until the node ends the connection."""
    while await stream.receive_some(65_536):
        pass


def allow_open_files(needed: int) -> None:
    """Raise the soft limit of open files, often 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (needed if hard == resource.RLIM_INFINITY else min(needed, hard), hard)
        )
