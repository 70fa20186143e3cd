"""The pages of passkeys, as a browser sends their forms: the script fills in one field, and all else needs none."""

import json
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from actors.clock import MINUTE_MS
from tests.api.asgi import Response
from tests.api.authenticator import Authenticator
from tests.api.callers import OUR_PAGE
from tests.api.passkeys import PASSKEYS, Owner, owner_with_passkey
from tests.api.world import World, away, fails_once, open_world

ANN = "ann@example.com"
PAGE = "/dashboard/security"


async def get(owner: Owner, path: str) -> Response:
    return await owner.world.client.get(path, headers=OUR_PAGE | cookies(owner) | {"Accept": "text/html"})


async def send(owner: Owner, path: str, **fields: str) -> Response:
    """Send a form; keeps the cookies of the answer."""
    form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
    headers = OUR_PAGE | cookies(owner) | form
    response = await owner.world.client.post(path, headers=headers, body=urlencode(fields).encode())
    for header in response.all("set-cookie"):
        name, _, value = header.removeprefix("__Host-").partition("=")
        owner.cookies[name] = value.partition(";")[0]
    owner.cookies = {name: value for name, value in owner.cookies.items() if value}
    return response


def cookies(owner: Owner) -> dict[str, str]:
    sent = "; ".join(f"__Host-{name}={value}" for name, value in owner.cookies.items())
    return {"Cookie": sent} if sent else {}


def words(response: Response) -> str:
    return " ".join(unescape(response.body.decode()).split())


def notice(response: Response) -> Any:
    """The path and the notice that a form leads to."""
    assert response.status == 303, words(response)
    parts = urlsplit(response.header("location") or "")
    return parts.path, *parse_qs(parts.query).get("notice", [""])


async def half(world: World, onward: str = "/sponsor?week=3") -> tuple[Owner, Authenticator, Response]:
    """A browser that has sent the right code of an account with a passkey."""
    _, authenticator = await owner_with_passkey(world)
    owner = Owner(world)
    world.clock.at_ms += MINUTE_MS
    await send(owner, "/sign-in", do="send", email=ANN)
    code = await world.emailed_code(ANN)
    return owner, authenticator, await send(owner, "/sign-in", do="complete", email=ANN, code=code, next=onward)


async def test_the_code_leads_to_the_passkey_and_the_passkey_to_where_the_person_wanted(world: World) -> None:
    owner, authenticator, response = await half(world)
    assert response.header("location") == "/sign-in/passkey?next=%2Fsponsor%3Fweek%3D3"
    page = await get(owner, "/sign-in/passkey?next=%2Fsponsor%3Fweek%3D3")
    assert ANN in words(page)
    assert "Turn on JavaScript" in words(page)
    assert page.header("cache-control") == "no-store"
    credential = json.dumps(authenticator.shows(await owner.challenged()))
    done = await send(owner, "/sign-in/passkey", do="finish", credential=credential, next="/sponsor?week=3")
    assert notice(done) == ("/sponsor", "signed_in")
    assert owner.holds == {"session"}
    assert notice(await get(owner, "/sign-in/passkey")) == ("/dashboard", "")


async def test_an_operators_link_replaces_the_code_and_not_the_passkey(world: World) -> None:
    _, authenticator = await owner_with_passkey(world)
    owner = Owner(world)
    token = await world.services.sessions.issue_link(ANN, world.agent)
    response = await send(owner, "/sign-in/link", do="use", token=token)
    assert response.header("location") == "/sign-in/passkey?next=%2Fdashboard"
    assert owner.holds == {"passkey"}
    assert (await owner.finishes(authenticator.shows(await owner.challenged()))).status == 200
    assert owner.holds == {"session"}


async def test_nobody_is_led_to_another_site_by_the_second_step(world: World) -> None:
    owner, authenticator, response = await half(world, "//example.com")
    assert response.header("location") == "/sign-in/passkey?next=%2Fdashboard"
    credential = json.dumps(authenticator.shows(await owner.challenged()))
    done = await send(owner, "/sign-in/passkey", do="finish", credential=credential, next="//example.com")
    assert notice(done) == ("/dashboard", "signed_in")


@pytest.mark.parametrize("credential", ["", "{", "null", "[]", '"text"', '{"id": 1}', "[" * 1_000 + "]" * 1_000])
async def test_a_form_without_a_passkey_says_what_is_missing(world: World, credential: str) -> None:
    owner, _, _ = await half(world)
    shown = await send(owner, "/sign-in/passkey", do="finish", credential=credential, next="/")
    assert shown.status == 400
    assert 'role="alert"' in words(shown)
    assert owner.holds == {"passkey"}


async def test_a_cancelled_or_ended_sign_in_leads_back_to_the_code(world: World) -> None:
    owner, authenticator, _ = await half(world)
    before = dict(owner.cookies)
    credential = json.dumps(authenticator.shows(await owner.challenged()))
    assert notice(await send(owner, "/sign-in/passkey", do="cancel")) == ("/sign-in", "sign_in_cancelled")
    assert owner.holds == set()
    assert notice(await get(owner, "/sign-in/passkey")) == ("/sign-in", "sign_in_ended")
    owner.cookies = before
    late = await send(owner, "/sign-in/passkey", do="finish", credential=credential, next="/")
    assert notice(late) == ("/sign-in", "sign_in_ended")


