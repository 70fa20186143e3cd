"""Choosing mails over the API."""

from typing import Any

import pytest

from actors.values import Tier
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
