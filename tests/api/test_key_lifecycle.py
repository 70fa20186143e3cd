"""Renaming keys, moving their ends, rotating them, their usage by day, and the mail before they end."""

from typing import Any

import pytest

from actors.clock import DAY_MS, HOUR_MS, SECOND_MS
from actors.keys.end_notices import KeyEndNotifier
from actors.shared.credentials import Kind
from actors.values import Tier
from tests.api.asgi import Response
from tests.api.test_account import DAYS, KEYS, SCOPED, TODAY_MS, Browser
from tests.api.world import NOON_MS, World

ANN, BOB = "ann@example.com", "bob@example.com"
BOTS = "/api/v1/bots"
BY_KEY = "/api/v1/account/usage/keys"


@pytest.fixture
def full(world: World) -> str:
    """A full key of Ann's account."""
    return world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=ANN)


@pytest.fixture
def ann(world: World, full: str) -> Browser:
    return Browser(world, ANN)


async def scoped(world: World, key: str, *scopes: str, **fields: Any) -> dict[str, Any]:
    body = {"name": "Report", "scopes": list(scopes or ("library:read",)), **fields}
    made: dict[str, Any] = (await world.client.post(SCOPED, key, json=body)).json
    return made


async def edit(world: World, key: str, key_id: str, **body: Any) -> Response:
    return await world.client.request("PATCH", f"{SCOPED}/{key_id}", key, json=body)


async def rotate(world: World, key: str, key_id: str, grace: Any = 3_600, **headers: str) -> Response:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return await world.client.post(f"{SCOPED}/{key_id}/rotate", key, json={"graceSeconds": grace}, headers=told)


# Editing.


async def test_a_scoped_key_is_renamed_and_its_end_moved(world: World, full: str) -> None:
    made = await scoped(world, full)
    end_ms = NOON_MS + 30 * DAY_MS
    changed = await edit(world, full, made["id"], name="Nightly", expiresAt=end_ms)
    [listed] = (await world.client.get(SCOPED, full)).json["items"]
    assert changed.json == listed
    assert (listed["name"], listed["expiresAt"]) == ("Nightly", end_ms)
    assert "expiresAt" not in (await edit(world, full, made["id"], expiresAt=None)).json
    assert world.memory.audits[-1].action == "key.changed"


async def test_an_unknown_field_is_named_whatever_its_name_is(world: World, full: str) -> None:
    made = await scoped(world, full)
    response = await world.client.request(
        "PATCH", f"{SCOPED}/{made['id']}", full, json={"name": "a", "scopes[]": ["x"]}
    )
    assert response.words == "400 invalid_request"
    assert response.json["fields"] == [{"name": "scopes[]", "message": "is not a known property"}]


async def test_a_new_end_holds_at_once(world: World, full: str) -> None:
    made = await scoped(world, full, expiresAt=NOON_MS + HOUR_MS)
    assert (await world.client.get(BOTS, made["apiKey"])).words == "200"
    assert (await edit(world, full, made["id"], expiresAt=NOON_MS + 2 * SECOND_MS)).words == "200"
    await world.pass_seconds(2)
    assert (await world.client.get(BOTS, made["apiKey"])).words == "403 key_expired"
    assert (await edit(world, full, made["id"], expiresAt=NOON_MS + HOUR_MS)).words == "409 invalid_state"


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"name": None}, {"name": "n" * 65}, {"scopes": ["library:read"]}, {"name": "Other", "admin": True}),
        *({"expiresAt": end} for end in (NOON_MS, -1, "2030")),
    ],
)
async def test_a_bad_edit_is_refused_and_changes_nothing(
    world: World, full: str, ann: Browser, body: dict[str, Any]
) -> None:
    made = await scoped(world, full)
    before = world.memory.keys[made["id"]]
    assert (await edit(world, full, made["id"], **body)).words == "400 invalid_request"
    assert (await ann.ask("PATCH", f"{KEYS}/{made['id']}", body)).words == "400 invalid_request"
    assert world.memory.keys[made["id"]] == before


async def test_full_keys_are_changed_in_a_session_only_and_by_their_owner(
    world: World, full: str, ann: Browser
) -> None:
    key_id = world.id_of(full)
    assert (await edit(world, full, key_id, name="Other")).words == "404 not_found"
    assert (await rotate(world, full, key_id)).words == "404 not_found"
    assert (
        await world.client.request("PATCH", f"{KEYS}/{key_id}", full, json={"name": "x"})
    ).words == "401 unauthorized"
    bob = Browser(world, BOB)
    assert (await bob.ask("PATCH", f"{KEYS}/{key_id}", {"name": "Other"})).words == "404 not_found"
    assert (await bob.ask("POST", f"{KEYS}/{key_id}/rotate", {"graceSeconds": 0})).words == "404 not_found"
    changed = await ann.ask("PATCH", f"{KEYS}/{key_id}", {"name": "Laptop", "expiresAt": NOON_MS + DAY_MS})
    assert (changed.json["name"], changed.json["expiresAt"]) == ("Laptop", NOON_MS + DAY_MS)


# Rotating.


