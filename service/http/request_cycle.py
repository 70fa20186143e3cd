"""One request and its response on an HTTP/1.1 connection: the ASGI `receive` and `send`.

This module alone decides the response's framing (RFC 9112, section 6) and whether the connection may be reused.
"""

from http import HTTPStatus

import trio

from service.http.asgi import BegunHeaders, Message
from service.http.exchange import FRAMED, Conditions, Exchange
from service.http.request_body import BadBody, Body
from service.http.request_head import Head
from service.http.transports import ConnectionLost, Transport, TransportTimeout, linger

BODY_BYTES = 64 * 1024
"""Maximum size of one read of a body."""

JOINED = 32 * 1024
"""Maximum size of a body that is joined with the head. Joining makes a copy, and many responses to slow readers may share a
larger body."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_LINES = {status.value: b"HTTP/1.1 %d %b" % (status, status.phrase.encode()) for status in HTTPStatus}


class ReadBuffer:
    """A transport and its unread bytes: the rest of a body, or the next requests."""

    __slots__ = ("began", "buffer", "transport")

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.buffer = b""
        self.began: float | None = None
        """Arrival of the current request's first byte, by Trio's clock; None if its head arrived in one read."""


class RequestResponseCycle(Exchange):
    """`receive` and `send` for one request, and `finish` for the caller of the application."""

    __slots__ = ("_body", "_chunked", "_continuing", "_incoming", "_keep_alive")

    def __init__(self, incoming: ReadBuffer, conditions: Conditions, head: Head) -> None:
        self._body: Body | None = head.reader()
        super().__init__(conditions, head, incoming.began, reading=self._body is not None)
        self._incoming = incoming
        self._continuing = trio.Lock() if head.expects_continue else None
        self._keep_alive = head.keep_alive
        self._chunked = False

    async def _next_of_body(self) -> Message:
        incoming, body = self._incoming, self._body
        assert body is not None
        while True:
            try:
                content, incoming.buffer = body.feed(incoming.buffer)
            except BadBody as error:
                return await self._refuse(400, str(error))
            if body.done:
                self._body = None
                self._reading, self._delivered = False, True
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

    async def _write(self, start: Message, content: bytes, more: bool) -> bool:
        if self._started:
            data = self._framed(content, more)
            return not data or await self._try_send(data)
        head = self._response_head(start, content, more)
        body = self._framed(content, more)
        self._started = True
        if len(body) <= JOINED:
            return await self._try_send(head + body)
        return await self._try_send(head) and await self._try_send(body)

    def _response_head(self, start: Message, content: bytes, more: bool) -> bytes:
        """The response's head, for this first part of its body."""
        status: int = start["status"]
        lines = [_LINES.get(status) or b"HTTP/1.1 %d " % status]
        length: bytes | None = None
        conditions = self._conditions
        keep = self._keep_alive and not conditions.leaving
        headers = start["headers"]
        joined = 0  # line breaks within what is appended as one line
        if isinstance(headers, BegunHeaders) and headers.shared:
            lines.append(headers.shared.lines)
            joined = len(headers.shared) - 1
            headers = headers[len(headers.shared) :]
        for header in headers:
            name = header[0].lower()
            if name not in FRAMED:
                lines.append(b": ".join(header))
            elif name == b"content-length":
                length = header[1]
            elif name == b"connection":
                keep = keep and b"close" not in header[1].lower()
        if self._body is not None and keep:
            # If the response precedes the end of the request, the start of the next request is unknown.
            keep = self._body.ends_within(self._incoming.buffer)
        length = self._begin_response(status, length, content, more)
        if length is not None:
            lines.append(b"content-length: " + length)
        elif not self._bodiless:
            if self._head.version == "1.1":
                self._chunked = True
                lines.append(b"transfer-encoding: chunked")
            else:
                keep = False
        self._keep_alive = keep
        if not keep:
            lines.append(b"connection: close")
        elif self._head.version == "1.0":
            lines.append(b"connection: keep-alive")
        lines += (b"date: " + conditions.date, b"", b"")
        head = b"\r\n".join(lines)
        breaks = len(lines) - 1 + joined
        if head.count(b"\n") != breaks or head.count(b"\r") != breaks:
            raise ValueError("a header of the response holds a line break, which could start another response")
        return head

    def _framed(self, content: bytes, more: bool) -> bytes:
        """A part of the body with its framing."""
        if self._bodiless:
            return b""
        if self._chunked:
            framed = b"%x\r\n%b\r\n" % (len(content), content) if content else b""
            return framed if more else framed + b"0\r\n\r\n"
        self._count(content)
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

    async def _answer_instead(self, status: int, message: str) -> None:
        self._keep_alive = False
        await super()._answer_instead(status, message)

    async def _refuse(self, status: int, message: str) -> Message:
        self._keep_alive = False
        return await super()._refuse(status, message)

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
