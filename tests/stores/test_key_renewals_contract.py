"""The contract of the key store for names, ends, rotations and mails before the end."""

from dataclasses import replace

import pytest

from actors.clock import DAY_MS, HOUR_MS
from actors.keys.messages import (
    ByKey,
    EditKey,
    EndKeys,
    EndNotice,
    EndNoticesSent,
    Issue,
    Key,
    KeySaved,
    KeysEnded,
    Revoke,
    Rotated,
    RotateKey,
    SendEndNotices,
)
from actors.shared.credentials import Kind
from actors.shared.notices import notice
from actors.times import CLOCKS_DIFFER_MS
from actors.values import Code, Refused, Scope
from tests.doubles.tables import Memory
from tests.stores.conftest import Stores
from tests.stores.test_keys_and_quota_contract import EMAIL, NOW, Desk, audit, hash_of, key, mint

MANAGE = (Scope.KEYS_MANAGE, Scope.LIBRARY_READ)


@pytest.fixture
async def desk(stores: Stores) -> Desk:
    """Key 1 is full. It granted key 2, which ends in 30 days and granted key 3."""
    desk = Desk(stores)
    await desk.keys(Issue(_key(1, scopes=None, kind=Kind.USER), EMAIL, audit(1)))
    manager = _key(2, expires_ms=NOW + 30 * DAY_MS, name="Manager")
    await desk.keys(Issue(manager, EMAIL, audit(2), ByKey("key_1")), Issue(_key(3), EMAIL, audit(3), ByKey("key_2")))
    return desk


def _key(number: int, **changes: object) -> Key:
    made = key(number, kind=Kind.SCOPED, scopes=MANAGE, expires_ms=None)
    return replace(made, **changes)  # type: ignore[arg-type]


def edit(number: int, by: int = 1, **changes: object) -> EditKey:
    record = replace(audit(number), id=f"aud_edit_{number}", action="key.changed")
    return EditKey(f"key_{number}", EMAIL, record, ByKey(f"key_{by}"), True, sets_end=True, **changes)  # type: ignore[arg-type]


def rotate(number: int, fresh: int, by: int, grace_ms: int = HOUR_MS) -> RotateKey:
    keys = {kind: _key(fresh, kind=kind, scopes=None) for kind in (Kind.USER, Kind.SCOPED)}
    rotated, issued = (
        replace(audit(fresh), id=f"aud_{fresh}_{action}", action=action) for action in ("key.rotated", "key.issued")
    )
    told = notice(f"let_{fresh}", "new_key", EMAIL, NOW)
    return RotateKey(f"key_{number}", EMAIL, keys, grace_ms, rotated, issued, ByKey(f"key_{by}"), True, told)


async def stored(desk: Desk) -> dict[str, Key]:
    found = await desk.stores.keys.resolve([hash_of(number) for number in range(1, 10)])
    return {each.key.id: each.key for each in found.values()}


async def test_a_rotation_is_kept_as_it_was_answered(desk: Desk) -> None:
    (rotated,) = await desk.keys(rotate(2, 5, by=2))
    assert isinstance(rotated, Rotated)
    rows = await stored(desk)
    assert (rows["key_5"], rows["key_2"]) == (rotated.key, rotated.old)
    assert (rotated.key.origin_id, rotated.key.generation, rotated.key.granter_id) == ("key_2", 1, "key_1")
    assert (rotated.old.successor_id, rotated.old.expires_ms) == ("key_5", NOW + HOUR_MS)
    assert rows["key_3"].granter_id == "key_5"


async def test_a_rotation_whose_commit_is_in_doubt_happens_once(desk: Desk) -> None:
    batch_id = desk.next_batch_id()
    first = await desk.keys(rotate(2, 5, by=1), batch_id=batch_id)
    assert await desk.keys(rotate(2, 5, by=1), batch_id=batch_id) == first
    again = await desk.keys(rotate(2, 5, by=1), rotate(2, 6, by=1))
    assert [each.code for each in again if isinstance(each, Refused)] == [Code.IDEMPOTENCY_CONFLICT, Code.INVALID_STATE]
    below = desk.stores.below
    if isinstance(below, Memory):
        assert sum(each.template == "new_key" for each in below.messages.values()) == 1
    else:
        assert await below.fetchval("select count(*) from outbox where template = 'new_key'") == 1


async def test_keys_that_rotated_themselves_are_locked_and_end_with_the_first(desk: Desk) -> None:
    await desk.keys(rotate(1, 5, by=1, grace_ms=0))
    await desk.keys(rotate(5, 6, by=5, grace_ms=0))
    (kept,) = await desk.keys(Revoke("key_1", replace(audit(1), id="aud_revoked")))
    assert isinstance(kept, KeySaved)
    assert set(kept.ended) == {"key_6", "key_2", "key_3"}


async def test_keys_that_were_rotated_and_have_ended_are_neither_listed_nor_locked(desk: Desk) -> None:
    """A node whose clock is behind may still take such a key, so it is locked for a while longer than it is listed."""
    await desk.keys(rotate(2, 5, by=2))
    over_ms = NOW + HOUR_MS
    for now_ms, shown in ((over_ms - 1, {"key_1", "key_2", "key_3", "key_5"}), (over_ms, {"key_1", "key_3", "key_5"})):
        assert {each.id for each in await desk.stores.keys.live_keys("ten_1", now_ms)} == shown
    later_ms = over_ms + CLOCKS_DIFFER_MS
    (refused,) = await desk.keys(edit(2), now_ms=later_ms)
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_STATE
    (ended,) = await desk.keys(EndKeys(EMAIL, replace(audit(9), id="aud_ended", target_id=EMAIL)), now_ms=later_ms)
    assert isinstance(ended, KeysEnded)
    assert {each.id for each in ended.keys} == {"key_1", "key_3", "key_5"}
    assert (await stored(desk))["key_2"].revoked_ms is None


async def test_keys_that_end_soon_are_found_until_their_owner_is_mailed(desk: Desk) -> None:
    keys, due_ms = desk.stores.keys, NOW + 23 * DAY_MS
    assert await keys.ending_keys(due_ms - 1, 10) == []
    assert await keys.ending_keys(due_ms, 10) == [("key_2", EMAIL), ("key_3", EMAIL)]
    assert await keys.ending_keys(due_ms, 1) == [("key_2", EMAIL)]
    mail = EndNotice("key_2", EMAIL, notice("let_end", "key_ends", EMAIL, due_ms))
    assert await desk.keys(SendEndNotices((mail,)), now_ms=due_ms) == [EndNoticesSent(("key_2",))]
    assert await desk.keys(SendEndNotices((mail,)), now_ms=due_ms) == [EndNoticesSent(())]
    assert await keys.ending_keys(due_ms, 10) == [("key_3", EMAIL)]


async def test_keys_that_nobody_claimed_have_nobody_to_mail(desk: Desk) -> None:
    await desk.keys(mint(7))
    assert await desk.stores.keys.ending_keys(NOW + DAY_MS * 400, 10) == [("key_2", EMAIL), ("key_3", EMAIL)]
