"""HTTP basics: request ids, methods, paths, common headers and CORS.

`conformity.py` has the rules for every response; these tests need requests of their own.
"""

import pytest

from actors.values import Tier
from service.api.operations import OPERATIONS
from service.http.asgi import Message
from tests.api.asgi import Response
from tests.api.callers import cookie
from tests.api.conformity import documented
from tests.api.world import World

PATHS = {
    "/api/v1/auth/agent": "POST",
    "/api/v1/auth/claim": "POST",
    "/api/v1/auth/claim/complete": "POST",
    "/api/v1/auth/device": "POST",
    "/api/v1/auth/device/token": "POST",
    "/api/v1/auth/device/approval": "GET, HEAD, POST",
    "/api/v1/auth/session": "POST",
    "/api/v1/auth/session/complete": "POST",
    "/api/v1/auth/sessions": "GET, HEAD",
    "/api/v1/auth/sessions/ses_1": "DELETE",
    "/api/v1/auth/passkey": "DELETE, GET, HEAD, POST",
    "/api/v1/auth/passkey/complete": "POST",
    "/api/v1/account/passkeys": "GET, HEAD, POST",
    # Not the passkey with this id: the literal path comes first.
    "/api/v1/account/passkeys/challenge": "POST",
    "/api/v1/account/passkeys/confirmation": "POST",
    "/api/v1/account/passkeys/confirmation/complete": "POST",
    "/api/v1/account/passkeys/psk_1": "DELETE, PATCH",
    "/api/v1/usage": "GET, HEAD",
    "/api/v1/account/usage/days": "GET, HEAD",
    "/api/v1/account/keys": "GET, HEAD, POST",
    "/api/v1/account/usage/keys": "GET, HEAD",
    "/api/v1/account/keys/key_1": "DELETE, PATCH",
    "/api/v1/account/keys/key_1/rotate": "POST",
    "/api/v1/account": "DELETE",
    "/api/v1/account/deletion": "DELETE, GET, HEAD, POST",
    "/api/v1/account/export": "GET, HEAD",
    "/api/v1/account/notifications": "GET, HEAD, PATCH",
    "/api/v1/account/end-all": "POST",
    "/api/v1/usecases": "GET, HEAD, OPTIONS",
    "/api/v1/usecases/case-04": "GET, HEAD, OPTIONS",
    "/api/v1/bots": "GET, HEAD, OPTIONS",
    "/api/v1/bots/bot-00": "GET, HEAD, OPTIONS",
    "/api/v1/categories": "GET, HEAD, OPTIONS",
    "/api/v1/sponsors/inventory": "GET, HEAD, OPTIONS",
    "/api/v1/sponsors/calendar": "GET, HEAD",
    "/api/v1/sponsors/placements": "GET, HEAD, OPTIONS",
    "/api/v1/sponsors/events": "OPTIONS, POST",
    "/api/v1/sponsors/events/batch": "OPTIONS, POST",
    "/api/v1/sponsors/me": "GET, HEAD",
    "/api/v1/sponsors/profile": "PATCH",
    "/api/v1/sponsors/campaigns": "GET, HEAD, POST",
    "/api/v1/sponsors/campaigns/cmp_1": "GET, HEAD, PATCH",
    "/api/v1/sponsors/campaigns/cmp_1/submit": "POST",
    "/api/v1/sponsors/campaigns/cmp_1/withdraw": "POST",
    "/api/v1/sponsors/campaigns/cmp_1/pause": "POST",
    "/api/v1/sponsors/campaigns/cmp_1/resume": "POST",
    "/api/v1/sponsors/bookings": "GET, HEAD, POST",
    # Not the booking with this id: the literal path comes first.
    "/api/v1/sponsors/bookings/start": "POST",
    "/api/v1/sponsors/bookings/bok_1": "GET, HEAD",
    "/api/v1/sponsors/bookings/bok_1/delivery": "GET, HEAD",
    "/api/v1/sponsors/delivery": "GET, HEAD",
    "/api/v1/sponsors/rate-card": "GET, HEAD",
    "/api/v1/sponsors/bookings/bok_1/invoice": "GET, HEAD",
    "/api/v1/sponsors/invoices": "GET, HEAD",
    "/api/v1/sponsors/bookings/bok_1/checkout": "POST",
    "/api/v1/sponsors/bookings/bok_1/cancel": "POST",
    "/api/v1/sponsors/bookings/bok_1/refund-request": "POST",
    "/api/v1/admin/sponsorships/bookings/bok_1/refund-decline": "POST",
    "/api/v1/admin/sponsorships/campaigns": "GET, HEAD",
    "/api/v1/admin/sponsorships/campaigns/cmp_1/review": "POST",
    "/api/v1/admin/sponsorships/sponsors": "GET, HEAD",
    "/api/v1/admin/sponsorships/slots": "GET, HEAD, POST",
    "/api/v1/admin/sponsorships/slots/left-top": "DELETE, PATCH",
    "/api/v1/admin/sponsorships/bookings": "GET, HEAD",
    "/api/v1/admin/sponsorships/bookings/bok_1": "PATCH",
    "/api/v1/admin/sponsorships/bookings/bok_1/refund": "POST",
    "/api/v1/admin/sponsorships/audit": "GET, HEAD",
    "/api/v1/admin/sponsorships/sites": "GET, HEAD",
    "/api/v1/webhooks/stripe": "POST",
    "/api/v1/sponsors/keys": "GET, HEAD, POST",
    "/api/v1/sponsors/keys/key_1": "DELETE, PATCH",
    "/api/v1/sponsors/keys/key_1/rotate": "POST",
    "/api/v1/admin/accounts": "GET, HEAD",
    "/api/v1/admin/accounts/ten_1": "GET, HEAD",
    # Not the account with this id: the literal path comes first.
    "/api/v1/sponsors/webhooks": "GET, HEAD, POST",
    "/api/v1/sponsors/webhooks/whk_1": "DELETE, GET, HEAD",
    "/api/v1/sponsors/webhooks/whk_1/enable": "POST",
    "/api/v1/sponsors/webhooks/whk_1/test": "POST",
    "/api/v1/sponsors/webhooks/whk_1/deliveries": "GET, HEAD",
    "/api/v1/sponsors/webhooks/whk_1/deliveries/dlv_1/resend": "POST",
    "/api/v1/admin/accounts/tier": "POST",
    "/api/v1/admin/accounts/ten_1/suspend": "POST",
    "/api/v1/admin/accounts/ten_1/unsuspend": "POST",
    "/api/v1/admin/accounts/ten_1/refund": "POST",
    "/api/v1/admin/sponsorships/reviews": "GET, HEAD",
    "/api/v1/admin/sponsorships/counts": "GET, HEAD",
    "/api/v1/admin/sponsorships/revenue": "GET, HEAD",
    "/api/v1/admin/operations/status": "GET, HEAD",
    "/healthz": "GET, HEAD",
    "/readyz": "GET, HEAD",
}
"""A path of each operation, with its methods."""

