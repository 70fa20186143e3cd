"""Operation 5: usage of a key."""

from actors.clock import HOUR_MS
from actors.values import Tier
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


async def test_looking_has_a_limit_by_the_minute_of_its_own(world: World) -> None:
    key = world.key()
    assert [(await world.client.get(USAGE, key)).status for _ in range(61)] == [200] * 60 + [429]
    assert (await world.client.get("/api/v1/bots", key)).words == "200"
