"""HTTP basics: request ids, methods, paths, common headers and CORS.

`conformity.py` has the rules for every response; these tests need requests of their own.
"""

import pytest

from actors.values import Tier
from service.http.asgi import Message
from service.http.header_lists import MAX_MEMBERS
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.test_lane import scope_of
from tests.api.world import World
from tests.contract import CONTRACT, PERSON, PUBLIC, Row


def _methods(path: str) -> str:
    """The methods of a path as `Allow` names them."""
    rows = [row for row in CONTRACT.values() if row.path == path]
    methods = {row.method for row in rows} | ({"OPTIONS"} if any(row.cors for row in rows) else set())
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


PATHS = {row.target.partition("?")[0]: _methods(row.path) for row in CONTRACT.values()}
"""A path of each operation, with its methods."""
CROSS_SITE = {row.target: row.method for row in CONTRACT.values() if row.cors}
"""Paths with CORS, and their methods."""
UNKEYED = {row.target for row in CONTRACT.values() if row.policy == PUBLIC}
"""Paths at which keys are ignored."""

PUBLISHED = (
    "/openapi.json",
    "/llms.txt",
    "/robots.txt",
    "/sitemap.xml",
    "/sitemap-pages.xml",
    "/embed.js",
    "/favicon.ico",
    "/static/style.css",
    "/.well-known/api-catalog",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/",
    "/.well-known/security.txt",
)
"""Documents for pages of other sites. The last one is 404 without a contact."""
READ = [path for path, method in CROSS_SITE.items() if method == "GET"]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X" * 40)


# Request ids.


@pytest.mark.parametrize("own", ["a", "0af7651916cd43dd8448eb211c80319c", "trace-1_2.3", "x" * 64])
async def test_a_harmless_request_id_is_kept(world: World, own: str) -> None:
    assert (await _named(world, own)).header("x-request-id") == own


@pytest.mark.parametrize("own", ["", "x" * 65, "two words", "a\tb", "é", "<b>", "a,b", "a;b", '"a"', "\x1b[31m", "a/b"])
async def test_any_other_request_id_is_replaced(world: World, own: str) -> None:
    given = (await _named(world, own)).header("x-request-id")
    assert given
    assert given != own
    assert len(given) == 24


async def _named(world: World, own: str) -> Response:
    return await world.client.get("/healthz", headers={"X-Request-Id": own})


async def test_the_first_harmless_request_id_of_several_is_kept(world: World) -> None:
    several = [("X-Request-Id", "no good"), ("X-Request-Id", "good"), ("X-Request-Id", "better")]
    assert (await world.client.get("/nowhere", headers=several)).header("x-request-id") == "good"


async def test_each_request_without_an_id_gets_one_of_its_own(world: World) -> None:
    ids = {(await world.client.get("/healthz")).header("x-request-id") for _ in range(20)}
    assert len(ids) == 20


# Methods.


@pytest.mark.parametrize("method", METHODS)
async def test_a_method_that_a_path_does_not_take_is_405_with_allow(world: World, method: str) -> None:
    for path, allowed in PATHS.items():
        if method in allowed.split(", "):
            continue
        response = await world.client.request(method, path, world.key())
        assert response.status == 405, f"{method} {path}"
        assert response.json["error"] == "method_not_allowed"
        assert response.header("allow") == allowed


async def test_a_refused_method_does_not_count(world: World) -> None:
    key = world.key()
    await world.client.request("DELETE", "/api/v1/bots", key)
    await world.client.request("OPTIONS", "/api/v1/bots", key)
    assert world.tenant_of(key).lifetime_used == 0


@pytest.mark.parametrize("row", [row for row in CONTRACT.values() if row.method == "GET"], ids=lambda row: row.target)
async def test_head_says_what_get_would(world: World, row: Row) -> None:
    emails = ("0@example.com", "1@example.com")
    if row.policy.column == PERSON.column:
        callers = [cookie(world.session(email)) | OUR_PAGE for email in emails]
    else:
        keys = [world.key(tier=Tier.CLAIMED, email=email, admin=True) for email in emails]
        callers = [{"Authorization": f"Bearer {key}"} for key in keys]
    await world.client.get("/healthz")  # The status of a node tells how fast it answered, once it has answered.
    answers = [
        await world.client.request(method, row.target, headers=caller | {"X-Request-Id": "same"})
        for method, caller in zip(("GET", "HEAD"), callers, strict=True)
    ]
    assert f"{answers[0].status}" == f"{answers[1].status}" == row.result[:3]
    assert answers[0].headers == answers[1].headers


