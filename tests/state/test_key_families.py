"""A key ends no later than the key that granted it, and never carries administration that nobody gave it."""

import sys
from copy import deepcopy
from dataclasses import replace

import pytest

from actors.keys.messages import ByKey, EditKey, EndKeys, KeySaved, KeysEnded, Message
from actors.keys.state import Decision, LockSet, Snapshot, decide_in_steps, rows_to_lock
from actors.keys.unit_of_work import STEP, UnitOfWork
from actors.keys.validity import ADMIN_SCOPES, held_scopes, is_live
from actors.values import Code, Refused, Scope, Steps
from tests.state.registry import ANN, BOB, DAY, HOUR, MINUTE, NOON, Registry
from tests.state.test_key_renewals import rotate
from tests.state.test_keys import codes

READ = (Scope.LIBRARY_READ,)
MANAGE = (Scope.KEYS_MANAGE, Scope.LIBRARY_READ)


@pytest.fixture
def registry() -> Registry:
    """Ann has claimed key 1, which granted key 2, which granted keys 3 and 4. An operator issued key 5."""
    registry = Registry()
    registry.claim("1")
    registry.claim("9", BOB)
    registry.act(
        registry.issue("2", scopes=MANAGE, by="1"),
        registry.issue("3", scopes=READ, by="2"),
        registry.issue("4", scopes=READ, by="2"),
        registry.issue("5", scopes=READ),
    )
    return registry


def live(registry: Registry) -> set[str]:
    return {name for name, key in registry.keys.items() if is_live(key, registry.now_ms)}


def test_a_deleted_account_grants_nothing_and_has_no_key_to_end(registry: Registry) -> None:
    """Its session was read before the account was deleted, and its request is decided afterwards."""
    eve = "eve@example.org"
    answer = registry.one(registry.issue("7", eve, scopes=READ, by="account"))
    assert isinstance(answer, Refused)
    assert answer.code is Code.UNAUTHORIZED
    assert registry.one(EndKeys(eve, registry.audit("keys.ended", eve))) == KeysEnded(())


# Revoking.


def test_a_revoked_key_takes_all_keys_along_that_it_granted(registry: Registry) -> None:
    answer = registry.one(registry.revoke("1"))
    assert isinstance(answer, KeySaved)
    assert set(answer.ended) == {"k1", "k2", "k3", "k4"}
    assert set(answer.changed) == {b"1", b"2", b"3", b"4"} == set(registry.last.touched_keys)
    assert live(registry) == {"k5", "k9"}


def test_each_key_that_ends_has_a_record_which_names_the_revoked_key(registry: Registry) -> None:
    registry.act(registry.revoke("2"))
    records = {record.target_id: record for record in registry.audits if record.action == "key.revoked"}
    assert records.keys() == {"k2", "k3", "k4"}
    assert records["k3"].changes == records["k4"].changes == '{"endedWith": "k2"}'
    assert len({record.id for record in records.values()}) == 3


def test_siblings_and_granters_of_a_revoked_key_stay(registry: Registry) -> None:
    registry.act(registry.revoke("3"))
    assert live(registry) == {"k1", "k2", "k4", "k5", "k9"}


def test_a_key_that_was_granted_in_the_same_batch_ends_too(registry: Registry) -> None:
    registry.act(registry.issue("6", scopes=READ, by="2"), registry.revoke("1"))
    assert "k6" not in live(registry)


def test_revoking_locks_the_whole_family(registry: Registry) -> None:
    assert rows_to_lock([registry.revoke("1")]) == LockSet((), (), (), families=("k1",))
    assert registry.snapshot([registry.revoke("1")]).keys.keys() == {"k1", "k2", "k3", "k4", "k5"}


def test_keys_that_a_key_granted_before_it_was_revoked_elsewhere_end_when_it_is_revoked_again(
    registry: Registry,
) -> None:
    """A node of the previous version revokes one key alone."""
    registry.keys["k2"] = replace(registry.keys["k2"], revoked_ms=NOON)
    registry.act(registry.revoke("2"))
    assert live(registry) == {"k1", "k5", "k9"}


# Expiry.


