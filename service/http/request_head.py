"""Parses the head of a request. Pure.

A strict pattern first rejects ambiguous heads: bare CR or LF, folded lines, misplaced blanks, other versions. llhttp
parses the rest. Headers that determine the body are then checked against RFC 9112.

The fields of an HTTP/2 request are written as the HTTP/1.1 head that they stand for, and parsed as such. So both versions
accept the same methods, paths, hosts and headers.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache

import httptools

from service.http.header_lists import MAX_MEMBERS, members
from service.http.request_body import Body, ChunkedReader, ContentLengthReader

LONGEST_LINE = 8 * 1024
"""Bytes of a request line; then 414."""

LONGEST_HEAD = 16 * 1024
"""Bytes of a whole head, including the empty line; then 431."""

MAX_FIELDS = 64
"""Header fields; then 431."""

REMEMBERED_HEADS = 512
REMEMBERED_BYTES = 1024
"""The parsed heads that are remembered, and the longest of them. Clients that keep their connection, relays among them, send
the same head with each request."""

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

_PSEUDO = frozenset((b":method", b":scheme", b":authority", b":path"))
_OF_CONNECTION = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
"""Headers that HTTP/2 does not have (RFC 9113, section 8.2.2)."""

_SLASH = ord("/")
_SPECIAL = frozenset((b"host", b"connection", b"content-length", b"transfer-encoding", b"expect"))


class BadRequest(Exception):
    """A request that is rejected before the application sees it. The text is for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Fields(tuple[tuple[bytes, bytes], ...]):
    """The header fields of a request, in order. Names are in lower case."""

    @cached_property
    def by_name(self) -> Mapping[str, str]:
        """The decoded values by name. The values of a repeated field are joined by commas, those of cookies, which may
        contain commas, by semicolons (RFC 9113, 8.2.3)."""
        headers: dict[str, str] = {}
        for name, value in self:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            headers[key] = f"{headers[key]}{'; ' if key == 'cookie' else ', '}{text}" if key in headers else text
        return headers


class Head:
    """A parsed head. Requests with the same head may share it."""

    __slots__ = (
        "_chunked",
        "_length",
        "expects_continue",
        "headers",
        "keep_alive",
        "method",
        "path",
        "query",
        "special",
        "version",
    )

    def __init__(self, method: str, version: str) -> None:
        self.method = method
        self.version = version
        """`1.0`, `1.1` or `2`."""
        self.path = b""
        """Still percent-encoded, without the query."""
        self.query = b""
        self.headers = Fields()
        self.special: list[tuple[bytes, bytes]] = []
        """The headers that determine the host, the connection and the body."""
        self.keep_alive = False
        self.expects_continue = False
        self._length = 0
        self._chunked = False

    @property
    def has_body(self) -> bool:
        return self._chunked or self._length > 0

    def reader(self) -> Body | None:
        """A fresh reader of the body, if there is one."""
        if self._length:
            return ContentLengthReader(self._length)
        return ChunkedReader() if self._chunked else None

    def frame(self, length: int | None, *, chunked: bool) -> None:
        """Set how the body ends."""
        self._length = length or 0
        self._chunked = chunked


class _Lines:
    """The lines that llhttp reads from a head. It calls `on_url` and `on_header`."""

    __slots__ = ("fields", "special", "target")

    def __init__(self) -> None:
        self.target = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.special: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.target = url  # called once, because the head is fed whole

    def on_header(self, name: bytes, value: bytes) -> None:
        # llhttp keeps the blanks after a value, which are not part of it.
        pair = name.lower(), value.rstrip(b" \t")
        self.fields.append(pair)
        if pair[0] in _SPECIAL:
            self.special.append(pair)


