"""Finds the end of an HTTP/1.1 request body (RFC 9112, section 6), and checks trailers of both versions. Pure.

Strict, because a proxy and a server that disagree about the end see different requests in the same bytes.
"""

import re
from collections.abc import Sequence
from copy import copy

LONGEST_CHUNK_LINE = 256
"""Bytes of a chunk's size and extensions, without CR LF."""

LONGEST_EXTRAS = 8 * 1024
"""Bytes of chunk extensions and trailers in one body. Both are dropped."""

_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[\t -~\x80-\xff]*+)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+")


class BadBody(Exception):
    """The body's framing is invalid. The text is for the client."""


class ContentLengthReader:
    """Reads a body with a Content-Length."""

    __slots__ = ("_missing",)

    def __init__(self, length: int) -> None:
        self._missing = length

    @property
    def done(self) -> bool:
        return self._missing == 0

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take what belongs to the body from the front of `data`: (content, what is left of `data`)."""
        missing = self._missing
        if len(data) <= missing:
            self._missing = missing - len(data)
            return data, b""
        self._missing = 0
        return data[:missing], data[missing:]

    def ends_within(self, data: bytes) -> bool:
        """Whether `data` holds the rest of the body."""
        return len(data) >= self._missing


class ChunkedReader:
    """Reads a chunked body (RFC 9112, section 7.1). Checks and drops extensions and trailers."""

    __slots__ = ("_chunk", "_extras", "_state", "done")

    # The part that the next byte belongs to: a chunk's size line, its content, the CR LF after it, or the trailers.
    _SIZE, _CONTENT, _END, _TRAILERS = range(4)

    def __init__(self) -> None:
        self._state = self._SIZE
        self._chunk = 0
        self._extras = 0
        self.done = False

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take the body's bytes from the front of `data`. Returns the content and the rest of `data`.

        Callers pass the rest again, with more data after it, until the body is done. The rest never exceeds `LONGEST_EXTRAS`.
        Raises `BadBody`.
        """
        content: list[bytes] = []
        position = 0
        while not self.done:
            if self._state == self._CONTENT:
                piece = data[position : position + self._chunk]
                content.append(piece)
                position += len(piece)
                self._chunk -= len(piece)
                if self._chunk:
                    break
                self._state = self._END
            elif self._state == self._END:
                end = data[position : position + 2]
                if not b"\r\n".startswith(end):
                    raise BadBody("A chunk's length does not match its size.")
                if len(end) < 2:
                    break
                position += 2
                self._state = self._SIZE
            else:
                line, after = self._line(data, position)
                if after < 0:
                    break
                position = after
                if self._state == self._SIZE:
                    self._begin_chunk(line)
                else:
                    self._trailer(line)
        return b"".join(content), data[position:]

    def ends_within(self, data: bytes) -> bool:
        """Whether `data` holds the rest of the body, well formed."""
        ahead = copy(self)
        try:
            ahead.feed(data)
        except BadBody:
            return False
        return ahead.done

    def _line(self, data: bytes, position: int) -> tuple[bytes, int]:
        """The line at `position` and the index after it, or -1 if its end has not arrived."""
        longest = LONGEST_CHUNK_LINE if self._state == self._SIZE else LONGEST_EXTRAS
        end = data.find(b"\r\n", position, position + longest + 2)
        if end < 0:
            rest = data[position : position + longest + 2]
            if len(rest) >= longest + 2:
                raise BadBody("A chunk size line or a trailer is too long.")
            if b"\n" in rest or b"\r" in rest[:-1]:
                raise BadBody("A chunk size line or a trailer does not end in CR LF.")
            return b"", -1
        return data[position:end], end + 2

    def _begin_chunk(self, line: bytes) -> None:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise BadBody("A chunk's size is not 1 to 8 hexadecimal digits.")
        size = match[1]
        self._count_extras(len(line) - len(size))
        self._chunk = int(size, 16)
        self._state = self._CONTENT if self._chunk else self._TRAILERS

    def _trailer(self, line: bytes) -> None:
        if not line:
            self.done = True
            return
        if not _TRAILER.fullmatch(line):
            raise BadBody("A trailer is not a valid header field.")
        self._count_extras(len(line))

    def _count_extras(self, extras: int) -> None:
        self._extras += extras
        if self._extras > LONGEST_EXTRAS:
            raise BadBody("The body has more than 8 KiB of chunk extensions and trailers.")


def check_trailers(fields: Sequence[tuple[bytes, bytes]]) -> None:
    """Check the trailers of an HTTP/2 request. Raises `BadBody`."""
    lines = [b"%b:%b" % (name, value) for name, value in fields]
    if sum(map(len, lines)) > LONGEST_EXTRAS:
        raise BadBody("The body has more than 8 KiB of trailers.")
    if not all(map(_TRAILER.fullmatch, lines)) or any(name != name.lower() for name, _ in fields):
        raise BadBody("A trailer is not a valid header field.")


Body = ContentLengthReader | ChunkedReader
