"""The rules of what a key may grant and revoke, decided on locked rows."""

from dataclasses import replace

import pytest

from actors.keys.messages import KeySaved
from actors.keys.state import LockSet, rows_to_lock
from actors.keys.validity import held_scopes
from actors.shared.credentials import Kind
from actors.values import Code, Refused, Scope
from tests.state.registry import ANN, BOB, HOUR, NOON, SESSION, Registry
from tests.state.test_keys import codes

READ, MANAGE = (Scope.LIBRARY_READ,), (Scope.KEYS_MANAGE, Scope.LIBRARY_READ)
BOTH_ADMIN = (Scope.ADMIN_READ, Scope.ADMIN_WRITE)
OTHERS = tuple(scope for scope in Scope if scope not in BOTH_ADMIN)


@pytest.fixture
def registry() -> Registry:
    """Ann has claimed key 1 and has the scoped key 2; Bob has claimed key 3."""
    registry = Registry()
    registry.claim("1")
    registry.claim("3", BOB)
    registry.act(registry.issue("2", scopes=MANAGE))
    return registry


# Scopes of a key.


@pytest.mark.parametrize(
    ("scopes", "admin", "held"),
    [
        (None, False, OTHERS),
        (None, True, tuple(Scope)),
        ((), True, ()),
        (READ, False, READ),
        ((Scope.ADMIN_READ, Scope.LIBRARY_READ), False, READ),
        ((Scope.ADMIN_READ, Scope.LIBRARY_READ), True, (Scope.LIBRARY_READ, Scope.ADMIN_READ)),
    ],
)
def test_a_key_holds_its_scopes_and_those_of_administrators_only_if_it_carries_them_and_its_account_is_one(
    scopes: tuple[Scope, ...] | None, admin: bool, held: tuple[Scope, ...]
) -> None:
    key = replace(Registry().key("1", Kind.USER), scopes=scopes, admin=True)
    assert held_scopes(key, admin=admin) == held
    without = tuple(scope for scope in held if scope not in BOTH_ADMIN)
    assert held_scopes(replace(key, admin=False), admin=admin) == without


# Granting.


def test_a_key_grants_what_it_holds(registry: Registry) -> None:
    answers = registry.act(
        registry.issue("4", scopes=OTHERS, by="1"),
        registry.issue("5", scopes=READ, by="2"),
        registry.issue("6", scopes=(Scope.SPONSOR_READ,), by="2"),
    )
    assert codes(answers) == [None, None, Code.INSUFFICIENT_SCOPE]
    assert registry.keys["k5"].tenant_id == "t1"
    assert "k6" not in registry.keys


def test_a_refused_grant_names_the_scopes_and_leaves_no_trace(registry: Registry) -> None:
    before = len(registry.audits)
    answer = registry.one(registry.issue("4", scopes=(Scope.SPONSOR_READ, *READ, Scope.BILLING_WRITE), by="2"))
    assert isinstance(answer, Refused)
    assert answer.message.startswith("This key ")
    assert answer.message.endswith(": sponsor:read, billing:write.")
    assert len(registry.audits) == before


def test_a_scoped_key_does_not_grant_a_full_one(registry: Registry) -> None:
    assert codes(registry.act(registry.issue("4", by="2"))) == [Code.INSUFFICIENT_SCOPE]


@pytest.mark.parametrize("by", ["1", "2"])
def test_admin_scopes_are_granted_only_while_the_account_is_an_administrator(registry: Registry, by: str) -> None:
    registry.keys["k2"] = replace(registry.keys["k2"], scopes=tuple(Scope), admin=True)
    registry.keys["k1"] = replace(registry.keys["k1"], admin=True)
    grant = registry.issue("4", scopes=BOTH_ADMIN, by=by)
    assert codes(registry.act(grant)) == [Code.INSUFFICIENT_SCOPE]
    registry.act(registry.grant_admin(BOB))
    assert codes(registry.act(grant)) == [Code.INSUFFICIENT_SCOPE], "another's membership does not help"
    registry.act(registry.grant_admin(ANN))
    assert codes(registry.act(grant)) == [None]
    registry.act(registry.revoke_admin(ANN))
    assert codes(registry.act(registry.issue("5", scopes=BOTH_ADMIN, by=by))) == [Code.INSUFFICIENT_SCOPE]


def test_a_removal_earlier_in_the_batch_holds_for_a_grant_behind_it(registry: Registry) -> None:
    registry.act(registry.grant_admin())
    registry.keys["k1"] = replace(registry.keys["k1"], admin=True)
    answers = registry.act(
        registry.issue("4", scopes=BOTH_ADMIN, by="1"),
        registry.revoke_admin(),
        registry.issue("5", scopes=BOTH_ADMIN, by="1"),
        registry.grant_admin(),
        registry.issue("6", scopes=BOTH_ADMIN, by="1"),
    )
    assert codes(answers) == [None, None, Code.INSUFFICIENT_SCOPE, None, None]