def find_head(data: bytes, scanned: int = 0) -> int:
    """The index after the head at the front of `data`, or 0 if its end has not arrived.

    The first `scanned` bytes were searched before. Raises `BadRequest` as soon as `data` is too long or malformed.
    """
    end = data.find(b"\r\n\r\n", scanned and max(0, scanned - 3))
    if 0 <= end <= LONGEST_HEAD - 4:
        return end + 4
    if len(data) > LONGEST_LINE and data.find(b"\r\n", 0, LONGEST_LINE + 2) < 0:
        raise BadRequest(414, "The request line is longer than 8 KiB.")
    if end >= 0 or len(data) >= LONGEST_HEAD:
        raise _too_long()
    if _BROKEN_LINE.search(data, max(0, scanned - 1)):
        raise BadRequest(400, "A line of the request's head does not end in CR LF.")
    return 0


def parse_head(data: bytes) -> Head:
    """Parse one whole head. Raises `BadRequest`."""
    return _remembered(data) if len(data) <= REMEMBERED_BYTES else _parse(data)


def _parse(data: bytes) -> Head:
    match = _HEAD.fullmatch(data)
    if match is None:
        raise _rejection_of(data)
    method, minor = match.groups()
    if len(data) > LONGEST_LINE and data.find(b"\r\n") > LONGEST_LINE:
        raise BadRequest(414, "The request line is longer than 8 KiB.")
    lines = _Lines()
    try:
        httptools.HttpRequestParser(lines).feed_data(data)
    except httptools.HttpParserUpgrade:
        pass  # A server may ignore the request to upgrade (RFC 9110, section 7.8).
    except httptools.HttpParserInvalidMethodError:
        # llhttp has a fixed list of methods. The application decides which ones a path allows.
        other = _parse(b"GET" + data[match.end(1) :])
        other.method = method.decode()
        return other
    except httptools.HttpParserError:
        raise BadRequest(400, "The request's head cannot be read.") from None
    if len(lines.fields) > MAX_FIELDS:
        raise BadRequest(431, "The request has more than 64 header fields.")
    head = Head(method.decode(), "1.1" if minor == b"1" else "1.0")
    head.headers, head.special = Fields(lines.fields), lines.special
    host = _check_special(head)
    target = lines.target
    if target[0] != _SLASH or method == b"CONNECT":
        target = _origin_form(method, target, host)
    if b"?" in target:
        head.path, _, head.query = target.partition(b"?")
    else:
        head.path = target
    return head


_remembered = lru_cache(REMEMBERED_HEADS)(_parse)


def parse_fields(fields: Iterable[tuple[bytes, bytes]], *, whole: bool) -> Head:
    """Parse the fields of an HTTP/2 request (RFC 9113, section 8.3). `whole`: it has no body. Raises `BadRequest`."""
    pseudo: dict[bytes, bytes] = {}
    pairs: list[tuple[bytes, bytes]] = []
    cookies: list[bytes] = []
    for name, value in fields:
        if name[:1] == b":":
            if name in pseudo or name not in _PSEUDO or pairs or cookies:
                raise BadRequest(400, "A pseudo-header field is unknown, repeated or misplaced.")
            pseudo[name] = value
        elif name in _OF_CONNECTION or (name == b"te" and value != b"trailers"):
            raise BadRequest(400, "HTTP/2 has no header fields of connections.")
        elif name == b"cookie":
            cookies.append(value)  # may be split (RFC 9113, section 8.2.3)
        else:
            pairs.append((name, value))
    if cookies:
        pairs.append((b"cookie", b"; ".join(cookies)))
    authority, path = pseudo.get(b":authority"), pseudo.get(b":path", b"")
    if authority is not None:
        # A Host header that says the same is redundant. Another one is rejected, because there are then two.
        with suppress(ValueError):
            pairs.remove((b"host", authority))
        pairs.insert(0, (b"host", authority))
    if path[:1] != b"/" and path != b"*":
        raise BadRequest(400, "The pseudo-header field :path is missing or does not begin with a slash.")
    if pseudo.get(b":scheme") not in (b"https", b"http"):
        raise BadRequest(400, "The pseudo-header field :scheme is missing or is neither 'https' nor 'http'.")
    lines = [b"%b %b HTTP/1.1" % (pseudo.get(b":method", b""), path), *map(b"%b: %b".__mod__, pairs)]
    data = b"\r\n".join(lines) + b"\r\n\r\n"
    if len(data) > LONGEST_HEAD:
        raise _too_long()
    head = _parse(data)
    if list(head.headers) != pairs:
        # A name in capitals, blanks around a value, or a line break that would begin another field.
        raise BadRequest(400, "A header field is not well formed.")
    if whole and head.has_body:
        raise BadRequest(400, "The request has a Content-Length and no body.")
    head.version = "2"
    head.expects_continue = not whole and any(name == b"expect" for name, _ in head.special)
    return head


