"""The same application gives equal responses to valid requests under Hypercorn and under our engine."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import trio
from trio.testing import memory_stream_pair

from actors.values import Tier
from service.http.asgi import App
from service.http.listeners import EngineName, engine_of
from service.http.transports import StreamTransport
from service.web.error_responses import handlers, reject
from service.web.middleware import NO_HSTS, RequestMiddleware
from tests.api.world import World, open_world
from tests.fakes import TrioClock
from tests.http.memory_server import CLIENT, LIMITS, NOON_MS, SERVER, Client, Reply, replies

Key = str | None
OWN = {"date", "x-request-id"}
"""Headers that differ from response to response."""


class Row(NamedTuple):
    """A request: its line, the owner of its key, more header lines, and its body in pieces (chunked, if several)."""

    line: str
    key: Key = None
    fields: str = ""
    body: tuple[bytes, ...] = ()


def rows() -> Iterator[Row]:
    for path in (
        "/",
        "/docs",
        "/claim",
        "/openapi.json",
        "/dev/outbox",
        "/static/style.css",
        "/static/none",
        "/metrics/",
    ):
        yield Row(f"GET {path}")
        yield Row(f"HEAD {path}")
    for path in ("/", "/docs", "/openapi.json", "/static/style.css", "/embed.js", "/api/v1/bots", "/api/v1/usecases"):
        for accepted in ("br", "gzip", "*;q=0"):
            yield Row(f"GET {path}", fields=f"Accept-Encoding: {accepted}\r\n")
            yield Row(f"HEAD {path}", fields=f"Accept-Encoding: {accepted}\r\n")
    for path in ("/healthz", "/readyz", "/nowhere", "//healthz", "/api/v1/bots/none", "/api/v1/usecases/case-04/"):
        yield Row(f"GET {path}")
    for path in ("/api/v1/usecases?limit=3", "/api/v1/bots", "/api/v1/usecases/case-04", "/api/v1/bots/bot-01"):
        for key in (None, "anonymous", "full", "unknown"):
            yield Row(f"GET {path}", key)
        yield Row(f"HEAD {path}")
        yield Row(f"OPTIONS {path}", fields="Origin: https://example.com\r\nAccess-Control-Request-Method: GET\r\n")
    for path in ("/api/v1/sponsors/inventory", "/api/v1/sponsors/placements", "/api/v1/sponsors/me", "/api/v1/usage"):
        for key in (None, "anonymous", "full"):
            yield Row(f"GET {path}", key)
    for path in ("/api/v1/sponsors/campaigns", "/api/v1/sponsors/bookings", "/api/v1/sponsors/keys"):
        yield Row(f"GET {path}", "full")
    for path in ("campaigns", "sponsors", "slots", "audit", "bookings"):
        yield Row(f"GET /api/v1/admin/sponsorships/{path}?limit=2", "admin")
    profile = (b'{"name":"A brand",', b'"website":"https://example.com/"}')
    yield Row("PATCH /api/v1/sponsors/profile", "full", body=(b"".join(profile),))
    yield Row("PATCH /api/v1/sponsors/profile", "full", body=profile)
    yield Row("PATCH /api/v1/sponsors/profile", "full", body=(b'{"name":',))
    yield Row("PATCH /api/v1/sponsors/profile", "full")
    yield Row("POST /api/v1/auth/agent")
    yield Row("POST /api/v1/auth/agent", body=(b"{}",))
    yield Row("POST /api/v1/auth/claim", body=(b'{"claimToken":"clm_unknown","email":"a@example.com"}',))
    yield Row("POST /api/v1/webhooks/stripe", fields="Stripe-Signature: none\r\n", body=(b"{}",))
    for method in ("DELETE", "PUT", "TRACE", "BREW"):
        yield Row(f"{method} /api/v1/bots")
    yield Row("GET /api/v1/usecases?q=%C3%A9&limit=2")
    yield Row("GET /api/v1/usecases?limit=1&limit=2")
    yield Row("GET /api/v1/%75secases/case%2D04")
    yield Row("GET /healthz", fields="Connection: close\r\n")
    yield Row("GET /healthz", fields="X-Forwarded-For: 192.0.2.9\r\nX-Two: a\r\nX-Two: b\r\n")


TABLE = list(rows())


def request(row: Row, keys: dict[str, str]) -> bytes:
    head = f"{row.line} HTTP/1.1\r\nHost: catalog.test\r\n{row.fields}"
    if row.key is not None:
        head += f"Authorization: Bearer {keys[row.key]}\r\n"
    if len(row.body) == 1:
        return f"{head}Content-Length: {len(row.body[0])}\r\n\r\n".encode() + row.body[0]
    if row.body:
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in row.body)
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"
    return f"{head}\r\n".encode()


async def under(name: EngineName, app: App, stream: Any, world: World) -> None:
    clock = TrioClock(NOON_MS - int(trio.current_time() * 1000))
    services = world.services
    engine = engine_of(name)(
        handlers(
            app,
            RequestMiddleware(reject, world.metrics, services.refusal_log, services.entropy, NO_HSTS, services.proxies),
        ),
        LIMITS,
        clock,
    )
    await engine.serve(StreamTransport(stream, CLIENT, SERVER, 10, scheme="http"))


async def answers(engine: EngineName) -> list[Reply]:
    """The responses of a new node under an engine to the whole table, with one connection per request."""
    found = []
    async with open_world(MINT__PER_HOUR=100, KEYLESS__PER_MINUTE=1_000) as world, trio.open_nursery() as nursery:
        keys = {
            "anonymous": world.key(),
            "full": world.key(tier=Tier.CLAIMED, email="sponsor@example.com"),
            "admin": world.key(tier=Tier.CLAIMED, email="admin@example.com", admin=True),
            "unknown": "not-a-key",
        }
        for row in TABLE:
            ours, theirs = memory_stream_pair()
            nursery.start_soon(under, engine, world.client.app, theirs, world)
            client = Client(ours)
            await client.send(request(row, keys))
            found.append(await _whole(client, row.line.partition(" ")[0]))
            await ours.aclose()
        nursery.cancel_scope.cancel()
    return found


async def _whole(client: Client, method: str) -> Reply:
    data = b""
    while True:
        more = await client.receive()
        assert more, f"an answer without an end: {data!r}"
        data += more
        if b"\r\n\r\n" in data and (found := replies(data, method))[-1].whole:
            [one] = found
            return one


def comparable(reply: Reply) -> tuple[int, list[tuple[str, str]], bytes]:
    return reply.status, sorted(pair for pair in reply.headers if pair[0] not in OWN), reply.body


def test_hypercorn_and_our_engine_give_equal_answers() -> None:
    assert len(TABLE) >= 60
    theirs, ours = trio.run(answers, "hypercorn"), trio.run(answers, "own")
    statuses = {reply.status for reply in ours}
    assert {200, 204, 400, 401, 403, 404, 405} <= statuses, "the table asks for little"
    for row, expected, found in zip(TABLE, theirs, ours, strict=True):
        assert comparable(found) == comparable(expected), row
        assert {name for name, _ in found.headers} >= OWN


def test_each_row_stands_once() -> None:
    assert len(set(TABLE)) == len(TABLE)


@pytest.mark.parametrize("name", sorted(OWN))
async def test_what_is_left_out_of_the_comparison_is_there_all_the_same(name: str) -> None:
    async with open_world() as world, trio.open_nursery() as nursery:
        ours, theirs = memory_stream_pair()
        nursery.start_soon(under, "own", world.client.app, theirs, world)
        client = Client(ours)
        assert (await client.ask(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")).header(name)
        nursery.cancel_scope.cancel()
