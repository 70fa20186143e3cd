"""The commands of keys against the real application."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.world import open_world
from tests.catalogctl.stage import Stage
from tests.catalogctl.test_commands import Desk, column

SCOPES = "keys:manage,library:read"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_world() as world:
        yield Desk(Stage(tmp_path / "config"), world)


async def created(desk: Desk) -> str:
    return str((await desk.json("sponsor", "create-key", "--name", "Report", "--scopes", SCOPES))["id"])


async def test_keys_are_listed_renamed_and_given_an_end(desk: Desk) -> None:
    key_id = await created(desk)
    assert "everything" in await desk.out("keys", "list")
    assert "Name     Nightly\n" in await desk.out("keys", "rename", key_id, "Nightly")
    assert "Expires  2026-12-28 00:00 UTC\n" in await desk.out("keys", "expire", key_id, "2026-12-28")
    listed = await desk.out("keys", "list")
    assert set(column(listed, 1)) >= {"Nightly"}
    assert "2026-12-28 00:00 UTC" in listed
    assert "Expires  never\n" in await desk.out("keys", "expire", key_id, "never")


async def test_a_rotated_key_is_shown_once_and_rotates_itself(desk: Desk) -> None:
    key_id = await created(desk)
    first = await desk.json("keys", "rotate", key_id, "--grace", "1h")
    assert first["previousEndsAt"] == desk.world.now_ms + 3_600_000
    out = await desk.out("keys", "rotate", first["id"], "--grace", "0")
    assert "Key               cs_scoped_" in out
    assert "The old key ends  2026-11-18 12:00 UTC" in out
    assert "shown only once" in desk.stage.err
    assert "(not_found)" in await desk.refused("keys", "rotate", first["id"], code=4)
    assert "(invalid_state)" in await desk.refused("keys", "rotate", key_id)


async def test_a_full_key_is_found_on_the_dashboard_only(desk: Desk) -> None:
    full = desk.world.id_of(desk.key)
    for words in (("rename", full, "Other"), ("rotate", full), ("revoke", full)):
        assert "changed on the dashboard" in await desk.refused("keys", *words, code=4)


async def test_a_key_is_revoked_where_it_is_listed(desk: Desk) -> None:
    key_id = await created(desk)
    assert await desk.out("keys", "revoke", key_id) == f"{key_id} is revoked.\n"
    assert key_id not in await desk.out("keys", "list")


async def test_usage_is_shown_by_key_and_day(desk: Desk) -> None:
    await desk.out("bots", "--limit", "1")
    out = await desk.out("keys", "usage", "--days", "2")
    assert out.splitlines()[1].split() == [desk.world.id_of(desk.key), "2026-11-18", "2"]
    assert (await desk.json("keys", "usage"))["used"] == 3


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("expire", "key_1", "tomorrow"), 2, "such as 2026-12-28"),
        (("rotate", "key_1", "--grace", "soon"), 2, "--grace must be a time"),
        (("rotate", "key_1", "--grace", "8d"), 1, "(invalid_request)"),
        (("expire", "key_1", "2020-01-01"), 1, "must lie in the future"),
        (("rename", "key_1", "Other"), 4, "(not_found)"),
        (("usage", "--days", "91"), 1, "days"),
    ],
)
async def test_what_cannot_be_is_refused_with_a_reason(
    desk: Desk, words: tuple[str, ...], code: int, expected: str
) -> None:
    assert expected in await desk.refused("keys", *words, code=code)


async def test_a_lost_answer_says_how_to_go_on(desk: Desk) -> None:
    key_id = await created(desk)
    desk.loses_answers = True
    assert "rotate that one to see its text" in await desk.refused("keys", "rotate", key_id, code=3)
