"""One request and its answer over an HTTP/1.1 connection: the two callables that an ASGI application gets.

The answer's framing is decided here (RFC 9112, section 6), whatever the application says of it, and with it whether the
connection may be used again.
"""

import logging
from http import HTTPStatus

import trio

from service.http.asgi import Message, RenderError
from service.http.limits import MINIMUM_BODY_RATE, ServingLimits
from service.http.request_body import BadBody, Body
from service.http.request_head import Head
from service.http.transports import ConnectionLost, Transport, TransportTimeout, linger

log = logging.getLogger(__name__)

BODY_BYTES = 64 * 1024
"""How much of a body is read at once."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_FRAMED = frozenset((b"content-length", b"transfer-encoding", b"connection", b"date"))
_NO_CONTENT = 204
_BODILESS = frozenset((_NO_CONTENT, 304))  # numbers, since members of HTTPStatus are slow to compare
_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}


class Conditions:
    """What holds for all connections at this moment."""

    __slots__ = ("date", "limits", "render_error", "stopping")

    def __init__(self, limits: ServingLimits, render_error: RenderError) -> None:
        self.limits = limits
        self.render_error = render_error
        self.stopping = False
        self.date = b""
        """The Date header's line."""


class ReadBuffer:
    """A transport with what has arrived from it and is not read yet: the rest of a body, or the next requests."""

    __slots__ = ("began", "buffer", "transport")

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.buffer = b""
        self.began: float | None = None
        """When the first byte of the current request came, by Trio's clock, where it did not come whole."""


