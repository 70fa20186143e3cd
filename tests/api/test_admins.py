"""Administrators: membership is checked on every request; tiers of accounts."""

import json

import pytest

from actors.values import Agent, Scope, Tier
from service.api.operations import OPERATIONS
from service.config.loading import load
from service.config.user_errors import ConfigError
from service.running.foundation import appoint_first
from tests.api.asgi import Response
from tests.api.world import World, away, open_world

BOTS, KEYS = "/api/v1/bots", "/api/v1/admin/keys"
TIER = "/api/v1/admin/accounts/tier"
ANN, CARL = "ann@example.com", "carl@example.com"


@pytest.fixture
def ann(world: World) -> str:
    """A full key of an account."""
    return world.key(tier=Tier.CLAIMED, email=ANN)


@pytest.fixture
def carl(world: World) -> str:
    """A full key of an administrator."""
    return world.key(tier=Tier.CLAIMED, email=CARL, admin=True)


async def upgrade(world: World, key: str, email: str = ANN, tier: str = "upgraded") -> Response:
    return await world.client.post(TIER, key, json={"email": email, "tier": tier})


# Tiers.


async def test_an_administrator_sets_and_unsets_a_tier(world: World, ann: str, carl: str) -> None:
    world.memory.listeners.clear()
    for tier in ("upgraded", "claimed"):
        answer = await upgrade(world, carl, tier=tier)
        assert answer.json == {"email": ANN, "tier": tier, "tenantId": world.tenant_of(ann).id}
        assert answer.header("cache-control") == "no-store"
        assert world.tenant_of(ann).tier == tier
        usage = (await world.client.get("/api/v1/usage", ann)).json
        assert usage["status"] == tier, "seen at once, though the node remembers the key"
        policy = (await world.client.get("/api/v1/bots", ann)).header("ratelimit-policy") or ""
        assert policy.startswith('"minute";q=1200;' if tier == "upgraded" else '"minute";q=300;')


async def test_an_email_is_compared_in_its_normal_form(world: World, ann: str, carl: str) -> None:
    assert (await upgrade(world, carl, "Ann@EXAMPLE.com")).json["email"] == ANN


async def test_an_email_without_an_account_is_404(world: World, carl: str) -> None:
    assert (await upgrade(world, carl, "nobody@example.com")).words == "404 not_found"


@pytest.mark.parametrize(
    "body",
    [
        {"email": ANN},
        {"tier": "claimed"},
        {"email": "ann", "tier": "claimed"},
        {"email": ANN, "tier": "anonymous"},
        {"email": ANN, "tier": "royal"},
        {"email": ANN, "tier": "claimed", "reason": "asked"},
        [],
    ],
    ids=json.dumps,
)
async def test_a_wrong_body_changes_nothing(world: World, ann: str, carl: str, body: object) -> None:
    assert (await world.client.post(TIER, carl, json=body)).words == "400 invalid_request"
    assert world.memory.audits == []


# Keys.


@pytest.mark.parametrize("whose", ["full", "of an administrator", "unclaimed", "of the request"])
async def test_an_administrator_ends_any_key_for_good(world: World, ann: str, carl: str, whose: str) -> None:
    key = {
        "full": ann,
        "of an administrator": world.key(tier=Tier.CLAIMED, email="eve@example.com", admin=True),
        "unclaimed": world.key(),
        "of the request": carl,
    }[whose]
    key_id, boss = world.id_of(key), world.key(tier=Tier.CLAIMED, email="dora@example.com", admin=True)
    assert (await world.client.get(BOTS, key)).words == "200"
    for by, ended in ((carl, [key_id]), (boss, [])):
        answer = await world.client.request("DELETE", f"{KEYS}/{key_id}", by)
        assert answer.json == {"revoked": True, "revokedKeys": ended}
    assert (await world.client.get(BOTS, key)).words == "401 invalid_api_key"
    [record] = world.memory.audits
    assert (record.action, record.target_id, record.actor_email) == ("key.revoked", key_id, CARL)
    assert (await world.client.request("DELETE", f"{KEYS}/key_unknown", boss)).words == "404 not_found"


