"""Requests that two readers could read in two ways, or that are plainly wrong, each with the answer that it has to get.

A row is: what it is, the bytes, the status. Behind every one of them a whole second request follows in the same packet: a
refused request ends the connection, so that one is never run.
"""

from typing import NamedTuple

from service.http.request_body import LONGEST_CHUNK_LINE, LONGEST_EXTRAS
from service.http.request_head import LONGEST_HEAD, LONGEST_LINE, MOST_FIELDS

FOLLOWING = b"GET /following HTTP/1.1\r\nHost: example.com\r\n\r\n"


class Case(NamedTuple):
    what: str
    data: bytes
    status: int


def get(*fields: bytes, line: bytes = b"GET / HTTP/1.1", host: bytes = b"Host: example.com\r\n") -> bytes:
    """A request without a body; `fields` are without their line ends."""
    return line + b"\r\n" + host + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


def post(*fields: bytes, body: bytes = b"") -> bytes:
    return get(*fields, line=b"POST /body HTTP/1.1") + body


def chunked(body: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked", body=body)


HEADS = [
    # Where the body ends: two lengths.
    Case("length and coding", post(b"Content-Length: 4", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400),
    Case("coding and length", post(b"Transfer-Encoding: chunked", b"Content-Length: 4", body=b"0\r\n\r\n"), 400),
    Case("length 0 and coding", post(b"Content-Length: 0", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400),
    Case("two lengths", post(b"Content-Length: 4", b"Content-Length: 5", body=b"abcde"), 400),
    Case("the same length twice", post(b"Content-Length: 4", b"Content-Length: 4", body=b"abcd"), 400),
    Case("length 0 twice", post(b"Content-Length: 0", b"Content-Length: 0"), 400),
    Case("a list of lengths", post(b"Content-Length: 4, 4", body=b"abcd"), 400),
    Case("a list of other lengths", post(b"Content-Length: 4,5", body=b"abcd"), 400),
    Case("a length with a sign", post(b"Content-Length: +4", body=b"abcd"), 400),
    Case("a negative length", post(b"Content-Length: -4"), 400),
    Case("a negative zero", post(b"Content-Length: -0"), 400),
    Case("a hexadecimal length", post(b"Content-Length: 0x4", body=b"abcd"), 400),
    Case("an octal length", post(b"Content-Length: 0o4", body=b"abcd"), 400),
    Case("a length with a fraction", post(b"Content-Length: 4.0", body=b"abcd"), 400),
    Case("a length with an exponent", post(b"Content-Length: 4e0", body=b"abcd"), 400),
    Case("a length with an underscore", post(b"Content-Length: 1_0", body=b"abcd"), 400),
    Case("a length with a blank inside", post(b"Content-Length: 1 0", body=b"abcd"), 400),
    Case("a length with a tab inside", post(b"Content-Length: 1\t0", body=b"abcd"), 400),
    Case("an empty length", post(b"Content-Length:"), 400),
    Case("a blank length", post(b"Content-Length:   "), 400),
    Case("a word as length", post(b"Content-Length: four"), 400),
    Case("a length in quotes", post(b'Content-Length: "4"', body=b"abcd"), 400),
    Case("a length with a semicolon", post(b"Content-Length: 4;", body=b"abcd"), 400),
    Case("a length in other digits", post(b"Content-Length: \xd9\xa4", body=b"abcd"), 400),
    Case("a length beyond 64 bits", post(b"Content-Length: 18446744073709551620", body=b"abcd"), 400),
    Case("a length of 100 digits", post(b"Content-Length: " + b"9" * 100), 400),
    Case("a length with a vertical tab", post(b"Content-Length: \x0b4", body=b"abcd"), 400),
    # Where the body ends: codings.
    Case("gzip, chunked", post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"), 400),
    Case("chunked, gzip", post(b"Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n"), 400),
    Case("chunked, chunked", post(b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"), 400),
    Case("chunked, identity", post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"), 400),
    Case("identity", post(b"Transfer-Encoding: identity"), 400),
    Case("gzip", post(b"Transfer-Encoding: gzip"), 400),
    Case("an empty coding", post(b"Transfer-Encoding:", body=b"0\r\n\r\n"), 400),
    Case("xchunked", post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"), 400),
    Case("chunkedx", post(b"Transfer-Encoding: chunkedx", body=b"0\r\n\r\n"), 400),
    Case("chunked;q=1", post(b"Transfer-Encoding: chunked;q=1", body=b"0\r\n\r\n"), 400),
    Case("chunked with a comma", post(b"Transfer-Encoding: chunked,", body=b"0\r\n\r\n"), 400),
    Case("a comma before chunked", post(b"Transfer-Encoding: ,chunked", body=b"0\r\n\r\n"), 400),
    Case("chunked in quotes", post(b'Transfer-Encoding: "chunked"', body=b"0\r\n\r\n"), 400),
    Case("chunked in single quotes", post(b"Transfer-Encoding: 'chunked'", body=b"0\r\n\r\n"), 400),
    Case("chunked behind a vertical tab", post(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"), 400),
    Case("chunked before a form feed", post(b"Transfer-Encoding: chunked\x0c", body=b"0\r\n\r\n"), 400),
    Case("chunked behind a no-break space", post(b"Transfer-Encoding: \xa0chunked", body=b"0\r\n\r\n"), 400),
    Case("two codings", post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400),
    Case("two other codings", post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: x", body=b"0\r\n\r\n"), 400),
    Case("a coding in HTTP/1.0", get(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0") + b"0\r\n\r\n", 400),
    Case("a coding on a GET of gzip", get(b"Transfer-Encoding: gzip"), 400),
    # Names of fields.
    Case("a blank before the colon", post(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n"), 400),
    Case("a tab before the colon", post(b"Content-Length\t: 4", body=b"abcd"), 400),
    Case("a field without a colon", get(b"Transfer-Encoding"), 400),
    Case("a field without a name", get(b": chunked"), 400),
    Case("a NUL in a name", get(b"Trans\0fer-Encoding: chunked"), 400),
    Case("a blank in a name", get(b"Transfer Encoding: chunked"), 400),
    Case("a name in brackets", get(b"(Content-Length): 4"), 400),
    Case("a name with a slash", get(b"X/Y: 1"), 400),
    Case("a name with a byte above 127", get(b"X-\xc3\xa9: 1"), 400),
    Case("a name in quotes", get(b'"Host": example.com'), 400),
    Case("a first field that is folded", b"GET / HTTP/1.1\r\n Host: example.com\r\n\r\n", 400),
    Case("a name that begins with a blank", get(b" X: 1"), 400),
    # Values of fields.
    Case("a folded value", get(b"X: 1", b" Content-Length: 4"), 400),
    Case("a value folded with a tab", get(b"X: 1", b"\tmore"), 400),
    Case("a folded coding", post(b"Transfer-Encoding:", b" chunked", body=b"0\r\n\r\n"), 400),
    Case("a NUL in a value", get(b"X: a\0b"), 400),
    Case("a bell in a value", get(b"X: a\x07b"), 400),
    Case("an escape in a value", get(b"X: \x1b[31m"), 400),
    Case("a delete in a value", get(b"X: a\x7fb"), 400),
    Case("a bare CR in a value", get(b"X: a\rb"), 400),
    Case("a bare LF in a value", get(b"X: a\nContent-Length: 4"), 400),
    Case("a CR before the line's end", get(b"X: a\r"), 400),
    # Line ends.
    Case("LF alone everywhere", b"GET / HTTP/1.1\nHost: example.com\n\n", 400),
    Case("LF alone behind the request line", b"GET / HTTP/1.1\nHost: example.com\r\n\r\n", 400),
    Case("LF alone behind a field", b"GET / HTTP/1.1\r\nHost: example.com\nX: 1\r\n\r\n", 400),
    Case("LF alone as the empty line", b"GET / HTTP/1.1\r\nHost: example.com\r\n\n", 400),
    Case("CR alone everywhere", b"GET / HTTP/1.1\rHost: example.com\r\r", 400),
    Case("CR alone behind the request line", b"GET / HTTP/1.1\rHost: example.com\r\n\r\n", 400),
    Case("LF CR", b"GET / HTTP/1.1\n\rHost: example.com\n\r\n\r", 400),
    Case("CR CR LF", b"GET / HTTP/1.1\r\r\nHost: example.com\r\r\n\r\r\n", 400),
    Case("an empty line first", b"\r\n" + get(), 400),
    Case("two empty lines first", b"\r\n\r\n" + get(), 400),
    Case("a bare LF first", b"\n" + get(), 400),
    # Request lines.
    Case("a blank first", b" " + get(), 400),
    Case("two blanks behind the method", get(line=b"GET  / HTTP/1.1"), 400),
    Case("two blanks before the version", get(line=b"GET /  HTTP/1.1"), 400),
    Case("a tab behind the method", get(line=b"GET\t/ HTTP/1.1"), 400),
    Case("a blank behind the version", get(line=b"GET / HTTP/1.1 "), 400),
    Case("a blank in the target", get(line=b"GET /a b HTTP/1.1"), 400),
    Case("no target", get(line=b"GET HTTP/1.1"), 400),
    Case("no version", get(line=b"GET /"), 400),
    Case("a method alone", get(line=b"GET"), 400),
    Case("HTTP/0.9", b"GET /\r\n\r\n", 400),
    Case("nothing but a blank", get(line=b" "), 400),
    Case("a lower-case method", get(line=b"get / HTTP/1.1"), 400),
    Case("a method with a digit", get(line=b"GET2 / HTTP/1.1"), 400),
    Case("a method in brackets", get(line=b"(GET) / HTTP/1.1"), 400),
    Case("a method of 41 letters", get(line=b"X" * 41 + b" / HTTP/1.1"), 400),
    Case("a NUL in the method", get(line=b"GE\0T / HTTP/1.1"), 400),
    Case("CONNECT to an authority", get(line=b"CONNECT example.com:443 HTTP/1.1"), 400),
    Case("CONNECT to a path", get(line=b"CONNECT / HTTP/1.1"), 400),
    Case("CONNECT to an address", get(line=b"CONNECT http://example.com/ HTTP/1.1"), 400),
    # Targets.
    Case("a fragment", get(line=b"GET /a#b HTTP/1.1"), 400),
    Case("a NUL in the target", get(line=b"GET /a\0b HTTP/1.1"), 400),
    Case("a target above 127", get(line=b"GET /caf\xc3\xa9 HTTP/1.1"), 400),
    Case("a delete in the target", get(line=b"GET /a\x7f HTTP/1.1"), 400),
    Case("a target without a slash", get(line=b"GET a HTTP/1.1"), 400),
    Case("an authority as target", get(line=b"GET example.com:80 HTTP/1.1"), 400),
    Case("a star of another method", get(line=b"GET * HTTP/1.1"), 400),
    Case("a star with more", get(line=b"OPTIONS *a HTTP/1.1"), 400),
    Case("another scheme", get(line=b"GET ftp://example.com/ HTTP/1.1"), 400),
    Case("another host than Host", get(line=b"GET http://example.net/ HTTP/1.1"), 400),
    Case("another port than Host", get(line=b"GET http://example.com:81/ HTTP/1.1"), 400),
    Case("credentials in the target", get(line=b"GET http://a:b@example.com/ HTTP/1.1"), 400),
    Case("no host in the target", get(line=b"GET http:///a HTTP/1.1"), 400),
    Case("a backslash in the target's host", get(line=b"GET http://example.com\\a/ HTTP/1.1"), 400),
    # Versions.
    Case("HTTP/2.0", get(line=b"GET / HTTP/2.0"), 505),
    Case("HTTP/1.2", get(line=b"GET / HTTP/1.2"), 505),
    Case("HTTP/3.0", get(line=b"GET / HTTP/3.0"), 505),
    Case("HTTP/0.9 by name", get(line=b"GET / HTTP/0.9"), 505),
    Case("HTTP/2 by prior knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    Case("HTTP/1.10", get(line=b"GET / HTTP/1.10"), 400),
    Case("HTTP/11", get(line=b"GET / HTTP/11"), 400),
    Case("HTTP/1", get(line=b"GET / HTTP/1"), 400),
    Case("http/1.1", get(line=b"GET / http/1.1"), 400),
    Case("HTTP/1,1", get(line=b"GET / HTTP/1,1"), 400),
    Case("HTTP/+1.1", get(line=b"GET / HTTP/+1.1"), 400),
    Case("another protocol", get(line=b"GET / ICE/1.1"), 400),
    Case("RTSP", get(line=b"OPTIONS * RTSP/1.0"), 400),
    # Hosts.
    Case("no Host", get(host=b""), 400),
    Case("two Hosts", get(b"Host: example.net"), 400),
    Case("the same Host twice", get(b"Host: example.com"), 400),
    Case("an empty Host", get(host=b"Host:\r\n"), 400),
    Case("a Host with a path", get(host=b"Host: example.com/a\r\n"), 400),
    Case("a Host with credentials", get(host=b"Host: a@example.com\r\n"), 400),
    Case("a Host with a scheme", get(host=b"Host: http://example.com\r\n"), 400),
    Case("a Host with a blank", get(host=b"Host: example com\r\n"), 400),
    Case("a list of Hosts", get(host=b"Host: example.com, example.net\r\n"), 400),
    Case("a Host with a word as port", get(host=b"Host: example.com:http\r\n"), 400),
    Case("a Host with a port of six digits", get(host=b"Host: example.com:123456\r\n"), 400),
    Case("a Host with an open bracket", get(host=b"Host: [::1\r\n"), 400),
    Case("a Host with letters in brackets", get(host=b"Host: [example]\r\n"), 400),
    Case("a Host above 127", get(host=b"Host: caf\xc3\xa9.example\r\n"), 400),
    Case("a Host with a NUL", get(host=b"Host: example.com\0\r\n"), 400),
    Case("a Host of 256 letters", get(host=b"Host: " + b"a" * 256 + b"\r\n"), 400),
    Case("two Hosts in HTTP/1.0", get(b"Host: example.net", line=b"GET / HTTP/1.0"), 400),
    # Expectations.
    Case("an unknown expectation", post(b"Expect: 200-ok", b"Content-Length: 4", body=b"abcd"), 417),
    Case("an expectation beside", post(b"Expect: 100-continue, x", b"Content-Length: 4", body=b"abcd"), 417),
    Case("an empty expectation", post(b"Expect:", b"Content-Length: 4", body=b"abcd"), 417),
    # Sizes.
    Case("a request line of 8 KiB and one byte", get(line=b"GET /" + b"a" * (LONGEST_LINE - 13) + b" HTTP/1.1"), 414),
    Case("a request line without an end", b"GET /" + b"a" * 2 * LONGEST_HEAD, 414),
    Case("a method without an end", b"A" * 2 * LONGEST_HEAD, 414),
    Case("a head of 16 KiB and one byte", get(b"X: " + b"a" * (LONGEST_HEAD - 41)), 431),
    Case("a field without an end", get()[:-2] + b"X: " + b"a" * 2 * LONGEST_HEAD, 431),
    Case("fields without an end", get()[:-2] + b"X: a\r\n" * 4_000, 431),
    Case("65 fields", get(*(b"X: a" for _ in range(MOST_FIELDS))), 431),
    # Other protocols.
    Case("the hello of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), 400),
    Case("binary", bytes(range(256)), 400),
    Case("SMTP", b"EHLO example.com\r\nMAIL FROM:<a@example.com>\r\n\r\n", 400),
    Case("the PROXY protocol", b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + get(), 400),
]
"""The application never sees these."""

BODIES = [
    Case("no size", chunked(b"\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size that is no number", chunked(b"xyz\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a negative size", chunked(b"-3\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size with a sign", chunked(b"+3\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size with 0x", chunked(b"0x3\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size with an underscore", chunked(b"0_3\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size with a fraction", chunked(b"3.0\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a blank before a size", chunked(b" 3\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a blank behind a size", chunked(b"3 \r\nabc\r\n0\r\n\r\n"), 400),
    Case("a tab behind a size", chunked(b"3\t\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a blank before an extension", chunked(b"3 ;a=b\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size of nine digits", chunked(b"000000003\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size beyond 64 bits", chunked(b"10000000000000003\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a size that ends in LF", chunked(b"3\nabc\r\n0\r\n\r\n"), 400),
    Case("a size that ends in CR", chunked(b"3\rabc\r\n0\r\n\r\n"), 400),
    Case("a size that ends in CR CR LF", chunked(b"3\r\r\nabc\r\n0\r\n\r\n"), 400),
    Case("an extension with a NUL", chunked(b"3;a\0\r\nabc\r\n0\r\n\r\n"), 400),
    Case("an extension with a bare LF", chunked(b"3;a\nb\r\nabc\r\n0\r\n\r\n"), 400),
    Case("an extension with a bare CR", chunked(b"3;a\rb\r\nabc\r\n0\r\n\r\n"), 400),
    Case("an extension that is too long", chunked(b"3;" + b"a" * LONGEST_CHUNK_LINE + b"\r\nabc\r\n0\r\n\r\n"), 400),
    Case("many extensions", chunked((b"1;" + b"a" * 200 + b"\r\na\r\n") * 50 + b"0\r\n\r\n"), 400),
    Case("a chunk that is longer than its size", chunked(b"3\r\nabcd\r\n0\r\n\r\n"), 400),
    Case("a chunk that is shorter than its size", chunked(b"5\r\nabc\r\n0\r\n\r\n"), 400),
    Case("a chunk that ends in LF", chunked(b"3\r\nabc\n0\r\n\r\n"), 400),
    Case("a chunk that ends in CR", chunked(b"3\r\nabc\r0\r\n\r\n"), 400),
    Case("a chunk that ends in two bytes of its own", chunked(b"3\r\nabcXX0\r\n\r\n"), 400),
    Case("a chunk that ends in LF CR", chunked(b"3\r\nabc\n\r0\r\n\r\n"), 400),
    Case("an end that ends in LF", chunked(b"3\r\nabc\r\n0\n\n"), 400),
    Case("an end without its empty line", chunked(b"0\r\n"), 400),
    Case("a trailer that is no field", chunked(b"0\r\nno field\r\n\r\n"), 400),
    Case("a trailer that is folded", chunked(b"0\r\nX: a\r\n b\r\n\r\n"), 400),
    Case("a trailer that ends in LF", chunked(b"0\r\nX: a\n\r\n"), 400),
    Case("a trailer with a blank before its colon", chunked(b"0\r\nX : a\r\n\r\n"), 400),
    Case("a trailer with a NUL", chunked(b"0\r\nX: a\0\r\n\r\n"), 400),
    Case("a trailer that is too long", chunked(b"0\r\nX: " + b"a" * LONGEST_EXTRAS + b"\r\n\r\n"), 400),
    Case("many trailers", chunked(b"0\r\n" + b"X: aaaaaaaaaa\r\n" * 1_000 + b"\r\n"), 400),
    Case("content where the size should be", chunked(b"3\r\nabc\r\nabc\r\n0\r\n\r\n"[:8] + b"GET /"), 400),
]
"""The application has begun with these, and is told that no more comes."""

TAKEN = [
    Case("a request", get(), 200),
    Case("a request with a port", get(host=b"Host: example.com:8080\r\n"), 200),
    Case("a Host of IPv6", get(host=b"Host: [::1]:80\r\n"), 200),
    Case("a Host of IPv4", get(host=b"Host: 192.0.2.1\r\n"), 200),
    Case("the address of Host", get(line=b"GET http://example.com/a?b HTTP/1.1"), 200),
    Case("the address of Host in capitals", get(line=b"GET HTTP://EXAMPLE.COM HTTP/1.1"), 200),
    Case("a star", get(line=b"OPTIONS * HTTP/1.1"), 200),
    Case("an unknown method", get(line=b"BREW / HTTP/1.1"), 200),
    Case("a method with a dash", get(line=b"VERSION-CONTROL / HTTP/1.1"), 200),
    Case("a method of 40 letters", get(line=b"X" * 40 + b" / HTTP/1.1"), 200),
    Case("a value above 127", get(b"X: caf\xc3\xa9"), 200),
    Case("a value with a tab", get(b"X: a\tb"), 200),
    Case("an empty value", get(b"X:"), 200),
    Case("a name of odd characters", get(b"!#$%&'*+-.^_`|~9: a"), 200),
    Case("blanks around a length", post(b"Content-Length: \t 4 \t ", body=b"abcd"), 200),
    Case("a length with zeros first", post(b"Content-Length: 0004", body=b"abcd"), 200),
    Case("a length of 0", post(b"Content-Length: 0"), 200),
    Case("a GET with a body", get(b"Content-Length: 4") + b"abcd", 200),
    Case("Chunked in another case", post(b"transfer-encoding: Chunked", body=b"0\r\n\r\n"), 200),
    Case("chunks", chunked(b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"), 200),
    Case("chunks with zeros first", chunked(b"00000003\r\nabc\r\n0000\r\n\r\n"), 200),
    Case("an extension", chunked(b'3;a="b;c"\r\nabc\r\n0;d\r\n\r\n'), 200),
    Case("trailers", chunked(b"3\r\nabc\r\n0\r\nX: a\r\nContent-Length: 9\r\n\r\n"), 200),
    Case("a chunk that looks like a request", chunked(b"10\r\nGET / HTTP/1.1\r\n\r\n0\r\n\r\n"), 200),
    Case("a wish for another protocol", get(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c"), 200),
    Case("a wish for a web socket", get(b"Connection: Upgrade", b"Upgrade: websocket"), 200),
    Case("a request line of 8 KiB", get(line=b"GET /" + b"a" * (LONGEST_LINE - 14) + b" HTTP/1.1"), 200),
    Case("a head of 16 KiB", get(b"X: " + b"a" * (LONGEST_HEAD - 42)), 200),
    Case("64 fields", get(*(b"X: a" for _ in range(MOST_FIELDS - 1))), 200),
    Case("HTTP/1.0 that stays", get(b"Connection: Keep-Alive", line=b"GET / HTTP/1.0", host=b""), 200),
]
"""Odd, but right: answered, and so is the request behind."""
