"""What a key may do for whom, and how it ends: grants, expiry, mails with a link, and the end of everything."""

import re
from dataclasses import replace
from typing import Any

import pytest

from actors.clock import DAY_MS
from actors.shared.credentials import Kind
from actors.shared.notices import Ending
from actors.values import Refused, Scope, Tier
from tests.api.asgi import Response
from tests.api.browsers import Browser as SigningIn
from tests.api.devices import decided, polled, started
from tests.api.test_account import KEYS, SCOPED, Browser
from tests.api.test_claiming import NOBODYS, claimant
from tests.api.world import NOON_MS, World

ANN, BOSS = "ann@example.com", "boss@example.com"
QUEUE = "/api/v1/admin/sponsorships/campaigns"
BOTS = "/api/v1/bots"
END_ALL = "/api/v1/account/end-all"


async def mails(world: World, email: str, template: str) -> list[str]:
    """The texts of the mails of one kind to an address, newest first."""
    found = [each for each in await world.services.mail.recent(50) if each.message.recipient == email]
    return [each.mail.text for each in found if each.mail is not None and each.message.template == template]


def link_in(text: str) -> str:
    """The path of the link in a mail."""
    [path] = re.findall(r"^https://[^/]+(/end/\S+)$", text, re.MULTILINE)
    return str(path)


async def opened(world: World, path: str) -> Response:
    return await world.client.get(path)


