"""Valid requests of every kind, from which mutations are made.

Each carries `x-request-id: NUMBER`, so that a line in the node's log names the mutation that caused it.
"""

import json

NUMBER = b"{number}"
_HEAD = b"host: node.example.com\r\nx-request-id: m-{number}\r\n"
EVENT = {"bookingId": "bok_1", "kind": "impression", "visitorId": "0af76519-16cd-43dd-8448-eb211c80319c"}


def _request(line: bytes, *fields: bytes, body: bytes = b"") -> bytes:
    return line + b" HTTP/1.1\r\n" + _HEAD + b"".join(field + b"\r\n" for field in fields) + b"\r\n" + body


def _with_length(line: bytes, body: bytes, *fields: bytes) -> bytes:
    return _request(line, *fields, b"content-length: %d" % len(body), body=body)


def _chunked(line: bytes, *chunks: bytes, trailer: bytes = b"") -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return _request(line, b"transfer-encoding: chunked", body=body + b"0\r\n" + trailer + b"\r\n")


_JSON = b"content-type: application/json"
_EVENT = json.dumps(EVENT).encode()
_EVENTS = json.dumps({"events": [EVENT | {"kind": kind} for kind in ("impression", "click") * 3]}).encode()
_SEEN = json.dumps({"events": [EVENT | {"clientAddress": "2001:db8::1", "userAgent": "Reader/1.0"}]}).encode()
_CALL = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_bots", "arguments": {"limit": 2}}}
).encode()
_PLACEMENTS = b"GET /api/v1/sponsors/placements"
_AGENT = b"POST /api/v1/auth/agent"
_EVENT_PATH = b"POST /api/v1/sponsors/events"

SEEDS: tuple[bytes, ...] = (
    _request(b"GET /healthz"),
    _request(_PLACEMENTS, b"accept: application/json", b"user-agent: reader/1.0"),
    _request(b"GET /api/v1/bots?limit=3&q=invoice%20draft", b'if-none-match: "0123456789abcdef"'),
    _request(b"GET /api/v1/usecases?cursor=abc", b"authorization: Bearer cs_anon_" + b"a" * 32 + b"_000000"),
    _request(b"GET /api/v1/usecases?limit=100", b"accept-encoding: gzip;q=0.5, br;q=1.0, identity;q=0, *;q=0"),
    _request(b"GET /openapi.json", b"accept-encoding: " + b"x;q=0.1, " * 200 + b"br", b"cache-control: no-transform"),
    _request(b"GET http://node.example.com/api/v1/sponsors/inventory?weekStart=1700000000000"),
    _request(b"HEAD /api/v1/bots"),
    _request(
        b"OPTIONS /api/v1/sponsors/placements",
        b"origin: https://shop.example.com",
        b"access-control-request-method: GET",
    ),
    _request(b"OPTIONS *"),
    _with_length(_AGENT, b"{}", _JSON),
    _with_length(b"POST /api/v1/auth/claim", b'{"claimToken": "clm_x", "email": "owner@example.com"}', _JSON),
    _with_length(_EVENT_PATH, _EVENT, _JSON),
    _with_length(_EVENT_PATH, _EVENT, b"content-type: text/plain;charset=UTF-8", b"sec-purpose: prefetch"),
    _with_length(b"POST /api/v1/sponsors/events/batch", _EVENTS, _JSON),
    _with_length(_EVENT_PATH + b"/batch?unit=day", _SEEN, _JSON),
    _with_length(b"POST /mcp", _CALL, _JSON, b"mcp-protocol-version: 2025-06-18"),
    _chunked(_AGENT, b"{", b"}"),
    _chunked(_EVENT_PATH, _EVENT[:10], _EVENT[10:], trailer=b"x-trailer: yes\r\n"),
    _with_length(_AGENT, b"{}", b"expect: 100-continue"),
    _with_length(b"PATCH /api/v1/sponsors/profile", b'{"name": "Orchard", "website": "https://example.com"}', _JSON),
    _request(b"DELETE /api/v1/sponsors/keys/key_1", b"connection: close"),
    _request(b"GET /healthz", b"connection: keep-alive, upgrade", b"upgrade: h2c", b"http2-settings: AAMAAABk"),
    _request(_PLACEMENTS, *(b"x-long-%d: " % number + b"v" * 700 for number in range(12))),
    b"GET /healthz HTTP/1.0\r\nx-request-id: m-{number}\r\n\r\n",
    _request(b"GET /healthz") + _with_length(_AGENT, b"{}") + _request(_PLACEMENTS),
    _chunked(_AGENT, b"{}") + _request(b"HEAD /healthz") + _request(b"GET /nowhere"),
    _request(b"GET /healthz") * 20,
)
