"""Courses of requests that are refused: unknown ids and invalid bodies everywhere, and each refusal of a handler."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from actors.clock import SECOND_MS
from actors.weeks import WEEK_MS
from service.api.operations import OPERATIONS
from tests.api.authenticator import Authenticator
from tests.api.browsers import Browser
from tests.api.callers import CALLERS
from tests.api.devices import decided, in_browser, looked, polled, started
from tests.api.passkeys import PASSKEYS, SECOND_STEP, Owner, owner_with_passkey
from tests.api.sponsors import ADMIN, API, CAMPAIGN, NEXT_WEEK, PROFILE, add_slot, administrator, sponsor, uuid
from tests.api.test_access import PLACES, Place
from tests.api.test_errors import CAUSES
from tests.api.world import LOCAL, World, away, broken, open_world
from tests.document.recorder import Story
from tests.payments.bank import LIVE
from tests.payments.events import PAID, dumped, event, session, signature

ANN, BOB = "ann@example.com", "bob@example.com"
MOST = "an administrator's session"
"""The caller who is refused nothing for who they are."""

PLENTY = dict.fromkeys(
    (
        *("MINT__PER_HOUR", "CLAIM__STARTS_PER_HOUR", "CLAIM__COMPLETIONS_PER_HOUR", "DEVICE__STARTS_PER_HOUR"),
        *("SESSIONS__STARTS_PER_HOUR", "SESSIONS__COMPLETIONS_PER_HOUR", "KEYS__UNKNOWN_PER_MINUTE"),
        *("KEYLESS__PER_MINUTE", "MAIL__PER_HOUR_TOTAL"),
    ),
    1_000,
)


async def ask(world: World, place: Place, caller: str, **change: Any) -> None:
    presented = CALLERS[caller](world)
    headers = {"Authorization": presented} if isinstance(presented, str) else presented or {}
    await world.client.request(place.method, place.target, headers=headers, **({"json": place.body} | change))


async def unknown_ids(world: World) -> None:
    """Every operation with ids of nothing."""
    for place in PLACES.values():
        await ask(world, place, MOST)
    for kind in ("usecases", "bots"):
        await world.client.get(f"/api/v1/{kind}/unknown")


async def invalid_requests(world: World) -> None:
    """Bodies without required fields or with an unknown one, and queries with a value that none can have."""
    for operation in OPERATIONS:
        place = PLACES[operation.name]
        if operation.body is not None:
            await ask(world, place, MOST, json={} if not operation.body_optional else {"unknown": True})
        elif operation.query is not None and operation.body is None:
            names = operation.query.model_json_schema()["properties"]
            name = "limit" if "limit" in names else next(iter(names))
            target = f"{place.target.partition('?')[0]}?{name}=none"
            await ask(world, Place(place.method, target, place.policy), MOST)


CALLED = {
    "unauthorized": "nobody",
    "invalid_api_key": "an unknown key",
    "key_expired": "an expired key",
    "quota_exhausted": "a claimed key without a request left this month",
    "rate_limited": "a claimed key without a request left today",
    "claim_required": "an anonymous key",
    "insufficient_scope": "a key for nothing",
    "forbidden": "an issued key",
}
"""Callers whom an operation of sponsorship refuses, by the code."""


async def callers(world: World) -> None:
    """Those who may not, at an operation for everybody with a key and at one for administrators."""
    for caller in CALLED.values():
        for name in ("getUsage", "getBot", "getUseCase", "getSponsor", "listSlots"):
            await ask(world, PLACES[name], caller)
    await ask(world, PLACES["getUseCase"], "a key without a use case read left")
    await ask(world, PLACES["endSession"], "a session from another site")


ONE_OF_EACH_FAMILY = ("mintKey", "pollDevice", "saveProfile")


async def too_large(world: World) -> None:
    for name in ONE_OF_EACH_FAMILY:
        await ask(world, PLACES[name], MOST, json=None, body=b" " * 200_000)


async def failing(name: str, before: Callable[[], Awaitable[None]], world: World) -> None:
    """A bug in a store, or a database that is away."""
    presented = CALLERS["an issued key"](world)
    headers = {"Authorization": presented} if isinstance(presented, str) else {}
    place, body = PLACES[name], PLACES[name].body
    if name == "pollDevice":
        body = {"device_code": (await started(world))["device_code"]}
    world.memory.before = before
    await world.client.request(place.method, place.target, headers=headers, json=body)


async def many_polls(world: World) -> None:
    """More polls than an address may send in a minute."""
    for _ in range(100):
        if (await polled(world, "dvc_unknown")).status == 429:
            return
    raise AssertionError("polls have no limit")


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


async def key_limits(world: World) -> None:
    token, device = world.session(ANN), await started(world)
    await decided(world, token, device["user_code"])
    await world.client.post("/api/v1/account/keys", headers=in_browser(token), json={"name": "One more"})
    person, scoped = sponsor(world), {"name": "Reporting", "scopes": ["sponsor:read"]}
    for _ in range(2):
        await person.post(f"{API}/keys", scoped)


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
    from dataclasses import replace

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
        world.memory.before = _gone_before(world, BOB, path != "/notifications")
        await world.client.request(method, f"/api/v1/account{path}", headers=bob, json=body)


def _gone_before(world: World, email: str, _: bool) -> Callable[[], Awaitable[None]]:
    """Delete an account between the look at its session and the change that it asks for."""
    before, seen = world.memory.before, []

    async def delete() -> None:
        seen.append(email)
        if len(seen) == 2:
            world.memory.before = before
            del world.memory.accounts[email]
        await before()

    return delete


def _start(week: int, number: int, **change: Any) -> dict[str, Any]:
    body = PROFILE | {"headline": CAMPAIGN["headline"], "body": CAMPAIGN["body"], "slotId": "left-top"}
    return body | {"weekStart": NEXT_WEEK + week * WEEK_MS, "idempotencyKey": uuid(number)} | change


async def campaigns(world: World) -> None:
    """Moves that the state of a campaign does not allow, and more campaigns than may wait for review."""
    person, boss = sponsor(world), administrator(world)
    first = await person.campaign()
    await boss.post(f"{ADMIN}/campaigns/{first}/review", {"decision": "approve"})
    await person.profile()
    for move in ("submit", "resume"):
        await person.post(f"{API}/campaigns/{first}/{move}")
    await boss.post(f"{ADMIN}/campaigns/{first}/review", {"decision": "resume"})
    await person.post(f"{API}/campaigns/{first}/withdraw")
    for move in ("withdraw", "pause"):
        await person.post(f"{API}/campaigns/{first}/{move}")
    second = await person.campaign(name="Second")
    await boss.post(f"{ADMIN}/campaigns/{second}/review", {"decision": "approve"})
    for _ in range(world.config.campaigns.pending_per_account):
        await person.campaign(name="Another")
    await person.post(f"{API}/campaigns", CAMPAIGN)
    await person.patch(f"{API}/campaigns/{second}", {"cta": "Look"})
    await person.post(f"{API}/campaigns/{first}/submit")
    add_slot(world)
    await person.post(f"{API}/bookings/start", _start(0, 1))


async def bookings(world: World) -> None:
    """A slot that is taken, a repeated key, a rejected campaign, and moves that the state of a booking does not allow."""
    add_slot(world)
    person, boss = sponsor(world), administrator(world)
    begun = (await person.post(f"{API}/bookings/start", _start(0, 1))).json["booking"]
    path = f"{API}/bookings/{begun['id']}"
    await person.post(f"{API}/bookings/start", _start(0, 2))
    await person.post(f"{API}/bookings/start", _start(1, 1))
    await boss.post(f"{ADMIN}/bookings/{begun['id']}/refund")
    await boss.post(f"{ADMIN}/bookings/{begun['id']}/refund-decline", {"note": "No."})
    await boss.patch(f"{ADMIN}/bookings/{begun['id']}", {"youtubeStatus": "planned"})
    await person.post(f"{path}/refund-request", {"reason": "A mistake."})
    await boss.post(f"{ADMIN}/campaigns/{begun['campaignId']}/review", {"decision": "reject", "note": "No."})
    await person.post(f"{path}/checkout")
    await person.post(f"{path}/cancel")
    await person.post(f"{path}/cancel")
    await boss.post(f"{ADMIN}/campaigns/{begun['campaignId']}/review", {"decision": "approve"})
    paid = (await person.post(f"{API}/bookings/start", _start(3, 4))).json["booking"]
    await person.pay(paid["id"])
    await person.post(f"{API}/bookings/{paid['id']}/cancel")
    later = (await person.post(f"{API}/bookings/start", _start(2, 3))).json["booking"]
    await person.post(f"{API}/bookings/{later['id']}/cancel")
    await person.post(f"{API}/bookings/{later['id']}/checkout")


async def holds(world: World) -> None:
    add_slot(world)
    person = sponsor(world)
    for week in range(world.config.bookings.open_holds + 1):
        await person.post(f"{API}/bookings/start", _start(week, week))


async def webhooks(world: World) -> None:
    """A URL that is taken, a webhook that its receiver turned off, and one webhook too many."""
    person = sponsor(world)
    hook = {"url": "https://tools.example.com/webhooks", "events": ["booking.paid"]}
    path = f"{API}/webhooks/{(await person.post(f'{API}/webhooks', hook)).json['webhook']['id']}"
    await person.post(f"{API}/webhooks", hook)
    world.endpoints.status = 410
    sent = (await person.post(f"{path}/test")).json["delivery"]
    await world.pass_seconds(2)
    await world.settled()
    await person.post(f"{path}/test")
    await person.post(f"{path}/deliveries/{sent['id']}/resend")


async def administration(world: World) -> None:
    boss = administrator(world)
    slot = {"id": "home-top", "name": "Home, top", "side": "left", "weekPriceCents": 12_000}
    for _ in range(2):
        await boss.post(f"{ADMIN}/slots", slot)
    account = world.memory.accounts["admin@example.com"].tenant_id
    await boss.post(f"/api/v1/admin/accounts/{account}/suspend", {"reason": "Spam."})


async def payment(world: World) -> None:
    """An event of a session that the service did not open is received and changes nothing; an unsigned one is refused."""
    body = dumped(event(PAID, session(None)))
    path, at = "/api/v1/webhooks/stripe", world.now_ms // SECOND_MS
    await world.client.post(path, headers={"Stripe-Signature": signature(body, at)}, body=body)
    await world.client.post(path, body=body)


async def cause(code: str, world: World) -> None:
    await CAUSES[code](world)


STORIES = (
    Story(callers, PLENTY),
    Story(too_large),
    *(Story(partial(failing, name, before)) for name in ONE_OF_EACH_FAMILY for before in (broken, away)),
    Story(unknown_ids, PLENTY),
    Story(invalid_requests, PLENTY),
    *(
        Story(partial(cause, code))
        for code in (
            *("authorization_pending", "slow_down", "expired_token", "access_denied"),
            *("slot_unavailable", "campaign_not_bookable", "profile_required", "hold_limit", "idempotency_conflict"),
            *("webhook_limit", "invalid_passkey", "key_limit"),
        )
    ),
    Story(many_polls, {"DEVICE__STARTS_PER_HOUR": 1}),
    Story(claims, PLENTY),
    Story(claim_with_passkey, PLENTY),
    Story(devices, PLENTY),
    Story(key_limits, {"KEYS__FULL_PER_ACCOUNT": 1, "KEYS__SCOPED_PER_ACCOUNT": 1}),
    Story(passkeys, PLENTY),
    Story(passkey_limit, PLENTY),
    Story(passkeys_at_no_host),
    Story(many_sign_ins),
    Story(accounts),
    Story(campaigns),
    Story(bookings),
    Story(holds),
    Story(webhooks),
    Story(administration),
    Story(payment, LIVE),
)