async def test_head_counts_as_get_does(world: World) -> None:
    key = world.key()
    await world.client.request("HEAD", "/api/v1/usecases", key)
    assert (world.tenant_of(key).lifetime_used, world.tenant_of(key).usecase_reads) == (1, 1)


# Paths.


BELOW_LIST = ("/case-04/", "//case-04", "/..", "/case%2F04", "/CASE-04", "/case-04%00", "/%FF%FE", "/%E2%82%AC")


@pytest.mark.parametrize(
    "target",
    [
        *(
            "/nowhere",
            "/api",
            "/api/v2/usage",
            "/api/v1/usage/",
            "//api/v1/usecases",
            "/API/v1/usage",
            "//metrics",
            "*",
        ),
        *("/api/v1/usage;x=1", "/api/v1/usage%3Fq=1", "/%", "/api/v1/usecases/%0d%0aSet-Cookie:%20a=b"),
        *(f"/api/v1/usecases{end}" for end in (*BELOW_LIST, "/" + "a" * 8_000)),
    ],
)
async def test_a_path_that_is_none_is_404_in_json(world: World, target: str) -> None:
    assert (await world.client.get(target, world.key())).words == "404 not_found"


@pytest.mark.parametrize("path", ["/api/v1/sponsors", "/api/v1/sponsors/nothing", "/api/v1/admin/nothing"])
async def test_an_unknown_path_of_the_sponsorship_area_has_its_error_body(world: World, path: str) -> None:
    response = await world.client.get(path)
    assert response.json == {"error": "not_found", "message": "There is nothing at this address."}


async def test_a_path_may_be_percent_encoded(world: World) -> None:
    assert (await world.client.get("/api/v1/%75secases/case%2D04")).json["slug"] == "case-04"


async def test_an_absolute_target_is_its_path(world: World) -> None:
    assert (await world.client.get("http://catalog.test/healthz")).words == "200"


@pytest.mark.parametrize("host", ["", "catalog.test:80", "a b", "evil.example", "[::1]", "x" * 300, "é", "a@b", "a/b"])
async def test_any_host_is_answered(world: World, host: str) -> None:
    """Behind proxies the host can be anything, so no response depends on it."""
    for path, status in {"/healthz": 200, "/nowhere": 404, "/": 200}.items():
        response = await world.client.get(path, headers={"Host": host})
        assert response.status == status
        assert "evil.example" not in response.body.decode()


async def test_unknown_parameters_are_ignored(world: World) -> None:
    answer = await world.client.get("/api/v1/bots?utm_source=x&limit=1&utm_source=y&x[]=1&=&&%00=1")
    assert len(answer.json["data"]) == 1


@pytest.mark.parametrize(
    "query", ["limit=1&limit=2", "limit=1&limit=1", "q=a&q=b", "cursor=a&cursor=", "limit=1&%6Cimit=2"]
)
async def test_a_parameter_that_stands_twice_is_refused(world: World, query: str) -> None:
    response = await world.client.get(f"/api/v1/bots?{query}")
    assert response.words == "400 invalid_request"
    assert "only once" in response.json["message"]


@pytest.mark.parametrize("query", ["q=%FF", "q=%C3", "%FF=1", "q=%ED%A0%80", "&".join(f"a{i}=1" for i in range(101))])
async def test_a_query_that_is_no_text_is_refused(world: World, query: str) -> None:
    assert (await world.client.get(f"/api/v1/usecases?{query}")).words == "400 invalid_request"


async def test_a_query_that_is_not_percent_encoded_is_read_as_utf_8(world: World) -> None:
    await world.add(slug="zurich", title="Zürich")
    for query in ("z%C3%BCrich", "zürich"):
        [found] = (await world.client.get(f"/api/v1/usecases?q={query}")).json["data"]
        assert found["slug"] == "zurich"


# Other sites.


@pytest.mark.parametrize("path", CROSS_SITE)
async def test_any_site_may_call_these_without_credentials_and_read_refusals(world: World, path: str) -> None:
    response = await world.client.request(CROSS_SITE[path], path, headers={"Origin": "https://elsewhere.example"})
    assert response.status == (200 if path in READ else 400)
    for key in () if path in UNKEYED else ("not-a-key", world.key(expires_in_ms=-1), world.key(used=1_000)):
        refused = await world.client.request(
            CROSS_SITE[path], path, key, headers={"Origin": "https://elsewhere.example"}
        )
        assert refused.status in (401, 403)
        assert refused.header("access-control-allow-origin") == "*", "a page can read why"
    assert response.header("access-control-allow-origin") == "*"
    exposed = (response.header("access-control-expose-headers") or "").lower().split(", ")
    limits = {"ratelimit", "ratelimit-policy", "retry-after"}
    assert set(exposed) == {"etag", "link", "x-event-dropped", "x-request-id", "x-search-relaxed"} | limits


