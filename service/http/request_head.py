"""The head of an HTTP/1.1 request: pure, from its bytes to what the application is told, or a refusal.

A head passes two readers. One strict pattern refuses whatever can be read in two ways (bare CR or LF, folded lines, blanks
where none belong, other versions); llhttp parses what is left. What decides about the body is then held against RFC 9112.
"""

import re
from functools import lru_cache

import httptools

from service.http.request_body import Body, ChunkedReader, ContentLengthReader

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
_LABEL = rb"[A-Za-z0-9_~-]{1,63}"
_HOST = re.compile(
    # A name has no empty label and none of more than 63 bytes (RFC 1035, section 2.3.4).
    rb"(?=[^:]{1,255}(?::|\Z)|\[)(?:"
    + _LABEL
    + rb"(?:\."
    + _LABEL
    + rb")*+\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
_ABSOLUTE = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?]*)(.*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_NAMED = re.compile(rb"(" + _METHOD + rb") (/[!\"$->@-~]*)[ ?]")

_SLASH = ord("/")
_SPECIAL = frozenset((b"host", b"connection", b"content-length", b"transfer-encoding", b"expect"))


class BadRequest(Exception):
    """A request that is refused before the application sees it. The text is for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Head:
    """What the head of a request says. llhttp calls `on_url` and `on_header`, `parse_head` does the rest."""

    __slots__ = (
        "body",
        "expects_continue",
        "headers",
        "keep_alive",
        "method",
        "path",
        "query",
        "special",
        "target",
        "version",
    )

    def __init__(self, method: str, version: str) -> None:
        self.method = method
        self.version = version
        """`1.0` or `1.1`."""
        self.target = b""
        self.path = b""
        """As on the wire, without the query."""
        self.query = b""
        self.headers: list[tuple[bytes, bytes]] = []
        """With names in lower case."""
        self.special: list[tuple[bytes, bytes]] = []
        """Those that decide about the connection and the body."""
        self.keep_alive = False
        self.body: Body | None = None
        self.expects_continue = False

    def on_url(self, url: bytes) -> None:
        self.target = url  # in one piece, as the head is

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
    end = data.find(b"\r\n\r\n", looked_at and max(0, looked_at - 3))
    if 0 <= end <= LONGEST_HEAD - 4:
        return end + 4
    if len(data) > LONGEST_LINE and data.find(b"\r\n", 0, LONGEST_LINE + 2) < 0:
        raise BadRequest(414, "The request line is longer than 8 KiB.")
    if end >= 0 or len(data) >= LONGEST_HEAD:
        raise BadRequest(431, "The request's head is longer than 16 KiB.")
    if _BROKEN_LINE.search(data, max(0, looked_at - 1)):
        raise BadRequest(400, "A line of the request's head does not end in CR LF.")
    return 0


def parse_head(data: bytes) -> Head:
    """Read one whole head. Raises `BadRequest`."""
    match = _HEAD.fullmatch(data)
    if match is None:
        raise _reason(data)
    method, minor = match.groups()
    if len(data) > LONGEST_LINE and data.find(b"\r\n") > LONGEST_LINE:
        raise BadRequest(414, "The request line is longer than 8 KiB.")
    head = Head(method.decode(), "1.1" if minor == b"1" else "1.0")
    try:
        httptools.HttpRequestParser(head).feed_data(data)
    except httptools.HttpParserUpgrade:
        pass  # No other protocol is spoken here, and a server may ignore the wish (RFC 9110, section 7.8).
    except httptools.HttpParserInvalidMethodError:
        # llhttp knows a list of methods. Which of them a path takes is for the application to say.
        other = parse_head(b"GET" + data[match.end(1) :])
        other.method = head.method
        return other
    except httptools.HttpParserError:
        raise BadRequest(400, "The request's head cannot be read.") from None
    if len(head.headers) > MOST_FIELDS:
        raise BadRequest(431, "The request has more than 64 header fields.")
    host = _judge(head)
    target = head.target
    if target[0] != _SLASH or method == b"CONNECT":
        target = _origin_form(method, target, host)
    if b"?" in target:
        head.path, _, head.query = target.partition(b"?")
    else:
        head.path = target
    return head


def head_of_unreadable(data: bytes) -> Head:
    """Method and path of a head that may be anything, as far as they can be told, for the log and for its refusal."""
    match = _NAMED.match(data, 0, LONGEST_LINE)
    head = Head(match[1].decode() if match else "-", "1.1")
    head.path = match[2] if match else b"-"
    return head


def _reason(data: bytes) -> BadRequest:
    if _OTHER_VERSION.match(data):
        return BadRequest(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.")
    line, _, _ = data.partition(b"\r\n")
    if len(line) > LONGEST_LINE:
        return BadRequest(414, "The request line is longer than 8 KiB.")
    return BadRequest(400, "The request's head is not well formed.")


def _judge(head: Head) -> bytes | None:
    """Hold the headers that decide about connection and body against RFC 9112; returns the host. Raises `BadRequest`."""
    host = length = coding = None
    is_1_1 = head.version == "1.1"
    closes, keeps = False, is_1_1
    for name, value in head.special:
        if name == b"host":
            if host is not None or not _is_host(value):
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
            head.expects_continue = True
    if host is None and is_1_1:
        raise BadRequest(400, "The request has no Host header.")
    if coding is not None:
        if length is not None:
            raise BadRequest(400, "Content-Length and Transfer-Encoding exclude each other.")
        head.body = ChunkedReader()
    elif length:
        head.body = ContentLengthReader(length)
    head.keep_alive = keeps and not closes  # RFC 9112, section 9.3: `close` wins
    head.expects_continue = head.expects_continue and head.body is not None
    return host


@lru_cache(256)
def _is_host(value: bytes) -> bool:
    """Whether it is a host with or without a port. Most requests name the same few."""
    return _HOST.fullmatch(value) is not None


def _origin_form(method: bytes, target: bytes, host: bytes | None) -> bytes:
    """The target as path and query. One that names the whole address must name the Host."""
    if target == b"*" and method == b"OPTIONS":
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or method == b"CONNECT":
        raise BadRequest(400, "The request's target is neither a path nor an address of this service.")
    authority, rest = absolute.groups()
    if not _is_host(authority) or (host is not None and authority.lower() != host.lower()):
        raise BadRequest(400, "The request's target names another host than its Host header.")
    return rest if rest.startswith(b"/") else b"/" + rest
