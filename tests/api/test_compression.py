"""Compressed responses of the whole application: which are, and that they say the same as plain ones."""

import pytest

from service.api.operations import OPERATIONS
from tests.api.sponsors import sponsor
from tests.api.world import World
from tests.http.http2_client import head
from tests.http.memory_server import open_memory_server

CODINGS = {"br": "br", "gzip": "gzip", "gzip, deflate, br": "br", "br;q=0.1, gzip": "gzip", "*": "br"}
LIST = "/api/v1/usecases?limit=100"
SHARED = (
    *(LIST, "/api/v1/usecases/long", "/api/v1/usecases?q=long", "/api/v1/sponsors/calendar"),
    *("/api/v1/sponsors/inventory", "/openapi.json", "/docs", "/embed.js", "/llms.txt"),
    *("/sitemap.xml", "/sitemap-usecases-1.xml", "/robots.txt"),
)
HOSTILE = (
    *("gzip;" * 1_600, "x;q=0.1," * 1_000 + "br", "br;q=" + "9" * 8_000, ",,;;==", "\xff\xfe", "q", "gzip;q=0.0.0"),
    *("identity;q=0", "*;q=0", "br;q=0,gzip;q=0,identity;q=0"),
)


@pytest.fixture
async def stocked(world: World) -> World:
    for number in range(40):
        await world.add(f"case-{number}", roi="An hour a week. " * 10)
    await world.add("long", title="A long one", roi="An hour a week. " * 60, who="A gardener. " * 15)
    return world


def test_every_cacheable_operation_is_here() -> None:
    cacheable = {operation.name for operation in OPERATIONS if operation.cacheable}
    assert cacheable >= {"listUseCases", "getUseCase", "listBots", "getBot", "getInventory", "listPlacements"}


@pytest.mark.parametrize("path", SHARED)
async def test_a_shared_response_says_the_same_in_each_coding(stocked: World, path: str) -> None:
    plain = await stocked.client.get(path)
    assert plain.header("content-encoding") is None
    assert "Accept-Encoding" in (plain.header("vary") or "")
    large = len(plain.body) >= 1_024
    for accepted, coding in CODINGS.items():
        coded = await stocked.client.get(path, headers={"Accept-Encoding": accepted})
        assert coded.plain == plain.body
        assert coded.header("content-encoding") == (coding if large else None)
        assert coded.header("vary") == plain.header("vary")
        assert (coded.header("etag") == plain.header("etag")) == (not large)
        headed = await stocked.client.request("HEAD", path, headers={"Accept-Encoding": accepted})
        assert {name: headed.header(name) for name in ("content-length", "content-encoding", "etag", "vary")} == {
            name: coded.header(name) for name in ("content-length", "content-encoding", "etag", "vary")
        }


@pytest.mark.parametrize("path", SHARED)
async def test_a_client_is_told_that_it_has_what_it_accepts(stocked: World, path: str) -> None:
    coded = await stocked.client.get(path, headers={"Accept-Encoding": "br"})
    plain = await stocked.client.get(path)
    for etag in {coded.header("etag") or "", plain.header("etag") or ""}:
        known = await stocked.client.get(path, headers={"Accept-Encoding": "br", "If-None-Match": etag})
        assert (known.status, known.body) == (304, b"")
        assert (known.header("etag"), known.header("vary")) == (etag, plain.header("vary"))
        assert known.header("content-encoding") is None
    if coded.header("etag") != plain.header("etag"):
        other = {"Accept-Encoding": "gzip", "If-None-Match": coded.header("etag") or ""}
        assert (await stocked.client.get(path, headers=other)).header("content-encoding") == "gzip"


async def test_a_keyed_read_is_compressed_and_has_the_tag_of_a_keyless_one(stocked: World) -> None:
    response = await stocked.client.get(LIST, stocked.key(), headers={"Accept-Encoding": "br"})
    assert response.header("content-encoding") == "br"
    keyless = await stocked.client.get(LIST, headers={"Accept-Encoding": "br"})
    assert (response.header("etag"), response.plain) == (keyless.header("etag"), keyless.plain)


async def test_what_belongs_to_somebody_is_never_compressed(stocked: World) -> None:
    """BREACH: text of an attacker beside a secret would tell the secret by the length of the response."""
    person = sponsor(stocked)
    paths = [operation.path for operation in OPERATIONS if operation.method == "GET" and not operation.cacheable]
    accepts = {"Accept-Encoding": "br, gzip, identity;q=0"}
    for path in paths:
        if "{" not in path:
            response = await stocked.client.get(path, person.key, headers=accepts)
            assert response.header("content-encoding") is None, path
    minted = await stocked.client.post("/api/v1/auth/agent", headers=accepts)
    assert minted.header("content-encoding") is None


async def test_public_pages_are_compressed_only_for_who_sends_no_cookie(stocked: World) -> None:
    accepts = {"Accept-Encoding": "br"}
    for path in ("/", "/usecases", "/usecases?q=long", "/advertise", "/embed", "/sign-in"):
        plain = await stocked.client.get(path)
        coded = await stocked.client.get(path, headers=accepts)
        assert coded.header("content-encoding") == "br"
        assert coded.header("vary") == plain.header("vary") == "Accept-Encoding, Cookie"
        assert abs(len(coded.plain) - len(plain.body)) < 8
        token = stocked.session("ann@example.com")
        for cookie in (f"__Host-session={token}", "other=1"):
            theirs = await stocked.client.get(path, headers={**accepts, "Cookie": cookie})
            assert theirs.header("content-encoding") is None


async def test_refusals_are_plain(stocked: World) -> None:
    for path in ("/api/v1/usecases/none", "/nowhere", "/static/none", "/api/v1/usecases?limit=0"):
        for accept in ("text/html", "*/*"):
            headers = {"Accept-Encoding": "br, identity;q=0", "Accept": accept}
            assert (await stocked.client.get(path, headers=headers)).header("content-encoding") is None


@pytest.mark.parametrize("accepted", HOSTILE, ids=range(len(HOSTILE)))
async def test_a_hostile_header_is_answered_plain(stocked: World, accepted: str) -> None:
    for path in (LIST, "/docs", "/", "/embed.js"):
        response = await stocked.client.get(path, headers={"Accept-Encoding": accepted})
        assert (response.status, response.header("content-encoding")) == (200, None)


async def test_both_versions_of_http_send_the_same(stocked: World) -> None:
    names = ("content-length", "content-encoding", "etag", "vary", "cache-control")
    async with open_memory_server(stocked.client.app) as server:
        first, second = server.connect(), await server.connect_http2()
        for path in (LIST, "/openapi.json", "/static/style.css"):
            for coding in ("br", "gzip", "identity"):
                reply = await first.ask(f"GET {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {coding}\r\n\r\n".encode())
                number = await second.ask(head(path, "GET", (b"accept-encoding", coding.encode())))
                await second.until_answered(number)
                assert reply.status == second.statuses[number] == 200
                assert reply.body == second.bodies[number]
                assert reply.header("content-encoding") == (None if coding == "identity" else coding)
                assert [reply.header(name) for name in names] == [second.headers[number].get(name) for name in names]