TRACING = "baggage, sentry-trace,traceparent , X-Datadog-Origin,x-b3-traceid,newrelic,x-requested-with,b3"


@pytest.mark.parametrize("path", [*CROSS_SITE, *PUBLISHED])
async def test_a_preflight_of_these_is_allowed_for_a_day_with_any_header(world: World, path: str) -> None:
    asked = f"{TRACING}, no name, {'x' * 101}, \xe9, ,,"
    method = CROSS_SITE.get(path, "GET, HEAD")
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Headers": asked}
    response = await world.client.request("OPTIONS", path, headers=headers)
    assert response.status == 204
    assert response.header("access-control-allow-origin") == "*"
    assert response.header("access-control-allow-methods") == method
    allowed = (response.header("access-control-allow-headers") or "").split(", ")
    wanted = [name.strip().lower() for name in TRACING.split(",")]
    assert allowed == ["authorization", "content-type", "if-none-match", "x-request-id", *wanted]
    assert response.header("access-control-max-age") == "86400"
    assert response.header("vary") == "Access-Control-Request-Headers"


async def test_a_preflight_allows_no_more_headers_than_a_list_may_have(world: World) -> None:
    headers = {"Access-Control-Request-Headers": ",".join(f"x-{number}" for number in range(2_000))}
    response = await world.client.request("OPTIONS", "/api/v1/bots", headers=headers)
    assert len((response.header("access-control-allow-headers") or "").split(", ")) == 4 + MAX_MEMBERS


@pytest.mark.parametrize("path", [*CROSS_SITE, *PUBLISHED])
async def test_an_isolated_page_of_any_site_loads_these_whatever_the_answer(world: World, path: str) -> None:
    method = CROSS_SITE.get(path, "GET")
    first = await world.client.request(method, path)
    known = await world.client.request(method, path, headers={"If-None-Match": first.header("etag") or '"none"'})
    refused = await world.client.request(method, path, "not-a-key")
    for response in (first, known, refused):
        assert response.header("cross-origin-resource-policy") == "cross-origin"
        assert response.header("access-control-allow-origin") == "*"
    if path in PUBLISHED:
        refused = await world.client.post(path)
        assert refused.status == 405
        assert refused.header("access-control-allow-origin") == "*"


async def test_no_other_address_can_be_read_from_another_site(world: World) -> None:
    pages = ("/", "/docs", "/metrics", "/claim", "/dev/outbox", "/nowhere", "/embed", "/llms.txt/", "/embed.jsx")
    for path in (*PATHS, *pages):
        for method in ("GET", "POST", "OPTIONS"):
            response = await world.client.request(
                method, path, headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
            )
            told = [name for name, _ in response.headers if name.startswith("access-control")]
            allowed = method in PATHS.get(path, "") and path in CROSS_SITE
            assert bool(told) == allowed, f"{method} {path}: {told}"


# Caching.


async def test_secret_answers_are_not_stored_and_keyed_ones_are_asked_for_each_time(world: World) -> None:
    for path in READ:
        assert (await world.client.get(path, world.key())).header("cache-control") == "private, no-cache"
    assert (await world.client.get("/api/v1/usage", world.key())).header("cache-control") == "no-store"
    assert (await world.client.post("/api/v1/auth/agent")).header("cache-control") == "no-store"
    assert (await world.client.get("/readyz")).header("cache-control") == "no-store"


@pytest.mark.parametrize("path", READ)
async def test_keyless_answers_are_public_for_a_minute_and_those_of_sponsors_for_less(world: World, path: str) -> None:
    response = await world.client.get(path)
    seconds = 15 if "/sponsors/" in path else 60
    assert response.header("cache-control") == f"public, max-age={seconds}"
    assert response.header("vary") == "Authorization, Accept-Encoding"


# Other protocols.


async def test_a_websocket_is_refused(world: World) -> None:
    received: list[Message] = [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1006}]
    sent: list[str] = []

    async def receive() -> Message:
        return received.pop(0)

    async def send(message: Message) -> None:
        sent.append(message["type"])

    own = {"type": "websocket", "scheme": "ws", "subprotocols": [], "extensions": {}}
    await world.client.app(scope_of("listUseCases") | own, receive, send)
    assert sent == ["websocket.close"]
