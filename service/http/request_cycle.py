"""One request and its response on an HTTP/1.1 connection: the ASGI `receive` and `send`.

This module alone decides the response's framing (RFC 9112, section 6) and whether the connection may be reused.
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
"""Maximum size of one read of a body."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_FRAMED = frozenset((b"content-length", b"transfer-encoding", b"connection", b"date"))
_NO_CONTENT = 204
_BODILESS = frozenset((_NO_CONTENT, 304))  # numbers, because members of HTTPStatus are slow to compare
_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}


class Conditions:
    """The state that all connections read: limits, the Date header, and whether the server is stopping."""

    __slots__ = ("date", "limits", "render_error", "stopping")

    def __init__(self, limits: ServingLimits, render_error: RenderError) -> None:
        self.limits = limits
        self.render_error = render_error
        self.stopping = False
        self.date = b""  # the header's whole line


class ReadBuffer:
    """A transport and its unread bytes: the rest of a body, or the next requests."""

    __slots__ = ("began", "buffer", "transport")

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.buffer = b""
        self.began: float | None = None
        """Arrival of the current request's first byte, by Trio's clock; None if its head arrived in one read."""


class RequestResponseCycle:
    """`receive` and `send` for one request, and `finish` for the caller of the application."""

    __slots__ = (
        "_bodiless",
        "_body",
        "_chunked",
        "_conditions",
        "_continuing",
        "_delivered",
        "_ended",
        "_finished",
        "_head",
        "_incoming",
        "_keep_alive",
        "_lost",
        "_reading_since",
        "_received",
        "_remaining",
        "_start",
        "_started",
    )

    def __init__(self, incoming: ReadBuffer, conditions: Conditions, head: Head) -> None:
        self._incoming = incoming
        self._conditions = conditions
        self._head = head
        # The request.
        self._body: Body | None = head.body
        self._delivered = False  # whether the application has received the body's last message
        self._received = 0
        self._reading_since: float | None = None
        self._continuing = trio.Lock() if head.expects_continue else None
        # The response.
        self._start: Message | None = None
        self._started = False
        self._ended = False
        self._lost = False  # whether the client can receive no more
        self._finished: trio.Event | None = None
        self._keep_alive = head.keep_alive
        self._bodiless = False
        self._chunked = False
        self._remaining: int | None = None

    async def receive(self) -> Message:
        """The body's messages, then `http.disconnect` once the response has ended or the request cannot continue.

        A client that has closed its half of the connection still gets its response.
        """
        if self._body is not None and not self._ended:
            return await self._next_of_body(self._body)
        if not self._delivered:
            self._delivered = True
            return {"type": "http.request", "body": b"", "more_body": False}
        if not self._ended:
            self._finished = self._finished or trio.Event()
            await self._finished.wait()
        return {"type": "http.disconnect"}

    async def _next_of_body(self, body: Body) -> Message:
        incoming = self._incoming
        while True:
            try:
                content, incoming.buffer = body.feed(incoming.buffer)
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
                await self._send_continue()
                data = await incoming.transport.receive(BODY_BYTES, self._body_due())
            except ConnectionLost:
                self._mark_lost()
                return {"type": "http.disconnect"}
            except TransportTimeout:
                return await self._refuse(408, "The request's body did not arrive in time.")
            if not data:
                return await self._refuse(400, "The request's body ended early.")
            incoming.buffer += data

    async def _send_continue(self) -> None:
        """Tell a client that holds back the body to send it (RFC 9110, section 10.1.1)."""
        if self._continuing is not None and not self._started and not self._received:
            async with self._continuing:
                await self._incoming.transport.send(CONTINUE)
            self._continuing = None

    def _body_due(self) -> float:
        """The time limit for the body's next bytes: the earlier of the limits by rate and for the whole request."""
        limits, incoming = self._conditions.limits, self._incoming
        if self._reading_since is None:
            self._reading_since = trio.current_time()
            if incoming.began is None:
                incoming.began = self._reading_since
        paced = self._reading_since + limits.stall_seconds + self._received / MINIMUM_BODY_RATE
        return min(paced, incoming.began + limits.request_seconds)  # type: ignore[operator]

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
        content: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        if self._started:
            data = self._framed(content, more)
        else:
            data = self._first_bytes(self._start, content, more)
            self._started = True
        if data and not await self._try_send(data):
            return
        if not more:
            if self._remaining:
                raise ValueError(f"the response ended {self._remaining} bytes before its content-length")
            self._end()

    def _first_bytes(self, start: Message, content: bytes, more: bool) -> bytes:
        """The response's head and the first part of its body."""
        status: int = start["status"]
        parts = [_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status]
        length: bytes | None = None
        conditions = self._conditions
        keep = self._keep_alive and not conditions.stopping
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
            # If the response precedes the end of the request, the start of the next request is unknown.
            keep = self._body.ends_within(self._incoming.buffer)
        bodiless = self._bodiless = self._head.method == "HEAD" or status in _BODILESS
        if length is None and not more and not bodiless:
            length = b"%d" % len(content)
        if length is not None:
            if status != _NO_CONTENT:
                lines += 1
                parts += (b"content-length: ", length, b"\r\n")
            if not bodiless:
                self._remaining = int(length)
        elif not bodiless:
            if self._head.version == "1.1":
                self._chunked = True
                lines += 1
                parts.append(b"transfer-encoding: chunked\r\n")
            else:
                keep = False
        self._keep_alive = keep
        if not keep:
            lines += 1
            parts.append(b"connection: close\r\n")
        elif self._head.version == "1.0":
            lines += 1
            parts.append(b"connection: keep-alive\r\n")
        parts.append(conditions.date)
        head = b"".join(parts)
        if head.count(b"\n") != lines or head.count(b"\r") != lines:
            raise ValueError("a header of the response holds a line break, which could start another response")
        return b"%b\r\n%b" % (head, self._framed(content, more))

    def _framed(self, content: bytes, more: bool) -> bytes:
        """A part of the body with its framing."""
        if self._bodiless:
            return b""
        if self._chunked:
            framed = b"%x\r\n%b\r\n" % (len(content), content) if content else b""
            return framed if more else framed + b"0\r\n\r\n"
        if self._remaining is not None:
            self._remaining -= len(content)
            if self._remaining < 0:
                raise ValueError("the response is longer than its content-length")
        return content

    async def _try_send(self, data: bytes) -> bool:
        try:
            if self._continuing is None:
                await self._incoming.transport.send(data)
            else:
                async with self._continuing:
                    await self._incoming.transport.send(data)
        except (ConnectionLost, TransportTimeout):
            self._mark_lost()
            return False
        return True

    async def _refuse(self, status: int, message: str) -> Message:
        """Send an error response unless the application's has started. The request cannot continue."""
        self._keep_alive = False
        if not self._started and not self._ended:
            await self._answer_instead(status, message)
        return {"type": "http.disconnect"}

    async def _answer_instead(self, status: int, message: str) -> None:
        headers, body = self._conditions.render_error(status, message)
        start: Message = {"status": status, "headers": headers}
        self._keep_alive = False
        self._started = True
        if await self._try_send(self._first_bytes(start, body, False)):
            self._end()

    def _end(self) -> None:
        self._ended = True
        if self._finished is not None:
            self._finished.set()

    def _mark_lost(self) -> None:
        self._lost = True
        self._end()

    async def finish(self) -> bool:
        """Complete the response after the application returned or failed. Returns whether the connection may be reused."""
        if not self._started and not self._ended:
            await self._answer_instead(500, "Something went wrong on our side.")
        if self._lost or not self._ended:
            return False  # an unfinished response must not look complete
        incoming = self._incoming
        if self._keep_alive:
            if self._body is not None:
                _, incoming.buffer = self._body.feed(incoming.buffer)
            return True
        if self._body is not None or incoming.buffer or self._head.keep_alive:
            # The client may still be sending. Closing now would send a reset, which can overtake the response.
            await linger(incoming.transport)
        return False
