"""The pages of signing in and out, as a browser without scripts uses them."""

import html
import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from actors.clock import DAY_MS, HOUR_MS
from actors.values import Agent
from service.web.pages.account.sign_in import AFTERWARDS, local_path
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.world import LOCAL, World, away, open_world

ANN = "ann@example.com"
FORM = OUR_PAGE | {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}


async def post(
    world: World, path: str, session: str | None = None, browser: str | None = None, **fields: str
) -> Response:
    """Send a form. `browser` has the cookies of a browser that asked for a code, with their names."""
    headers = FORM if session is None else FORM | cookie(session)
    if browser is not None:
        headers = headers | {"Cookie": browser}
    return await world.client.post(path, headers=headers, body=urlencode(fields).encode())


async def code_for(world: World, **fields: Any) -> tuple[str, str]:
    """The emailed code, and the cookies of the browser that asked for it."""
    sent = await post(world, "/sign-in", do="send", email=ANN, **fields)
    assert (sent.status, sent.header("cache-control")) == (303, "no-store")
    return await world.emailed_code(ANN), given(sent)


async def code_page(world: World, sent: Response, **rest: Any) -> Response:
    """The page that asks for the code."""
    headers = {"Cookie": given(sent), "Accept": "text/html"}
    shown = await world.client.get(sent.header("location") or "", headers=headers, **rest)
    assert (shown.status, shown.header("cache-control")) == (200, "no-store")
    return shown


def given(response: Response) -> str:
    cookies = response.all("set-cookie")
    assert [cookie.partition("=")[0] for cookie in cookies] == ["__Host-sign-in", "__Host-sign-in-form"]
    return "; ".join(cookie.partition(";")[0] for cookie in cookies)


def words(response: Response) -> str:
    return " ".join(html.unescape(response.body.decode()).split())


# Signing in.


async def test_a_person_signs_in_without_a_script(world: World) -> None:
    first = await world.client.get("/sign-in?next=%2Fsponsor%3Fweek%3D3")
    assert first.status == 200
    assert words(first).count("<script") == 1, "the script of every page"
    assert 'name="next" value="/sponsor?week=3"' in words(first)
    assert "Sign in to book weeks and follow your ads. No password needed" in words(first)
    sent = await post(world, "/sign-in", do="send", email=ANN, next="/sponsor?week=3")
    shown = words(await code_page(world, sent))
    assert "We sent a code to" in shown
    assert f'name="email" value="{ANN}"' in shown
    assert 'name="next" value="/sponsor?week=3"' in shown
    code, browser = await world.emailed_code(ANN), given(sent)
    done = await post(world, "/sign-in", browser=browser, do="complete", email=ANN, code=code, next="/sponsor?week=3")
    assert (done.status, done.header("location")) == (303, "/sponsor?week=3&notice=signed_in")
    begun, ended = done.all("set-cookie")
    assert ended.startswith("__Host-sign-in-form=; Path=/; Max-Age=0;")
    token = re.match(r"__Host-session=(sst_\w+);", begun)
    assert token
    assert (await world.client.get("/api/v1/auth/sessions", headers=cookie(token[1]))).status == 200


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/dashboard?days=7", "Sign in to create and manage your API keys."),
        ("/dashboard/security", "Sign in to see where you are signed in, and your passkeys."),
        ("/dashboard/settings", "Sign in to choose your mails, and to get or delete your data."),
        ("/usecases", ""),
    ],
)
async def test_a_sign_in_tells_what_it_is_for(world: World, path: str, reason: str) -> None:
    page = words(await world.client.get(f"/sign-in?next={quote(path)}"))
    assert f"{reason} No password needed".strip() in page
    assert ("Sign in to" in page) == bool(reason)


async def test_a_wrong_code_leaves_the_person_where_the_code_is_asked_for(world: World) -> None:
    code, browser = await code_for(world)
    wrong = f"{(int(code) + 1) % 1_000_000:06d}"
    shown = await post(world, "/sign-in", browser=browser, do="complete", email=ANN, code=wrong)
    assert shown.status == 400
    assert "The code is wrong or no longer valid." in words(shown)
    assert 'name="code"' in words(shown)
    assert 'aria-describedby="code-hint code-error" aria-invalid="true" autofocus' in words(shown)
    assert shown.header("set-cookie") is None
    assert (await post(world, "/sign-in", browser=browser, do="complete", email=ANN, code=code)).status == 303


