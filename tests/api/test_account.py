"""Usage by day, and the keys that a person lists, creates and revokes."""

from typing import Any

import pytest

from actors.clock import DAY_MS, SECOND_MS
from actors.shared.credentials import Kind, is_key
from actors.values import Scope, Tier
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.world import NOON_MS, World

KEYS, DAYS = "/api/v1/account/keys", "/api/v1/account/usage/days"
USAGE, SCOPED = "/api/v1/usage", "/api/v1/sponsors/keys"
ANN, BOB = "ann@example.com", "bob@example.com"
TODAY_MS = NOON_MS - NOON_MS % DAY_MS


class Browser:
    """A person's browser, signed in to the account of `email`."""

    def __init__(self, world: World, email: str, *, admin: bool = False) -> None:
        self.world = world
        self._headers = cookie(world.session(email, admin=admin)) | OUR_PAGE

    async def ask(self, method: str, target: str, body: Any = None) -> Response:
        return await self.world.client.request(method, target, headers=self._headers, json=body)

    async def keys(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.ask("GET", KEYS)).json["items"]
        return items


@pytest.fixture
def ann(world: World) -> Browser:
    """An account without a key in use."""
    return Browser(world, ANN)


# Usage.


async def test_a_session_sees_the_usage_of_its_account_and_no_keys_prefix(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, used=70, used_today=9, email=ANN)
    assert (await Browser(world, ANN).ask("GET", USAGE)).json == {
        "tenantId": world.tenant_of(key).id,
        "status": "claimed",
        "keyPrefix": "sst_",
        "requestsUsed": 70,
        "requestLimit": 100_000,
        "dailyRequestsUsed": 9,
        "dailyRequestLimit": 10_000,
        "email": ANN,
    }


async def test_the_days_are_all_there_the_oldest_first_and_today_the_last(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, email=ANN)
    for _ in range(3):
        await world.client.get("/api/v1/bots", key)
    await world.pass_seconds(2 * DAY_MS / SECOND_MS)
    await world.client.get("/api/v1/bots", key)
    items = (await Browser(world, ANN).ask("GET", f"{DAYS}?days=4")).json["items"]
    assert items == [
        {"day": TODAY_MS - DAY_MS, "used": 0},
        {"day": TODAY_MS, "used": 3},
        {"day": TODAY_MS + DAY_MS, "used": 0},
        {"day": TODAY_MS + 2 * DAY_MS, "used": 1},
    ]