def head_of_unreadable(data: bytes) -> Head:
    """Method and path of an invalid head as far as they can be read, for the log and the error response."""
    match = _NAMED.match(data, 0, LONGEST_LINE)
    head = Head(match[1].decode() if match else "-", "1.1")
    head.path = match[2] if match else b"-"
    return head


def _too_long() -> BadRequest:
    return BadRequest(431, "The request's head is longer than 16 KiB.")


def _rejection_of(data: bytes) -> BadRequest:
    if _OTHER_VERSION.match(data):
        return BadRequest(505, "Only HTTP/1.1 and HTTP/1.0 are supported.")
    line, _, _ = data.partition(b"\r\n")
    if len(line) > LONGEST_LINE:
        return BadRequest(414, "The request line is longer than 8 KiB.")
    return BadRequest(400, "The request's head is not well formed.")


def _check_special(head: Head) -> bytes | None:
    """Check the special headers against RFC 9112, and set `body` and `keep_alive`. Returns the host. Raises `BadRequest`."""
    host = length = coding = None
    is_1_1 = head.version == "1.1"
    closes, keeps = False, is_1_1
    for name, value in head.special:
        if name == b"host":
            if host is not None or not _is_host(value):
                raise BadRequest(400, "Send one Host header with a name or address, with or without a port.")
            host = value
        elif name == b"content-length":
            if length is not None or not _LENGTH.fullmatch(value):
                raise BadRequest(400, "Content-Length is repeated or is not a number.")
            length = int(value)
        elif name == b"transfer-encoding":
            if coding is not None or value.lower() != b"chunked" or not is_1_1:
                raise BadRequest(400, "Transfer-Encoding is not 'chunked'.")
            coding = value
        elif name == b"connection":
            if value.count(b",") >= MAX_MEMBERS:
                raise BadRequest(400, f"Connection has more than {MAX_MEMBERS} members.")
            options = members(value.decode("latin-1").lower())
            closes = closes or "close" in options
            keeps = keeps or "keep-alive" in options
        elif is_1_1:  # RFC 9110, section 10.1.1: from HTTP/1.0 it is ignored
            if value.lower() != b"100-continue":
                raise BadRequest(417, "Only 'Expect: 100-continue' is supported.")
            head.expects_continue = True
    if host is None and is_1_1:
        raise BadRequest(400, "The request has no Host header.")
    if coding is not None and length is not None:
        raise BadRequest(400, "Content-Length and Transfer-Encoding cannot be combined.")
    head.frame(length, chunked=coding is not None)
    head.keep_alive = keeps and not closes  # RFC 9112, section 9.3: `close` wins
    head.expects_continue = head.expects_continue and head.has_body
    return host


@lru_cache(256)
def _is_host(value: bytes) -> bool:
    """Whether `value` is a host with or without a port."""
    return _HOST.fullmatch(value) is not None


def _origin_form(method: bytes, target: bytes, host: bytes | None) -> bytes:
    """The target as path and query. An absolute target must name the same host as the Host header."""
    if target == b"*" and method == b"OPTIONS":
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or method == b"CONNECT":
        raise BadRequest(400, "The request's target is neither a path nor an address of this service.")
    authority, rest = absolute.groups()
    if not _is_host(authority) or (host is not None and authority.lower() != host.lower()):
        raise BadRequest(400, "The request's target and its Host header name different hosts.")
    return rest if rest.startswith(b"/") else b"/" + rest
