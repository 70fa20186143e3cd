"""The fast path and Quart return the same responses, for the contract of every hot operation.

Two equal nodes get each request: one with the fast path, one whose operations are all cold. The test compares status,
headers, body, access log and tenant rows, and at the end the metrics.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from actors.bookings.records import Side
from actors.values import Tier
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.operations.events import BATCH_BYTES, EVENT_BYTES
from service.http.asgi import App, BegunHeaders, Message, Receive, Scope, Send
from service.web.compression import Compressor
from service.web.fast_path import FastPath
from service.web.front import request_middleware
from tests.api.asgi import READER, Client, Response, as_sent
from tests.api.conformity import DESCRIBED, check
from tests.api.world import GUIDE, ROUTING, World, away, broken, open_world
from tests.application import build_app
from tests.contract import CONTRACT, PUBLIC, SEEN
from tests.slow import repeats
from tests.snapshots.rows import booking, slot

COLD = [replace(operation, hot=False) for operation in OPERATIONS]


def event(**change: Any) -> dict[str, Any]:
    return SEEN | change


CHECKS = {name: row.path for name, row in CONTRACT.items() if row.hot and row.policy == PUBLIC}
"""Checks of health, which know no caller, limits or ETags."""
GOOD = {name: (row.method, row.target, row.good) for name, row in CONTRACT.items() if row.hot and name not in CHECKS}
"""A valid request of each other operation: method, path, body."""
READS = [name for name, (method, _, _) in GOOD.items() if method == "GET"]
WRITES = [name for name, (method, _, _) in GOOD.items() if method == "POST"]

every_operation = pytest.mark.parametrize("name", GOOD)


def test_every_hot_operation_is_compared() -> None:
    assert {*GOOD, *CHECKS} == {operation.name for operation in OPERATIONS if operation.hot}


@dataclass(slots=True)
class Both:
    """A node with the fast path, and its twin with Quart only."""

    lane: World
    quart: World

    @property
    def worlds(self) -> tuple[World, World]:
        return self.lane, self.quart

    async def ask(self, method: str, target: str, key: str | None = None, **rest: Any) -> Response:
        """The response of both."""
        seen = []
        for world in self.worlds:
            with access_lines() as lines:
                response = await world.client.request(method, target, key, **rest)
            seen.append((response, lines, world.memory.tenants))
        assert seen[0] == seen[1]
        assert len(lines) == 1
        return response

    async def good(self, name: str, key: str | None = None, *, query: str = "", **rest: Any) -> Response:
        """A valid request with changes."""
        method, path, body = GOOD[name]
        return await self.ask(method, path + query, key, **({"json": body} | rest))

    async def raw(self, scope: dict[str, Any], receive: Callable[[], Receive]) -> list[Message]:
        """The messages that both send."""
        seen = []
        for world in self.worlds:
            with access_lines() as lines:
                sent = await sent_by(world.client.app, scope, receive())
            seen.append((_whole(sent), lines))
        assert seen[0] == seen[1]
        return seen[0][0]

    def key(self, **facts: Any) -> str:
        one, other = (world.key(**facts) for world in self.worlds)
        assert one == other, "the twins drifted apart"
        return one

    def plant(self, change: Callable[[World], None]) -> None:
        for world in self.worlds:
            change(world)


async def sent_by(app: App, scope: dict[str, Any], receive: Receive) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message)

    await app(scope, receive, send)
    return sent


def _whole(sent: list[Message]) -> list[Message]:
    """The ASGI messages of a response, with the body joined: the number of parts may differ."""
    if not sent:
        return []
    body = b"".join(message.get("body", b"") for message in sent[1:])
    start = {**sent[0], "headers": as_sent(sent[0]["headers"])}
    return [start, {"body": body, "more_body": sent[-1]["more_body"]}]


@contextmanager
def access_lines() -> Iterator[list[dict[str, Any]]]:
    """The access log of the block, as messages and fields."""
    lines: list[dict[str, Any]] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fields = ("status", "ms", "operation", "caller", "refusal", "client")
            lines.append({"message": record.getMessage()} | {name: vars(record)[name] for name in fields})

    handler, logger = Collecting(), logging.getLogger("service.access")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lines
    logger.removeHandler(handler)
    logger.setLevel(level)


async def stock(world: World) -> None:
    """Sell a slot with a live placement, and one with a future placement."""
    world.sponsorship_store.keep(slot(), slot("right-1", side=Side.RIGHT), booking("bok_live"))
    world.sponsorship_store.keep(booking("bok_later", "right-1", start=2))
    await world.settled()


@asynccontextmanager
async def open_both(**settings: object) -> AsyncIterator[Both]:
    async with open_world(**settings) as lane, open_world(**settings) as quart:
        quart.client = Client(build_app(quart.services, COLD, DESCRIBED, quart.metrics, routing=ROUTING), check)
        both = Both(lane, quart)
        for world in both.worlds:
            await stock(world)
        yield both
        assert _counted(lane) == _counted(quart)


def _counted(world: World) -> list[bytes]:
    """The metrics, except their start times."""
    return [line for line in world.metrics.page().splitlines() if b"_created" not in line]


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    async with open_both() as opened:
        yield opened


# Valid requests.


@every_operation
async def test_good_requests_are_answered_alike(both: Both, name: str) -> None:
    keys = [None, both.key(), both.key(tier=Tier.CLAIMED, email="ann@example.com"), both.key(tier=Tier.UPGRADED)]
    for key in [*keys, *keys]:
        assert (await both.good(name, key)).status == 200


@pytest.mark.parametrize("name", READS)
async def test_what_a_client_has_already_is_304_alike(both: Both, name: str) -> None:
    etag = (await both.good(name)).header("etag")
    stored = (f"{etag}", f"W/{etag}", "*", f'"x", {etag}')
    for tag in (*stored, '"x"', "", "W/", '""', "etag", ","):
        for key in (None, both.key()):
            assert (await both.good(name, key, headers={"If-None-Match": tag})).status == (
                304 if tag in stored else 200
            )
    several = [("If-None-Match", '"x"'), ("If-None-Match", f"{etag}")]
    assert (await both.good(name, headers=several)).status == 304


QUERIES = (
    *("?", "?q=zebra", "?q=", "?q=%00", "?q=%FF", "?q=zürich", "?q=" + "x" * 201, "?q=the", "?q=a&q=b"),
    *("?limit=1", "?limit=0", "?limit=101", "?limit=null", "?limit=x", "?limit=1&limit=1", "?limit=%31", "?limit="),
    *("?cursor=", "?cursor=null", "?cursor=x", "?cursor=" + "x" * 2_001),
    *("?weekStart=0", "?weekStart=1794830400000", "?weekStart=", "?weekStart=x", "?weekStart=1&weekStart=1"),
    *("?unknown=1", "?=&&", "??", "?" + "&".join(f"a{each}=1" for each in range(101)), "?utm=1&limit=2&%6Cimit=3"),
)


@every_operation
async def test_queries_are_read_alike(both: Both, name: str) -> None:
    key = both.key(tier=Tier.UPGRADED)
    for query in QUERIES:
        await both.good(name, key, query=query)


@pytest.mark.parametrize("name", CHECKS)
async def test_checks_of_health_are_answered_alike(both: Both, name: str) -> None:
    path = CHECKS[name]
    for target in (path, *(path + query for query in QUERIES), f"{path}/", f"/{path}"):
        await both.ask("GET", target)
    for method in METHODS:
        await both.ask(method, path)
    for headers in HEADERS:
        await both.ask("GET", path, headers=[(name, value.encode().decode("latin-1")) for name, value in headers])
    both.plant(lambda world: setattr(world.memory, "before", away))
    both.plant(lambda world: setattr(world.services.health, "stopping", True))
    response = await both.ask("GET", path)
    assert (response.status, response.header("connection")) == (200 if name == "isAlive" else 503, "close")


# Callers.


AUTHORIZATIONS = (
    "",
    " ",
    "Bearer",
    "Bearer ",
    "Basic YTpi",
    "Bearer a b",
    "Bearer a,b",
    "bearer x",
    "cs_anon_x",
    "Béarer é",
)


@every_operation
async def test_a_bad_authorization_is_refused_alike(both: Both, name: str) -> None:
    twice = [("Authorization", f"Bearer {both.key()}")] * 2
    for headers in (*([("Authorization", value)] for value in AUTHORIZATIONS), twice):
        assert (await both.good(name, headers=headers)).words in ("401 unauthorized", "401 invalid_api_key")


REFUSED_KEYS: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({"expires_in_ms": -1}, {"403 key_expired"}),
    ({"revoked": True}, {"401 invalid_api_key"}),
    ({"used": 1_000}, {"403 quota_exhausted"}),
    ({"used_today": 500}, {"429 rate_limited"}),
    ({"usecase_reads": 200}, {"200", "403 claim_required"}),
    ({"scopes": ()}, {"200", "403 insufficient_scope"}),
)


@every_operation
async def test_a_key_that_is_no_good_is_refused_alike(both: Both, name: str) -> None:
    for facts, words in REFUSED_KEYS:
        assert (await both.good(name, both.key(**facts))).words in words


@every_operation
async def test_limits_a_minute_are_held_alike(name: str) -> None:
    limits = {"EVENTS__PER_MINUTE": 6}
    limits |= dict.fromkeys(("KEYLESS__PER_MINUTE", "PLACEMENTS__PER_MINUTE", "TIERS__ANONYMOUS__PER_MINUTE"), 2)
    async with open_both(**limits) as both:
        for key, address in ((None, READER), (both.key(), "198.51.100.1")):
            words = [(await both.good(name, key, address=address)).words for _ in range(7)]
            assert words[0] == "200"
            assert words[-1] == "429 rate_limited"
        for world in both.worlds:
            await world.pass_seconds(30)
        assert (await both.good(name)).header("retry-after") == "30"


FORWARDED = ("198.51.100.1", "198.51.100.1, 10.0.0.1", "", ",", "x", "[2001:db8::1]:80", "198.51.100.1:80", "é", "::1")


@every_operation
async def test_clients_behind_proxies_are_told_apart_alike(name: str) -> None:
    limits = dict.fromkeys(("KEYLESS__PER_MINUTE", "PLACEMENTS__PER_MINUTE", "EVENTS__PER_MINUTE"), 3)
    async with open_both(SERVER__TRUSTED_PROXIES="10.0.0.0/8", **limits) as both:
        for forwarded in FORWARDED:
            for address in ("10.0.0.9", READER, None):
                await both.good(name, headers={"X-Forwarded-For": forwarded}, address=address)
        several = [("X-Forwarded-For", "198.51.100.9"), ("X-Forwarded-For", "10.0.0.2")]
        await both.good(name, headers=several, address="10.0.0.9")


# Failures.


@every_operation
async def test_an_absent_store_is_answered_alike(both: Both, name: str) -> None:
    key = both.key()

    def leave(world: World) -> None:
        world.memory.before = world.catalog_memory.before = away

    both.plant(leave)
    assert (await both.good(name, key)).words == "503 service_unavailable"
    assert (await both.good(name)).words == ("503 service_unavailable" if name in WRITES else "200")
    if name in ("listUseCases", "listBots"):
        assert (await both.good(name, query="?q=zebra")).words == "200"


@every_operation
@pytest.mark.parametrize("part", ["actor", "budgets", "proxies", "clock"])
async def test_a_bug_is_answered_alike(both: Both, name: str, part: str) -> None:
    """A bug in an actor, in code for all requests, for this kind of request, or in the handler."""
    key = both.key() if part == "actor" else None
    both.plant(lambda world: setattr(world.memory, "before", broken) if key else setattr(world.services, part, None))
    words = (await both.good(name, key)).words
    assert words in ("200", "500 internal_error")
    if part in ("actor", "proxies"):
        assert words == "500 internal_error"


@every_operation
async def test_a_node_that_stops_says_so_alike(both: Both, name: str) -> None:
    both.plant(lambda world: setattr(world.services.health, "stopping", True))
    assert (await both.good(name)).header("connection") == "close"


# Methods and paths.


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "post", "X" * 40, "")


@every_operation
async def test_any_method_is_answered_alike(both: Both, name: str) -> None:
    _, path, body = GOOD[name]
    for method in METHODS:
        for key in (None, both.key()):
            await both.ask(method, path, key, json=body)


@repeats("good requests, queries and headers are compared")
@every_operation
async def test_a_path_that_is_written_otherwise_is_answered_alike(both: Both, name: str) -> None:
    method, path, body = GOOD[name]
    first, last = path[:-1], path[-1]
    ends = ("/", "//", "%00", "%0A", ";a=1", "%3Fq=1", ".", "/.", "/..", "é", "%FF", "%20", "/more", "{slug}", "\\")
    for odd in (
        *(path + end for end in (*ends, "x" * 8_000)),
        *(f"/{path}", f"//{path}", path.replace("/v1/", "/v1//"), path.upper(), path.title(), "*", "/"),
        *(f"{first}%{ord(last):02x}", f"{first}%{ord(last):02X}", path.replace("/", "%2F"), path.rpartition("/")[0]),
        *(path.replace("/api", "/api/.."), path.replace("v1", "%761")),
    ):
        await both.ask(method, odd, json=body)


SLUGS = (
    "nobody",
    "CASE-04",
    "case_04",
    "-",
    "0",
    "x" * 8_000,
    "{slug}",
    "é",
    "%E2%82%AC",
    "a%2Fb",
    "a b",
    "..",
    ".",
    "~",
)


@pytest.mark.parametrize("above", ["/api/v1/usecases", "/api/v1/bots"])
async def test_any_slug_is_answered_alike(both: Both, above: str) -> None:
    for each in SLUGS:
        assert (await both.ask("GET", f"{above}/{each}")).words == "404 not_found"


# Headers.


HEADERS: tuple[list[tuple[str, str]], ...] = (
    *([("X-Request-Id", value)] for value in ("good-one", "", "é" * 70)),
    [("X-Request-Id", "no good"), ("X-Request-Id", "good"), ("X-Request-Id", "better")],
    [("Origin", "https://elsewhere.example"), ("Referer", "https://elsewhere.example/x")],
    [("Host", "evil.example"), ("Host", "second.example")],
    [("User-Agent", "ExampleBot/1.0")],
    [("User-Agent", "A browser"), ("User-Agent", "and a crawler")],
    [("Sec-Purpose", "prefetch;prerender")],
    [("Purpose", "prefetch")],
    [("Cookie", "session=x"), ("Accept", "text/html"), ("Accept-Encoding", "gzip, br"), ("Range", "bytes=0-1")],
    *([("Content-Type", value)] for value in ("text/plain", "multipart/form-data; boundary=x")),
    [("Expect", "100-continue"), ("Connection", "close"), ("X-Method-Override", "DELETE")],
    [("X-HTTP-Method-Override", "PUT"), ("Upgrade", "h2c"), ("If-Modified-Since", "Wed, 18 Nov 2026 12:00:00 GMT")],
    [("é", "ü")],
    [("X-Empty", "")] * 60,
    *([("Content-Length", value)] for value in ("99999999", "-1", " 5 ", "٣", "9" * 1_000)),
    [("Content-Length", "5"), ("Content-Length", "99999999")],
    [("Content-Length", "99999999"), ("Content-Length", "5")],
    *(
        [("Content-Length", "99999999"), ("Transfer-Encoding", coding)]
        for coding in ("chunked", "gzip, Chunked", "identity")
    ),
)


@every_operation
async def test_any_headers_are_read_alike(both: Both, name: str) -> None:
    for headers in HEADERS:
        headers = [(name, value.encode().decode("latin-1")) for name, value in headers]
        await both.good(name, headers=headers)


ACCEPTED = (
    *("br", "gzip", "gzip, deflate, br", "br;q=0.5, *;q=0.7", "identity;q=0", "*;q=0", "br, identity;q=0"),
    "x" * 9_000,
)


@pytest.mark.parametrize("name", READS)
async def test_codings_are_chosen_alike(name: str) -> None:
    """Each twice, because the second response comes from the cache."""
    query = "?limit=100" if name in ("listUseCases", "listBots") else ""
    async with open_both(KEYLESS__PER_MINUTE=1_000) as both:
        for world in both.worlds:  # a body that does not shrink is sent plain even to those who refuse that
            await world.add("long", guide=GUIDE | {"category": "A long name " * 10 + "of a category"})
        key = both.key(tier=Tier.UPGRADED)
        for accepted in ACCEPTED * 2:
            headers = [("Accept-Encoding", accepted)]
            response = await both.good(name, query=query, headers=headers)
            assert (await both.good(name, key, query=query, headers=headers)).plain == response.plain
            known = [*headers, ("If-None-Match", response.header("etag") or "")]
            assert (await both.good(name, query=query, headers=known)).status == 304
            if accepted == "br, identity;q=0":
                assert response.header("content-encoding") == "br"


# Bodies.


def _padded(size: int) -> bytes:
    body = json.dumps(event()).encode()
    return body + b" " * (size - len(body))


BODIES: dict[str, bytes | list[bytes]] = {
    "nothing": b"",
    "white space": b"  \n",
    "no JSON": b"hello",
    "a list": b"[]",
    "null": b"null",
    "deep": b"[" * 3_000,
    "too deep": b'{"a":' * 700,
    "invalid UTF-8": b'{"bookingId": "\xff"}',
    "NUL": b"\0" * 10,
    "a property too many": json.dumps(event(more=1)).encode(),
    "a wrong type": json.dumps(event(kind=1)).encode(),
    "a wrong visitor": json.dumps(event(visitorId="somebody")).encode(),
    "non-ASCII": json.dumps(event(bookingId="bök_€")).encode(),
    "another booking": json.dumps(event(bookingId="bok_later")).encode(),
    "no booking": json.dumps(event(bookingId="bok_nobody")).encode(),
    "no events": b'{"events": []}',
    "a bad event": json.dumps({"events": [event(), event(kind="look")]}).encode(),
    "an unknown booking": json.dumps({"events": [event(), event(bookingId="bok_nobody")]}).encode(),
    "500 events": json.dumps({"events": [event()] * 500}).encode(),
    "501 events": json.dumps({"events": [event()] * 501}).encode(),
    "the longest event": _padded(EVENT_BYTES),
    "too long an event": _padded(EVENT_BYTES + 1),
    "the longest batch": _padded(BATCH_BYTES),
    "too long a batch": _padded(BATCH_BYTES + 1),
    "huge": b"x" * 1_000_000,
    "huge in parts": [b"x" * 10_000] * 100,
    "byte by byte": [bytes([each]) for each in json.dumps(event()).encode()],
    "empty parts": [b"", json.dumps(event()).encode(), b"", b""],
    "just too long in parts": [b" " * EVENT_BYTES, b" "],
}


@repeats("good requests, queries and headers are compared")
@every_operation
async def test_any_body_is_read_alike(both: Both, name: str) -> None:
    for key in (None, both.key(tier=Tier.UPGRADED)):
        for body in BODIES.values():
            size = len(body) if isinstance(body, bytes) else sum(map(len, body))
            for headers in ({}, {"Content-Length": str(size)}, {"Transfer-Encoding": "chunked"}):
                await both.good(name, key, json=None, body=body, headers=headers)


def scope_of(name: str, **change: Any) -> dict[str, Any]:
    method, path, _ = GOOD[name]
    return {
        "type": "http",
        "asgi": {"spec_version": "2.3", "version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"catalog.test")],
        "client": (READER, 50_000),
        "server": ("catalog.test", 80),
    } | change


def reading(*messages: Message) -> Callable[[], Receive]:
    """An ASGI receive that returns these messages, then waits forever."""

    def receiver() -> Receive:
        rest = list(messages)

        async def receive() -> Message:
            if not rest:
                await trio.sleep_forever()
            await trio.lowlevel.checkpoint()
            return rest.pop(0)

        return receive

    return receiver


LEFT: Message = {"type": "http.disconnect"}
PART: Message = {"type": "http.request", "body": b'{"bookingId":', "more_body": True}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("parts", range(3))
async def test_a_client_that_leaves_within_its_body_gets_nothing(both: Both, name: str, parts: int) -> None:
    assert await both.raw(scope_of(name), reading(*[PART] * parts, LEFT)) == []


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("parts", range(3))
async def test_a_body_that_does_not_end_is_refused_alike(both: Both, name: str, parts: int) -> None:
    started = trio.current_time()
    [start, _] = await both.raw(scope_of(name), reading(*[PART] * parts))
    assert start["status"] == 400
    assert trio.current_time() - started == 2 * both.lane.config.http.request_seconds


@pytest.mark.parametrize(("name", "own"), [("recordEvent", None), ("listPlacements", b"etag")])
async def test_answers_share_headers_that_other_answers_have_too(both: Both, name: str, own: bytes | None) -> None:
    """Remembering an ETag or a limit that is left would cost more than writing it."""
    whole: Message = {"type": "http.request", "body": json.dumps(GOOD[name][2]).encode(), "more_body": False}
    scope, receive = scope_of(name), reading(whole)
    lane, quart = [[await sent_by(each.client.app, scope, receive()) for _ in range(3)] for each in both.worlds]
    assert [*map(_whole, lane)] == [*map(_whole, quart)]
    found = [sent[0]["headers"] for sent in lane]
    assert all(isinstance(each, BegunHeaders) for each in found)
    assert found[1].shared is found[2].shared
    assert own is None or own in dict(found[2])
    assert own not in dict(found[2].shared)


@pytest.mark.parametrize(
    "change", [{"http_version": "1.0"}, {"http_version": "2"}, {"root_path": "/api"}, {"client": None}]
)
async def test_whatever_serves_is_answered_alike(both: Both, change: dict[str, Any]) -> None:
    for name, (_, _, body) in GOOD.items():
        whole: Message = {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}
        [start, _] = await both.raw(scope_of(name, **change), reading(whole))
        assert start["status"] == (404 if "root_path" in change else 200)


# Combinations.


_methods = st.sampled_from(["GET", "POST", "HEAD", "OPTIONS", "get", "PUT"])
_parts = st.sampled_from(["api", "v1", "usecases", "bots", "sponsors", "events", "batch", "inventory", "placements"])
_parts |= st.sampled_from(["case-04", "bot-00", "x"])
_paths = (
    st.sampled_from([path for _, path, _ in GOOD.values()])
    | st.lists(_parts | st.text(max_size=5), max_size=6).map(lambda parts: f"/{'/'.join(parts)}")
    | st.builds("{}{}".format, st.sampled_from(["/api/v1/usecases/", "/api/v1/bots/"]), st.text(max_size=8))
)
_queries = st.text(max_size=20) | st.lists(
    st.builds("{}={}".format, st.sampled_from(["q", "limit", "cursor", "weekStart", "%71"]), st.text(max_size=6)),
    max_size=4,
).map("&".join)
_headers = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("authorization", "if-none-match", "x-request-id", "x-forwarded-for", "user-agent", "content-length"),
                *("transfer-encoding", "sec-purpose", "origin", "host", "cookie"),
            ]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=12)
        | st.sampled_from(["*", "Bearer x", "12", "99999", "chunked", "prefetch", "a bot", "10.0.0.1"]),
    ),
    max_size=4,
)
_bodies = st.lists(st.binary(max_size=20), max_size=3) | st.just([json.dumps(event()).encode()])
_requests = st.lists(st.tuples(_methods, _paths, _queries, _headers, _bodies), min_size=1, max_size=20)


@repeats("good requests, queries and headers are compared")
@settings(max_examples=25, deadline=None)
@given(_requests)
def test_generated_requests_are_answered_alike(
    requests: list[tuple[str, str, str, list[tuple[str, str]], list[bytes]]],
) -> None:
    async def compare() -> None:
        async with open_both(KEYLESS__PER_MINUTE=8, PLACEMENTS__PER_MINUTE=8, EVENTS__PER_MINUTE=8) as both:
            for method, path, query, headers, body in requests:
                target = path.replace("?", "") + (f"?{query}" if query else "")
                if target.startswith("/"):
                    await both.ask(method, target, headers=headers, body=body)

    trio.run(compare, clock=MockClock(autojump_threshold=0))


# Fast path or application.


def refusing() -> tuple[App, list[str]]:
    """An application behind a fast path, and the requests that reached it."""
    reached: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.lowlevel.checkpoint()
        reached.append(f"{scope['method']} {scope['path']}")

    return app, reached


async def _through(
    world: World, name: str, operations: Sequence[Operation] = OPERATIONS, **change: Any
) -> tuple[list[Message], list[str]]:
    """The responses of a fast path, and the requests that it leaves to the application."""
    app, reached = refusing()
    fast_path = FastPath(world.services, operations, Compressor())
    lane = request_middleware(app, world.services, world.metrics, operations, None, fast_path)
    body: Message = {"type": "http.request", "body": json.dumps(GOOD[name][2]).encode(), "more_body": False}
    return await sent_by(lane, scope_of(name, **change), reading(body)()), reached


async def test_hot_operations_are_answered_by_the_lane_itself(world: World) -> None:
    await stock(world)
    for name in GOOD:
        sent, reached = await _through(world, name)
        assert reached == []
        assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
        assert sent[0]["status"] == 200


ELSEWHERE: tuple[dict[str, Any], ...] = (
    *({"method": method} for method in ("HEAD", "OPTIONS", "PUT", "get")),
    {"path": "/api/v1/usecases/"},
    {"path": "/api/v1/usecases/é"},
    {"path": "/api/v1/usage"},
    {"root_path": "/api"},
)


async def test_what_the_lane_does_not_take_goes_on(world: World) -> None:
    for name in GOOD:
        for change in ELSEWHERE:
            sent, reached = await _through(world, name, **change)
            assert (sent, len(reached)) == ([], 1)
        sent, reached = await _through(world, name, COLD)
        assert (sent, len(reached)) == ([], 1)


async def test_a_get_with_a_body_goes_on_to_who_reads_it(world: World) -> None:
    for name in READS:
        for header in ((b"content-length", b"5"), (b"transfer-encoding", b"chunked")):
            assert (await _through(world, name, headers=[header]))[0] == []
