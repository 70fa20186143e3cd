"""Operation 1: minting anonymous keys."""

import re

from actors.clock import HOUR_MS
from actors.shared.credentials import digest, is_key
from tests.api.asgi import Response
from tests.api.conformity import BASE_URL
from tests.api.world import World, away, open_world

MINT = "/api/v1/auth/agent"


async def _minted(world: World, address: str = "203.0.113.7") -> Response:
    return await world.client.post(MINT, address=address)


async def test_a_minted_key_has_the_five_fields_of_the_specification(world: World) -> None:
    minted = (await _minted(world)).json
    assert minted.keys() == {"apiKey", "tenantId", "claimToken", "claimUrl", "expiresAt"}
    assert re.fullmatch(r"cs_anon_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}", minted["apiKey"])
    assert is_key(minted["apiKey"])
    assert re.fullmatch(r"clm_[0-9A-Za-z]{32}", minted["claimToken"])
    assert minted["claimUrl"] == f"{BASE_URL}/claim#{minted['claimToken']}"
    assert minted["expiresAt"] == world.now_ms + 72 * HOUR_MS
    assert re.fullmatch(r"ten_[0-9A-Za-z]{22}", minted["tenantId"])


async def test_a_minted_key_works_at_once(world: World) -> None:
    key = (await _minted(world)).json["apiKey"]
    assert (await world.client.get("/api/v1/usecases", key)).words == "200"


async def test_neither_key_nor_token_is_kept_in_clear(world: World) -> None:
    minted = (await _minted(world)).json
    kept = repr((world.memory.keys, world.memory.claims, world.memory.tenants, world.memory.audits))
    assert minted["apiKey"][12:] not in kept
    assert minted["claimToken"] not in kept
    assert repr(digest(minted["apiKey"])) in kept


async def test_an_address_gets_ten_keys_an_hour(world: World) -> None:
    assert [(await _minted(world)).status for _ in range(11)] == [200] * 10 + [429]
    assert (await _minted(world, "203.0.113.8")).status == 200
    await world.pass_seconds(3_599)
    refused = await _minted(world)
    assert refused.words == "429 rate_limited"
    assert refused.json["retryAfter"] == 1
    await world.pass_seconds(1)
    assert (await _minted(world)).status == 200


async def test_a_refusal_says_when_the_next_key_may_be_had(world: World) -> None:
    await _minted(world)
    await world.pass_seconds(600)
    for _ in range(9):
        await _minted(world)
    refused = await _minted(world)
    assert refused.header("retry-after") == "3000"
    assert refused.json["retryAfter"] == 3_000


async def test_the_limits_are_ten_and_a_thousand_unless_configured(world: World) -> None:
    assert (world.config.mint.per_hour, world.config.mint.per_hour_total) == (10, 1_000)


async def test_no_key_is_minted_while_the_database_is_away(world: World) -> None:
    world.memory.before = away
    response = await _minted(world)
    assert response.words == "503 service_unavailable"
    assert response.json["retryAfter"] == 1
    assert world.memory.keys == {}


async def test_one_network_uses_at_most_a_tenth_of_all_keys() -> None:
    async with open_world(MINT__PER_HOUR_TOTAL=100) as world:
        statuses = [(await _minted(world, f"2001:db8:1:{number:x}::1")).status for number in range(30)]
        assert statuses == [200] * 10 + [429] * 20
        assert [(await _minted(world, "2001:db8:2::1")).status for _ in range(10)] == [200] * 10
