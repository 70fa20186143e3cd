"""Requests that are refused for one code each, for the examples of the document."""

from collections.abc import Awaitable, Callable
from typing import Any

from actors.catalog.submission_rules import SubmissionRules
from actors.times import WEEK_MS
from actors.values import Refused
from service.schemas.urls import public_address
from tests.api.asgi import Response
from tests.api.authenticator import Authenticator
from tests.api.devices import decided, polled, started
from tests.api.passkeys import Owner
from tests.api.sponsors import ADMIN, API, NEXT_WEEK, Person, add_slot, administrator, sponsor, uuid
from tests.api.world import World
from tests.contract import CONTRACT

CLAIM, ANN = "/api/v1/auth/claim", "ann@example.com"


async def _invalid_claim(world: World) -> Response:
    return await world.client.post(CLAIM, json={"claimToken": "clm_unknown", "email": ANN})


async def _invalid_code(world: World) -> Response:
    token = await _started(world)
    return await _completed(world, token, "000000")


async def _invalid_passkey(world: World) -> Response:
    owner = Owner(world)
    await owner.enters_code()
    return await owner.adds(Authenticator(origin="https://example.com").creates(await owner.may_create()))


async def _already_upgraded(world: World) -> Response:
    token = await _started(world)
    await _completed(world, token, await world.emailed_code(ANN))
    return await world.client.post(CLAIM, json={"claimToken": token, "email": "bob@example.com"})


async def _key_limit(world: World) -> Response:
    for _ in range(10):
        await _issued(world)
    token = await _started(world)
    return await _completed(world, token, await world.emailed_code(ANN))


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


async def _webhook_limit(world: World) -> Response:
    person, body = sponsor(world), {"events": ["booking.paid"]}
    for number in range(world.config.webhooks.per_account):
        assert (
            await person.post(f"{API}/webhooks", body | {"url": f"https://tools.example.com/{number}"})
        ).status == 200
    return await person.post(f"{API}/webhooks", body | {"url": "https://tools.example.com/more"})


async def _submission_limit(world: World) -> Response:
    person, proposed = sponsor(world), CONTRACT["submitEntry"].body
    for _ in range(SubmissionRules(public_address).pending):
        assert (await person.post("/api/v1/catalog/submissions", proposed)).status == 200
    return await person.post("/api/v1/catalog/submissions", proposed)


async def _idempotency_conflict(world: World) -> Response:
    person, campaign = await _ready(world)
    await _book(person, campaign, idempotencyKey=uuid(7))
    return await _book(person, campaign, idempotencyKey=uuid(7), weekStart=NEXT_WEEK + WEEK_MS)


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
    "invalid_claim": _invalid_claim,
    "invalid_code": _invalid_code,
    "already_upgraded": _already_upgraded,
    "authorization_pending": _authorization_pending,
    "slow_down": _slow_down,
    "expired_token": _expired_token,
    "access_denied": _access_denied,
    "invalid_passkey": _invalid_passkey,
    "key_limit": _key_limit,
    "slot_unavailable": _slot_unavailable,
    "campaign_not_bookable": _campaign_not_bookable,
    "profile_required": _profile_required,
    "hold_limit": _hold_limit,
    "idempotency_conflict": _idempotency_conflict,
    "webhook_limit": _webhook_limit,
    "submission_limit": _submission_limit,
}