def test_a_granted_key_expires_no_later_than_its_granter(registry: Registry) -> None:
    registry.keys["k2"] = replace(registry.keys["k2"], expires_ms=NOON + HOUR)
    later, sooner = registry.issue("6", scopes=READ, by="2"), registry.issue("7", scopes=READ, by="2")
    later = replace(later, key=replace(later.key, expires_ms=NOON + 2 * HOUR))
    sooner = replace(sooner, key=replace(sooner.key, expires_ms=NOON + MINUTE))
    registry.act(later, sooner, registry.issue("8", scopes=READ, by="2"))
    ends = {name: registry.keys[name].expires_ms for name in ("k6", "k7", "k8")}
    assert ends == {"k6": NOON + HOUR, "k7": NOON + MINUTE, "k8": NOON + HOUR}


def test_an_expired_key_counts_no_longer(registry: Registry) -> None:
    for number in range(20, 29):
        issue = registry.issue(str(number))
        registry.act(replace(issue, key=replace(issue.key, expires_ms=NOON + HOUR)))
    assert codes(registry.act(registry.issue("30"))) == [Code.KEY_LIMIT]
    registry.pass_ms(HOUR)
    assert codes(registry.act(registry.issue("30"))) == [None]


# Keys of a day.


def test_an_account_makes_so_many_keys_a_day_whether_they_still_work_or_not(registry: Registry) -> None:
    """Created, rotated and claimed, by whichever of its keys. Those that an operator issues count and are not refused."""
    registry.rules = replace(registry.rules, keys_per_day=7)
    short = registry.issue("6", scopes=READ, by="2")
    registry.act(replace(short, key=replace(short.key, expires_ms=NOON + MINUTE)))
    registry.pass_ms(MINUTE)
    for name in ("7", "8"):
        registry.act(registry.mint(name))
        registry.act(registry.start(name))
    makers: dict[str, Message] = {
        "a scoped key": registry.issue("10", scopes=READ, by="2"),
        "a person": registry.issue("11", by="account"),
        "a rotation": rotate(registry, "3", "12", "2"),
        "a claim": registry.complete("7"),
    }
    for name, message in makers.items():
        first, second = deepcopy(registry).act(message, registry.complete("8"))
        assert codes([first, second]) == [None, Code.RATE_LIMITED], name
        assert isinstance(second, Refused)
        assert second.retry_after_seconds == 12 * 3_600 - 60, name
    registry.act(registry.complete("7"))
    assert codes(registry.act(*makers.values())) == [Code.RATE_LIMITED] * 3 + [None], "the claim is repeated"
    assert codes(registry.act(registry.issue("13"))) == [None]
    registry.pass_ms(12 * HOUR)
    assert codes(registry.act(makers["a scoped key"])) == [None]


def test_the_keys_that_one_batch_makes_count_for_the_day(registry: Registry) -> None:
    registry.rules = replace(registry.rules, keys_per_day=3)
    registry.pass_ms(DAY)
    many = [registry.issue(name, scopes=READ, by="account") for name in ("10", "11", "12", "13")]
    assert codes(registry.act(*many)) == [None] * 3 + [Code.RATE_LIMITED]


def test_other_tasks_run_after_each_200_keys_that_a_batch_locks(registry: Registry) -> None:
    made = registry.keys["k3"]
    keys = {f"k{number}": replace(made, id=f"k{number}") for number in range(2 * STEP - 1)}
    assert len(list(UnitOfWork(Snapshot(keys), NOON, registry.rules).begin())) == 1


def test_of_more_than_20_keys_that_end_at_once_the_accounts_are_announced(registry: Registry) -> None:
    made = registry.keys["k3"]
    for owner, count in (("1", 21), ("9", 21)):
        for number in range(count):
            name = f"{owner}-{number}"
            registry.keys[name] = replace(
                made, id=name, hash=name.encode(), granter_id=None, tenant_id=registry.keys[f"k{owner}"].tenant_id
            )
    registry.act(*(EndKeys(email, registry.audit("keys.ended", email)) for email in (ANN, BOB)))
    tenants = {registry.accounts[email].tenant_id for email in (ANN, BOB)}
    assert (set(registry.last.touched_tenants), registry.last.touched_keys) == (tenants, [])


def test_up_to_20_keys_that_end_at_once_are_announced_each(registry: Registry) -> None:
    made = registry.keys["k3"]
    others = 20 - sum(is_live(key, NOON) for key in registry.keys.values() if key.tenant_id == made.tenant_id)
    for number in range(100, 100 + others):
        registry.keys[f"k{number}"] = replace(made, id=f"k{number}", hash=b"%d" % number, granter_id=None)
    registry.act(EndKeys(ANN, registry.audit("keys.ended", ANN)))
    assert (registry.last.touched_tenants, len(registry.last.touched_keys)) == ([], 20)


