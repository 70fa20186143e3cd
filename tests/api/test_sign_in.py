"""Sign-in over HTTP: codes, cookies, lists and ends of sessions, on several nodes."""

import re

import pytest
import trio

from actors.clock import DAY_MS
from actors.kernel.actor import ActorLimits
from actors.sessions.reader import SessionReader
from actors.values import Tier
from service.api.cookies import SESSION
from service.web.requests import headers_of
from tests.api.asgi import Response
from tests.api.browsers import AGENT, COMPLETE, START, Browser
from tests.api.callers import OUR_PAGE, cookie
from tests.api.world import World, away
from tests.doubles.sessions import MemorySessions

SESSIONS = "/api/v1/auth/sessions"
ANN, BOB = "ann@example.com", "bob@example.com"


@pytest.fixture
def browser(world: World) -> Browser:
    return Browser(world.client)


async def start(browser: Browser, email: str = ANN) -> Response:
    return await browser.start(email)


async def complete(browser: Browser, code: str, email: str = ANN) -> Response:
    return await browser.complete(email, code)


async def sign_in(world: World, email: str = ANN) -> str:
    """The token in the session cookie of a new browser."""
    browser = Browser(world.client)
    assert (await start(browser, email)).json == {"sent": True}
    return given(await complete(browser, await world.emailed_code(email), email))


def given(response: Response) -> str:
    assert response.status == 200, response.words
    found = re.match(r"__Host-session=(sst_\w{43});", response.header("set-cookie") or "")
    assert found
    return found[1]


async def listed(world: World, token: str) -> Response:
    return await world.client.get(SESSIONS, headers=cookie(token))


# Signing in.


async def test_a_newcomer_signs_in_and_has_an_account(world: World, browser: Browser) -> None:
    await start(browser)
    response = await complete(browser, await world.emailed_code(ANN))
    [session] = world.memory.sessions.values()
    assert response.json == {"id": session.id, "email": ANN, "expiresAt": world.now_ms + 30 * DAY_MS}
    assert response.header("cache-control") == "no-store"
    assert world.memory.tenants[world.memory.accounts[ANN].tenant_id].tier is Tier.CLAIMED
    [record] = world.memory.audits
    assert (record.action, record.actor_type, record.actor_id, record.actor_email) == (
        "session.started",
        "session",
        session.id,
        ANN,
    )
    assert record.request_id == response.header("x-request-id")


async def test_who_has_an_account_gets_into_it(world: World) -> None:
    world.key(tier=Tier.UPGRADED, email=ANN)
    tenant_id = world.memory.accounts[ANN].tenant_id
    token = await sign_in(world)
    usage = await world.client.get("/api/v1/usage", headers=cookie(token))
    assert (usage.json["tenantId"], usage.json["status"]) == (tenant_id, "upgraded")


@pytest.mark.parametrize(
    ("base_url", "keeping"),
    [
        ("https://catalog.test", "__Host-session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"),
        ("http://127.0.0.1:8080", "session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"),
    ],
)
def test_the_prefix_and_secure_go_with_https(base_url: str, keeping: str) -> None:
    """Browsers reject `__Host-` and `Secure` over plain http, which is for local use only."""
    assert SESSION.set("t", base_url, 60) == ("set-cookie", keeping)
    taking = keeping.replace("=t;", "=;").replace("Max-Age=60", "Max-Age=0")
    assert SESSION.delete(base_url) == ("set-cookie", taking)
    assert SESSION.value({"cookie": f"a=b; {SESSION.name(base_url)}=t"}, base_url) == "t"


def test_over_https_the_cookie_without_the_prefix_is_nobodys() -> None:
    """Another host of the same domain could set it."""
    assert SESSION.value({"cookie": "session=t"}, "https://catalog.test") is None


@pytest.mark.parametrize(
    "planted",
    [
        "a=1,__Host-session=t",
        "a=1, __Host-session=t",
        "\xa0__Host-session=t",
        "\x85__Host-session=t",
        "__Host-session =t",
    ],
)
def test_a_cookie_that_a_sibling_domain_may_set_is_no_session(planted: str) -> None:
    """Browsers protect the prefix of a name, which ends at `=`, and separate cookies by semicolons alone."""
    assert SESSION.value({"cookie": planted}, "https://catalog.test") is None
    assert SESSION.value({"cookie": f"{planted}; __Host-session=own"}, "https://catalog.test") == "own"


def test_cookies_in_several_headers_are_read_as_one() -> None:
    """A client of HTTP/2 may send each cookie by itself (RFC 9113, 8.2.3)."""
    headers = [(b"cookie", b"a=1,2"), (b"accept", b"a"), (b"cookie", b"__Host-session=t"), (b"accept", b"b")]
    read = headers_of({"type": "http", "headers": headers})
    assert read == {"cookie": "a=1,2; __Host-session=t", "accept": "a, b"}
    assert SESSION.value(read, "https://catalog.test") == "t"


async def test_a_code_says_nothing_about_accounts(world: World, browser: Browser) -> None:
    world.key(tier=Tier.CLAIMED, email=ANN)
    answers = [await start(browser, email) for email in (ANN, BOB)]
    assert answers[0].body == answers[1].body
    assert [answer.status for answer in answers] == [200, 200]