async def pressed(world: World, path: str) -> Response:
    """Press the button of the page, without being signed in."""
    form = {"content-type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    return await world.client.post(path, headers=form, body=b"do=end")


# Administration.


async def test_a_key_that_an_administrator_claims_for_a_stranger_has_no_administration(world: World) -> None:
    """The stranger minted it, sent the genuine claim link, and kept the key."""
    world.memory.administrators[BOSS] = NOON_MS
    stranger = await claimant(world)
    assert (await stranger.claim(BOSS)).words == "200"
    refused = await world.client.get(QUEUE, stranger.key)
    assert refused.words == "403 forbidden"
    assert refused.json["message"] == "This key does not carry administration. Create one that does, on the dashboard."
    assert (await world.client.get(BOTS, stranger.key)).words == "200"
    granted = await world.client.post(SCOPED, stranger.key, json={"name": "x", "scopes": ["admin:read"]})
    assert granted.words == "403 insufficient_scope", "it cannot grant what it does not hold"


@pytest.mark.parametrize("ticked", [False, True])
async def test_a_device_login_carries_administration_only_if_its_approver_says_so(world: World, ticked: bool) -> None:
    token = world.session(BOSS, admin=True)
    device = await started(world)
    rest: dict[str, Any] = {"admin": True} if ticked else {}
    assert (await decided(world, token, device["user_code"], **rest)).words == "200"
    key = (await polled(world, device["device_code"])).json["access_token"]
    assert (await world.client.get(QUEUE, key)).words == ("200" if ticked else "403 forbidden")


async def test_only_administrators_give_administration_to_a_device_or_a_key(world: World) -> None:
    device = await started(world)
    token = world.session(ANN)
    assert (await decided(world, token, device["user_code"], admin=True)).words == "403 forbidden"
    assert (await decided(world, token, device["user_code"])).words == "200", "the request is still open"
    assert (await Browser(world, ANN).ask("POST", KEYS, {"admin": True})).words == "403 forbidden"


async def test_an_administrator_creates_full_keys_with_and_without_administration(world: World) -> None:
    boss = Browser(world, BOSS, admin=True)
    for body, words in (({}, "403 forbidden"), ({"admin": False}, "403 forbidden"), ({"admin": True}, "200")):
        key = (await boss.ask("POST", KEYS, body)).json["apiKey"]
        assert (await world.client.get(QUEUE, key)).words == words
    assert sorted(key["admin"] for key in await boss.keys() if key["id"].count("made") == 0) == [False, False, True]
    del world.memory.administrators[BOSS]
    assert (await world.client.get(QUEUE, key)).words == "403 forbidden"


async def scoped(world: World, key: str, *scopes: str, **rest: Any) -> Any:
    response = await world.client.post(SCOPED, key, json={"name": "granted", "scopes": list(scopes), **rest})
    assert response.words == "200", response.body
    return response.json


# Expiry.


@pytest.mark.parametrize("ends", [0, NOON_MS, -1, 10**18, "tomorrow", None])
async def test_a_key_does_not_end_in_the_past_or_beyond_all_times(world: World, ends: object) -> None:
    ann = Browser(world, ANN)
    for target, body in ((KEYS, {}), (SCOPED, {"name": "x", "scopes": ["library:read"]})):
        refused = await ann.ask("POST", target, {**body, "expiresAt": ends})
        assert refused.words == "400 invalid_request"
        assert "expiresAt" in refused.json["message"]
    assert world.memory.audits == []


# Mails.


async def test_the_owner_is_told_of_each_new_key_and_can_end_it_without_signing_in(world: World) -> None:
    made = (await Browser(world, ANN).ask("POST", KEYS, {"name": "Laptop"})).json
    [text] = await mails(world, ANN, "new_key")
    assert f"a new API key: {made['keyPrefix']}..." in text
    assert "Somebody who was signed in to your account created it." in text
    path = link_in(text)
    page = await opened(world, path)
    assert (page.status, page.header("cache-control")) == (200, "no-store")
    assert made["keyPrefix"] in page.body.decode()
    assert (await world.client.get(BOTS, made["apiKey"])).words == "200", "opening a link ends nothing"
    for _ in range(2):
        assert "The key is revoked" in (await pressed(world, path)).body.decode()
    assert (await world.client.get(BOTS, made["apiKey"])).words == "401 invalid_api_key"
    assert [(each.actor_type, each.actor_email) for each in world.memory.audits][-1] == ("system", ANN)


async def test_refused_requests_of_strangers_keep_no_mail_from_the_owner(world: World) -> None:
    """Mails about new keys are limited by the hour."""
    for _ in range(world.config.mail.notices_per_hour + 1):
        body = {"claimToken": NOBODYS, "email": ANN, "code": "000000"}
        assert (await world.client.post("/api/v1/auth/claim/complete", json=body)).status == 400
    await (await claimant(world)).claim(ANN)
    assert len(await mails(world, ANN, "new_key")) == 1


async def test_mails_about_new_keys_stop_at_their_limit_and_start_again_after_an_hour(world: World) -> None:
    await world.services.keys.issue(ANN, world.agent)
    most = world.config.mail.notices_per_hour
    for number in range(most + 2):
        made = await world.services.keys.issue(ANN, world.agent, scopes=(Scope.LIBRARY_READ,), name=f"{number}")
        assert not isinstance(made, Refused)
        await world.services.keys.revoke(made.key.id, world.agent)
    assert len(await mails(world, ANN, "new_key")) == most
    await world.pass_seconds(3_600)
    await world.services.keys.issue(ANN, world.agent, scopes=(Scope.LIBRARY_READ,), name="later")
    assert len(await mails(world, ANN, "new_key")) == most + 1


async def test_the_mail_says_how_the_key_came_about(world: World) -> None:
    stranger = await claimant(world)
    await stranger.claim(ANN)
    await scoped(world, stranger.key, "library:read")
    device = await started(world)
    await decided(world, world.session(ANN), device["user_code"])
    await polled(world, device["device_code"])
    await world.services.keys.issue(ANN, world.agent)
    told = [" ".join(text.split("\n\n")[1].split()) for text in await mails(world, ANN, "new_key")]
    assert set(told) == {
        "Somebody claimed it with the code that was mailed to you.",
        f"Your key {stranger.key[:12]}... granted it.",
        "You approved it for a device, on the page that asks for a code.",
        "An operator of the service issued it.",
    }


async def test_the_owner_is_told_of_each_sign_in_and_can_end_it(world: World) -> None:
    browser = SigningIn(world.client)
    await browser.start(ANN)
    await browser.complete(ANN, await world.emailed_code(ANN))
    [text] = await mails(world, ANN, "new_session")
    assert "With: A browser on Linux" in text
    assert re.search(r"When: \d+ \w+, \d\d:\d\d UTC", text)
    path = link_in(text)
    await opened(world, path)
    assert (await world.client.get("/api/v1/usage", headers=browser.headers)).words == "200"
    assert "That browser is signed out" in (await pressed(world, path)).body.decode()
    assert (await world.client.get("/api/v1/usage", headers=browser.headers)).words == "401 unauthorized"


async def test_a_new_administrator_is_told_and_can_give_it_up(world: World) -> None:
    await world.services.keys.grant_admin(BOSS, world.agent)
    [text] = await mails(world, BOSS, "new_administrator")
    path = link_in(text)
    await opened(world, path)
    assert BOSS in world.memory.administrators
    assert "This administration has ended" in (await pressed(world, path)).body.decode()
    assert world.memory.administrators == {}


async def test_a_link_that_names_no_grant_is_not_valid(world: World) -> None:
    await world.services.keys.grant_admin(BOSS, world.agent)
    facts = {"ends": Ending.ADMIN.value, "target": BOSS, "label": BOSS}
    path = world.services.links.ending_url(facts, BOSS, world.now_ms).removeprefix(world.services.base_url)
    assert (await opened(world, path)).status == (await pressed(world, path)).status == 404
    assert BOSS in world.memory.administrators


async def test_a_link_works_for_thirty_days_and_for_what_it_names_only(world: World) -> None:
    links, now_ms = world.services.links, world.now_ms
    key = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=ANN)
    facts = {"ends": Ending.KEY.value, "target": world.id_of(key), "label": "cs_user_abcd"}
    old = links.ending_url(facts, ANN, now_ms - 30 * DAY_MS).removeprefix(world.services.base_url)
    other = f"/end/lnk_{links._signer.sign('receipt', ['bok_1'])}"
    fresh = links.ending_url(facts, ANN, now_ms - 30 * DAY_MS + 1).removeprefix(world.services.base_url)
    for path in (old, other, fresh[:-1], fresh.replace("lnk_", ""), "/end/x"):
        assert (await opened(world, path)).status == 404
        assert (await pressed(world, path)).status == 404
    assert (await world.client.get(BOTS, key)).words == "200"
    assert (await pressed(world, fresh)).status == 200
    assert (await world.client.get(BOTS, key)).words == "401 invalid_api_key"