async def test_days_are_thirty_if_nothing_is_said_and_those_of_a_merged_tenant_come_with_it(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, email=ANN)
    tenant = world.tenant_of(key).id
    world.memory.usage_days |= {(tenant, NOON_MS // DAY_MS - 29): 5, (tenant, NOON_MS // DAY_MS - 30): 7}
    items = (await Browser(world, ANN).ask("GET", DAYS)).json["items"]
    assert len(items) == 30
    assert items[0] == {"day": TODAY_MS - 29 * DAY_MS, "used": 5}
    assert [item["used"] for item in items[1:]] == [0] * 29


async def test_a_key_sees_the_days_of_its_account_and_that_look_counts(world: World) -> None:
    key = world.key(tier=Tier.CLAIMED, email=ANN)
    assert (await world.client.get(f"{DAYS}?days=1", key)).json["items"] == [{"day": TODAY_MS, "used": 1}]


@pytest.mark.parametrize("days", ["0", "91", "-1", "", "x", "1.5", "１", "1e1", "99999999999999999999"])
async def test_a_span_that_is_none_is_refused(ann: Browser, days: str) -> None:
    assert (await ann.ask("GET", f"{DAYS}?days={days}")).words == "400 invalid_request"


# Listing.


async def test_the_list_has_all_live_keys_of_the_account_and_nobody_elses(world: World) -> None:
    claimed = world.key(tier=Tier.CLAIMED, email=ANN)
    world.key(tier=Tier.CLAIMED, email=BOB)
    world.key_of(ANN, revoked=True)
    await world.pass_seconds(1)
    scoped = world.key_of(ANN, (Scope.LIBRARY_READ,))
    await world.client.get("/api/v1/bots", scoped)
    assert await Browser(world, ANN).keys() == [
        {
            "id": world.id_of(scoped),
            "keyPrefix": scoped[:14],
            "kind": "scoped",
            "scopes": ["library:read"],
            "admin": False,
            "createdAt": NOON_MS + SECOND_MS,
            "lastUsedAt": NOON_MS + SECOND_MS,
        },
        {"id": world.id_of(claimed), "keyPrefix": claimed[:12], "kind": "anon", "admin": True, "createdAt": NOON_MS},
    ]


async def test_a_use_is_what_was_let_through(world: World, ann: Browser) -> None:
    key = world.key_of(ANN, (Scope.SPONSOR_READ,))
    assert (await world.client.get("/api/v1/bots", key)).words == "403 insufficient_scope"
    assert "lastUsedAt" not in (await ann.keys())[0]
    assert (await world.client.get("/api/v1/sponsors/bookings/bok_unknown", key)).words == "404 not_found"
    assert (await ann.keys())[0]["lastUsedAt"] == NOON_MS


async def test_what_another_node_has_seen_of_a_key_is_shown(world: World, ann: Browser) -> None:
    key = world.key_of(ANN)
    world.memory.key_uses[world.id_of(key)] = NOON_MS - 7
    assert (await ann.keys())[0]["lastUsedAt"] == NOON_MS - 7


# Creating.


async def test_a_person_creates_a_full_key_that_is_shown_once(world: World, ann: Browser) -> None:
    created = await ann.ask("POST", KEYS, {"name": "Laptop"})
    assert created.words == "200"
    assert created.header("cache-control") == "no-store"
    key = created.json["apiKey"]
    assert is_key(key)
    assert (created.json["keyPrefix"], key[:8]) == (key[:12], "cs_user_")
    assert (await world.client.get("/api/v1/sponsors/campaigns", key)).words == "200"
    listed = (await ann.ask("GET", KEYS)).body.decode()
    assert key not in listed
    assert key not in repr(world.memory)
    assert [(each["name"], each["kind"]) for each in await ann.keys() if "name" in each] == [("Laptop", "user")]


@pytest.mark.parametrize("body", [None, {}])
async def test_a_name_is_not_needed(ann: Browser, body: Any) -> None:
    assert (await ann.ask("POST", KEYS, body)).words == "200"
    assert "name" not in (await ann.keys())[0]


@pytest.mark.parametrize(
    "body", [{"name": ""}, {"name": "x" * 65}, {"name": "a\nb"}, {"name": None}, {"scopes": ["library:read"]}, []]
)
async def test_a_wrong_body_makes_no_key(ann: Browser, body: Any) -> None:
    before = await ann.keys()
    assert (await ann.ask("POST", KEYS, body)).words == "400 invalid_request"
    assert await ann.keys() == before


async def test_the_audit_names_the_session(world: World, ann: Browser) -> None:
    key_id = (await ann.ask("POST", KEYS, {"name": "Laptop"})).json["id"]
    await ann.ask("DELETE", f"{KEYS}/{key_id}")
    issued, revoked = world.memory.audits
    [session] = world.memory.sessions
    for record, action in ((issued, "key.issued"), (revoked, "key.revoked")):
        assert (record.action, record.target_id, record.actor_type) == (action, key_id, "session")
        assert (record.actor_id, record.actor_email) == (session, ANN)
    assert issued.changes == '{"name": "Laptop"}'


# Revoking.


async def test_a_person_revokes_any_key_of_the_account_and_again(world: World, ann: Browser) -> None:
    for key in (world.key_of(ANN), world.key_of(ANN, (Scope.LIBRARY_READ,))):
        assert (await world.client.get("/api/v1/bots", key)).words == "200"
        first, again = [await ann.ask("DELETE", f"{KEYS}/{world.id_of(key)}") for _ in range(2)]
        assert first.json == {"revoked": True, "revokedKeys": [world.id_of(key)]}
        assert again.json == {"revoked": True, "revokedKeys": []}
        assert (await world.client.get("/api/v1/bots", key)).words == "401 invalid_api_key"
    assert len(world.memory.audits) == 2


@pytest.mark.parametrize("key_id", ["x", "key_%00", "key_%ff", "key_" + "x" * 5_000, "%20"])
async def test_what_can_be_no_id_is_404_and_is_not_looked_for(world: World, ann: Browser, key_id: str) -> None:
    assert (await ann.ask("DELETE", f"{KEYS}/{key_id}")).words == "404 not_found"
    assert world.services.keys.statistics().messages == 0


# Keys cannot call operations for people.


@pytest.mark.parametrize("kind", [Kind.USER, Kind.SCOPED])
async def test_a_key_that_manages_keys_lists_all_of_its_account(world: World, ann: Browser, kind: Kind) -> None:
    key = world.key_of(ANN, (Scope.KEYS_MANAGE,) if kind is Kind.SCOPED else None)
    assert len((await world.client.get(KEYS, key)).json["items"]) == 2
