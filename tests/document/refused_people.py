"""Refusals of claims, device logins, keys, passkeys and deletions."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from actors.shared.credentials import AUTHORIZATION_CODE, ENTROPY_BYTES
from tests.api.authenticator import Authenticator
from tests.api.browsers import Browser
from tests.api.devices import GRANT, decided, in_browser, looked, polled, started
from tests.api.oauth import REGISTER, TOKEN, agent, form_sent
from tests.api.passkeys import PASSKEYS, SECOND_STEP, Owner, owner_with_passkey
from tests.api.sponsors import API, sponsor
from tests.api.world import LOCAL, World, open_world
from tests.document.causes import CAUSES
from tests.document.recorder import Story
from tests.document.refusals import PLENTY

ANN, BOB = "ann@example.com", "bob@example.com"
CODES = ("authorization_pending", "slow_down", "expired_token", "access_denied", "invalid_passkey", "key_limit")
"""Codes with a request of their own in `causes`."""


async def claims(world: World) -> None:
    """A claim by another person, and one by an account with a passkey."""
    for cause in ("invalid_claim", "invalid_code", "already_upgraded"):
        await CAUSES[cause](world)
    minted = (await world.client.post("/api/v1/auth/agent")).json
    claim = {"claimToken": minted["claimToken"], "email": "cleo@example.com"}
    await world.client.post("/api/v1/auth/claim", json=claim)
    done = claim | {"code": await world.emailed_code("cleo@example.com")}
    await world.client.post("/api/v1/auth/claim/complete", json=done)
    await world.client.post("/api/v1/auth/claim/complete", json=done | {"email": "dora@example.com"})


async def claim_with_passkey(world: World) -> None:
    await owner_with_passkey(world, ANN)
    await world.pass_seconds(60)
    minted = (await world.client.post("/api/v1/auth/agent")).json
    claim = {"claimToken": minted["claimToken"], "email": ANN}
    await world.client.post("/api/v1/auth/claim", json=claim)
    await world.client.post("/api/v1/auth/claim/complete", json=claim | {"code": await world.emailed_code(ANN)})


async def devices(world: World) -> None:
    token, device = world.session(ANN), await started(world)
    await decided(world, token, device["user_code"])
    await decided(world, token, device["user_code"], "deny")
    late = await started(world)
    await world.pass_seconds(900)
    await decided(world, token, late["user_code"])
    await decided(world, token, "WDJB-MJHT")
    await looked(world, token, "WDJB-MJHT")
    await polled(world, "dvc_unknown")


async def clients(world: World) -> None:
    """Registrations without a usable redirect URI, and requests for tokens that are wrong."""
    for uris in ([], ["javascript:alert(1)"]):
        await world.client.post(REGISTER, json={"redirect_uris": uris})
    client = await agent(world)
    code = AUTHORIZATION_CODE.new(bytes(ENTROPY_BYTES))
    await client.exchanged(code)
    await client.exchanged(code, client_secret="a secret")
    await client.exchanged(code, resource="https://elsewhere.example.com/mcp")
    await client.refreshed("rft_unknown", scope="admin:write")
    await client.refreshed("rft_unknown", grant_type="password")
    await _polled_there(world)


async def _polled_there(world: World) -> None:
    """Polls of device logins at the address for all tokens."""
    token, waiting, denied = world.session(ANN), await started(world), await started(world)
    await decided(world, token, denied["user_code"], "deny")
    await world.pass_seconds(5)
    codes = [waiting["device_code"], waiting["device_code"], denied["device_code"], "dvc_unknown"]
    for device_code in codes:
        await form_sent(world, TOKEN, {"grant_type": GRANT, "device_code": device_code})
    await world.pass_seconds(900)
    await form_sent(world, TOKEN, {"grant_type": GRANT, "device_code": waiting["device_code"]})


async def key_limits(world: World) -> None:
    token, device = world.session(ANN), await started(world)
    for _ in range(2):
        await world.client.post("/api/v1/account/keys", headers=in_browser(token), json={"name": "One more"})
    await decided(world, token, device["user_code"])
    person, scoped = sponsor(world), {"name": "Reporting", "scopes": ["sponsor:read"]}
    for _ in range(3):
        await person.post(f"{API}/keys", scoped)


async def rotations(world: World) -> None:
    """Rotations until too many keys are in their grace, and changes of a key that was rotated."""
    headers = in_browser(world.session(ANN))
    for path, body in (
        ("/api/v1/account/keys", {"name": "Laptop"}),
        (f"{API}/keys", {"name": "Reporting", "scopes": ["sponsor:read"]}),
    ):
        first = key_id = (await world.client.post(path, headers=headers, json=body)).json["id"]
        while key_id is not None:
            rotation = await world.client.post(
                f"{path}/{key_id}/rotate", headers=headers, json={"graceSeconds": 86_400}
            )
            key_id = rotation.json.get("id")
        await world.client.post(f"{path}/{first}/rotate", headers=headers, json={"graceSeconds": 0})
        await world.client.request("PATCH", f"{path}/{first}", headers=headers, json={"name": "Old"})


async def passkeys(world: World) -> None:
    """A passkey of another account, of another site, and ceremonies that were not begun."""
    owner, authenticator = await owner_with_passkey(world)
    bob = Owner(world, BOB)
    await bob.enters_code()
    await bob.call("POST", f"{PASSKEYS}/confirmation")
    await bob.adds(Authenticator().creates(await bob.may_create()))
    await bob.adds(Authenticator(origin="https://example.com").creates(await bob.may_create()))
    options = (await owner.given("POST", f"{PASSKEYS}/confirmation"))["publicKey"]
    shown = {"credential": authenticator.shows(options | {"challenge": "AAAA"})}
    await owner.call("POST", f"{PASSKEYS}/confirmation/complete", shown)
    again = Owner(world)
    await again.enters_code()
    await again.finishes(authenticator.shows((await again.challenged()) | {"challenge": "AAAA"}))


async def passkey_limit(world: World) -> None:
    """The last two passkeys are created at once, so that one of them is too many when it arrives."""
    owner = Owner(world)
    await owner.enters_code()
    for number in range(9):
        await owner.registers(Authenticator(bytes([number])))
    other = Owner(world, cookies=dict(owner.cookies))
    created = Authenticator(b"eleven").creates(await other.may_create())
    await _add_directly(world)
    await other.adds(created)
    await owner.call("POST", f"{PASSKEYS}/challenge")


async def _add_directly(world: World) -> None:
    """Store one passkey more, as if another session had added it."""
    [first, *_] = world.memory.passkeys.values()
    world.memory.passkeys["psk_more"] = replace(first, id="psk_more", credential_id=b"more")


async def passkeys_at_no_host(world: World) -> None:
    """The service moves to an address where browsers offer no passkeys, and a person with a passkey signs in."""
    await owner_with_passkey(world)
    await world.pass_seconds(60)
    async with open_world(world.memory, 2, world.clock, **LOCAL) as moved:
        client = moved.client.watched_by(world.client.observe)
        browser = Browser(client)
        await browser.start(ANN)
        await browser.complete(ANN, await moved.emailed_code(ANN))
        await browser.post(SECOND_STEP)
        await client.post(f"{PASSKEYS}/challenge", headers=in_browser(moved.session(BOB)))


async def many_sign_ins(world: World) -> None:
    """Cookies of no sign-in, more than an address may try in a minute."""
    for number in range(1_000):
        headers = {"Cookie": f"__Host-passkey=sst_{number:043}"}
        if (await world.client.get(SECOND_STEP, headers=headers)).status == 429:
            return
    raise AssertionError("unknown sign-ins have no limit")


async def accounts(world: World) -> None:
    """Deletions that cannot be, and an account that is deleted while its request is under way."""
    boss = in_browser(world.session("boss@example.com", admin=True))
    await world.client.request("DELETE", "/api/v1/account", headers=boss)
    ann = in_browser(world.session(ANN))
    await world.client.request("DELETE", "/api/v1/account", headers=ann)
    code = await world.emailed_code(ANN)
    wrong = {"code": f"{(int(code) + 1) % 1_000_000:06}"}
    await world.client.post("/api/v1/account/deletion", headers=ann, json=wrong)
    world.memory.administrators[ANN] = world.now_ms
    del world.memory.administrators["boss@example.com"]
    await world.client.post("/api/v1/account/deletion", headers=ann, json={"code": code})
    for method, path, body in (
        ("DELETE", "", None),
        ("POST", "/deletion", {"code": "123456"}),
        ("DELETE", "/deletion", None),
        ("PATCH", "/notifications", {"reports": False}),
    ):
        bob = in_browser(world.session(BOB))
        world.memory.before = _gone_before(world, BOB)
        await world.client.request(method, f"/api/v1/account{path}", headers=bob, json=body)


def _gone_before(world: World, email: str) -> Callable[[], Awaitable[None]]:
    """Delete an account between the look at its session and the change that it asks for."""
    before, seen = world.memory.before, []

    async def delete() -> None:
        seen.append(email)
        if len(seen) == 2:
            world.memory.before = before
            del world.memory.accounts[email]
        await before()

    return delete


async def cause(code: str, world: World) -> None:
    await CAUSES[code](world)


STORIES = (
    *(Story(partial(cause, code)) for code in CODES),
    Story(claims, PLENTY),
    Story(claim_with_passkey, PLENTY),
    Story(clients),
    Story(devices, PLENTY),
    Story(key_limits, {"KEYS__FULL_PER_ACCOUNT": 2, "KEYS__SCOPED_PER_ACCOUNT": 2}),
    Story(rotations, {"KEYS__FULL_PER_ACCOUNT": 2, "KEYS__SCOPED_PER_ACCOUNT": 2}),
    Story(passkeys, PLENTY),
    Story(passkey_limit, PLENTY),
    Story(passkeys_at_no_host),
    Story(many_sign_ins),
    Story(accounts),
)
