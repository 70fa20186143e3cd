"""The origin and credentials of requests: every combination, compared with rules written out here.

Browsers send cookies with requests of other sites, but never bearer keys.
"""

from collections.abc import AsyncIterator, Mapping
from itertools import product

import pytest

from tests.api.asgi import Response
from tests.api.callers import cookie
from tests.api.world import World, open_world
from tests.slow import SLOW

ANN = "ann@example.com"
HERE, THERE = "https://catalog.test", "https://example.com"
ORIGINS: Mapping[str, str | None] = {
    "no origin": None,
    "our origin": HERE,
    "another origin": THERE,
    "a null origin": "null",
    "our host over http": "http://catalog.test",
    "our host with a port": f"{HERE}:8443",
    "a longer host": f"{HERE}.example.com",
    "our origin with a path": f"{HERE}/",
    "an empty origin": "",
}
SITES = (None, "same-origin", "same-site", "cross-site", "none", "Same-Origin", "same-origin, cross-site", "")
TYPES = (None, "application/json", "application/x-www-form-urlencoded")
COOKIES = ("none", "live", "revoked", "expired", "two", "garbage")
BEARERS = ("none", "valid", "revoked", "malformed")


def ours(origin: str, site: str | None) -> bool:
    """`Sec-Fetch-Site` decides. Without it, `Origin` does."""
    return site == "same-origin" if site is not None else origin == "our origin"


class Visitors:
    """Cookies and keys of each kind, of one account."""

    def __init__(self, world: World) -> None:
        live = world.session(ANN)
        self.cookies: dict[str, dict[str, str]] = {
            "none": {},
            "live": cookie(live),
            "revoked": cookie(world.session(ANN, revoked=True)),
            "expired": cookie(world.session(ANN, expires_in_ms=-1)),
            "two": {"Cookie": f"__Host-session={live}; __Host-session={live}"},
            "garbage": cookie("sst_let-me-in"),
        }
        self.bearers: dict[str, dict[str, str]] = {
            "none": {},
            "valid": {"Authorization": f"Bearer {world.key_of(ANN)}"},
            "revoked": {"Authorization": f"Bearer {world.key_of(ANN, revoked=True)}"},
            "malformed": {"Authorization": "Basic YTpi"},
        }

    def headers(self, origin: str, site: str | None, kind: str | None, cookies: str, bearer: str) -> dict[str, str]:
        headers = self.cookies[cookies] | self.bearers[bearer]
        for name, value in (("Origin", ORIGINS[origin]), ("Sec-Fetch-Site", site), ("Content-Type", kind)):
            if value is not None:
                headers[name] = value
        return headers


def expected(cookies: str, bearer: str, *, allowed: bool) -> str:
    """A key is used whether right or wrong. Without one, a live session is used where allowed."""
    match bearer:
        case "valid":
            return "200"
        case "revoked":
            return "401 invalid_api_key"
        case "malformed":
            return "401 unauthorized"
    if cookies != "live":
        return "401 unauthorized"
    return "200" if allowed else "403 forbidden"


PROFILE = b'{"name": "Example Tools", "website": "https://example.com/"}'
PAIRS = list(product(ORIGINS, SITES))


@pytest.fixture
async def plenty() -> AsyncIterator[World]:
    """A node with high limits."""
    async with open_world(TIERS__CLAIMED__PER_MINUTE=10_000) as world:
        yield world


@pytest.mark.parametrize("cookies", COOKIES)
@pytest.mark.parametrize("bearer", BEARERS)
async def test_an_operation_that_changes_something_takes_a_session_from_our_pages_alone(
    plenty: World, cookies: str, bearer: str
) -> None:
    visitors, found, wanted = Visitors(plenty), {}, {}
    for (origin, site), kind in product(PAIRS, TYPES if SLOW else TYPES[1:2]):
        headers = visitors.headers(origin, site, kind, cookies, bearer)
        response = await plenty.client.request("PATCH", "/api/v1/sponsors/profile", headers=headers, body=PROFILE)
        found[origin, site, kind] = response.words
        wanted[origin, site, kind] = expected(cookies, bearer, allowed=ours(origin, site))
    assert found == wanted


@pytest.mark.parametrize("cookies", COOKIES)
@pytest.mark.parametrize("bearer", BEARERS)
async def test_an_operation_that_reads_takes_a_session_from_anywhere(plenty: World, cookies: str, bearer: str) -> None:
    """The response has no CORS headers, so no other site can read it."""
    visitors = Visitors(plenty)
    for origin, site in PAIRS:
        headers = visitors.headers(origin, site, None, cookies, bearer)
        response = await plenty.client.get("/api/v1/sponsors/me", headers=headers)
        assert response.words == expected(cookies, bearer, allowed=True), (origin, site)
        assert response.header("access-control-allow-origin") is None


@pytest.mark.parametrize("cookies", COOKIES)
@pytest.mark.parametrize("bearer", BEARERS)
async def test_a_form_is_taken_from_our_pages_alone_whatever_key_it_has(
    plenty: World, cookies: str, bearer: str
) -> None:
    """Pages ignore keys."""
    visitors = Visitors(plenty)
    for number, (origin, site) in enumerate(PAIRS):
        kind = TYPES[2] if number % 2 else None
        headers = visitors.headers(origin, site, kind, cookies, bearer) | {"Accept": "application/json"}
        response = await plenty.client.post(
            "/sign-in", headers=headers, body=b"do=nothing", address=f"192.0.2.{number}"
        )
        assert response.words == ("400 invalid_request" if ours(origin, site) else "403 forbidden"), (origin, site)


async def test_a_form_of_another_site_signs_nobody_out(world: World) -> None:
    token = world.session(ANN)
    response = await world.client.post(
        "/sign-out", headers=cookie(token) | {"Origin": THERE, "Accept": "text/html"}, body=b"do=sign-out"
    )
    assert (response.status, response.header("set-cookie")) == (403, None)
    assert await alive(world, token)


async def alive(world: World, token: str) -> bool:
    response: Response = await world.client.get("/api/v1/auth/sessions", headers=cookie(token))
    return response.status == 200


@pytest.mark.parametrize("bearer", ["none", "valid"])
async def test_cookies_change_nothing_where_anybody_may_read(world: World, bearer: str) -> None:
    visitors, answers = Visitors(world), []
    for cookies in COOKIES:
        headers = visitors.headers("another origin", "cross-site", None, cookies, bearer)
        answers.append(await world.client.get("/api/v1/bots", headers=headers))
    assert {answer.words for answer in answers} == {"200"}
    assert len({answer.body for answer in answers}) == 1


async def test_cookies_are_ignored_on_events(world: World) -> None:
    """Requests from other sites are allowed and anonymous."""
    visitors = Visitors(world)
    body = b'{"bookingId": "bok_1", "kind": "click", "visitorId": "00000000-0000-4000-8000-000000000001"}'
    for cookies, path in product(COOKIES, ("events", "events/batch")):
        headers = visitors.headers("another origin", "cross-site", "text/plain", cookies, "none")
        sent = body if path == "events" else b'{"events": [' + body + b"]}"
        response = await world.client.post(f"/api/v1/sponsors/{path}", headers=headers, body=sent)
        assert response.words == ("404 not_found" if path == "events" else "400 invalid_request")
        assert response.header("access-control-allow-origin") == "*"
        assert response.header("ratelimit") is None
    [session] = [row for row in world.memory.sessions.values() if row.is_live(world.now_ms)]
    assert session.seen_ms == session.created_ms
