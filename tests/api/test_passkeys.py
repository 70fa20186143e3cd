"""Passkeys over HTTP: the second step of a sign-in, and the passkeys of an account, with an authenticator in software."""

import json
from dataclasses import replace
from typing import Any

import pytest
from webauthn import verify_registration_response

from actors.clock import DAY_MS, MINUTE_MS
from actors.values import Scope
from service.outside.webauthn import rp_id_of
from tests.api.authenticator import Authenticator, bytes_of, text_of
from tests.api.conformity import BASE_URL
from tests.api.passkeys import COMPLETE, PASSKEYS, SECOND_STEP, Owner, owner_with_passkey
from tests.api.world import World, open_world

ANN, BOB = "ann@example.com", "bob@example.com"
SESSIONS = "/api/v1/auth/sessions"
ADMINISTRATION = "/api/v1/admin/sponsorships/slots"
NOT_VERIFIED = (400, "invalid_passkey")


def outcome(response: Any) -> tuple[int, str]:
    return response.status, response.json["error"]


async def at_code(world: World, email: str = ANN) -> Owner:
    """A browser that has sent the right code."""
    owner = Owner(world, email)
    await owner.enters_code()
    return owner


# Signing in.


async def test_a_person_with_a_passkey_signs_in_with_the_code_and_the_passkey(world: World) -> None:
    _, authenticator = await owner_with_passkey(world)
    owner = Owner(world)
    begun = await owner.enters_code()
    assert begun == {
        "id": begun["id"],
        "email": ANN,
        "expiresAt": world.now_ms + 10 * MINUTE_MS,
        "passkeyRequired": True,
    }
    assert owner.holds == {"passkey"}
    shown = await owner.finishes(authenticator.shows(await owner.challenged()))
    assert shown.json == {"id": begun["id"], "email": ANN, "expiresAt": world.now_ms + 30 * DAY_MS}
    assert owner.holds == {"session"}
    assert len((await owner.given("GET", SESSIONS))["items"]) == 2
    assert [audit.action for audit in world.memory.audits] == [
        "session.started",
        "passkey.added",
        "session.awaits_passkey",
        "session.started",
    ]
    assert (await owner.listed())["items"][0]["lastUsedAt"] == world.now_ms


async def test_the_owner_is_mailed_about_a_session_and_not_of_a_pending_sign_in(world: World) -> None:
    def mails_of_sessions() -> int:
        return len([mail for mail in world.postbox.mails if mail.subject == "A new sign-in to your account"])

    _, authenticator = await owner_with_passkey(world)
    owner = await at_code(world)
    await world.settled()
    assert mails_of_sessions() == 1
    await owner.finishes(authenticator.shows(await owner.challenged()))
    await world.settled()
    assert mails_of_sessions() == 2


async def test_a_pending_sign_in_opens_nothing_as_either_cookie(world: World) -> None:
    await owner_with_passkey(world)
    owner = await at_code(world)
    token = owner.cookies["passkey"]
    for cookies in ({"passkey": token}, {"session": token}):
        owner.cookies = dict(cookies)
        for method, path in (
            ("GET", SESSIONS),
            ("GET", PASSKEYS),
            ("GET", "/api/v1/usage"),
            ("POST", f"{PASSKEYS}/challenge"),
        ):
            assert (await owner.call(method, path)).status == 401, path
    assert (await owner.call("GET", SECOND_STEP)).status == 401
    owner.cookies = {"passkey": token}
    assert (await owner.given("GET", SECOND_STEP))["email"] == ANN


async def test_guessing_pending_sign_ins_is_limited_like_guessing_sessions() -> None:
    async with open_world(KEYS__UNKNOWN_PER_MINUTE=3) as world:
        owner = Owner(world)
        for number in range(3):
            owner.cookies["passkey"] = f"sst_{number:043}"
            assert outcome(await owner.call("GET", SECOND_STEP)) == (401, "unauthorized")
        assert outcome(await owner.call("GET", SECOND_STEP)) == (429, "rate_limited")