def test_a_key_that_was_revoked_grants_nothing_also_within_the_batch(registry: Registry) -> None:
    answers = registry.act(
        registry.issue("4", scopes=READ, by="2"), registry.revoke("2"), registry.issue("5", scopes=READ, by="2")
    )
    assert codes(answers) == [None, None, Code.INVALID_API_KEY]
    assert codes(registry.act(registry.issue("6", scopes=READ, by="2"))) == [Code.INVALID_API_KEY]


def test_a_key_that_is_unknown_expired_or_anothers_grants_nothing(registry: Registry) -> None:
    registry.keys["k1"] = replace(registry.keys["k1"], expires_ms=NOON - HOUR)
    answers = registry.act(*[registry.issue("4", scopes=READ, by=by) for by in ("9", "1", "3")])
    assert codes(answers) == [Code.INVALID_API_KEY] * 3


def test_an_account_is_not_made_for_a_key_that_grants(registry: Registry) -> None:
    answer = registry.one(registry.issue("4", "new@example.org", READ, by="1"))
    assert codes([answer]) == [Code.INVALID_API_KEY]
    assert "new@example.org" not in registry.accounts


def test_the_limit_holds_for_a_key_that_grants(registry: Registry) -> None:
    answers = registry.act(*[registry.issue(str(number), scopes=READ, by="2") for number in range(4, 29)])
    assert codes(answers) == [None] * 24 + [Code.KEY_LIMIT]


def test_a_person_grants_full_keys_and_scopes_and_admin_scopes_only_as_an_administrator(registry: Registry) -> None:
    full, scopes = registry.issue("4", by="account"), registry.issue("5", scopes=OTHERS, by="account")
    admin = registry.issue("6", scopes=BOTH_ADMIN, by="account")
    answers = registry.act(
        full, scopes, admin, registry.grant_admin(), admin, registry.revoke_admin(), registry.issue("7", by="account")
    )
    assert codes(answers) == [None, None, Code.INSUFFICIENT_SCOPE, None, None, None, None]
    assert {name for name in registry.keys if registry.keys[name].tenant_id == "t1"} == {
        "k1",
        "k2",
        "k4",
        "k5",
        "k6",
        "k7",
    }


def test_what_an_account_cannot_grant_is_named(registry: Registry) -> None:
    answer = registry.one(registry.issue("4", scopes=(*READ, Scope.ADMIN_WRITE), by="account"))
    assert isinstance(answer, Refused)
    assert answer.message == "This account cannot grant scopes that it does not have: admin:write."


def test_the_limit_of_full_keys_holds_for_a_person(registry: Registry) -> None:
    answers = registry.act(*[registry.issue(str(number), by="account") for number in range(4, 14)])
    assert codes(answers) == [None] * 9 + [Code.KEY_LIMIT]


def test_a_grant_of_a_person_locks_the_membership_of_the_account() -> None:
    rows = rows_to_lock([Registry().issue("4", by="account")])
    assert rows == LockSet((), ("k4",), (ANN,), (ANN,), membership=False, session_ids=(SESSION,))


def test_a_grant_locks_the_key_that_grants_and_the_membership_of_its_account() -> None:
    registry = Registry()
    rows = rows_to_lock([registry.issue("4", scopes=READ, by="2"), registry.issue("5", BOB)])
    assert rows == LockSet((), ("k2", "k4", "k5"), (ANN, BOB), (ANN,), membership=False)


# Revoking keys of the own account.


def test_an_owner_revokes_own_scoped_keys_and_again(registry: Registry) -> None:
    first = registry.one(registry.revoke("2", owner="t1"))
    assert first == KeySaved(registry.keys["k2"], changed=(b"2",), ended=("k2",))
    assert registry.one(registry.revoke("2", owner="t1")) == replace(first, ended=())
    assert [record.action for record in registry.audits].count("key.revoked") == 1


def test_an_owner_ends_neither_full_keys_nor_others_nor_unknown_ones(registry: Registry) -> None:
    answers = registry.act(
        registry.revoke("1", owner="t1"), registry.revoke("2", owner="t3"), registry.revoke("9", owner="t1")
    )
    assert codes(answers) == [Code.NOT_FOUND] * 3
    assert len({answer.message for answer in answers if isinstance(answer, Refused)}) == 1, "nobody learns which"
    assert registry.last.touched_keys == []


def test_a_person_revokes_full_keys_of_the_own_account_too_and_no_others(registry: Registry) -> None:
    answers = registry.act(
        registry.revoke("3", owner="t1", full=True),
        registry.revoke("9", owner="t1", full=True),
        registry.revoke("1", owner="t1", full=True),
        registry.revoke("2", owner="t1", full=True),
    )
    assert codes(answers) == [Code.NOT_FOUND, Code.NOT_FOUND, None, None]
