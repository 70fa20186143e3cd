"""Where the body of an HTTP/1.1 request ends (RFC 9112, section 6): pure, over whatever bytes have arrived.

Strict, since two readers that disagree here see different requests in the same bytes. Knows no connection and no clock.
"""

import re
from copy import copy

LONGEST_CHUNK_LINE = 256
"""Bytes of a chunk's size with its extensions, without the line's end."""

LONGEST_EXTRAS = 8 * 1024
"""Bytes of chunk extensions and trailers in one body. Both are dropped, so they must not cost more than they are worth."""

_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[\t -~\x80-\xff]*+)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+")


class BadBody(Exception):
    """The body is not framed as the specification says; the text is for the client."""


class ContentLengthReader:
    """A body of as many bytes as Content-Length says."""

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
        """Whether all that is missing is at the front of `data`."""
        return len(data) >= self._missing


class ChunkedReader:
    """A body in chunks (RFC 9112, section 7.1). Extensions and trailers are checked and dropped."""

    __slots__ = ("_chunk", "_extras", "_place", "done")

    # Where the next byte stands: before a chunk's size, in its content, in the line end behind that, in the trailers.
    _SIZE, _CONTENT, _END, _TRAILERS = range(4)

    def __init__(self) -> None:
        self._place = self._SIZE
        self._chunk = 0
        self._extras = 0
        self.done = False

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Take what belongs to the body from the front of `data`: (content, what is left of `data`).

        What is left is to be given again with more behind it, as long as the body is not done. It is never longer than a
        chunk's line or what trailers may be. Raises `BadBody`.
        """
        content: list[bytes] = []
        position = 0
        while not self.done:
            if self._place == self._CONTENT:
                piece = data[position : position + self._chunk]
                content.append(piece)
                position += len(piece)
                self._chunk -= len(piece)
                if self._chunk:
                    break
                self._place = self._END
            elif self._place == self._END:
                end = data[position : position + 2]
                if not b"\r\n".startswith(end):
                    raise BadBody("A chunk does not end where its size says.")
                if len(end) < 2:
                    break
                position += 2
                self._place = self._SIZE
            else:
                line, after = self._line(data, position)
                if after < 0:
                    break
                position = after
                if self._place == self._SIZE:
                    self._begin_chunk(line)
                else:
                    self._trailer(line)
        return b"".join(content), data[position:]

    def ends_within(self, data: bytes) -> bool:
        """Whether all that is missing is at the front of `data`, and well formed."""
        ahead = copy(self)
        try:
            ahead.feed(data)
        except BadBody:
            return False
        return ahead.done

    def _line(self, data: bytes, position: int) -> tuple[bytes, int]:
        """The line that begins at `position`, and where the next one begins, or a negative number while it has no end."""
        longest = LONGEST_CHUNK_LINE if self._place == self._SIZE else LONGEST_EXTRAS
        end = data.find(b"\r\n", position, position + longest + 2)
        if end < 0:
            rest = data[position : position + longest + 2]
            if len(rest) >= longest + 2:
                raise BadBody("A line between chunks or after them is too long.")
            if b"\n" in rest or b"\r" in rest[:-1]:
                # It would be refused in any case; there is no need to wait for the line's end.
                raise BadBody("A line between chunks or after them does not end in CR LF.")
            return b"", -1
        return data[position:end], end + 2

    def _begin_chunk(self, line: bytes) -> None:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise BadBody("A chunk's size is not 1 to 8 hexadecimal digits.")
        size = match[1]
        self._spend(len(line) - len(size))
        self._chunk = int(size, 16)
        self._place = self._CONTENT if self._chunk else self._TRAILERS

    def _trailer(self, line: bytes) -> None:
        if not line:
            self.done = True
            return
        if not _TRAILER.fullmatch(line):
            raise BadBody("What follows the last chunk is not a header field.")
        self._spend(len(line))

    def _spend(self, extras: int) -> None:
        self._extras += extras
        if self._extras > LONGEST_EXTRAS:
            raise BadBody("There is too much beside the content in the body's chunks.")


Body = ContentLengthReader | ChunkedReader