async def test_who_asked_in_another_browser_is_told_to_go_back_to_it(world: World) -> None:
    code, _ = await code_for(world)
    shown = await post(world, "/sign-in", do="complete", email=ANN, code=code)
    assert shown.status == 400
    assert "Open this page in the browser in which you asked for the code, or ask for a new one." in words(shown)
    assert 'value="send"' in words(shown), "a new code is one click away"


# Signing in with an operator's link.


async def test_a_link_signs_in_with_a_click_and_not_by_being_opened(world: World) -> None:
    token = await world.services.sessions.issue_link(ANN, Agent("cli", "uid 0"))
    for _ in range(3):
        shown = await world.client.get(f"/sign-in/link?token={token}")
        assert (shown.status, shown.header("set-cookie"), shown.header("cache-control")) == (200, None, "no-store")
        assert f'name="token" value="{token}"' in words(shown)
    assert world.memory.sessions == {}
    done = await post(world, "/sign-in/link", do="use", token=token)
    assert (done.status, done.header("location")) == (303, "/dashboard?notice=signed_in")
    assert (done.header("set-cookie") or "").startswith("__Host-session=sst_")
    again = await post(world, "/sign-in/link", do="use", token=token)
    assert (again.status, again.header("set-cookie")) == (400, None)
    assert "This link is not valid, was used before, or is too old." in words(again)
    assert [(each.action, each.actor_type) for each in world.memory.audits] == [
        ("session.link_issued", "cli"),
        ("session.started_by_link", "session"),
    ]
    assert token not in repr(world.memory)


@pytest.mark.parametrize("token", ["", "sgn_", "sgn_" + "0" * 43, "x" * 2_000, '"><script>alert(1)</script>'])
async def test_what_is_no_link_signs_nobody_in(world: World, token: str) -> None:
    assert "<script>" not in (await world.client.get(f"/sign-in/link?{urlencode({'token': token})}")).body.decode()
    refused = await post(world, "/sign-in/link", do="use", token=token)
    assert (refused.status, refused.header("set-cookie")) == (400, None)
    assert "<script>" not in refused.body.decode()


async def test_a_link_ends_after_ten_minutes(world: World) -> None:
    token = await world.services.sessions.issue_link(ANN, Agent("cli", "uid 0"))
    await world.pass_seconds(600)
    assert (await post(world, "/sign-in/link", do="use", token=token)).status == 400


async def test_where_no_mail_leaves_the_outbox_is_linked_for_who_may_see_it() -> None:
    link = '<a href="/dev/outbox"'
    async with open_world(**LOCAL) as world:
        for email, address, shown in ((ANN, "127.0.0.1", True), ("bob@example.com", "203.0.113.7", False)):
            body = urlencode({"do": "send", "email": email}).encode()
            form = {**dict(FORM), "origin": "https://127.0.0.1:8443"}
            sent = await world.client.post("/sign-in", headers=form, body=body, address=address)
            claim = await world.client.get("/claim", address=address)
            code = await code_page(world, sent, address=address)
            assert (link in words(code), link in words(claim)) == (shown, shown)


async def test_a_form_whose_session_has_ended_leads_to_sign_in_and_says_that_it_did_nothing(world: World) -> None:
    sent = await post(world, "/sponsor/profile", do="save", name="Acme")
    assert (sent.status, sent.header("location")) == (303, "/sign-in?next=%2Fsponsor%2Fprofile&notice=sign_in_again")
    assert "nothing was done" in words(await world.client.get(sent.header("location") or ""))


async def test_a_browser_that_has_no_code_is_told_when_to_ask_again(world: World) -> None:
    code, browser = await code_for(world)
    again = await post(world, "/sign-in", browser=browser.partition(";")[0], do="send", email=ANN)
    assert (again.status, again.header("retry-after")) == (429, "60")
    assert 'name="code"' not in words(again)
    assert code not in words(again)


async def test_who_is_signed_in_goes_on(world: World) -> None:
    headers = cookie(world.session(ANN))
    for target, place in (
        ("/sign-in", AFTERWARDS),
        ("/sign-in?next=/ops", "/ops"),
        ("/sign-in?next=//x.y", AFTERWARDS),
    ):
        response = await world.client.get(target, headers=headers)
        assert (response.status, response.header("location")) == (303, place)


