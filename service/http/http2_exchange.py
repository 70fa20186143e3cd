"""One request and its response on an HTTP/2 connection (RFC 9113, section 8): the ASGI `receive` and `send`."""

import re

import trio
from h2.errors import ErrorCodes

from service.http.asgi import Message
from service.http.exchange import FRAMED, Conditions, Exchange
from service.http.http2_output import LOST, Output, WindowClosed
from service.http.request_body import BadBody, check_trailers
from service.http.request_head import Head

_BREAK = re.compile(rb"[\r\n\0]")


class Http2Exchange(Exchange):
    """`receive` and `send` for one request, and `finish` for the caller of the application.

    The reader of the connection calls `feed`, `end_body` and `lose`.
    """

    __slots__ = (
        "_arrived",
        "_buffer",
        "_continuing",
        "_error",
        "_instead",
        "_length",
        "_output",
        "_owed",
        "_size",
        "stalled",
        "stream",
        "whole",
    )

    def __init__(self, output: Output, conditions: Conditions, stream: int, *, whole: bool) -> None:
        super().__init__(conditions, _NO_HEAD, trio.current_time(), reading=not whole)
        self._output = output
        self.stream = stream
        self.whole = whole
        """Whether the client has ended the request."""
        self._buffer = bytearray()
        self._owed = 0  # bytes, with padding, that the client may send again once these are delivered
        self._length: int | None = None  # of the body, as the head says
        self._size = 0  # bytes of the body that have arrived
        self._error = ""
        self._arrived: trio.Event | None = None
        self._continuing = False
        self._instead: tuple[Message, bytes] | None = None
        self.stalled = False
        """Whether the client did not take the response in time."""

    def begin(self, head: Head) -> None:
        """Set the head, which the reader leaves to the request's own task."""
        self._head = head
        self._continuing = head.expects_continue
        self._length = next((int(value) for name, value in head.special if name == b"content-length"), None)
        self._check_length()

    @property
    def lost(self) -> bool:
        """Whether the client has left, or did not take the response."""
        return self._lost

    # For the reader.

    def feed(self, content: bytes, size: int) -> None:
        """Add a part of the body. `size` counts its padding too."""
        self._size += len(content)
        self._check_length()
        if self._ended or not self._reading:
            self._output.acknowledge(self.stream, size)
            return
        self._buffer += content
        self._owed += size
        self._wake()

    def end_body(self, trailers: list[tuple[bytes, bytes]]) -> None:
        """End the body. Its trailers are checked and dropped."""
        try:
            check_trailers(trailers)
        except BadBody as error:
            self._error = str(error)
        self.whole = True
        self._check_length()
        self._wake()

    def _check_length(self) -> None:
        """Refuse a body that is not as long as its head says (RFC 9113, section 8.1.1)."""
        if self._length is not None and (self._size > self._length or (self.whole and self._size < self._length)):
            self._error = self._error or "The body is not as long as its Content-Length."
            self._wake()

    def lose(self) -> None:
        """End the response: the client has left or reset the stream."""
        self._mark_lost()
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None:
            self._arrived.set()

    # For the application.

    async def send(self, message: Message) -> None:
        if self._error:
            await self._refuse(400, self._error)
        await super().send(message)

    async def _next_of_body(self) -> Message:
        while not self._lost:
            if self._error:
                return await self._refuse(400, self._error)
            if self.whole or self._buffer:
                return await self._deliver()
            try:
                if self._continuing and not self._started:
                    self._continuing = False
                    self._output.headers(self.stream, [(b":status", b"100")])
                    await self._output.flush()
            except LOST:
                self._mark_lost()
                break
            self._arrived = trio.Event()
            with trio.move_on_at(self._body_due()) as bound:
                await self._arrived.wait()
            if bound.cancelled_caught:
                return await self._refuse(408, "The request's body did not arrive in time.")
        return {"type": "http.disconnect"}

    async def _deliver(self) -> Message:
        content, more = bytes(self._buffer), not self.whole
        self._buffer.clear()
        self._received += len(content)
        self._reading, self._delivered = more, not more
        self._output.acknowledge(self.stream, self._owed)
        self._owed = 0
        if more:
            try:
                await self._output.flush()
            except LOST:
                self._mark_lost()
        return {"type": "http.request", "body": content, "more_body": more}

    async def _write(self, start: Message, content: bytes, more: bool) -> bool:
        if not self._output.has_room(len(content)) and self._head.method != "HEAD":
            return self._drop()
        self._output.hold(len(content))
        try:
            if not self._started:
                self._output.headers(self.stream, self._fields(start, content, more), end=self._bodiless)
                self._started = True
            if self._bodiless:
                await self._output.flush()
            else:
                self._count(content)
                await self._output.body(self.stream, content, end=not more and not self._remaining)
        except WindowClosed:
            self.stalled = True
            self._reset(ErrorCodes.CANCEL)
            return False
        except LOST:
            self._mark_lost()
            return False
        finally:
            self._output.hold(-len(content))
        return True

    def _drop(self) -> bool:
        """Replace a response that has no room by a short one, once the application has returned and freed it."""
        if self._started:
            self._reset(ErrorCodes.ENHANCE_YOUR_CALM)
        else:
            headers, body = self._conditions.render_error(503, "Too many responses of this connection wait to be read.")
            self._instead = {"status": 503, "headers": headers}, body
            self._end()
        return False

    def _fields(self, start: Message, content: bytes, more: bool) -> list[tuple[bytes, bytes]]:
        """The fields of the response's head."""
        status: int = start["status"]
        fields = [(b":status", b"%d" % status)]
        length: bytes | None = None
        for name, value in start["headers"]:
            name = name.lower()
            if name not in FRAMED:
                fields.append((name, value))
            elif name == b"content-length":
                length = value
        length = self._begin_response(status, length, content, more)
        if length is not None:
            fields.append((b"content-length", length))
        fields.append((b"date", self._conditions.date))
        if _BREAK.search(b"".join([part for pair in fields for part in pair])):
            raise ValueError("a header of the response holds a line break, which could start another response")
        return fields

    def _reset(self, code: ErrorCodes) -> None:
        self._output.reset(self.stream, code)
        self._mark_lost()

    async def finish(self) -> None:
        """Complete the response after the application returned or failed."""
        if self._instead is not None:
            self._ended = self._lost
            await self._send_whole(*self._instead)
        elif not self._started and not self._ended:
            await self._answer_instead(500, "Something went wrong on our side.")
        if not self._ended:
            self._reset(ErrorCodes.INTERNAL_ERROR)  # an unfinished response must not look complete
        elif not self.whole:
            # The client need not send the rest.
            self._output.reset(self.stream, ErrorCodes.PROTOCOL_ERROR if self._error else ErrorCodes.NO_ERROR)
        self._output.acknowledge(self.stream, self._owed)
        self._owed = 0
        try:
            await self._output.flush()
        except LOST:
            self._mark_lost()


_NO_HEAD = Head("-", "2")
