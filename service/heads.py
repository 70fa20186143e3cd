"""The head of an HTTP/1.1 request: pure, from its bytes to what the application is told, or a refusal.

A head passes two readers. One strict pattern refuses whatever can be read in two ways (bare CR or LF, folded lines, blanks
where none belong, other versions); llhttp parses what is left. What decides about the body is then held against RFC 9112.
"""

import re
from typing import NamedTuple

import httptools

from service.framing import Body, ChunkedBody, LengthBody

LONGEST_LINE = 8 * 1024
"""Bytes of a request line; then 414."""

LONGEST_HEAD = 16 * 1024
"""Bytes of a whole head, the empty line included; then 431."""

MOST_FIELDS = 64
"""Header fields; then 431."""

_METHOD = rb"[A-Z][A-Z-]{0,39}"
_TARGET = rb"[!\"$-~]++"
_HEAD = re.compile(
    rb"(" + _METHOD + rb") " + _TARGET + rb" HTTP/1\.([01])\r\n"
    rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n)*+\r\n"
)
_OTHER_VERSION = re.compile(_METHOD + rb" " + _TARGET + rb" HTTP/(?!1\.[01]\r)[0-9]\.[0-9]\r\n")
_BROKEN_LINE = re.compile(rb"\r(?!\n|\Z)|(?<!\r)\n|\0")
_HOST = re.compile(rb"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?]*)(.*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_NAMED = re.compile(rb"(" + _METHOD + rb") (/[!\"$->@-~]*)[ ?]")

_SPECIAL = frozenset((b"host", b"connection", b"content-length", b"transfer-encoding", b"expect"))


class BadRequest(Exception):
    """A request that is refused before the application sees it. The text is for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Head(NamedTuple):
    """What the head of a request says. Header names are lower-case; `path` is as on the wire, without the query."""

    method: str
    path: bytes
    query: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    keep_alive: bool
    body: Body | None
    expects_continue: bool


class _Fields:
    """What llhttp finds in one head."""

    __slots__ = ("headers", "special", "target")

    def __init__(self) -> None:
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.special: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        # llhttp leaves the blanks behind a value; they are no part of it.
        pair = name.lower(), value.rstrip(b" \t")
        self.headers.append(pair)
        if pair[0] in _SPECIAL:
            self.special.append(pair)


def find_head(data: bytes, looked_at: int = 0) -> int:
    """Where the head at the front of `data` ends, or 0 while its end has not arrived.

    The first `looked_at` bytes were looked at before. Raises `BadRequest` as soon as what has arrived is too long or cannot
    become a head.
    """
    end = data.find(b"\r\n\r\n", max(0, looked_at - 3)) + 4
    if end > LONGEST_HEAD or end == 3:
        if len(data) > LONGEST_LINE and data.find(b"\r\n", 0, LONGEST_LINE + 2) < 0:
            raise BadRequest(414, "The request line is longer than 8 KiB.")
        if end > LONGEST_HEAD or len(data) >= LONGEST_HEAD:
            raise BadRequest(431, "The request's header fields are longer than 16 KiB.")
        if _BROKEN_LINE.search(data, max(0, looked_at - 1)):
            raise BadRequest(400, "A line of the request's head does not end in CR LF.")
        return 0
    return end


def parse_head(data: bytes) -> Head:
    """Read one whole head. Raises `BadRequest`."""
    match = _HEAD.fullmatch(data)
    if match is None:
        raise _reason(data)
    if len(data) > LONGEST_LINE and data.find(b"\r\n") > LONGEST_LINE:
        raise BadRequest(414, "The request line is longer than 8 KiB.")
    fields = _Fields()
    try:
        httptools.HttpRequestParser(fields).feed_data(data)
    except httptools.HttpParserUpgrade:
        pass  # No other protocol is spoken here, and a server may ignore the wish (RFC 9110, section 7.8).
    except httptools.HttpParserInvalidMethodError:
        # llhttp knows a list of methods. Which of them a path takes is for the application to say.
        return parse_head(b"GET" + data[match.end(1) :])._replace(method=match[1].decode())
    except httptools.HttpParserError:
        raise BadRequest(400, "The request's head cannot be read.") from None
    if len(fields.headers) > MOST_FIELDS:
        raise BadRequest(431, "The request has more than 64 header fields.")
    return _head(match[1], match[2] == b"1", fields)


def named(data: bytes) -> tuple[str, str]:
    """Method and path of a head that may be anything, as far as they can be told, for the log."""
    match = _NAMED.match(data, 0, LONGEST_LINE)
    return (match[1].decode(), match[2].decode()) if match else ("-", "-")


def _reason(data: bytes) -> BadRequest:
    if _OTHER_VERSION.match(data):
        return BadRequest(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
    line, _, _ = data.partition(b"\r\n")
    if len(line) > LONGEST_LINE:
        return BadRequest(414, "The request line is longer than 8 KiB.")
    return BadRequest(400, "The request's head is not well formed.")


def _head(method: bytes, is_1_1: bool, fields: _Fields) -> Head:
    host = length = coding = None
    closes, keeps, expects = False, is_1_1, False
    for name, value in fields.special:
        if name == b"host":
            if host is not None or not _HOST.fullmatch(value):
                raise BadRequest(400, "The request needs one Host header, a name or address with or without a port.")
            host = value
        elif name == b"content-length":
            if length is not None or not _LENGTH.fullmatch(value):
                raise BadRequest(400, "Content-Length stands twice or is no number.")
            length = int(value)
        elif name == b"transfer-encoding":
            if coding is not None or value.lower() != b"chunked" or not is_1_1:
                raise BadRequest(400, "Transfer-Encoding is not 'chunked'.")
            coding = value
        elif name == b"connection":
            options = [option.strip(b" \t") for option in value.lower().split(b",")]
            closes = closes or b"close" in options
            keeps = keeps or b"keep-alive" in options
        elif is_1_1:  # RFC 9110, section 10.1.1: from HTTP/1.0 it is ignored
            if value.lower() != b"100-continue":
                raise BadRequest(417, "Only 'Expect: 100-continue' can be met.")
            expects = True
    if host is None and is_1_1:
        raise BadRequest(400, "The request has no Host header.")
    if length is not None and coding is not None:
        raise BadRequest(400, "Content-Length and Transfer-Encoding exclude each other.")
    body: Body | None = None
    if coding is not None:
        body = ChunkedBody()
    elif length:
        body = LengthBody(length)
    path, _, query = _origin_form(method, fields.target, host).partition(b"?")
    version = "1.1" if is_1_1 else "1.0"
    keep_alive = keeps and not closes  # RFC 9112, section 9.3: `close` wins
    return Head(method.decode(), path, query, version, fields.headers, keep_alive, body, expects and body is not None)


def _origin_form(method: bytes, target: bytes, host: bytes | None) -> bytes:
    """The target as path and query. One that names the whole address must name the Host."""
    if target.startswith(b"/") and method != b"CONNECT":
        return target
    if target == b"*" and method == b"OPTIONS":
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or method == b"CONNECT":
        raise BadRequest(400, "The request's target is neither a path nor an address of this service.")
    authority, rest = absolute.groups()
    if not _HOST.fullmatch(authority) or (host is not None and authority.lower() != host.lower()):
        raise BadRequest(400, "The request's target names another host than its Host header.")
    return rest if rest.startswith(b"/") else b"/" + rest