ABSENT = (
    "/api/v1/sponsors/campaigns/cmp_1",
    "/api/v1/sponsors/bookings/bok_1",
    "/api/v1/sponsors/bookings/bok_1/delivery",
    "/api/v1/admin/accounts/ten_1",
    "/api/v1/sponsors/webhooks/whk_1",
    "/api/v1/sponsors/webhooks/whk_1/deliveries",
    "/api/v1/sponsors/bookings/bok_1/invoice",
)
"""Paths that do not exist."""

FOR_PEOPLE = ("/api/v1/auth/sessions", "/api/v1/account/passkeys", "/api/v1/account/deletion")
"""Paths that need a session."""

IN_SESSIONS = ("/api/v1/auth/device/approval",)
"""Paths that need a session and a page of this service."""

IN_SIGN_INS = ("/api/v1/auth/passkey",)
"""Paths that need a sign-in that waits for a passkey."""

CROSS_SITE = {
    path: methods.replace("OPTIONS", "").strip(", ") for path, methods in PATHS.items() if "OPTIONS" in methods
}
"""Paths with CORS, and their methods."""

READ = [path for path, methods in CROSS_SITE.items() if methods == "GET, HEAD"]
REPORTED = [path for path, methods in CROSS_SITE.items() if methods == "POST"]
assert len(READ) + len(REPORTED) == len(CROSS_SITE)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X" * 40)


def test_every_operation_has_a_path_here() -> None:
    taken = {documented(method, path) for path, methods in PATHS.items() for method in methods.split(", ")}
    assert {(operation.path, operation.method.lower()) for operation in OPERATIONS} == taken - {None}


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


@pytest.mark.parametrize("path", [path for path, methods in PATHS.items() if "HEAD" in methods])
async def test_head_says_what_get_would(world: World, path: str) -> None:
    headers = {"X-Request-Id": "same"}
    keys = [world.key(tier=Tier.CLAIMED, email=f"{number}@example.com", admin=True) for number in range(2)]
    cookies = [cookie(world.session(f"{number}@example.com")) if path in FOR_PEOPLE else {} for number in range(2)]
    await world.client.get("/healthz")  # The status of a node tells how fast it answered, once it has answered.
    answers = [
        await world.client.request(method, path, key, headers=headers | own)
        for method, key, own in zip(("GET", "HEAD"), keys, cookies, strict=True)
    ]
    unusual = dict.fromkeys(ABSENT, 404) | dict.fromkeys(IN_SESSIONS, 403) | dict.fromkeys(IN_SIGN_INS, 401)
    assert answers[0].status == answers[1].status == unusual.get(path, 200)
    assert answers[0].headers == answers[1].headers


