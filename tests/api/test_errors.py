"""Every row of the error table over HTTP, with status, body and headers of each family."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actors.shared.weeks import WEEK_MS
from actors.values import Code, Refused, Tier
from service.api.errors import TABLE, Family, body_of
from service.web.app import family_of
from tests.api.asgi import Response
from tests.api.authenticator import Authenticator
from tests.api.devices import decided, polled, started
from tests.api.passkeys import PASSKEYS, Owner
from tests.api.sponsors import ADMIN, API, NEXT_WEEK, Person, add_slot, administrator, sponsor, uuid
from tests.api.world import LOCAL, World, away, broken, fails_once, open_world

CLAIM, MINT, DEVICE = "/api/v1/auth/claim", "/api/v1/auth/agent", "/api/v1/auth/device"
ANN = "ann@example.com"

EXPECTED = {
    # code: status and hint.
    "invalid_request": (400, None),
    "invalid_claim": (400, None),
    "invalid_code": (400, None),
    "invalid_passkey": (400, None),
    "unauthorized": (401, MINT),
    "invalid_api_key": (401, MINT),
    "key_expired": (403, CLAIM),
    "quota_exhausted": (403, CLAIM),
    "claim_required": (403, CLAIM),
    "insufficient_scope": (403, None),
    "forbidden": (403, None),
    "not_found": (404, None),
    "method_not_allowed": (405, None),
    "already_upgraded": (409, None),
    "key_limit": (409, None),
    "passkey_limit": (409, None),
    "slot_unavailable": (409, None),
    "campaign_not_bookable": (409, None),
    "profile_required": (409, None),
    "hold_limit": (409, None),
    "campaign_limit": (409, None),
    "webhook_limit": (409, None),
    "idempotency_conflict": (409, None),
    "invalid_state": (409, None),
    "payload_too_large": (413, None),
    "authorization_pending": (400, None),
    "slow_down": (400, None),
    "expired_token": (400, DEVICE),
    "access_denied": (400, None),
    "rate_limited": (429, None),
    "internal_error": (500, None),
    "service_unavailable": (503, None),
}
NOT_MET = {
    "unsupported_media_type": "no operation looks at the content type of its body",
}
"""Codes that no operation returns, and why."""


def test_the_table_has_a_row_for_each_code_and_each_row_is_met_or_explained() -> None:
    assert set(TABLE) == set(Code)
    assert {str(code) for code in TABLE} == EXPECTED.keys() | NOT_MET.keys()
    assert CAUSES.keys() == EXPECTED.keys()


async def _invalid_request(world: World) -> Response:
    return await world.client.get("/api/v1/bots?limit=0")


async def _invalid_claim(world: World) -> Response:
    return await world.client.post(CLAIM, json={"claimToken": "clm_unknown", "email": ANN})


async def _invalid_code(world: World) -> Response:
    token = await _started(world)
    return await _completed(world, token, "wrong")


async def _invalid_passkey(world: World) -> Response:
    owner = Owner(world)
    await owner.enters_code()
    return await owner.adds(Authenticator(origin="https://example.com").creates(await owner.may_create()))


async def _unauthorized(world: World) -> Response:
    return await world.client.get("/api/v1/usage")


async def _invalid_api_key(world: World) -> Response:
    return await world.client.get("/api/v1/usage", "no-such-key")


async def _key_expired(world: World) -> Response:
    return await world.client.get("/api/v1/usage", world.key(expires_in_ms=-1))


async def _quota_exhausted(world: World) -> Response:
    return await world.client.get("/api/v1/bots", world.key(used=1_000))


async def _claim_required(world: World) -> Response:
    return await world.client.get("/api/v1/usecases", world.key(usecase_reads=200))


async def _insufficient_scope(world: World) -> Response:
    return await world.client.get("/api/v1/bots", world.key(scopes=()))


async def _forbidden(world: World) -> Response:
    key = world.key(tier=Tier.CLAIMED, email="bob@example.com")
    return await world.client.post("/api/v1/admin/accounts/tier", key, json={"email": ANN, "tier": "upgraded"})


async def _not_found(world: World) -> Response:
    return await world.client.get("/api/v1/bots/nobody")


async def _method_not_allowed(world: World) -> Response:
    return await world.client.request("DELETE", "/api/v1/bots")


async def _already_upgraded(world: World) -> Response:
    token = await _started(world)
    await _completed(world, token, await world.emailed_code(ANN))
    return await world.client.post(CLAIM, json={"claimToken": token, "email": "bob@example.com"})


async def _key_limit(world: World) -> Response:
    for _ in range(10):
        await _issued(world)
    token = await _started(world)
    return await _completed(world, token, await world.emailed_code(ANN))


async def _passkey_limit(world: World) -> Response:
    owner = Owner(world)
    await owner.enters_code()
    for number in range(10):
        await owner.registers(Authenticator(bytes([number])))
    return await owner.call("POST", f"{PASSKEYS}/challenge")


async def _ready(world: World, **slot: Any) -> tuple[Person, str]:
    """A sponsor with a profile and a campaign, and a slot to book."""
    add_slot(world, **slot)
    person = sponsor(world)
    await person.profile()
    return person, await person.campaign()


async def _book(person: Person, campaign: str, **change: object) -> Response:
    return await person.post(f"{API}/bookings", person.booking_body(campaign) | change)


async def _slot_unavailable(world: World) -> Response:
    return await _book(*await _ready(world, active=False))


async def _campaign_not_bookable(world: World) -> Response:
    person, campaign = await _ready(world)
    note = {"decision": "reject", "note": "No."}
    await administrator(world).post(f"{ADMIN}/campaigns/{campaign}/review", note)
    return await _book(person, campaign)


async def _profile_required(world: World) -> Response:
    add_slot(world)
    person = sponsor(world)
    return await _book(person, await person.campaign())


async def _hold_limit(world: World) -> Response:
    person, campaign = await _ready(world)
    for week in (1, 2, 3):
        await person.booking(campaign, week=NEXT_WEEK + week * WEEK_MS)
    return await _book(person, campaign)


async def _campaign_limit(world: World) -> Response:
    person, content = sponsor(world), {"cta": "Go", "targetUrl": "https://example.com/", "logoText": "A"}
    body = content | {"name": "Autumn", "headline": "A headline", "body": "A body"}
    for _ in range(world.config.campaigns.pending_per_account):
        assert (await person.post(f"{API}/campaigns", body)).status == 200
    return await person.post(f"{API}/campaigns", body)


async def _webhook_limit(world: World) -> Response:
    person, body = sponsor(world), {"events": ["booking.paid"]}
    for number in range(world.config.webhooks.per_account):
        assert (
            await person.post(f"{API}/webhooks", body | {"url": f"https://tools.example.com/{number}"})
        ).status == 200
    return await person.post(f"{API}/webhooks", body | {"url": "https://tools.example.com/more"})


async def _idempotency_conflict(world: World) -> Response:
    person, campaign = await _ready(world)
    await _book(person, campaign, idempotencyKey=uuid(7))
    return await _book(person, campaign, idempotencyKey=uuid(7), weekStart=NEXT_WEEK + WEEK_MS)


async def _invalid_state(world: World) -> Response:
    person, campaign = await _ready(world)
    return await person.post(f"{API}/campaigns/{campaign}/resume")


async def _payload_too_large(world: World) -> Response:
    return await world.client.post(MINT, body=b" " * 20_000)


async def _authorization_pending(world: World) -> Response:
    return await polled(world, (await started(world))["device_code"])


async def _slow_down(world: World) -> Response:
    code = (await started(world))["device_code"]
    await polled(world, code)
    return await polled(world, code)


async def _expired_token(world: World) -> Response:
    code = (await started(world))["device_code"]
    await world.pass_seconds(900)
    return await polled(world, code)


async def _access_denied(world: World) -> Response:
    device = await started(world)
    await decided(world, world.session(ANN), device["user_code"], "deny")
    return await polled(world, device["device_code"])


async def _rate_limited(world: World) -> Response:
    return await world.client.get("/api/v1/bots", world.key(used=500, used_today=500))


async def _internal_error(world: World) -> Response:
    world.catalog_memory.before = broken
    return await world.client.get("/api/v1/bots?q=anything")


async def _service_unavailable(world: World) -> Response:
    world.memory.before = away
    return await world.client.post(MINT)


async def _started(world: World) -> str:
    token = (await world.services.keys.mint()).claim_token
    assert (await world.client.post(CLAIM, json={"claimToken": token, "email": ANN})).words == "200"
    return token


async def _completed(world: World, token: str, code: str) -> Response:
    return await world.client.post(f"{CLAIM}/complete", json={"claimToken": token, "email": ANN, "code": code})


async def _issued(world: World) -> None:
    outcome = await world.services.keys.issue(ANN, world.agent)
    assert not isinstance(outcome, Refused)


CAUSES: dict[str, Callable[[World], Awaitable[Response]]] = {
    "invalid_request": _invalid_request,
    "invalid_claim": _invalid_claim,
    "invalid_code": _invalid_code,
    "invalid_passkey": _invalid_passkey,
    "unauthorized": _unauthorized,
    "invalid_api_key": _invalid_api_key,
    "key_expired": _key_expired,
    "quota_exhausted": _quota_exhausted,
    "claim_required": _claim_required,
    "insufficient_scope": _insufficient_scope,
    "forbidden": _forbidden,
    "not_found": _not_found,
    "method_not_allowed": _method_not_allowed,
    "already_upgraded": _already_upgraded,
    "key_limit": _key_limit,
    "passkey_limit": _passkey_limit,
    "slot_unavailable": _slot_unavailable,
    "campaign_not_bookable": _campaign_not_bookable,
    "profile_required": _profile_required,
    "hold_limit": _hold_limit,
    "campaign_limit": _campaign_limit,
    "webhook_limit": _webhook_limit,
    "idempotency_conflict": _idempotency_conflict,
    "invalid_state": _invalid_state,
    "payload_too_large": _payload_too_large,
    "authorization_pending": _authorization_pending,
    "slow_down": _slow_down,
    "expired_token": _expired_token,
    "access_denied": _access_denied,
    "rate_limited": _rate_limited,
    "internal_error": _internal_error,
    "service_unavailable": _service_unavailable,
}


@pytest.mark.parametrize("code", EXPECTED)
async def test_this_refusal_is_met_with_its_status_and_hint(world: World, code: str) -> None:
    response = await CAUSES[code](world)
    status, hint = EXPECTED[code]
    assert response.words == f"{status} {code}"
    assert response.json.get("hint") == hint
    assert response.json["message"].endswith(".") or ": " in response.json["message"]


async def test_a_bug_in_a_handler_tells_the_client_nothing_but_an_id(world: World) -> None:
    response = await _internal_error(world)
    assert "bug" not in response.body.decode()
    assert response.header("x-request-id")


async def test_a_bug_in_a_page_is_answered_alike() -> None:
    async with open_world(**LOCAL) as world:
        fails_once(world.memory, broken)
        response = await world.client.get("/dev/outbox", address="127.0.0.1")
    assert response.words == "500 internal_error"
    assert "bug" not in response.body.decode()


async def test_a_page_without_the_database_is_answered_alike() -> None:
    async with open_world(**LOCAL) as world:
        fails_once(world.memory, away)
        assert (await world.client.get("/dev/outbox", address="127.0.0.1")).words == "503 service_unavailable"


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("code", Code)
def test_each_family_writes_its_own_fields_only(code: Code, family: Family) -> None:
    body = body_of(Refused(code, "Words.", 7), family)
    own = {"error_description"} if family is Family.DEVICE else set()
    hinted = {"hint"} if family is not Family.SPONSORSHIP and TABLE[code].hint is not None else set()
    assert body.keys() == {"error", "message", "retryAfter"} | hinted | own
    assert "retryAfter" not in body_of(Refused(code, "Words."), family)


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/api/v1/sponsors/me", Family.SPONSORSHIP),
        ("/api/v1/admin/sponsorships/audit", Family.SPONSORSHIP),
        ("/api/v1/usage", Family.CATALOG),
        ("/nowhere", Family.CATALOG),
    ],
)
def test_a_path_belongs_to_the_family_of_its_area(path: str, family: Family) -> None:
    assert family_of(path) is family
