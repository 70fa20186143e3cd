"""One request and its response in any version of HTTP: the ASGI `receive` and `send`.

`Exchange` holds the rules that all versions share. Its subclasses frame the messages.
"""

import logging
from typing import Any
from urllib.parse import unquote

import trio

from service.http.asgi import BOUNDED, App, Message, RenderError, Scope
from service.http.limits import MINIMUM_BODY_RATE, ServingLimits
from service.http.request_head import Head
from service.http.transports import Transport

log = logging.getLogger(__name__)

FRAMED = frozenset((b"content-length", b"transfer-encoding", b"connection", b"date"))
"""Headers of a response that the engine sets itself."""

NO_CONTENT = 204
BODILESS = frozenset((NO_CONTENT, 304))  # numbers, because members of HTTPStatus are slow to compare
EXTENSIONS: dict[str, dict[str, object]] = {BOUNDED: {}}


class Conditions:
    """The state that all connections read: limits, the Date header, and whether the server is stopping.

    `leaving` is set before `stopping`: responses ask HTTP/1.1 clients to reconnect, and all else goes on.
    """

    __slots__ = ("date", "leaving", "limits", "render_error", "stopping")

    def __init__(self, limits: ServingLimits, render_error: RenderError) -> None:
        self.limits = limits
        self.render_error = render_error
        self.leaving = False
        self.stopping = False
        self.date = b""


class Exchange:
    """`receive` and `send` for one request, in the messages of ASGI."""

    __slots__ = (
        "_began",
        "_bodiless",
        "_conditions",
        "_delivered",
        "_ended",
        "_finished",
        "_head",
        "_lost",
        "_reading",
        "_reading_since",
        "_received",
        "_remaining",
        "_start",
        "_started",
    )

    def __init__(self, conditions: Conditions, head: Head, began: float | None, *, reading: bool) -> None:
        self._conditions = conditions
        self._head = head
        # The request.
        self._began = began  # arrival of the first byte, by Trio's clock; None until it matters
        self._reading = reading  # whether a part of the body has not been delivered
        self._delivered = False  # whether the application has received the body's last message
        self._received = 0
        self._reading_since: float | None = None
        # The response.
        self._start: Message | None = None
        self._started = False
        self._ended = False
        self._lost = False  # whether the client can receive no more
        self._finished: trio.Event | None = None
        self._bodiless = False
        self._remaining: int | None = None

    async def receive(self) -> Message:
        """The body's messages, then `http.disconnect` once the response has ended or the request cannot continue.

        A client that has closed its half of the connection still gets its response.
        """
        if self._reading:
            return {"type": "http.disconnect"} if self._ended else await self._next_of_body()
        if not self._delivered:
            self._delivered = True
            return {"type": "http.request", "body": b"", "more_body": False}
        if not self._ended:
            self._finished = self._finished or trio.Event()
            await self._finished.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a message of the response, or drop it if the response has ended. Raises ValueError for an unexpected one."""
        if self._ended:
            await trio.lowlevel.checkpoint()  # so that an endless response can be cancelled
            return
        kind = message["type"]
        if kind == "http.response.start" and self._start is None:
            self._start = message
            return
        if kind != "http.response.body" or self._start is None:
            raise ValueError(f"{kind} is out of turn")
        more: bool = message.get("more_body", False)
        if await self._write(self._start, message.get("body", b""), more) and not more:
            if self._remaining:
                raise ValueError(f"the response ended {self._remaining} bytes before its content-length")
            self._end()

    async def _next_of_body(self) -> Message:
        """The next part of the request's body."""
        raise NotImplementedError

    async def _write(self, start: Message, content: bytes, more: bool) -> bool:
        """Send the next part of the response. Returns whether the response may go on."""
        raise NotImplementedError

    def _body_due(self) -> float:
        """The time limit for the body's next bytes: the earlier of the limits by rate and for the whole request."""
        limits = self._conditions.limits
        if self._reading_since is None:
            self._reading_since = trio.current_time()
            if self._began is None:
                self._began = self._reading_since
        paced = self._reading_since + limits.stall_seconds + self._received / MINIMUM_BODY_RATE
        return min(paced, self._began + limits.request_seconds)  # type: ignore[operator]

    def _begin_response(self, status: int, length: bytes | None, content: bytes, more: bool) -> bytes | None:
        """The length to announce, if it is known. It is held against the content."""
        bodiless = self._bodiless = self._head.method == "HEAD" or status in BODILESS
        if length is None and not more and not bodiless:
            length = b"%d" % len(content)
        if length is not None and not bodiless:
            self._remaining = int(length)
        return None if status == NO_CONTENT else length

    def _count(self, content: bytes) -> None:
        """Hold a part of the body against the announced length."""
        if self._remaining is not None:
            self._remaining -= len(content)
            if self._remaining < 0:
                raise ValueError("the response is longer than its content-length")

    async def _refuse(self, status: int, message: str) -> Message:
        """Send an error response unless the application's has started. The request cannot continue."""
        if not self._started and not self._ended:
            await self._answer_instead(status, message)
        return {"type": "http.disconnect"}

    async def _answer_instead(self, status: int, message: str) -> None:
        headers, body = self._conditions.render_error(status, message)
        await self._send_whole({"status": status, "headers": headers}, body)

    async def _send_whole(self, start: Message, body: bytes) -> None:
        if await self._write(start, body, False):
            self._end()

    def _end(self) -> None:
        self._ended = True
        if self._finished is not None:
            self._finished.set()

    def _mark_lost(self) -> None:
        self._lost = True
        self._end()


async def call(app: App, scope: Scope, exchange: Exchange) -> None:
    """Call the application. Its failure is logged, and the response is completed by `finish`."""
    try:
        await app(scope, exchange.receive, exchange.send)
    except* Exception:
        log.exception("the application failed")


def scope_of(head: Head, transport: Transport) -> dict[str, Any]:
    """The ASGI scope of a request."""
    path = head.path.decode()
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