def test_a_chain_of_any_length_ends_with_its_first_key(registry: Registry) -> None:
    made = registry.keys["k3"]
    for number in range(100, 3_100):
        granter = "k3" if number == 100 else f"k{number - 1}"
        registry.keys[f"k{number}"] = replace(made, id=f"k{number}", hash=b"%d" % number, granter_id=granter)
    registry.act(registry.revoke("2"))
    assert live(registry) == {"k1", "k5", "k9"}


# All keys of an account.


def test_all_keys_of_an_account_end_at_once_and_no_others(registry: Registry) -> None:
    registry.act(registry.revoke("3"))
    order = EndKeys(ANN, registry.audit("keys.ended", ANN))
    assert rows_to_lock([order]) == LockSet((), (), (ANN,), owners=(ANN,))
    answer = registry.one(order)
    assert isinstance(answer, KeysEnded)
    assert {key.id for key in answer.keys} == {"k1", "k2", "k4", "k5"}
    assert live(registry) == {"k9"}
    assert registry.one(order) == KeysEnded(())


# Accounts with thousands of keys.


def calls_of_steps(steps: Steps[Decision]) -> list[int]:
    """How many functions each step of a decision that refuses nothing calls."""
    calls = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        calls[-1] += event in ("call", "c_call")

    def decided() -> Steps[None]:
        decision = yield from steps
        assert codes(decision.answers) == [None]

    sys.setprofile(count)
    try:
        for _ in decided():
            calls.append(0)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("kind", ["revoke", "end all", "shorten", "rename", "rotate"])
def test_a_step_is_as_long_with_1_200_keys_as_with_300_that_one_key_granted(kind: str, registry: Registry) -> None:
    messages: dict[str, Message] = {
        "revoke": registry.revoke("1"),
        "end all": EndKeys(ANN, registry.audit("keys.ended", ANN)),
        "shorten": EditKey("k1", ANN, registry.audit("key.changed", "k1"), ByKey("k1"), True, None, True, NOON + HOUR),
        "rename": EditKey("k1", ANN, registry.audit("key.changed", "k1"), ByKey("k1"), True, "Reader"),
        "rotate": rotate(registry, "1", "fresh", by="1"),
    }
    message = messages[kind]
    longest = []
    for many in (300, 1_200):
        for number in range(many):
            key = replace(registry.keys["k3"], id=f"many{number}", hash=b"%d" % number, created_ms=0, granter_id="k1")
            registry.keys[key.id] = key
        calls = calls_of_steps(decide_in_steps(registry.snapshot([message]), [message], NOON, registry.rules))
        longest.append(max(calls))
    assert longest[1] < 1.1 * longest[0], longest


# Administration.


def test_a_claimed_key_carries_no_administration(registry: Registry) -> None:
    registry.act(registry.grant_admin(ANN))
    registry.act(registry.mint("6"))
    registry.keys["k6"] = replace(registry.keys["k6"], admin=True)
    registry.act(registry.start("6"), registry.complete("6"))
    assert registry.keys["k6"].tenant_id == "t1"
    assert ADMIN_SCOPES.isdisjoint(held_scopes(registry.keys["k6"], admin=True))


def test_only_an_administrator_gets_a_full_key_that_carries_administration(registry: Registry) -> None:
    issues = [registry.issue("6", by="account"), registry.issue("7")]
    issues = [replace(issue, key=replace(issue.key, admin=True)) for issue in issues]
    assert codes(registry.act(*issues)) == [Code.FORBIDDEN] * 2
    registry.act(registry.grant_admin(ANN))
    assert codes(registry.act(*issues)) == [None, None]
    registry.act(registry.revoke_admin(ANN))
    assert held_scopes(registry.keys["k6"], admin=False) == held_scopes(registry.keys["k1"], admin=False)


# Any order of grants, revocations and expiries.


def test_the_granter_of_a_key_is_the_one_that_was_asked(registry: Registry) -> None:
    assert registry.issue("6", by="2").granted_by == ByKey("k2")
    assert [registry.keys[name].granter_id for name in ("k1", "k2", "k3", "k5")] == [None, "k1", "k2", None]