async def test_no_other_site_signs_a_browser_in(world: World, browser: Browser) -> None:
    await start(browser)
    body = {"email": ANN, "code": await world.emailed_code(ANN)}
    kept = {"Cookie": browser.headers["Cookie"]}
    for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://example.com"}, {"Origin": "null"}):
        for path in (START, COMPLETE):
            response = await world.client.post(path, headers=kept | headers, json=body)
            assert response.words == "403 forbidden"
            assert response.header("set-cookie") is None
    ours = kept | {"Origin": "https://catalog.test"}
    assert (await world.client.post(COMPLETE, headers=ours, json=body)).words == "200"


@pytest.mark.parametrize(
    "body", [{}, {"email": ANN}, {"email": "ann", "code": "123456"}, {"email": ANN, "code": 123456}]
)
async def test_a_body_that_is_none_is_400(world: World, body: object) -> None:
    assert (await Browser(world.client).post(COMPLETE, body)).words == "400 invalid_request"


async def test_a_code_is_read_as_people_paste_it_and_one_that_is_none_costs_no_attempt(
    world: World, browser: Browser
) -> None:
    await start(browser)
    code = await world.emailed_code(ANN)
    for malformed in 3 * (code[:5], f"{code}0", "abcdef"):
        assert (await complete(browser, malformed)).words == "400 invalid_code"
    assert (await complete(browser, f" {code[:3]}-{code[3:]}\n")).words == "200"


async def test_without_its_database_nobody_is_signed_in_and_no_cookie_is_given(world: World, browser: Browser) -> None:
    await start(browser)
    code = await world.emailed_code(ANN)
    before, world.memory.before = world.memory.before, away
    refused = await complete(browser, code)
    assert (refused.words, refused.header("set-cookie")) == ("503 service_unavailable", None)
    assert (await start(browser, BOB)).words == "503 service_unavailable"
    world.memory.before = before
    assert (await complete(browser, code)).words == "200"


# Sessions.


async def test_sessions_are_listed_the_last_used_first(world: World) -> None:
    first = await sign_in(world)
    await world.pass_seconds(60)
    second = await sign_in(world)
    await sign_in(world, BOB)
    items = (await listed(world, first)).json["items"]
    assert [item["current"] for item in items] == [False, True]
    assert items[0] == {
        "id": items[0]["id"],
        "agent": AGENT["User-Agent"],
        "createdAt": world.now_ms,
        "seenAt": world.now_ms,
        "expiresAt": world.now_ms + 30 * DAY_MS,
        "current": False,
    }
    assert [item["current"] for item in (await listed(world, second)).json["items"]] == [True, False]


async def test_a_name_of_a_browser_is_cut_and_cleaned(world: World, browser: Browser) -> None:
    await start(browser)
    body = {"email": ANN, "code": await world.emailed_code(ANN)}
    await browser.post(COMPLETE, body, User_Agent="A\tB" + "\x80" + "x" * 500)
    [session] = world.memory.sessions.values()
    assert session.agent == "AB" + "x" * 198


async def test_ending_another_session_leaves_this_one(world: World) -> None:
    mine, lost = await sign_in(world), ""
    await world.pass_seconds(60)
    lost = await sign_in(world)
    [gone] = [item["id"] for item in (await listed(world, mine)).json["items"] if not item["current"]]
    ended = await world.client.request("DELETE", f"{SESSIONS}/{gone}", headers=cookie(mine) | OUR_PAGE)
    assert (ended.json, ended.header("set-cookie")) == ({"ended": True}, None)
    ended = await listed(world, lost)
    assert (ended.words, ended.json["hint"]) == ("401 unauthorized", START)
    assert len((await listed(world, mine)).json["items"]) == 1
    again = await world.client.request("DELETE", f"{SESSIONS}/{gone}", headers=cookie(mine) | OUR_PAGE)
    assert again.json == {"ended": True}
    actions = [record.action for record in world.memory.audits]
    assert actions.count("session.ended") == 1


async def test_ending_the_current_session_takes_the_cookie_away(world: World) -> None:
    token = await sign_in(world)
    [mine] = [item["id"] for item in (await listed(world, token)).json["items"]]
    ended = await world.client.request("DELETE", f"{SESSIONS}/{mine}", headers=cookie(token) | OUR_PAGE)
    assert (ended.header("set-cookie") or "").startswith("__Host-session=; Path=/; Max-Age=0")
    assert (await listed(world, token)).words == "401 unauthorized"


@pytest.mark.parametrize("session_id", ["ses_unknown", "x", "%00", "a" * 101, "ses_%E2%82%AC"])
async def test_there_is_nothing_else_to_end(world: World, session_id: str) -> None:
    token = await sign_in(world)
    ended = await world.client.request("DELETE", f"{SESSIONS}/{session_id}", headers=cookie(token) | OUR_PAGE)
    assert ended.words == "404 not_found"


async def test_what_one_node_ends_another_does_not_let_in(world: World) -> None:
    """Sessions are not cached, so another node sees the change at its next lookup."""
    token = await sign_in(world)
    elsewhere = SessionReader(MemorySessions(world.memory), node="n2", limits=ActorLimits())
    async with trio.open_nursery() as nursery:
        await nursery.start(elsewhere.run)
        found = await elsewhere.resolve(token)
        assert found is not None
        assert found.session.is_live(world.now_ms)
        await world.client.request("DELETE", f"{SESSIONS}/{found.session.id}", headers=cookie(token) | OUR_PAGE)
        ended = await elsewhere.resolve(token)
        assert ended is not None
        assert not ended.session.is_live(world.now_ms)
        elsewhere.close()
