"""The rules of administrators."""

import json
from dataclasses import replace

import pytest

from actors.keys.messages import ByAccount, KeySaved, Membership
from actors.keys.state import LockSet, rows_to_lock
from actors.shared.notices import notice
from actors.values import Code, Refused, Scope
from tests.state.registry import ANN, BOB, NOON, SECOND, SESSION, Registry

CARL = "carl@example.org"


@pytest.fixture
def registry() -> Registry:
    """Ann has an account; nobody is an administrator."""
    registry = Registry()
    registry.claim("1")
    registry.audits.clear()
    return registry


def actions(registry: Registry) -> list[tuple[str, str]]:
    return [(record.action, record.target_id) for record in registry.audits]


def test_an_administrator_is_appointed_once(registry: Registry) -> None:
    assert registry.one(registry.grant_admin()) == Membership((ANN,), 1)
    registry.pass_ms(SECOND)
    assert registry.one(registry.grant_admin()) == Membership((), 1)
    assert registry.administrators == {ANN: NOON}
    assert actions(registry) == [("admin.granted", ANN)]


def test_an_administrator_is_removed_once(registry: Registry) -> None:
    registry.act(registry.grant_admin(), registry.grant_admin(BOB))
    assert registry.one(registry.revoke_admin()) == Membership((ANN,), 1)
    assert registry.one(registry.revoke_admin()) == Membership((), 1)
    assert registry.one(registry.revoke_admin(BOB)) == Membership((BOB,), 0)
    assert registry.administrators == {}
    assert actions(registry)[2:] == [("admin.revoked", ANN), ("admin.revoked", BOB)]


@pytest.mark.parametrize(
    ("scopes", "admin", "code"),
    [
        (None, True, Code.FORBIDDEN),
        ((Scope.LIBRARY_READ, Scope.ADMIN_READ), False, Code.FORBIDDEN),
        (None, False, None),
        ((Scope.LIBRARY_READ,), True, None),
    ],
)
def test_only_a_session_that_has_shown_a_passkey_grants_administration(
    registry: Registry, scopes: tuple[Scope, ...] | None, admin: bool, code: Code | None
) -> None:
    registry.act(registry.grant_admin())
    issue = registry.issue("2", scopes=scopes)
    issue = replace(issue, key=replace(issue.key, admin=admin), granted_by=ByAccount(SESSION, administers=False))
    answer = registry.one(issue)
    if code is None:
        assert isinstance(answer, KeySaved)
    else:
        assert isinstance(answer, Refused)
        assert (answer.code, answer.hint) == (code, "/api/v1/account/passkeys")


def test_new_administrators_are_mailed_of_the_time_of_their_grant() -> None:
    registry = Registry()
    letters = {email: notice(f"let_{email}", "new_administrator", email, NOON) for email in (ANN, BOB, CARL)}
    told = {
        email: replace(letter, facts=json.dumps({"ends": "admin", "target": str(NOON), "label": email}))
        for email, letter in letters.items()
    }
    registry.act(replace(registry.bootstrap(ANN, BOB), notices=(letters[BOB], letters[ANN])))
    assert registry.last.outbox == [told[ANN], told[BOB]]
    registry.act(replace(registry.grant_admin(CARL), notice=letters[CARL]))
    assert registry.last.outbox == [told[CARL]]


def test_a_removal_for_one_grant_leaves_others(registry: Registry) -> None:
    registry.act(registry.grant_admin())
    registry.pass_ms(SECOND)
    assert registry.one(registry.revoke_admin(granted_ms=NOON + SECOND)) == Membership((), 1)
    assert registry.last.audits == []
    assert registry.one(registry.revoke_admin(granted_ms=NOON)) == Membership((ANN,), 0)
    answers = registry.act(
        registry.grant_admin(), registry.revoke_admin(granted_ms=NOON), registry.revoke_admin(granted_ms=NOON + SECOND)
    )
    assert answers == [Membership((ANN,), 1), Membership((), 1), Membership((ANN,), 0)]
    assert registry.administrators == {}


def test_who_is_none_is_not_removed(registry: Registry) -> None:
    registry.act(registry.grant_admin())
    assert registry.one(registry.revoke_admin(BOB)) == Membership((), 1)
    assert registry.last.audits == []


def test_a_change_is_announced_where_there_is_an_account(registry: Registry) -> None:
    for message, touched in (
        (registry.grant_admin(), ["t1"]),
        (registry.grant_admin(), []),
        (registry.grant_admin(BOB), []),
        (registry.revoke_admin(), ["t1"]),
        (registry.revoke_admin(), []),
    ):
        registry.act(message)
        assert registry.last.touched_tenants == touched


def test_a_membership_waits_for_its_account(registry: Registry) -> None:
    registry.act(registry.grant_admin(BOB))
    registry.claim("2", BOB)
    assert registry.administrators == {BOB: NOON}


def test_a_batch_of_many_changes_ends_as_they_would_one_by_one(registry: Registry) -> None:
    registry.act(registry.grant_admin())
    registry.pass_ms(SECOND)
    answers = registry.act(
        registry.revoke_admin(),
        registry.grant_admin(BOB),
        registry.grant_admin(),
        registry.revoke_admin(BOB),
        registry.revoke_admin(),
        registry.grant_admin(),
        registry.grant_admin(CARL),
    )
    assert answers == [
        Membership((ANN,), 0),
        Membership((BOB,), 1),
        Membership((ANN,), 2),
        Membership((BOB,), 1),
        Membership((ANN,), 0),
        Membership((ANN,), 1),
        Membership((CARL,), 2),
    ]
    assert registry.administrators == {ANN: NOON + SECOND, CARL: NOON + SECOND}


def test_the_configured_ones_come_only_where_there_is_none(registry: Registry) -> None:
    assert registry.one(registry.bootstrap(ANN, BOB)) == Membership((ANN, BOB), 2)
    assert registry.one(registry.bootstrap(CARL)) == Membership((), 2)
    assert actions(registry) == [("admin.granted", ANN), ("admin.granted", BOB)]
    assert registry.administrators.keys() == {ANN, BOB}


def test_the_configured_ones_count_what_came_before_them_in_the_batch(registry: Registry) -> None:
    registry.act(registry.grant_admin())
    first, _, second, third = registry.act(
        registry.bootstrap(BOB), registry.revoke_admin(), registry.bootstrap(BOB), registry.bootstrap(CARL)
    )
    assert (first, second, third) == (Membership((), 1), Membership((BOB,), 1), Membership((), 1))
    assert registry.administrators.keys() == {BOB}


def test_changes_of_membership_exclude_each_other_and_lock_what_they_announce() -> None:
    registry = Registry()
    both = LockSet((), (), (ANN, BOB), (ANN, BOB), membership=True)
    assert rows_to_lock([registry.bootstrap(BOB, ANN)]) == both
    assert rows_to_lock([registry.grant_admin(BOB), registry.revoke_admin()]) == both
    assert not rows_to_lock([registry.issue("2", by="1"), registry.revoke("1")]).membership