async def test_both_keys_work_until_the_grace_is_over(world: World, full: str) -> None:
    made = await scoped(world, full, expiresAt=NOON_MS + 30 * DAY_MS)
    rotated = (await rotate(world, full, made["id"], 60)).json
    assert rotated == {
        "apiKey": rotated["apiKey"],
        "id": rotated["id"],
        "keyPrefix": rotated["apiKey"][:14],
        "scopes": ["library:read"],
        "name": "Report",
        "expiresAt": NOON_MS + 30 * DAY_MS,
        "previousId": made["id"],
        "previousEndsAt": NOON_MS + 60 * SECOND_MS,
    }
    items = {item["id"]: item for item in (await world.client.get(SCOPED, full)).json["items"]}
    assert items[made["id"]]["replacedBy"] == rotated["id"]
    await world.pass_seconds(59)
    assert [(await world.client.get(BOTS, key)).words for key in (made["apiKey"], rotated["apiKey"])] == ["200", "200"]
    await world.pass_seconds(1)
    words = [(await world.client.get(BOTS, key)).words for key in (made["apiKey"], rotated["apiKey"])]
    assert words == ["403 key_expired", "200"]
    ended = (await world.client.get(BOTS, made["apiKey"])).json["message"]
    assert ended == "This API key was rotated and has expired. Use the key that replaced it."
    assert [item["id"] for item in (await world.client.get(SCOPED, full)).json["items"]] == [rotated["id"]]


@pytest.mark.parametrize("grace", [-1, 604_801, "60", 1.5, True, None])
async def test_a_bad_grace_is_refused_and_changes_nothing(world: World, full: str, grace: Any) -> None:
    made = await scoped(world, full)
    assert (await rotate(world, full, made["id"], grace)).words == "400 invalid_request"
    assert (await world.client.post(f"{SCOPED}/{made['id']}/rotate", full)).words == "400 invalid_request"
    assert world.memory.keys[made["id"]].successor_id is None
    assert (await rotate(world, full, made["id"], 604_800)).words == "200"


async def test_the_owner_is_mailed_the_new_key_and_what_it_replaces(world: World, full: str) -> None:
    made = await scoped(world, full, "keys:manage")
    await rotate(world, made["apiKey"], made["id"], 86_400)
    await world.settled()
    [mail] = [each for each in world.postbox.mails if "rotated itself" in each.text]
    assert mail.subject == "A new API key on your account"
    assert f"{made['apiKey'][:14]}... rotated itself" in " ".join(mail.text.split())
    assert "works until 19 November, 12:00 UTC" in " ".join(mail.text.split())


# Usage by key.


async def test_the_usage_of_keys_adds_up_to_that_of_the_account(world: World, full: str) -> None:
    one, other = await scoped(world, full, "library:read"), await scoped(world, full, "library:read")
    for key, times in ((one["apiKey"], 3), (other["apiKey"], 2)):
        for _ in range(times):
            await world.client.get(BOTS, key)
    await world.pass_seconds(DAY_MS / SECOND_MS)
    await world.client.get(BOTS, one["apiKey"])
    await world.client.request("DELETE", f"{SCOPED}/{other['id']}", full)
    ann = Browser(world, ANN)
    usage = (await ann.ask("GET", f"{BY_KEY}?days=3")).json
    items = {item["id"]: item for item in usage["items"]}
    assert {key_id: item["used"] for key_id, item in items.items()} == {one["id"]: 4, world.id_of(full): 3}
    assert items[one["id"]]["days"] == [{"day": TODAY_MS, "used": 3}, {"day": TODAY_MS + DAY_MS, "used": 1}]
    assert usage["other"] == [{"day": TODAY_MS, "used": 2}], "of the key that was revoked"
    account = (await ann.ask("GET", f"{DAYS}?days=3")).json["items"]
    assert usage["used"] == sum(day["used"] for day in account) == 9


async def test_an_account_without_keys_has_no_usage_by_key(world: World) -> None:
    person = Browser(world, BOB)
    for key in await person.keys():
        await person.ask("DELETE", f"{KEYS}/{key['id']}")
    assert (await person.ask("GET", BY_KEY)).json == {"items": [], "other": [], "used": 0}
    assert (await person.ask("GET", f"{BY_KEY}?days=91")).words == "400 invalid_request"


# The mail before the end.


async def test_the_owner_is_mailed_a_week_before_a_key_ends_once_on_two_nodes(world: World, full: str) -> None:
    made = await scoped(world, full, expiresAt=NOON_MS + 8 * DAY_MS)
    for days, mails in ((0, 0), (1, 1)):
        await world.pass_seconds(days * DAY_MS / SECOND_MS)
        for _ in range(2):
            await KeyEndNotifier(world.services.keys, world.services.mail.wake)._round()
            assert sum(each.template == "key_ends" for each in world.memory.messages.values()) == mails
    await world.settled()
    [mail] = [each for each in world.postbox.mails if each.subject == "An API key of your account expires soon"]
    assert f"{made['apiKey'][:14]}..." in mail.text
    assert "List-Unsubscribe" not in str(mail), "it is about the access of programs, so it always comes"


async def test_whoever_moves_the_end_again_and_again_sends_the_owner_a_bounded_number_of_mails(
    world: World, full: str
) -> None:
    made = await scoped(world, full)
    keys = world.config.keys
    most = keys.full_per_account + keys.scoped_per_account
    for turn in range(most + 3):
        end_ms = NOON_MS + 2 * turn * SECOND_MS + 7 * DAY_MS + SECOND_MS
        assert (await edit(world, full, made["id"], expiresAt=end_ms)).words == "200"
        await world.pass_seconds(2)
        await KeyEndNotifier(world.services.keys, world.services.mail.wake)._round()
    assert sum(each.template == "key_ends" for each in world.memory.messages.values()) == most
