"""Operation 5: usage of a key."""

import pytest

from actors.clock import HOUR_MS
from actors.shared.credentials import Kind
from actors.values import Refused, Scope, Tier
from tests.api.world import NOON_MS, World

USAGE = "/api/v1/usage"


async def test_an_anonymous_key_sees_its_life(world: World) -> None:
    key = world.key(used=12, used_today=3, expires_in_ms=5 * HOUR_MS)
    assert (await world.client.get(USAGE, key)).json == {
        "tenantId": world.tenant_of(key).id,
        "status": "anonymous",
        "keyPrefix": key[:12],
        "requestsUsed": 12,
        "requestLimit": 1_000,
        "dailyRequestsUsed": 3,
        "dailyRequestLimit": 500,
        "expiresAt": NOON_MS + 5 * HOUR_MS,
    }


async def test_a_claimed_key_sees_its_month_and_its_email(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, used=70, used_today=9, email="ann@example.com")
    assert (await world.client.get(USAGE, key)).json == {
        "tenantId": world.tenant_of(key).id,
        "status": "claimed",
        "keyPrefix": key[:12],
        "requestsUsed": 70,
        "requestLimit": 100_000,
        "dailyRequestsUsed": 9,
        "dailyRequestLimit": 10_000,
        "email": "ann@example.com",
    }


async def test_an_upgraded_key_sees_the_limits_of_its_tier(world: World) -> None:
    await world.services.keys.issue("ann@example.com", world.agent)
    issued = await world.services.keys.issue("ann@example.com", world.agent)
    assert not isinstance(issued, Refused)
    assert (await world.client.get(USAGE, issued.api_key)).json["status"] == "claimed"
    await world.services.keys.set_tier("ann@example.com", Tier.UPGRADED, world.agent)
    upgraded = (await world.client.get(USAGE, issued.api_key)).json
    assert (upgraded["status"], upgraded["requestLimit"], upgraded["dailyRequestLimit"]) == (
        "upgraded",
        1_000_000,
        100_000,
    )
    await world.services.keys.set_tier("ann@example.com", Tier.CLAIMED, world.agent)
    assert (await world.client.get(USAGE, issued.api_key)).json["status"] == "claimed"


@pytest.mark.parametrize(
    ("kind", "length"), [(Kind.ANONYMOUS, len("cs_anon_1234")), (Kind.USER, len("cs_user_1234")), (Kind.SCOPED, 14)]
)
async def test_a_prefix_shows_four_random_characters(world: World, kind: Kind, length: int) -> None:
    scopes = (Scope.LIBRARY_READ,) if kind is Kind.SCOPED else None
    key = world.key(kind=kind, tier=Tier.CLAIMED, scopes=scopes)
    assert (await world.client.get(USAGE, key)).json["keyPrefix"] == key[:length]


async def test_looking_does_not_count(world: World) -> None:
    key = world.key()
    for _ in range(5):
        assert (await world.client.get(USAGE, key)).json["requestsUsed"] == 0


async def test_looking_has_a_limit_by_the_minute_of_its_own(world: World) -> None:
    key = world.key()
    assert [(await world.client.get(USAGE, key)).status for _ in range(61)] == [200] * 60 + [429]
    assert (await world.client.get("/api/v1/bots", key)).words == "200"


async def test_a_request_is_seen_as_soon_as_it_was_answered(world: World) -> None:
    key = world.key()
    for count in range(1, 4):
        await world.client.get("/api/v1/bots", key)
        assert (await world.client.get(USAGE, key)).json["requestsUsed"] == count


async def test_a_revocation_whose_notice_was_lost_is_seen_after_ten_seconds(world: World) -> None:
    issued = await world.services.keys.issue("ann@example.com", world.agent)
    assert not isinstance(issued, Refused)
    await world.client.get(USAGE, issued.api_key)
    world.memory.listeners.clear()
    await world.services.keys.revoke(issued.key.id, world.agent)
    await world.pass_seconds(9)
    assert (await world.client.get(USAGE, issued.api_key)).words == "200"
    await world.pass_seconds(1)
    assert (await world.client.get(USAGE, issued.api_key)).words == "401 invalid_api_key"
