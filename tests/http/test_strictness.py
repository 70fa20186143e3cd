"""A request that HTTP/1.1 rejects is rejected over HTTP/2, with the same status, and the application sees neither."""

import json
import logging

import pytest
import trio

from tests.http.corpus import HEADS, TAKEN, Case
from tests.http.http2_client import Fields, Http2Client, head
from tests.http.memory_server import Recorder, open_memory_server

Pairs = list[tuple[bytes, bytes]]


def fields_of(case: Case) -> Pairs | None:
    """The fields that say in HTTP/2 what a case says in HTTP/1.1, or None if they cannot."""
    lines, end, body = case.data.partition(b"\r\n\r\n")
    line, *fields = lines.split(b"\r\n")
    parts = line.split(b" ")
    if not end or body or len(parts) != 3 or parts[2] != b"HTTP/1.1" or b"://" in parts[1]:
        return None
    pairs = [field.partition(b":") for field in fields]
    if not all(colon for _, colon, _ in pairs):
        return None
    named = [(name.lower(), value.strip(b" ")) for name, _, value in pairs]
    pseudo = [(b":method", parts[0]), (b":path", parts[1]), (b":scheme", b"https")]
    hosts = [pair for pair in named if pair[0] == b"host"]
    if len(hosts) == 1:
        named.remove(hosts[0])
        pseudo.append((b":authority", hosts[0][1]))
    return pseudo + named


def shared(cases: list[Case]) -> pytest.MarkDecorator:
    both = [(case, fields) for case in cases if (fields := fields_of(case)) is not None]
    return pytest.mark.parametrize(("case", "fields"), [pytest.param(*each, id=each[0].what) for each in both])


async def status_of(client: Http2Client, fields: Fields) -> int:
    """The status of the response; 400 if the server ends the connection instead, as it may for a malformed request."""
    with trio.fail_after(1):
        number = await client.ask(fields)
        while number not in client.ended and await client.take():
            pass
    return client.statuses.get(number, 400)


def test_most_of_the_table_can_be_sent_in_both_versions() -> None:
    assert sum(fields_of(case) is not None for case in HEADS) >= 60
    assert sum(fields_of(case) is not None for case in TAKEN) >= 15


@shared(HEADS)
async def test_what_http_1_1_rejects_http_2_rejects_alike(case: Case, fields: Pairs) -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        assert await status_of(await server.connect_http2(), fields) == case.status
    assert app.seen == []


@shared([case for case in TAKEN if "wish" not in case.what])
async def test_what_http_1_1_takes_http_2_takes_too(case: Case, fields: Pairs) -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        assert await status_of(await server.connect_http2(), fields) == 200
    [scope] = app.scopes
    assert scope["http_version"] == "2"


MALFORMED = {
    "no slash": head("healthz"),
    "no path": [pair for pair in head() if pair[0] != b":path"],
    "an empty path": head(""),
    "a question mark": head("?"),
    "a query alone": head("?a=b"),
    "an address": head("https://localhost/"),
    "an address of another host": head("https://example.net/"),
    "a star of GET": head("*"),
    "a fragment": head("/a#b"),
    "a line break in the path": head(b"/a HTTP/1.1\r\nx: "),
    "another request in the path": head(b"/ HTTP/1.1\r\nhost: localhost\r\n\r\nGET /b"),
    "a tab in the path": head("/a\tb"),
    "a path above 127": head(b"/caf\xc3\xa9"),
    "no method": [pair for pair in head() if pair[0] != b":method"],
    "a method in lower case": head("/", "get"),
    "a method with a line break": head("/", b"GET / HTTP/1.1\r\nx:"),
    "CONNECT": head("/", "CONNECT"),
    "CONNECT to an authority": [(b":method", b"CONNECT"), (b":authority", b"localhost:443")],
    "no scheme": [pair for pair in head() if pair[0] != b":scheme"],
    "another scheme": [(name, b"ftp" if name == b":scheme" else value) for name, value in head()],
    "no authority and no host": [pair for pair in head() if pair[0] != b":authority"],
    "another host": head("/", "GET", (b"host", b"example.net")),
    "the host twice more": head("/", "GET", (b"host", b"localhost"), (b"host", b"localhost")),
    "two paths": [*head(), (b":path", b"/")],
    "two methods": [(b":method", b"GET"), *head()],
    "an unknown pseudo-header": [(b":protocol", b"websocket"), *head()],
    "a status": [(b":status", b"200"), *head()],
    "a pseudo-header behind a header": [(b"x", b"a"), *head()],
    "a name in capitals": head("/", "GET", (b"X-A", b"a")),
    "a name with a colon": head("/", "GET", (b"a:b", b"c")),
    "an empty name": head("/", "GET", (b"", b"a")),
    "a line break in a name": head("/", "GET", (b"a: b\r\nc", b"d")),
    "a line break in a value": head("/", "GET", (b"x", b"a\r\nauthorization: b")),
    "a blank before a value": head("/", "GET", (b"x", b" a")),
    "a blank behind a value": head("/", "GET", (b"x", b"a ")),
    "a line break in a cookie": head("/", "GET", (b"cookie", b"a=b\r\nx: c")),
    "connection": head("/", "GET", (b"connection", b"close")),
    "keep-alive": head("/", "GET", (b"keep-alive", b"5")),
    "upgrade": head("/", "GET", (b"upgrade", b"h2c")),
    "a coding": head("/", "GET", (b"transfer-encoding", b"chunked")),
    "te of gzip": head("/", "GET", (b"te", b"gzip")),
    "a length and no body": head("/", "POST", (b"content-length", b"4")),
}
"""Requests that only HTTP/2 can say, or that HTTP/1.1 says in another way."""


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
async def test_what_is_malformed_is_answered_with_400_and_neither_seen_nor_a_bug(
    fields: Pairs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    app = Recorder()
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        assert await status_of(client, fields) == 400
        assert json.loads(client.bodies[1])["error"] == "invalid_request"
        assert b'catalog_requests_total{operation="other",status="400"} 1.0' in server.metrics.page()
        assert await status_of(client, head("/after")) == 200, "the connection goes on"
    assert app.seen == ["GET /after"]
    assert [line.levelname for line in caplog.records] == ["INFO", "INFO"], "one line of access each"
    assert [vars(line)["status"] for line in caplog.records] == [400, 200]


async def test_what_is_split_or_redundant_reaches_the_application_as_in_http_1_1() -> None:
    app = Recorder()
    async with open_memory_server(app) as server:
        client = await server.connect_http2()
        split = head("/a%20b?c=%20d", "GET", (b"cookie", b"a=b"), (b"host", b"localhost"), (b"cookie", b"c=d"))
        assert await status_of(client, split) == 200
        assert await status_of(client, [*head()[:3], (b"host", b"example.com"), (b"te", b"trailers")]) == 200
        assert await status_of(client, head("*", "OPTIONS")) == 200
    first, second, third = app.scopes
    assert (first["path"], first["raw_path"], first["query_string"]) == ("/a b", b"/a%20b", b"c=%20d")
    assert first["headers"] == ((b"host", b"localhost"), (b"cookie", b"a=b; c=d"))
    assert second["headers"] == ((b"host", b"example.com"), (b"te", b"trailers"))
    assert third["path"] == "*"
    assert all(type(pair) is tuple for pair in first["headers"])


async def test_a_preface_that_is_none_ends_the_connection() -> None:
    async with open_memory_server(Recorder()) as server:
        client = await server.connect_http2()
        await client.send(b"GET / HTTP/1.1\r\n\r\n")
        with trio.fail_after(5):
            await client.until_closed()
