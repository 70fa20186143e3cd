"""Parses a server's output, which must be a sequence of HTTP/1.1 responses."""

import re
from dataclasses import dataclass

LONGEST_HEAD = 64 * 1024
_LINES = b"\r\n\r\n"


class Malformed(Exception):
    """The bytes are not a sequence of HTTP/1.1 responses. The message names the first error."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The responses at the start of some bytes.

    `whole` is false if the last one is incomplete. `closing` is true if the last one announces the end of the connection.
    `bare` is true if the last one has a length but no body at all, which is complete only as the response to HEAD.
    """

    statuses: tuple[int, ...]
    whole: bool
    closing: bool
    bare: bool

    @property
    def settled(self) -> bool:
        """Whether a final response is complete."""
        return self.whole and not self.bare and bool(self.statuses) and self.statuses[-1] >= 200


def read_answers(data: bytes) -> Answers:
    """Parse all responses in `data`. The last may be cut off. Raises `Malformed`."""
    statuses: list[int] = []
    closing = bare = False
    while data:
        head, mark, rest = data.partition(_LINES)
        if not mark:
            if len(data) > LONGEST_HEAD or not (data.startswith(b"HTTP/1.1 ") or b"HTTP/1.1 ".startswith(data[:9])):
                raise Malformed(f"an answer that begins with {data[:60]!r}")
            return Answers(tuple(statuses), False, closing, bare)
        status, headers = _head(head)
        statuses.append(status)
        closing = headers.get(b"connection", b"").lower() == b"close"
        bodiless = status in (204, 304) or status < 200
        body = _without_body(rest, headers) if not bodiless else rest
        if body is None:
            # No body at all: the complete response to HEAD, or the beginning of another.
            if rest and not rest.startswith(b"HTTP/1.1 "):
                return Answers(tuple(statuses), False, closing, bare)
            body, bare = rest, True
        data = body
    return Answers(tuple(statuses), True, closing, bare)


def _head(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    line, *lines = head.split(b"\r\n")
    version, _, rest = line.partition(b" ")
    code = rest[:3]
    if version != b"HTTP/1.1" or not code.isdigit() or rest[3:4] not in (b" ", b""):
        raise Malformed(f"a status line {line[:60]!r}")
    pairs = [field.partition(b":") for field in lines]
    if not all(colon and name and name == name.strip() for name, colon, _ in pairs):
        raise Malformed(f"a head {head[:200]!r}")
    return int(code), {name.lower(): value.strip() for name, _, value in pairs}


def _without_body(rest: bytes, headers: dict[bytes, bytes]) -> bytes | None:
    """The bytes after the body, or None if the body is incomplete."""
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return _without_chunks(rest)
    length = headers.get(b"content-length", b"")
    if not length.isdigit():
        raise Malformed(f"an answer without a length: {headers}")
    size = int(length)
    if rest.startswith(b"HTTP/1.1 ") or len(rest) < size:
        return None if size else rest
    return rest[size:]


def _without_chunks(rest: bytes) -> bytes | None:
    while True:
        line, mark, rest = rest.partition(b"\r\n")
        if not mark:
            return None
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", line):
            raise Malformed(f"a chunk that begins with {line[:60]!r}")
        size = int(line, 16)
        if len(rest) < size + 2:
            return None
        if rest[size : size + 2] != b"\r\n":
            raise Malformed("a chunk that does not end")
        rest = rest[size + 2 :]
        if not size:
            return rest