class RequestResponseCycle:
    """`receive` and `send` for one request, and `finish` for who called the application."""

    __slots__ = (
        "_asked_at",
        "_bodiless",
        "_body",
        "_chunked",
        "_conditions",
        "_continuing",
        "_delivered",
        "_ended",
        "_head",
        "_keep",
        "_left",
        "_lost",
        "_over",
        "_received",
        "_start",
        "_started",
        "_wire",
    )

    def __init__(self, wire: ReadBuffer, conditions: Conditions, head: Head) -> None:
        self._wire = wire
        self._conditions = conditions
        self._head = head
        # The request.
        self._body: Body | None = head.body
        self._delivered = False  # whether the application has had the body's last message
        self._received = 0
        self._asked_at: float | None = None
        self._continuing = trio.Lock() if head.expects_continue else None
        # The answer.
        self._start: Message | None = None
        self._started = False
        self._ended = False
        self._lost = False  # whether the client is gone, or was refused by us
        self._over: trio.Event | None = None
        self._keep = head.keep_alive
        self._bodiless = False
        self._chunked = False
        self._left: int | None = None

    async def receive(self) -> Message:
        """The body, message by message, then `http.disconnect` once the answer is over or the request cannot go on.

        A client that has closed its half of the connection still gets its answer.
        """
        if self._body is not None and not self._ended:
            return await self._next_of_body(self._body)
        if not self._delivered:
            self._delivered = True
            return {"type": "http.request", "body": b"", "more_body": False}
        if not self._ended:
            self._over = self._over or trio.Event()
            await self._over.wait()
        return {"type": "http.disconnect"}

    async def _next_of_body(self, body: Body) -> Message:
        wire = self._wire
        while True:
            try:
                content, wire.buffer = body.feed(wire.buffer)
            except BadBody as error:
                return await self._refuse(400, str(error))
            if body.done:
                self._body = None
                self._delivered = True
                return {"type": "http.request", "body": content, "more_body": False}
            if content:
                self._received += len(content)
                return {"type": "http.request", "body": content, "more_body": True}
            try:
                await self._say_continue()
                data = await wire.transport.receive(BODY_BYTES, self._body_due())
            except ConnectionLost:
                self._lose()
                return {"type": "http.disconnect"}
            except TransportTimeout:
                return await self._refuse(408, "The request's body did not arrive in time.")
            if not data:
                return await self._refuse(400, "The request's body ended early.")
            wire.buffer += data

    async def _say_continue(self) -> None:
        """Tell a client that waits with the body that it is wanted (RFC 9110, section 10.1.1)."""
        if self._continuing is not None and not self._started and not self._received:
            async with self._continuing:
                await self._wire.transport.send(CONTINUE)
            self._continuing = None

    def _body_due(self) -> float:
        """When the next bytes of the body have to be there: a whole request and its rate have a bound each."""
        limits, wire = self._conditions.limits, self._wire
        if self._asked_at is None:
            self._asked_at = trio.current_time()
            if wire.began is None:
                wire.began = self._asked_at
        paced = self._asked_at + limits.stall_seconds + self._received / MINIMUM_BODY_RATE
        return min(paced, wire.began + limits.request_seconds)  # type: ignore[operator]

    async def send(self, message: Message) -> None:
        """Take a message of the answer; what cannot be sent any more is dropped. Raises ValueError for one out of turn."""
        if self._ended:
            await trio.lowlevel.checkpoint()  # so that an endless answer to nobody can be cancelled
            return
        kind = message["type"]
        if kind == "http.response.start" and self._start is None:
            self._start = message
            return
        if kind != "http.response.body" or self._start is None:
            raise ValueError(f"{kind} is out of turn")
        content: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        if self._started:
            data = self._framed(content, more)
        else:
            data = self._first_bytes(self._start, content, more)
            self._started = True
        if data and not await self._sent(data):
            return
        if not more:
            if self._left:
                raise ValueError(f"the answer ended {self._left} bytes before its content-length")
            self._end()

    def _first_bytes(self, start: Message, content: bytes, more: bool) -> bytes:
        """The answer's head, with the first piece of its body."""
        status: int = start["status"]
        parts = [_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status]
        length: bytes | None = None
        conditions = self._conditions
        keep = self._keep and not conditions.stopping
        headers = start["headers"]
        lines = len(headers) + 2
        for name, value in headers:
            name = name.lower()
            if name not in _FRAMED:
                parts += (name, b": ", value, b"\r\n")
                continue
            lines -= 1
            if name == b"content-length":
                length = value
            elif name == b"connection":
                keep = keep and b"close" not in value.lower()
        if self._body is not None and keep:
            # Behind an answer that comes before the whole request did, nobody can tell where the next one begins.
            keep = self._body.ends_within(self._wire.buffer)
        bodiless = self._bodiless = self._head.method == "HEAD" or status in _BODILESS
        if length is None and not more and not bodiless:
            length = b"%d" % len(content)
        if length is not None:
            if status != _NO_CONTENT:
                lines += 1
                parts += (b"content-length: ", length, b"\r\n")
            if not bodiless:
                self._left = int(length)
        elif not bodiless:
            if self._head.version == "1.1":
                self._chunked = True
                lines += 1
                parts.append(b"transfer-encoding: chunked\r\n")
            else:
                keep = False
        self._keep = keep
        if not keep:
            lines += 1
            parts.append(b"connection: close\r\n")
        elif self._head.version == "1.0":
            lines += 1
            parts.append(b"connection: keep-alive\r\n")
        parts.append(conditions.date)
        head = b"".join(parts)
        if head.count(b"\n") != lines or head.count(b"\r") != lines:
            raise ValueError("a header of the answer holds a line break, and could begin another answer")
        return b"%b\r\n%b" % (head, self._framed(content, more))

    def _framed(self, content: bytes, more: bool) -> bytes:
        """A piece of the body as it goes over the wire."""
        if self._bodiless:
            return b""
        if self._chunked:
            framed = b"%x\r\n%b\r\n" % (len(content), content) if content else b""
            return framed if more else framed + b"0\r\n\r\n"
        if self._left is not None:
            self._left -= len(content)
            if self._left < 0:
                raise ValueError("the answer is longer than its content-length")
        return content

    async def _sent(self, data: bytes) -> bool:
        try:
            if self._continuing is None:
                await self._wire.transport.send(data)
            else:
                async with self._continuing:
                    await self._wire.transport.send(data)
        except (ConnectionLost, TransportTimeout):
            self._lose()
            return False
        return True

    async def _refuse(self, status: int, message: str) -> Message:
        """Answer for the application, if it has not begun to, since the request cannot go on."""
        self._keep = False
        if not self._started and not self._ended:
            await self._answer_instead(status, message)
        return {"type": "http.disconnect"}

    async def _answer_instead(self, status: int, message: str) -> None:
        headers, body = self._conditions.render_error(status, message)
        start: Message = {"status": status, "headers": headers}
        self._keep = False
        self._started = True
        if await self._sent(self._first_bytes(start, body, False)):
            self._end()

    def _end(self) -> None:
        self._ended = True
        if self._over is not None:
            self._over.set()

    def _lose(self) -> None:
        self._lost = True
        self._end()

    async def finish(self) -> bool:
        """To be called once the application has returned or failed; returns whether the connection may be used again."""
        if not self._started and not self._ended:
            await self._answer_instead(500, "The service has failed at this request.")
        if self._lost or not self._ended:
            # Without its end, the answer must not look whole.
            return False
        wire = self._wire
        if self._keep:
            if self._body is not None:
                _, wire.buffer = self._body.feed(wire.buffer)
            return True
        if self._body is not None or wire.buffer or self._head.keep_alive:
            # The client may still be sending. A close would answer that with a reset, which can overtake our answer.
            await linger(wire.transport)
        return False
