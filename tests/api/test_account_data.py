"""Exporting and deleting an account over HTTP."""

from typing import Any

import pytest

from actors.accounts.state import SETTLED_MS
from actors.clock import DAY_MS, SECOND_MS
from actors.shared.credentials import Kind
from actors.values import Scope, Tier
from service.api.operations.account_data import ROWS
from service.api.policy import Access
from tests.api.asgi import Response
from tests.api.browsers import Browser as SigningIn
from tests.api.callers import OUR_PAGE, cookie
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


class Browser:
    """A person's browser, signed in to the account of `email`."""

    def __init__(self, world: World, email: str = ANN, *, admin: bool = False) -> None:
        self.world = world
        self._headers = cookie(world.session(email, admin=admin)) | OUR_PAGE

    async def ask(self, method: str, target: str, body: Any = None) -> Response:
        return await self.world.client.request(method, target, headers=self._headers, json=body)

    async def confirmed(self, email: str = ANN) -> int:
        """Confirm the deletion; returns when it is due."""
        assert (await self.ask("DELETE", ACCOUNT)).json == {"sent": True}
        confirmed = await self.ask("POST", DELETION, {"code": await self.world.emailed_code(email)})
        assert confirmed.status == 200, confirmed.words
        due_ms: int = confirmed.json["deletesAt"]
        return due_ms


@pytest.fixture
def ann(world: World) -> Browser:
    world.key(tier=Tier.CLAIMED, email=ANN)
    return Browser(world)


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
        for table, found in page["tables"].items():
            rows.setdefault(table, []).extend(found)
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
        browser = Browser(world)
        statuses = [(await browser.ask("GET", EXPORT)).status for _ in range(3)]
    assert statuses == [200, 200, 429]


# Deletions.


def test_only_a_person_deletes_an_account() -> None:
    deleting = [row for row in ROWS if row.name != "exportAccount"]
    assert {row.access for row in deleting} == {Access.SESSION}


async def test_an_account_is_deleted_seven_days_after_the_code_and_works_until_then(ann: Browser) -> None:
    world = ann.world
    assert (await ann.ask("GET", DELETION)).json == {"scheduled": False}
    key = world.key_of(ANN)
    due_ms = await ann.confirmed()
    assert due_ms == world.now_ms + 7 * DAY_MS
    assert (await ann.ask("GET", DELETION)).json == {"scheduled": True, "deletesAt": due_ms}
    assert (await world.client.get("/api/v1/usage", key)).status == 200
    await pass_ms(world, 6 * DAY_MS)
    other = Browser(world)
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


async def test_a_deletion_is_undone_after_a_new_sign_in(ann: Browser) -> None:
    world = ann.world
    await ann.confirmed()
    await pass_ms(world, 2 * DAY_MS)
    again = Browser(world)
    assert (await again.ask("DELETE", DELETION)).json == {"undone": True}
    assert (await again.ask("DELETE", DELETION)).json == {"undone": True}
    assert (await again.ask("GET", DELETION)).json == {"scheduled": False}
    await pass_ms(world, 9 * DAY_MS)
    assert ANN in world.memory.accounts
    assert world.postbox.mails[-1].subject == "Your account is kept"


async def test_after_it_the_email_opens_a_fresh_account(ann: Browser) -> None:
    world = ann.world
    tenant_id = world.memory.accounts[ANN].tenant_id
    await ann.confirmed()
    await pass_ms(world, 8 * DAY_MS)
    browser = SigningIn(world.client)
    await browser.start(ANN)
    assert (await browser.complete(ANN, await world.emailed_code(ANN))).status == 200
    assert world.memory.accounts[ANN].tenant_id != tenant_id
    assert tenant_id not in world.memory.tenants


async def test_a_wrong_code_deletes_nothing(ann: Browser) -> None:
    await ann.ask("DELETE", ACCOUNT)
    code = await ann.world.emailed_code(ANN)
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    assert (await ann.ask("POST", DELETION, {"code": wrong})).words == "400 invalid_code"
    assert (await ann.ask("GET", DELETION)).json == {"scheduled": False}
    assert (await ann.ask("POST", DELETION, {"code": f" {code} "})).status == 200
    assert (await ann.ask("DELETE", ACCOUNT)).words == "409 invalid_state"


async def test_a_sign_in_code_deletes_nothing(ann: Browser) -> None:
    await SigningIn(ann.world.client).start(ANN)
    code = await ann.world.emailed_code(ANN)
    assert (await ann.ask("POST", DELETION, {"code": code})).words == "400 invalid_code"


async def test_the_last_administrator_stays(world: World) -> None:
    refused = await Browser(world, admin=True).ask("DELETE", ACCOUNT)
    assert refused.words == "409 invalid_state"
    assert "last administrator" in refused.json["message"]
