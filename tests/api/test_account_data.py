"""Exporting and deleting an account over HTTP."""

from typing import Any

import pytest

from actors.accounts.state import SETTLED_MS
from actors.clock import DAY_MS, SECOND_MS
from actors.shared.credentials import Kind
from actors.values import Scope, Tier
from service.api.operations.account_data import ROWS
from service.api.policy import Access
from tests.api.test_account import Browser
from tests.api.world import World, open_world

EXPORT, ACCOUNT, DELETION = "/api/v1/account/export", "/api/v1/account", "/api/v1/account/deletion"
ANN, BOB = "ann@example.com", "bob@example.com"


async def pass_ms(world: World, time_ms: int) -> None:
    """Let time pass, and the sweep after it."""
    await world.pass_seconds(time_ms / SECOND_MS)
    for _ in range(2):
        world.services.eraser.wake()
        await world.settled()
        await world.pass_seconds(SETTLED_MS / SECOND_MS)
    world.services.mail.wake()
    await world.settled()


@pytest.fixture
def ann(world: World) -> Browser:
    world.key(tier=Tier.CLAIMED, email=ANN)
    return Browser(world, ANN)


# Exports.


async def test_an_export_is_one_file_for_the_browser(ann: Browser) -> None:
    response = await ann.ask("GET", EXPORT)
    assert response.status == 200
    assert response.header("content-disposition") == 'attachment; filename="account.json"'
    assert response.header("cache-control") == "no-store"
    assert response.json["email"] == ANN
    assert (response.json["cursor"], response.json["hasMore"]) == (None, False)
    assert [row["email"] for row in response.json["tables"]["accounts"]] == [ANN]
    assert [set(row) & {"hash", "token_hash"} for row in response.json["tables"]["api_keys"]] == [set()]


async def test_the_pages_of_an_export_follow_each_other(ann: Browser) -> None:
    whole = (await ann.ask("GET", EXPORT)).json["tables"]
    rows: dict[str, list[Any]] = {}
    cursor = ""
    for _ in range(50):
        page = (await ann.ask("GET", f"{EXPORT}?limit=1&cursor={cursor}")).json
        for table, more in page["tables"].items():
            rows.setdefault(table, []).extend(more)
        cursor = page["cursor"]
        if not page["hasMore"]:
            break
    assert rows == whole


async def test_a_cursor_is_of_one_account(ann: Browser) -> None:
    cursor = (await ann.ask("GET", f"{EXPORT}?limit=1")).json["cursor"]
    other = await Browser(ann.world, BOB).ask("GET", f"{EXPORT}?cursor={cursor}")
    assert other.words == "400 invalid_request"


async def test_a_full_key_exports_and_one_without_a_scope_does_not(world: World) -> None:
    full = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=ANN)
    assert (await world.client.get(EXPORT, full)).json["email"] == ANN
    some = world.key_of(ANN, (Scope.LIBRARY_READ, Scope.SPONSOR_READ, Scope.KEYS_MANAGE))
    assert (await world.client.get(EXPORT, some)).words == "403 insufficient_scope"


async def test_exports_are_limited() -> None:
    async with open_world(ACCOUNT__EXPORTS_PER_HOUR=2) as world:
        browser = Browser(world, ANN)
        statuses = [(await browser.ask("GET", EXPORT)).status for _ in range(3)]
    assert statuses == [200, 200, 429]


# Deletions.


def test_only_a_person_deletes_an_account() -> None:
    deleting = [row for row in ROWS if "delet" in row.name.lower()]
    assert len(deleting) == 4
    assert {row.access for row in deleting} == {Access.SESSION}


async def test_an_account_is_deleted_seven_days_after_the_code_and_works_until_then(ann: Browser) -> None:
    world = ann.world
    assert (await ann.ask("GET", DELETION)).json == {"scheduled": False}
    key = world.key_of(ANN)
    assert (await ann.ask("DELETE", ACCOUNT)).json == {"sent": True}
    confirmed = await ann.ask("POST", DELETION, {"code": await world.emailed_code(ANN)})
    assert confirmed.status == 200, confirmed.words
    due_ms = confirmed.json["deletesAt"]
    assert due_ms == world.now_ms + 7 * DAY_MS
    assert (await ann.ask("GET", DELETION)).json == {"scheduled": True, "deletesAt": due_ms}
    assert (await world.client.get("/api/v1/usage", key)).status == 200
    await pass_ms(world, 6 * DAY_MS)
    other = Browser(world, ANN)
    assert (await other.ask("GET", DELETION)).json["scheduled"] is True
    assert (await world.client.get("/api/v1/usage", key)).status == 200
    await pass_ms(world, DAY_MS)
    assert (await world.client.get("/api/v1/usage", key)).words == "401 invalid_api_key"
    assert (await other.ask("GET", DELETION)).status == 401
    assert ANN not in world.memory.accounts
    assert [mail.subject for mail in world.postbox.mails] == [
        "Your code to delete your account",
        "Your account will be deleted",
        "Your account was deleted",
    ]
