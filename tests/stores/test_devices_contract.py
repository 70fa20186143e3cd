"""The contract of the device store, over Postgres and in memory."""

from dataclasses import replace

import pytest

from actors.devices.messages import DeviceView, Status
from actors.devices.state import Decision, DeviceRules, Snapshot, rows_to_lock
from actors.retention.store import Rows
from actors.shared.credentials import Kind
from actors.values import BatchId, Contended
from tests.stores.conftest import Stores
from tests.stores.logins import ANN, BOB, LATE, NOW, Logins, code, deciding, device, hash_of, look, poll, start


@pytest.fixture
async def logins(stores: Stores) -> Logins:
    made = Logins(stores)
    await made.settle(ANN, BOB)
    return made


async def test_a_started_login_is_stored_unchanged(logins: Logins) -> None:
    assert await logins.send(start(1), start(2)) == [DeviceView(device(1)), DeviceView(device(2))]
    assert await logins.send(look(code(1)), look(code(2))) == [DeviceView(device(1)), DeviceView(device(2))]


async def test_each_change_is_kept(logins: Logins) -> None:
    await logins.send(start(1))
    assert await logins.words(poll(1), now_ms=NOW + 1_000) == ["authorization_pending"]
    assert await logins.words(poll(1), now_ms=NOW + 2_000) == ["slow_down"]
    paced = replace(device(1), polled_ms=NOW + 1_000, interval_seconds=10)
    assert await logins.send(look(code(1))) == [DeviceView(paced)]
    approved = replace(paced, status=Status.APPROVED, email=ANN, session_id="ses_1", decided_ms=NOW + 3_000)
    assert await logins.send(deciding(1), now_ms=NOW + 3_000) == [DeviceView(approved)]
    assert await logins.words(poll(1)) == ["a key"]
    redeemed = replace(approved, status=Status.REDEEMED, key_id="key_of_1", polled_ms=NOW)
    assert await logins.send(look(code(1))) == [DeviceView(redeemed)]
    assert await logins.words(poll(1), poll(1, 2)) == ["a key", "invalid_code"]


async def test_a_redeemed_device_has_a_full_key_of_its_account(logins: Logins) -> None:
    await logins.send(start(1), deciding(1), poll(1))
    found = await logins.stores.keys.resolve([hash_of(1, "k")])
    resolved = found[hash_of(1, "k")]
    assert (resolved.email, resolved.key.tenant_id) == (ANN, "ten_9001")
    assert (resolved.key.kind, resolved.key.scopes, resolved.key.expires_ms) == (Kind.USER, None, None)
    assert (resolved.key.id, resolved.key.prefix, resolved.key.name) == ("key_of_1", "cs_user_0001", "a-program/1.0")


async def test_a_code_that_is_taken_gives_way_to_the_next(logins: Logins) -> None:
    await logins.send(start(1))
    [answer] = await logins.send(start(2, code(1), code(7)))
    assert answer == DeviceView(replace(device(2), user_code=code(7)))


async def test_guesses_are_kept_by_session_and_lock_its_form(logins: Logins) -> None:
    await logins.send(start(1))
    for _ in range(5):
        assert await logins.words(look(code(99))) == ["invalid_code"]
    assert await logins.words(look(code(1)), look(code(1), 2)) == ["rate_limited", "pending"]
    assert await logins.words(look(code(1)), now_ms=NOW + 899_999) == ["rate_limited"]
    assert await logins.words(look(code(1)), now_ms=LATE) == ["expired"]


async def test_a_session_that_does_not_exist_decides_nothing(logins: Logins) -> None:
    await logins.send(start(1))
    assert await logins.words(look(code(1), 77), deciding(1, session=77)) == ["unauthorized", "unauthorized"]


async def test_promised_keys_count_against_approvals_and_against_issued_keys(logins: Logins) -> None:
    """Ann has one key, three more are issued, and six are promised, one of which is fetched: ten."""
    for number in (1, 2, 3):
        assert await logins.issue(number) == "kept"
    for number in range(1, 7):
        assert await logins.words(start(number), deciding(number)) == ["pending", "approved"]
    assert await logins.words(start(7), deciding(7)) == ["pending", "key_limit"]
    assert await logins.issue(4) == "key_limit"
    assert await logins.words(poll(1)) == ["a key"]
    assert await logins.issue(4) == "key_limit"
    assert await logins.words(deciding(7)) == ["key_limit"]
    assert await logins.issue(4, BOB) == "kept", "another account has its own count"
    # The promises lapse when the devices expire.
    assert await logins.issue(5, now_ms=LATE) == "kept"
    assert await logins.words(poll(2), now_ms=LATE) == ["expired_token"]


async def test_promised_keys_count_for_the_day_of_their_account(logins: Logins) -> None:
    """Ann has made one key. Two are promised, one of which is fetched: three."""
    logins.rules = DeviceRules(keys_per_day=3)
    for number in (1, 2):
        assert await logins.words(start(number), deciding(number)) == ["pending", "approved"]
    assert await logins.words(start(3), deciding(3)) == ["pending", "rate_limited"]
    assert await logins.words(poll(1), deciding(3)) == ["a key", "rate_limited"]


async def test_a_batch_that_runs_again_is_decided_once(logins: Logins) -> None:
    await logins.send(start(1), deciding(1))
    batch_id = BatchId("node1/devices", 1_000)
    first = await logins.send(poll(1), batch_id=batch_id)
    assert await logins.send(poll(1), batch_id=batch_id) == first
    assert await logins.keys(1) == ["cs_user_0001"]


async def test_a_batch_that_fails_changes_nothing(logins: Logins) -> None:
    await logins.send(start(1), deciding(1))

    def clash(snapshot: Snapshot) -> Decision:
        decision = Decision()
        decision.changed.devices["dev_1"] = replace(snapshot.devices["dev_1"], status=Status.DENIED)
        decision.changed.devices["dev_2"] = replace(device(2), user_code=code(1))
        return decision

    with pytest.raises(Contended):
        await logins.stores.devices.transact(logins.next_batch_id(), rows_to_lock([poll(1)]), clash, NOW)
    assert await logins.words(look(code(1)), poll(2)) == ["approved", "invalid_code"]


async def test_device_logins_are_forgotten_some_at_a_time_once_they_have_ended_for_long(logins: Logins) -> None:
    for number in range(1, 6):
        await logins.send(start(number, now_ms=NOW + number), now_ms=NOW + number)
    await logins.send(deciding(1), poll(1))
    prune = logins.stores.retention.prune
    assert await prune(Rows.DEVICE_LOGINS, LATE, 10) == 0
    assert await prune(Rows.DEVICE_LOGINS, LATE + 4, 2) == 2
    assert await prune(Rows.DEVICE_LOGINS, LATE + 4, 2) == 1
    assert await prune(Rows.DEVICE_LOGINS, LATE + 4, 2) == 0
    words = await logins.words(*(poll(number) for number in range(1, 6)))
    assert words == ["invalid_code"] * 3 + ["authorization_pending"] * 2
    assert await logins.keys(1) == ["cs_user_0001"], "the key stays valid"
