"""Operation 1: minting anonymous keys."""

import re

from actors.clock import HOUR_MS
from actors.shared.credentials import digest, is_key
from tests.api.asgi import Response
from tests.api.conformity import BASE_URL
from tests.api.world import World, away

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


async def test_no_key_is_minted_while_the_database_is_away(world: World) -> None:
    world.memory.before = away
    response = await _minted(world)
    assert response.words == "503 service_unavailable"
    assert response.json["retryAfter"] == 1
    assert world.memory.keys == {}
