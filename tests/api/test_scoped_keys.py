"""Scoped keys: granting, listing, revoking and secrecy."""

from typing import Any

import pytest

from actors.clock import SECOND_MS
from actors.shared.credentials import Kind, digest, is_key
from actors.values import Scope, Tier
from tests.api.asgi import Response
from tests.api.world import World

KEYS = "/api/v1/sponsors/keys"
ANN, BOB = "ann@example.com", "bob@example.com"


@pytest.fixture
def ann(world: World) -> str:
    """A full key of an account."""
    return world.key(tier=Tier.CLAIMED, email=ANN)


async def create(world: World, key: str, *scopes: str, name: str = "Reporting") -> Response:
    return await world.client.post(KEYS, key, json={"name": name, "scopes": list(scopes)})


async def listed(world: World, key: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await world.client.get(KEYS, key)).json["items"]
    return items


async def revoke(world: World, key: str, key_id: str) -> Response:
    return await world.client.request("DELETE", f"{KEYS}/{key_id}", key)


# Creating.


async def test_a_created_key_does_what_its_scopes_say(world: World, ann: str) -> None:
    created = await create(world, ann, "library:read")
    assert created.words == "200"
    assert created.json["scopes"] == ["library:read"]
    key = created.json["apiKey"]
    assert is_key(key)
    assert key.startswith("cs_scoped_")
    assert (await world.client.get("/api/v1/bots", key)).words == "200"
    assert (await world.client.get(KEYS, key)).words == "403 insufficient_scope"


async def test_a_key_is_shown_once_and_kept_only_as_a_hash(world: World, ann: str) -> None:
    created = await create(world, ann, "sponsor:read")
    key = created.json["apiKey"]
    assert created.header("cache-control") == "no-store"
    assert key not in (await world.client.get(KEYS, ann)).body.decode()
    assert key not in repr(world.memory)
    assert world.memory.keys[created.json["id"]].hash == digest(key)


async def test_scopes_that_stand_twice_are_taken_once(world: World, ann: str) -> None:
    created = await create(world, ann, "sponsor:read", "library:read", "sponsor:read")
    assert created.json["scopes"] == ["sponsor:read", "library:read"]
    assert (await listed(world, ann))[0]["scopes"] == ["sponsor:read", "library:read"]


async def test_issuing_and_revoking_are_in_the_audit_with_the_key_that_did_it(world: World, ann: str) -> None:
    created = (await create(world, ann, "library:read", name="Laptop")).json
    await revoke(world, ann, created["id"])
    issued, revoked = world.memory.audits
    for record, action in ((issued, "key.issued"), (revoked, "key.revoked")):
        assert (record.action, record.target_type, record.target_id) == (action, "key", created["id"])
        assert (record.actor_type, record.actor_id, record.actor_email) == ("key", world.id_of(ann), ANN)
        assert record.request_id
    assert issued.changes == '{"scopes": ["library:read"], "name": "Laptop"}'


# Bodies.

WRONG = {
    "no name": {"scopes": ["library:read"]},
    "a blank name": {"name": " \u00a0 ", "scopes": ["library:read"]},
    "a long name": {"name": "x" * 65, "scopes": ["library:read"]},
    "a name of two lines": {"name": "a\nb", "scopes": ["library:read"]},
    "no scopes": {"name": "a"},
    "an empty list": {"name": "a", "scopes": []},
    "eight items": {"name": "a", "scopes": ["library:read"] * 8},
    "an unknown scope": {"name": "a", "scopes": ["library:write"]},
    "a text of scopes": {"name": "a", "scopes": "library:read"},
    "an unknown property": {"name": "a", "scopes": ["library:read"], "expiresAt": 1},
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_body_makes_no_key(world: World, ann: str, what: str) -> None:
    assert (await world.client.post(KEYS, ann, json=WRONG[what])).words == "400 invalid_request"
    assert await listed(world, ann) == []


# Listing.


async def test_the_list_has_the_live_scoped_keys_of_the_account_the_newest_first(world: World, ann: str) -> None:
    other = world.key(tier=Tier.CLAIMED, email=BOB)
    made = []
    for name in ("first", "second", "third"):
        made.append((await create(world, ann, "library:read", name=name)).json)
        await world.pass_seconds(1)
    await revoke(world, ann, made[1]["id"])
    await create(world, other, "library:read")
    world.key_of(ANN)
    answer = await world.client.get(KEYS, ann)
    assert answer.header("cache-control") == "no-store"
    assert answer.json == {
        "items": [
            {
                "id": made[place]["id"],
                "keyPrefix": made[place]["apiKey"][: len("cs_scoped_") + 4],
                "scopes": ["library:read"],
                "createdAt": world.now_ms - (3 - place) * SECOND_MS,
                "name": name,
                "grantedBy": world.id_of(ann),
            }
            for place, name in ((2, "third"), (0, "first"))
        ]
    }


async def test_a_key_without_a_name_has_none_in_the_list(world: World, ann: str) -> None:
    world.key_of(ANN, (Scope.LIBRARY_READ,))
    [item] = await listed(world, ann)
    assert item.keys() == {"id", "keyPrefix", "scopes", "createdAt"}


# Revoking.


async def test_a_revoked_key_is_refused_at_once_and_revoking_it_again_is_200(world: World, ann: str) -> None:
    created = (await create(world, ann, "library:read")).json
    assert (await world.client.get("/api/v1/bots", created["apiKey"])).words == "200", "the node remembers it"
    world.memory.listeners.clear()
    first, again = [await revoke(world, ann, created["id"]) for _ in range(2)]
    assert (first.words, first.json) == ("200", {"revoked": True, "revokedKeys": [created["id"]]})
    assert (again.words, again.json) == ("200", {"revoked": True, "revokedKeys": []})
    assert (await world.client.get("/api/v1/bots", created["apiKey"])).words == "401 invalid_api_key"
    assert [record.action for record in world.memory.audits] == ["key.issued", "key.revoked"]


async def test_a_key_may_revoke_itself(world: World, ann: str) -> None:
    manager = world.key_of(ANN, (Scope.KEYS_MANAGE,))
    assert (await revoke(world, manager, world.id_of(manager))).words == "200"
    assert (await revoke(world, manager, world.id_of(manager))).words == "401 invalid_api_key"


@pytest.mark.parametrize("key_id", ["x", "key_%00", "key_%ff", "key_" + "x" * 5_000, "..%2fkeys", "%20"])
async def test_what_can_be_no_id_is_404_and_is_not_looked_for(world: World, ann: str, key_id: str) -> None:
    """Postgres rejects NUL and invalid UTF-8, and one such text would fail the whole batch."""
    assert (await revoke(world, ann, key_id)).words == "404 not_found"
    assert world.services.keys.statistics().messages == 0


# Scopes and the charge.


async def test_a_scope_of_no_avail_without_an_account_is_no_account(world: World) -> None:
    """A key without an email owns nothing, whatever its row says."""
    key = world.key(kind=Kind.SCOPED, tier=Tier.CLAIMED, scopes=(Scope.KEYS_MANAGE,))
    assert (await world.client.get(KEYS, key)).words == "403 claim_required"