# Membership.


async def test_membership_and_scopes_are_checked_each_by_itself(world: World, ann: str, carl: str) -> None:
    keys = {
        ann: "403 forbidden",
        world.key_of(ANN, (Scope.ADMIN_WRITE,)): "403 forbidden",
        world.key_of(ANN, (Scope.ADMIN_READ,)): "403 insufficient_scope",
        carl: "200",
        world.key_of(CARL, (Scope.ADMIN_WRITE,)): "200",
        world.key_of(CARL, (Scope.ADMIN_READ, Scope.KEYS_MANAGE)): "403 insufficient_scope",
    }
    for key, words in keys.items():
        assert (await upgrade(world, key)).words == words


async def test_who_is_refused_is_paced_and_not_charged(world: World, ann: str) -> None:
    refused = await upgrade(world, ann)
    assert refused.words == "403 forbidden"
    assert refused.json.keys() == {"error", "message"}
    assert (refused.header("ratelimit") or "").startswith('"minute";r=299;')
    assert world.tenant_of(ann).month_used == 0


async def test_a_removal_holds_for_the_next_request_though_nobody_was_told(world: World, ann: str, carl: str) -> None:
    scoped = world.key_of(CARL, (Scope.ADMIN_WRITE,))
    for key in (carl, scoped):
        assert (await upgrade(world, key)).words == "200"
    del world.memory.administrators[CARL]
    for key in (carl, scoped):
        assert (await upgrade(world, key)).words == "403 forbidden"
    assert world.tenant_of(carl).month_used == 2


async def test_without_the_database_nobody_is_an_administrator(world: World, ann: str, carl: str) -> None:
    assert (await upgrade(world, carl)).words == "200"
    world.memory.before = away
    assert (await upgrade(world, carl)).words == "503 service_unavailable"


async def test_a_removal_reaches_what_a_node_remembers(world: World, carl: str) -> None:
    """The announcement updates scopes that depend on membership on other operations, too."""
    body = {"name": "Night shift", "scopes": ["admin:read"]}
    assert (await world.client.post("/api/v1/sponsors/keys", carl, json=body)).words == "200"
    remembered = len(world.services.key_cache)
    outcome = await world.services.keys.revoke_admin(CARL, world.agent)
    assert (outcome.changed, outcome.administrators) == ((CARL,), 0)
    assert len(world.services.key_cache) == remembered - 1
    assert (await world.client.post("/api/v1/sponsors/keys", carl, json=body)).words == "403 insufficient_scope"


def test_every_operation_with_an_admin_scope_asks_for_membership() -> None:
    for operation in OPERATIONS:
        asks = any(scope in (Scope.ADMIN_READ, Scope.ADMIN_WRITE) for scope in operation.scopes)
        assert operation.admin == asks == operation.path.startswith("/api/v1/admin/"), operation.name


# The first administrators.


async def test_without_a_configured_administrator_nothing_is_asked(world: World) -> None:
    world.memory.before = away
    await appoint_first(world.services.keys, world.config, Agent("system", "n1"))


def test_an_email_that_is_none_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match=r"^admin\.emails\.1: must be an email address"):
        load(None, {"CATALOG__ADMIN__EMAILS": "carl@example.com, carl"})


async def test_the_first_administrators_are_those_of_the_configuration() -> None:
    async with open_world(ADMIN__EMAILS="Carl@Example.com, ann@example.com, carl@example.com") as world:
        await appoint_first(world.services.keys, world.config, Agent("system", "n1"))
        assert world.memory.administrators.keys() == {CARL, ANN}
        key = world.key(tier=Tier.CLAIMED, email=CARL)
        assert (await upgrade(world, key, CARL)).words == "200"
        del world.memory.administrators[CARL]
        await appoint_first(world.services.keys, world.config, Agent("system", "n2"))
        assert world.memory.administrators.keys() == {ANN}, "only a database without any"
    granted = [record for record in world.memory.audits if record.action == "admin.granted"]
    assert [(record.actor_type, record.actor_id, record.target_id) for record in granted] == [
        ("system", "n1", CARL),
        ("system", "n1", ANN),
    ]