WRONG: dict[str, dict[str, Any]] = {
    "another origin": {"origin": "https://catalog.test.example.com"},
    "the origin of another port": {"origin": "https://catalog.test:8443"},
    "the origin without TLS": {"origin": "http://catalog.test"},
    "another host": {"rp_id": "example.com"},
    "a parent of the host": {"rp_id": "test"},
    "no user verification": {"verifies": False},
    "inside the page of another site": {"cross_origin": True},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_a_signature_or_a_new_credential_for_anything_else_does_not_count(
    world: World, wrong: dict[str, Any]
) -> None:
    signed_in = await at_code(world)
    made = Authenticator(**wrong).creates(await signed_in.may_create())
    assert outcome(await signed_in.adds(made)) == NOT_VERIFIED
    assert world.memory.passkeys == {}
    _, authenticator = await owner_with_passkey(world)
    owner = await at_code(world)
    answer = replace(authenticator, **wrong).shows(await owner.challenged())
    assert outcome(await owner.finishes(answer)) == NOT_VERIFIED
    assert owner.holds == {"passkey"}


async def test_a_tampered_signature_does_not_count(world: World) -> None:
    _, authenticator = await owner_with_passkey(world)
    owner = await at_code(world)
    answer = authenticator.shows(await owner.challenged())
    data = bytearray(bytes_of(answer["response"]["authenticatorData"]))
    data[-1] += 1
    answer["response"]["authenticatorData"] = text_of(bytes(data))
    assert outcome(await owner.finishes(answer)) == NOT_VERIFIED


RUBBISH = {
    "nothing": b"\x00",
    "no map": b"\x80",
    "an empty map": b"\xa0",
    "an endless map": b"\xbf",
    "depth": b"\x81" * 5_000,
    "a claimed length": b"\x5b" + b"\xff" * 8,
    "text": b'{"type": "webauthn.get"}',
    "JSON that is no object": b"[1, 2]",
    "not UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH)
async def test_rubbish_is_no_passkey_and_no_error(world: World, rubbish: bytes) -> None:
    owner, authenticator = await owner_with_passkey(world)
    created = Authenticator(b"credential 2").creates(await owner.may_create())
    for name in created["response"]:
        broken = created | {"response": created["response"] | {name: text_of(rubbish)}}
        assert outcome(await owner.adds(broken)) == NOT_VERIFIED
    other = await at_code(world)
    shown = authenticator.shows(await other.challenged())
    for name in shown["response"]:
        broken = shown | {"response": shown["response"] | {name: text_of(rubbish)}}
        assert outcome(await other.finishes(broken)) == NOT_VERIFIED
    assert len(world.memory.passkeys) == 1


@pytest.mark.parametrize("form", ["tpm", "android-key", "android-safetynet", "apple", "fido-u2f", "unknown", "", 7])
async def test_an_attestation_that_nobody_asked_for_is_refused(world: World, form: Any) -> None:
    owner = await at_code(world)
    assert outcome(await owner.adds(Authenticator(attestation=form).creates(await owner.may_create()))) == NOT_VERIFIED


async def test_an_attestation_with_a_certificate_is_refused_even_if_it_is_valid(world: World) -> None:
    """It would tell the model of the authenticator, and only its parser could be attacked."""
    owner, authenticator = Owner(world), Authenticator(attestation="fido-u2f", certified=True)
    await owner.enters_code()
    options = await owner.may_create()
    assert verify_registration_response(
        credential=authenticator.creates(options),
        expected_challenge=bytes_of(options["challenge"]),
        expected_rp_id="catalog.test",
        expected_origin=BASE_URL,
    )
    assert outcome(await owner.adds(authenticator.creates(options))) == NOT_VERIFIED


async def test_a_key_that_verifies_nothing_is_refused(world: World) -> None:
    """It would lock its owner out."""

    class OffTheCurve(Authenticator):
        def public_key(self) -> dict[int, Any]:
            return {1: 2, 3: -7, -1: 1, -2: bytes(32), -3: bytes(31) + b"\x07"}

    owner = await at_code(world)
    assert outcome(await owner.adds(OffTheCurve().creates(await owner.may_create()))) == NOT_VERIFIED


async def test_another_site_can_neither_start_nor_finish_nor_cancel(world: World) -> None:
    _, authenticator = await owner_with_passkey(world)
    owner = await at_code(world)
    answer = authenticator.shows(await owner.challenged())
    cookies = {"Cookie": f"__Host-passkey={owner.cookies['passkey']}", "Sec-Fetch-Site": "cross-site"}
    body = json.dumps({"credential": answer}).encode()
    for method, path in (("POST", SECOND_STEP), ("POST", f"{SECOND_STEP}/complete"), ("DELETE", SECOND_STEP)):
        response = await world.client.request(method, path, headers=cookies, body=body)
        assert outcome(response) == (403, "forbidden"), path
    assert (await owner.finishes(answer)).status == 200


# The passkeys of an account.


async def test_options_require_verification_and_ask_for_no_attestation(world: World) -> None:
    owner, authenticator = await owner_with_passkey(world)
    options = await owner.may_create()
    assert options["rp"] == {"name": "Catalog", "id": "catalog.test"}
    assert options["attestation"] == "none"
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert [bytes_of(each["id"]) for each in options["excludeCredentials"]] == [authenticator.credential_id]
    assert ANN.encode() not in bytes_of(options["user"]["id"])
    other = await at_code(world)
    options = await other.challenged()
    assert (options["rpId"], options["userVerification"]) == ("catalog.test", "required")
    assert [bytes_of(each["id"]) for each in options["allowCredentials"]] == [authenticator.credential_id]


async def test_an_account_is_one_user_to_authenticators(world: World) -> None:
    owner, _ = await owner_with_passkey(world)
    users = {(await owner.may_create())["user"]["id"] for _ in range(2)}
    bob = await at_code(world, BOB)
    assert len(users) == 1
    assert (await bob.may_create())["user"]["id"] not in users


async def test_the_list_has_the_names_and_what_the_session_may_do(world: World) -> None:
    owner = await at_code(world)
    assert await owner.listed() == {"items": [], "mayAdd": True}
    passkey_id = await owner.registers(Authenticator(), "Laptop")
    added_ms = world.now_ms
    assert await owner.listed() == {
        "items": [{"id": passkey_id, "name": "Laptop", "createdAt": added_ms}],
        "mayAdd": True,
        "confirmedUntil": added_ms + 10 * MINUTE_MS,
    }
    world.clock.at_ms += 10 * MINUTE_MS
    listed = await owner.listed()
    assert listed["mayAdd"]
    assert "confirmedUntil" not in listed


NAMES = [("x", 200), ("x" * 60, 200), ("", 400), ("x" * 61, 400), ("a\nb", 400), (" ", 400), ("x ", 400)]


@pytest.mark.parametrize(("name", "status"), NAMES)
async def test_a_name_has_one_to_sixty_characters_on_a_line(world: World, name: str, status: int) -> None:
    owner = await at_code(world)
    assert (await owner.adds(Authenticator().creates(await owner.may_create()), name)).status == status


async def test_nobody_touches_the_passkeys_of_another_account(world: World) -> None:
    _, _ = await owner_with_passkey(world)
    [passkey_id] = world.memory.passkeys
    bob, _ = await owner_with_passkey(world, BOB, Authenticator(b"credential 2"))
    assert outcome(await bob.removes(passkey_id)) == (404, "not_found")
    assert outcome(await bob.call("PATCH", f"{PASSKEYS}/{passkey_id}", {"name": "Mine"})) == (404, "not_found")
    assert world.memory.passkeys[passkey_id].name == "Laptop"


async def test_there_are_no_passkeys_at_an_address_where_browsers_offer_none() -> None:
    async with open_world(SERVER__BASE_URL="http://127.0.0.1:8080") as world:
        cookie = {"Cookie": f"session={world.session(ANN)}", "Sec-Fetch-Site": "same-origin"}
        response = await world.client.post(f"{PASSKEYS}/challenge", headers=cookie)
        assert outcome(response) == (409, "invalid_state")


@pytest.mark.parametrize(
    ("base_url", "rp_id"),
    [
        ("https://catalog.example.com", "catalog.example.com"),
        ("https://catalog.example.com:8443", "catalog.example.com"),
        ("http://localhost:8080", "localhost"),
        ("http://node.localhost", "node.localhost"),
        ("http://catalog.example.com", None),
        ("https://192.0.2.1", None),
        ("http://127.0.0.1:8080", None),
        ("http://[::1]:8080", None),
        ("", None),
    ],
)
def test_passkeys_belong_to_the_host_of_the_base_url(base_url: str, rp_id: str | None) -> None:
    assert rp_id_of(base_url) == rp_id


# Administrators.


async def test_with_the_setting_only_a_session_with_a_passkey_administers() -> None:
    async with open_world(ADMIN__REQUIRE_PASSKEY="true") as world:
        world.session(ANN, admin=True)
        owner = await at_code(world)
        refused = await owner.call("GET", ADMINISTRATION)
        assert outcome(refused) == (403, "forbidden")
        assert refused.json["hint"] == PASSKEYS
        assert "passkey" in refused.json["message"]
        authenticator = Authenticator()
        passkey_id = await owner.registers(authenticator)
        assert (await owner.call("GET", ADMINISTRATION)).status == 200
        other = Owner(world)
        await other.signs_in(authenticator)
        assert (await other.call("GET", ADMINISTRATION)).status == 200
        # Without any passkey, no session has one.
        assert (await owner.removes(passkey_id)).status == 200
        for browser in (owner, other):
            assert outcome(await browser.call("GET", ADMINISTRATION)) == (403, "forbidden")


async def test_with_the_setting_others_are_no_administrators_either() -> None:
    async with open_world(ADMIN__REQUIRE_PASSKEY="true") as world:
        owner, _ = await owner_with_passkey(world)
        refused = await owner.call("GET", ADMINISTRATION)
        assert outcome(refused) == (403, "forbidden")
        assert "hint" not in refused.json


async def test_with_the_setting_only_a_session_with_a_passkey_grants_the_rights_of_an_administrator() -> None:
    scoped, full, device = "/api/v1/sponsors/keys", "/api/v1/account/keys", "/api/v1/auth/device"
    async with open_world(ADMIN__REQUIRE_PASSKEY="true") as world:
        key = world.key(email=ANN, admin=True, expires_in_ms=DAY_MS)
        owner = await at_code(world)
        administering = {"name": "Jobs", "scopes": [Scope.ADMIN_READ]}
        harmless = {"name": "Jobs", "scopes": [Scope.LIBRARY_READ]}
        started = (await world.client.post(device)).json
        approval = {"userCode": started["user_code"], "decision": "approve", "admin": True}
        asked: list[tuple[str, Any]] = [
            (scoped, administering),
            (full, {"admin": True}),
            (f"{device}/approval", approval),
        ]
        for path, body in asked:
            assert outcome(await owner.call("POST", path, body)) == (403, "forbidden"), path
        for path, body in ((scoped, harmless), (full, None)):
            assert (await owner.call("POST", path, body)).status == 200, path
        # A key passes no such rights on, whatever it holds.
        assert outcome(await world.client.post(scoped, key, json=administering)) == (403, "forbidden")
        assert (await world.client.post(scoped, key, json=harmless)).status == 200
        await owner.registers(Authenticator())
        for path, body in asked:
            assert (await owner.call("POST", path, body)).status == 200, path


async def test_a_code_is_still_needed_with_a_passkey(world: World) -> None:
    await owner_with_passkey(world)
    owner = Owner(world)
    assert (await owner.call("POST", SECOND_STEP)).status == 401
    response = await owner.call("POST", COMPLETE, {"email": ANN, "code": "000000"})
    assert outcome(response) == (400, "invalid_code")
    assert owner.holds == set()