async def test_head_counts_as_get_does(world: World) -> None:
    key = world.key()
    await world.client.request("HEAD", "/api/v1/usecases", key)
    assert (world.tenant_of(key).lifetime_used, world.tenant_of(key).usecase_reads) == (1, 1)


# Paths.


@pytest.mark.parametrize(
    "target",
    [
        "/nowhere",
        "/api",
        "/api/v1",
        "/api/v2/usage",
        "/api/v1/usage/",
        "/api/v1/usecases/",
        "/api/v1/usecases/case-04/",
        "/api/v1/usecases/case-04/more",
        "/api/v1/usecases//case-04",
        "//api/v1/usecases",
        "/api//v1/usecases",
        "/api/v1/usecases/..",
        "/api/v1/../v1/usage",
        "/API/v1/usage",
        "/api/v1/Usage",
        "/api/v1/usage;x=1",
        "/api/v1/usage%20",
        "/api/v1/usage%3Fq=1",
        "/api/v1/usecases/case%2F04",
        "/api/v1/usecases/CASE-04",
        "/api/v1/usecases/case-04%00",
        "/api/v1/usecases/%00",
        "/api/v1/usecases/%FF%FE",
        "/api/v1/usecases/%E2%82%AC",
        "/api/v1/usecases/%0d%0aSet-Cookie:%20a=b",
        "/api/v1/usecases/" + "a" * 8_000,
        "/api/v1/usecases/{slug}",
        "//api/v1/usage",
        "//metrics",
        "///",
        "*",
        "/%",
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


def _asked(path: str) -> str:
    """The method that a page would use."""
    return CROSS_SITE[path].partition(",")[0]


@pytest.mark.parametrize("path", CROSS_SITE)
async def test_any_site_may_call_these_without_credentials(world: World, path: str) -> None:
    response = await world.client.request(_asked(path), path, headers={"Origin": "https://elsewhere.example"})
    assert response.status == (200 if path in READ else 400)
    assert response.header("access-control-allow-origin") == "*"
    exposed = (response.header("access-control-expose-headers") or "").lower().split(", ")
    told = {
        "etag",
        "link",
        "ratelimit",
        "ratelimit-policy",
        "retry-after",
        "x-event-dropped",
        "x-request-id",
        "x-search-relaxed",
    }
    assert set(exposed) == told


@pytest.mark.parametrize("path", CROSS_SITE)
async def test_refusals_of_these_can_be_read_from_any_site(world: World, path: str) -> None:
    for key in ("not-a-key", world.key(expires_in_ms=-1), world.key(used=1_000)):
        response = await world.client.request(_asked(path), path, key, headers={"Origin": "https://elsewhere.example"})
        assert response.status in (401, 403)
        assert response.header("access-control-allow-origin") == "*"


@pytest.mark.parametrize("path", CROSS_SITE)
async def test_a_preflight_of_these_is_allowed_for_a_day(world: World, path: str) -> None:
    headers = {
        "Origin": "https://elsewhere.example",
        "Access-Control-Request-Method": _asked(path),
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    response = await world.client.request("OPTIONS", path, headers=headers)
    assert response.status == 204
    assert response.header("access-control-allow-origin") == "*"
    assert response.header("access-control-allow-methods") == _asked(path)
    allowed = (response.header("access-control-allow-headers") or "").split(", ")
    assert {"authorization", "content-type"} <= set(allowed)
    assert response.header("access-control-max-age") == "86400"


async def test_no_other_address_can_be_read_from_another_site(world: World) -> None:
    pages = ("/", "/docs", "/openapi.json", "/metrics", "/claim", "/dev/outbox", "/nowhere")
    for path in (*PATHS, *pages):
        for method in ("GET", "POST", "OPTIONS"):
            response = await world.client.request(
                method, path, headers={"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
            )
            told = [name for name, _ in response.headers if name.startswith("access-control")]
            allowed = method in PATHS.get(path, "") and path in CROSS_SITE
            assert bool(told) == allowed, f"{method} {path}: {told}"


# Caching.


async def test_keyed_and_secret_answers_are_not_stored(world: World) -> None:
    for path in ("/api/v1/usage", *READ):
        assert (await world.client.get(path, world.key())).header("cache-control") == "no-store"
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

    scope = {
        "type": "websocket",
        "path": "/api/v1/usecases",
        "raw_path": b"/api/v1/usecases",
        "root_path": "",
        "scheme": "ws",
        "query_string": b"",
        "headers": [(b"host", b"catalog.test")],
        "http_version": "1.1",
        "client": ("203.0.113.7", 1),
        "server": ("catalog.test", 80),
        "subprotocols": [],
        "extensions": {},
        "asgi": {"version": "3.0"},
    }
    await world.client.app(scope, receive, send)
    assert sent == ["websocket.close"]
