"""Receivers on real sockets: they keep what they are sent, and answer as a test says."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

HERE = Path(__file__).parent.parent / "http"
CERTIFICATE, KEY = HERE / "localhost.pem", HERE / "localhost.key"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

Act = Callable[[trio.abc.Stream], Awaitable[None]]


def trusted() -> ssl.SSLContext:
    """A client's context that trusts the certificate of the receivers."""
    return ssl.create_default_context(cafile=str(CERTIFICATE))


@dataclass
class Request:
    line: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Receiver:
    """The address of a receiver, and the requests that it got."""

    port: int = 0
    connections: int = 0
    requests: list[Request] = field(default_factory=list)
    _fresh: trio.Event = field(default_factory=trio.Event)

    def take(self, request: Request) -> None:
        self.requests.append(request)
        self._fresh.set()
        self._fresh = trio.Event()

    async def has(self, count: int) -> None:
        """Wait for so many requests."""
        while len(self.requests) < count:
            await self._fresh.wait()


@asynccontextmanager
async def receiver(
    answer: bytes | Act = OK, *, tls: bool = True, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Receiver]:
    """A receiver for the life of the block. It answers each request with bytes, or hands the connection to a function."""
    one = Receiver()

    async def serve(stream: trio.abc.Stream) -> None:
        one.connections += 1
        try:
            one.take(await _read(stream))
            if isinstance(answer, bytes):
                await stream.send_all(answer)
            else:
                await answer(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, ConnectionError):
            pass
        finally:
            with trio.move_on_after(1) as closing:
                closing.shield = True
                await trio.aclose_forcefully(stream)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE, KEY)
    async with trio.open_nursery() as nursery:
        start = (
            partial(trio.serve_ssl_over_tcp, serve, port, context, host=host)
            if tls
            else partial(trio.serve_tcp, serve, port, host=host)
        )
        listeners: Sequence[trio.SocketListener | trio.SSLListener[trio.SocketStream]] = await nursery.start(start)
        first = listeners[0]
        sockets = first.transport_listener if isinstance(first, trio.SSLListener) else first
        assert isinstance(sockets, trio.SocketListener)
        one.port = sockets.socket.getsockname()[1]
        yield one
        nursery.cancel_scope.cancel()


async def _read(stream: trio.abc.Stream) -> Request:
    data = b""
    while b"\r\n\r\n" not in data:
        part = await stream.receive_some(4_096)
        if not part:
            raise trio.BrokenResourceError("the request ended early")
        data += part
    head, _, body = bytes(data).partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    headers = dict(each.split(": ", 1) for each in fields)
    while len(body) < int(headers.get("Content-Length", 0)):
        body += await stream.receive_some(4_096)
    return Request(line, headers, body)


@dataclass
class Names:
    """A resolver with answers in turn; the last one stays. It counts how often it is asked."""

    answers: Sequence[Sequence[str]]
    asked: int = 0

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        await trio.lowlevel.checkpoint()
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return answer
