"""Choosing mails over the API."""

import json
from typing import Any

import pytest
import trio

from actors.values import Scope, Tier
from tests.api.callers import OUR_PAGE, cookie
from tests.api.world import World

PATH = "/api/v1/account/notifications"
ANN = "ann@example.com"
ALL = {"reviews": True, "bookings": True, "reports": True}


@pytest.fixture
def key(world: World) -> str:
    world.key(tier=Tier.CLAIMED, email=ANN)
    return world.key_of(ANN)


async def patch(world: World, key: str, body: Any) -> Any:
    return await world.client.request("PATCH", PATH, key, json=body)


async def test_an_account_gets_all_mails_until_it_chooses_and_any_of_them_can_be_changed(
    world: World, key: str
) -> None:
    assert (await world.client.get(PATH, key)).json == ALL
    assert (await patch(world, key, {"reports": False})).json == {**ALL, "reports": False}
    changed = await patch(world, key, {"reports": True, "bookings": False})
    assert changed.json == {**ALL, "bookings": False}
    assert (await world.client.get(PATH, key)).json == {**ALL, "bookings": False}


async def test_a_person_in_a_browser_chooses_as_well(world: World, key: str) -> None:
    headers = cookie(world.session(ANN)) | OUR_PAGE
    done = await world.client.request("PATCH", PATH, headers=headers, json={"reviews": False})
    assert done.json == {**ALL, "reviews": False}
    assert (await world.client.request("GET", PATH, headers=headers)).json == {**ALL, "reviews": False}


async def test_each_change_is_audited_once_with_what_it_changed(world: World, key: str) -> None:
    for _ in range(3):
        await patch(world, key, {"reports": False, "reviews": True})
    [record] = [row for row in world.memory.audits if row.action == "account.mails_chosen"]
    assert json.loads(record.changes) == {"reports": [True, False]}
    assert (record.target_type, record.target_id) == ("account", world.memory.accounts[ANN].tenant_id)
    assert (record.actor_type, record.actor_email) == ("key", ANN)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reports": 1},
        {"reports": "false"},
        {"reports": None},
        {"security": False},
        {"reports": False, "x": 1},
        [],
        True,
    ],
)
async def test_a_body_that_is_not_a_choice_is_refused_and_changes_nothing(world: World, key: str, body: Any) -> None:
    assert (await patch(world, key, body)).words == "400 invalid_request"
    assert world.memory.mail_choices == {}


async def test_a_key_needs_the_scopes_and_an_account(world: World, key: str) -> None:
    reading = world.key_of(ANN, (Scope.SPONSOR_READ,))
    assert (await world.client.get(PATH, reading)).status == 200
    assert (await patch(world, reading, {"reports": False})).words == "403 insufficient_scope"
    assert (await world.client.get(PATH, world.key_of(ANN, (Scope.LIBRARY_READ,)))).words == "403 insufficient_scope"
    assert (await world.client.get(PATH, world.key())).words == "403 claim_required"
    assert (await world.client.get(PATH)).status == 401


async def test_two_requests_at_once_keep_both_changes(world: World, key: str) -> None:
    async with trio.open_nursery() as nursery:
        for topic in ALL:
            nursery.start_soon(patch, world, key, {topic: False})
    assert (await world.client.get(PATH, key)).json == dict.fromkeys(ALL, False)