async def test_a_database_that_is_away_ends_no_sign_in(world: World) -> None:
    owner, _, _ = await half(world)
    fails_once(world.memory, away)
    assert (await get(owner, "/sign-in/passkey")).status == 503
    assert ANN in words(await get(owner, "/sign-in/passkey"))


async def test_the_page_adds_renames_and_removes(world: World) -> None:
    owner, authenticator = Owner(world), Authenticator()
    await owner.enters_code()
    assert "Add your first passkey" in words(await get(owner, PAGE))
    credential = json.dumps(authenticator.creates(await owner.may_create()))
    added = await send(owner, PAGE, do="add-passkey", passkey_name=" <b>Laptop</b> ", credential=credential)
    assert notice(added) == (PAGE, "passkey_added")
    [passkey_id] = world.memory.passkeys
    page = (await get(owner, PAGE)).body.decode()
    assert "&lt;b&gt;Laptop&lt;/b&gt;" in page
    assert "<b>Laptop" not in page
    renamed = await send(owner, PAGE, do="rename-passkey", id=passkey_id, new_name="Desk")
    assert notice(renamed) == (PAGE, "passkey_renamed")
    unnamed = await send(owner, PAGE, do="rename-passkey", id=passkey_id, new_name=" ")
    assert f'<p class="error" id="name-{passkey_id}-error">' in words(unnamed)
    assert "Write a name for the passkey." in words(unnamed)
    removed = await send(owner, PAGE, do="remove-passkey", id=passkey_id)
    assert notice(removed) == (PAGE, "passkey_removed")
    assert world.memory.passkeys == {}


async def test_a_session_that_showed_no_passkey_lately_confirms_in_the_form_that_removes(world: World) -> None:
    owner, authenticator = await owner_with_passkey(world)
    [passkey_id] = world.memory.passkeys
    world.clock.at_ms += 10 * MINUTE_MS
    page = words(await get(owner, PAGE))
    assert 'data-challenge="/api/v1/account/passkeys/confirmation"' in page
    fields = {"do": "remove-passkey", "id": passkey_id}
    assert (await send(owner, PAGE, **fields)).status == 403
    assert (await send(owner, PAGE, **fields, credential="")).status == 400
    options = (await owner.given("POST", f"{PASSKEYS}/confirmation"))["publicKey"]
    credential = json.dumps(authenticator.shows(options))
    assert notice(await send(owner, PAGE, **fields, credential=credential))[1] == "passkey_removed"


async def test_a_refused_name_stays_in_the_form(world: World) -> None:
    owner = Owner(world)
    await owner.enters_code()
    credential = json.dumps(Authenticator().creates(await owner.may_create()))
    shown = await send(owner, PAGE, do="add-passkey", passkey_name="x" * 61, credential=credential)
    assert shown.status == 400
    assert f'value="{"x" * 61}"' in words(shown)
    assert '<p class="error" id="passkey_name-error">' in words(shown)
    assert "This has 61 characters. Shorten it by 1." in words(shown)


async def test_a_session_that_may_not_add_is_told_how_it_may(world: World) -> None:
    bystander = Owner(world)
    await bystander.enters_code()
    world.clock.at_ms += 10 * MINUTE_MS
    assert "Sign out, sign in again, and come back here." in words(await get(bystander, PAGE))
    await owner_with_passkey(world)
    page = words(await get(bystander, PAGE))
    assert "Confirm with a passkey" in page
    assert "add-passkey" not in page


async def test_administration_leads_to_a_passkey_if_one_is_needed() -> None:
    async with open_world(ADMIN__REQUIRE_PASSKEY="true") as world:
        world.session(ANN, admin=True)
        owner = Owner(world)
        await owner.enters_code()
        for path in ("/admin", "/ops"):
            response = await get(owner, path)
            assert notice(response) == (PAGE, "passkey_needed"), path
            assert urlsplit(response.header("location") or "").fragment == "passkeys"
        assert "scope admin:read" not in words(await get(owner, "/dashboard"))
        await owner.registers(Authenticator())
        assert "scope admin:read" in words(await get(owner, "/dashboard"))
        assert (await get(owner, "/admin")).status in (200, 303)
        assert (await get(owner, "/ops")).status == 200


async def test_where_browsers_offer_no_passkeys_the_page_says_so() -> None:
    async with open_world(SERVER__BASE_URL="http://127.0.0.1:8080") as world:
        headers = {"Cookie": f"session={world.session(ANN)}", "Accept": "text/html"}
        page = words(await world.client.get(PAGE, headers=headers))
        assert "Browsers offer no passkeys at http://127.0.0.1:8080." in page
        assert "data-passkey" not in page