# Everything at once.


async def test_all_sessions_and_keys_end_in_one_act(world: World) -> None:
    here = Browser(world, ANN)
    elsewhere, stolen = world.session(ANN), world.key_of(ANN)
    child = await scoped(world, stolen, "library:read")
    other = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=BOSS)
    device = await started(world)
    await decided(world, elsewhere, device["user_code"])
    answer = await here.ask("POST", END_ALL)
    assert answer.json["sessions"] == 1
    assert answer.json["keys"] >= 2
    for key in (stolen, child["apiKey"]):
        assert (await world.client.get(BOTS, key)).words == "401 invalid_api_key"
    assert (await polled(world, device["device_code"])).words == "400 expired_token"
    cookie = {"Cookie": f"__Host-session={elsewhere}"}
    assert (await world.client.get("/api/v1/usage", headers=cookie)).words == "401 unauthorized"
    assert (await here.ask("GET", "/api/v1/usage")).words == "200", "this browser stays signed in"
    assert (await world.client.get(BOTS, other)).words == "200"
    assert (await here.ask("POST", END_ALL)).json == {"sessions": 0, "keys": 0}


async def test_keys_that_another_node_has_ended_end_here_with_everything(world: World) -> None:
    """Its announcement may be lost."""
    here, key = Browser(world, ANN), world.key_of(ANN)
    assert (await world.client.get(BOTS, key)).words == "200"
    keys, id = world.memory.keys, world.id_of(key)
    keys[id] = replace(keys[id], revoked_ms=world.now_ms)
    assert (await world.client.get(BOTS, key)).words == "200"
    await here.ask("POST", END_ALL)
    assert (await world.client.get(BOTS, key)).words == "401 invalid_api_key"


async def test_the_session_of_the_request_ends_too_if_asked(world: World) -> None:
    here = Browser(world, ANN)
    answer = await here.ask("POST", END_ALL, {"keepCurrent": False})
    assert answer.json["sessions"] == 1
    assert answer.header("set-cookie") is not None
    assert (await here.ask("GET", "/api/v1/usage")).words == "401 unauthorized"
