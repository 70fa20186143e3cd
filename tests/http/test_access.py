"""Every operation for every kind of caller, held to a table that is written out here."""

from collections.abc import AsyncIterator

import pytest

from service.operations import OPERATIONS
from tests.http.asgi import Response
from tests.http.callers import CALLERS
from tests.http.world import World, open_world

EVERYONE = "200", "200", "200"
NOT_A_HEADER = ("401 unauthorized",) * 3
NO_SUCH_KEY = ("401 invalid_api_key",) * 3
EXPIRED = ("403 key_expired",) * 3
NO_SCOPE = ("403 insufficient_scope",) * 3
USED_UP = "200", "403 quota_exhausted", "403 quota_exhausted"
NOT_TODAY = "200", "429 rate_limited", "429 rate_limited"

EXPECTED = {
    # What getUsage, the two use case operations and the two bot operations answer.
    "nobody": ("401 unauthorized", "200", "200"),
    "an empty header": NOT_A_HEADER,
    "a scheme alone": NOT_A_HEADER,
    "a scheme and a space": NOT_A_HEADER,
    "a key without a scheme": NOT_A_HEADER,
    "another scheme": NOT_A_HEADER,
    "two keys in one header": NOT_A_HEADER,
    "two keys and a comma": NOT_A_HEADER,
    "a key and a word": NOT_A_HEADER,
    "a tab for a space": NOT_A_HEADER,
    "not a key": NO_SUCH_KEY,
    "not ASCII": NO_SUCH_KEY,
    "an unknown key": NO_SUCH_KEY,
    "a mistyped key": NO_SUCH_KEY,
    "a revoked key": NO_SUCH_KEY,
    "a revoked key that expired": NO_SUCH_KEY,
    "an anonymous key": EVERYONE,
    "a lower-case scheme": EVERYONE,
    "an upper-case scheme": EVERYONE,
    "two spaces": EVERYONE,
    "an expired key": EXPIRED,
    "a key that expires now": EXPIRED,
    "a key with one request left": EVERYONE,
    "an exhausted key": USED_UP,
    "an expired and exhausted key": EXPIRED,
    "a key without a request left today": NOT_TODAY,
    "a key with one use case read left": EVERYONE,
    "a key without a use case read left": ("200", "403 claim_required", "200"),
    "a claimed key": EVERYONE,
    "a claimed key that used a lifetime": EVERYONE,
    "a claimed key without a request left this month": USED_UP,
    "a claimed key without a request left today": NOT_TODAY,
    "an upgraded key": EVERYONE,
    "an upgraded key without a request left this month": USED_UP,
    "an upgraded key without a request left today": NOT_TODAY,
    "an issued key": EVERYONE,
    "a key for library:read": EVERYONE,
    "a key for sponsor:read": NO_SCOPE,
    "a key for sponsor:write": NO_SCOPE,
    "a key for billing:write": NO_SCOPE,
    "a key for admin:read": NO_SCOPE,
    "a key for admin:write": NO_SCOPE,
    "a key for keys:manage": NO_SCOPE,
    "a key for everything but the library": NO_SCOPE,
    "a scoped key without a request left this month": USED_UP,
}
PLACES = {
    # The target of each operation that asks for a key, and its column above.
    "getUsage": ("/api/v1/usage", 0),
    "listUseCases": ("/api/v1/usecases", 1),
    "getUseCase": ("/api/v1/usecases/case-04", 1),
    "listBots": ("/api/v1/bots", 2),
    "getBot": ("/api/v1/bots/bot-00", 2),
}
PUBLIC = {"mintKey", "startClaim", "completeClaim", "isAlive", "isReady"}
SIGNED = {"stripeWebhook": "/api/v1/webhooks/stripe"}
"""Public too, but for one caller alone, and not there in test mode: `tests/payments`."""


def test_the_tables_name_every_operation_and_every_caller() -> None:
    assert {operation.name for operation in OPERATIONS} == PLACES.keys() | PUBLIC | SIGNED.keys()
    assert CALLERS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_of_this_kind_gets_what_the_table_says(world: World, caller: str) -> None:
    answers = {}
    for operation, (target, _) in PLACES.items():
        response = await world.client.get(target, headers=_presented(world, caller))
        assert (response.header("etag") is not None) == (response.status == 200 and caller == "nobody")
        _check_limits(response)
        answers[operation] = response.words
    assert answers == {operation: EXPECTED[caller][column] for operation, (_, column) in PLACES.items()}


def _presented(world: World, caller: str) -> dict[str, str]:
    """The header of a fresh caller of this kind."""
    authorization = CALLERS[caller](world)
    return {} if authorization is None else {"Authorization": authorization}


def _check_limits(response: Response) -> None:
    """An address has no RateLimit to see; who is refused as a caller has none either. A scope that lacks is paced."""
    told = response.header("ratelimit") is not None
    assert told == (response.header("ratelimit-policy") is not None)
    if response.words.startswith(("401", "403 key_expired")) or response.header("etag"):
        assert not told
    else:
        assert told


async def test_public_operations_do_not_look_at_the_header(world_with_many_starts: World) -> None:
    for number, caller in enumerate(CALLERS):
        headers, email = _presented(world_with_many_starts, caller), f"zoe{number}@example.com"
        answers = await _public_answers(world_with_many_starts, headers, email)
        assert answers == dict.fromkeys(PUBLIC, "200"), caller
        for target in SIGNED.values():
            assert (await world_with_many_starts.client.post(target, headers=headers)).words == "404 not_found"


@pytest.fixture
async def world_with_many_starts() -> AsyncIterator[World]:
    many = {"MINT__PER_HOUR": 100, "CLAIM__STARTS_PER_HOUR": 100, "CLAIM__COMPLETIONS_PER_HOUR": 100}
    async with open_world(**many) as world:
        yield world


async def _public_answers(world: World, headers: dict[str, str], email: str) -> dict[str, str]:
    client = world.client
    minted = await client.post("/api/v1/auth/agent", headers=headers)
    claim = {"claimToken": minted.json["claimToken"], "email": email}
    started = await client.post("/api/v1/auth/claim", headers=headers, json=claim)
    claim |= {"code": await world.emailed_code(email)}
    completed = await client.post("/api/v1/auth/claim/complete", headers=headers, json=claim)
    alive = await client.get("/healthz", headers=headers)
    ready = await client.get("/readyz", headers=headers)
    return {
        "mintKey": minted.words,
        "startClaim": started.words,
        "completeClaim": completed.words,
        "isAlive": alive.words,
        "isReady": ready.words,
    }


async def test_two_authorization_headers_are_none(world: World) -> None:
    twice = [("Authorization", f"Bearer {world.key()}"), ("Authorization", f"Bearer {world.key()}")]
    for target in ("/api/v1/usage", "/api/v1/bots"):
        assert (await world.client.get(target, headers=twice)).words == "401 unauthorized"


async def test_a_key_in_the_query_is_not_looked_at(world: World) -> None:
    assert (await world.client.get(f"/api/v1/usage?api_key={world.key()}")).words == "401 unauthorized"


async def test_a_key_expires_while_it_is_remembered(world: World) -> None:
    key = world.key(expires_in_ms=3_000)
    assert (await world.client.get("/api/v1/bots", key)).words == "200"
    await world.pass_seconds(3)
    assert (await world.client.get("/api/v1/bots", key)).words == "403 key_expired"