HOSTILE = [
    "",
    "https://example.com/",
    "//example.com",
    "///example.com",
    "/\\example.com",
    "\\\\example.com",
    "/\t/example.com",
    "/\n/example.com",
    "\t//example.com",
    " //example.com",
    "/a\\..\\..\\example.com",
    "javascript:alert(1)",
    "sign-in",
    "?next=/",
    "#here",
    "/a b",
    "/a\r\nSet-Cookie: a=b",
    "/\u2028",
    "/grün",
    "/\x00",
    "/\x7f",
    "/" + "a" * 2_000,
    "/a\n",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_address_elsewhere_is_not_followed(hostile: str) -> None:
    assert local_path(hostile) == AFTERWARDS


async def test_nobody_is_led_to_another_site(world: World) -> None:
    code, browser = await code_for(world, next="//example.com")
    done = await post(world, "/sign-in", browser=browser, do="complete", email=ANN, code=code, next="//example.com")
    assert done.header("location") == f"{AFTERWARDS}?notice=signed_in"


@pytest.mark.parametrize("path", ["/", "/dashboard", "/a/b?c=d&e=%2F%2Fx#f", "/~a(b)[c]", "/." * 10])
def test_paths_of_this_service_are_kept(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.parametrize("filling", ["/" * 1_300, "%" * 1_300, "a" * 8_000])
async def test_a_long_way_back_is_left_out_so_that_no_proxy_refuses_the_redirect(world: World, filling: str) -> None:
    """nginx takes 4 KiB of head, and leaves out a node that sends more."""
    response = await world.client.get(f"/dashboard?x={filling}")
    assert (response.status, response.header("location")) == (303, "/sign-in?notice=address_too_long")


# Signing out.


async def test_signing_out_ends_the_session_and_takes_the_cookie(world: World) -> None:
    token = world.session(ANN)
    assert ANN in words(await world.client.get("/sign-out", headers=cookie(token)))
    done = await post(world, "/sign-out", token, do="sign-out")
    assert (done.status, done.header("location")) == (303, "/?notice=signed_out")
    assert (done.header("set-cookie") or "").startswith("__Host-session=; Path=/; Max-Age=0")
    [session] = world.memory.sessions.values()
    assert session.revoked_ms == world.now_ms
    assert [record.action for record in world.memory.audits] == ["session.ended"]
    assert "You are signed out." in words(await world.client.get("/?notice=signed_out"))


async def test_who_is_not_signed_in_has_nothing_to_sign_out_of(world: World) -> None:
    looked = await world.client.get("/sign-out")
    assert (looked.status, looked.header("location")) == (303, "/")
    done = await post(world, "/sign-out", world.session(ANN, revoked=True), do="sign-out")
    assert (done.status, done.header("location")) == (303, "/?notice=signed_out")
    assert done.header("set-cookie")


async def test_who_could_not_be_signed_out_is_told_so(world: World) -> None:
    token = world.session(ANN)
    before, world.memory.before = world.memory.before, away
    refused = await post(world, "/sign-out", token, do="sign-out")
    assert (refused.status, refused.header("set-cookie")) == (503, None)
    world.memory.before = before


# The cookie lives as long as the session.


async def test_a_page_prolongs_the_cookie_with_the_session(world: World) -> None:
    token = world.session(ANN)
    assert (await world.client.get("/", headers=cookie(token))).header("set-cookie") is None
    world.clock.at_ms += HOUR_MS
    looked = await world.client.get("/", headers=cookie(token))
    assert (looked.header("set-cookie") or "").startswith(f"__Host-session={token}; Path=/; Max-Age=2592000")
    await world.settled()
    [session] = world.memory.sessions.values()
    assert session.expires_ms == world.now_ms + 30 * DAY_MS
    assert (await world.client.get("/", headers=cookie(token))).header("set-cookie") is None


async def test_signing_out_late_prolongs_nothing(world: World) -> None:
    token = world.session(ANN)
    world.clock.at_ms += HOUR_MS
    done = await post(world, "/sign-out", token, do="sign-out")
    assert done.all("set-cookie") == ["__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"]
