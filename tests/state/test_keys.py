"""The rules of issuing and revoking keys, of tiers, and of the rows that a batch locks."""

import json
from dataclasses import replace

import pytest

from actors.keys.issuing import END_NOTICE_MS
from actors.keys.messages import Answer, KeySaved, TierSet
from actors.keys.state import LockSet, rows_to_lock
from actors.keys.validity import is_live
from actors.shared.credentials import Kind
from actors.shared.notices import notice
from actors.values import Account, Code, Refused, Scope, Tenant, Tier
from tests.doubles.conditions import count_live
from tests.state.registry import ANN, BOB, MINUTE, NOON, SECOND, Registry, count_ids, token

READ = (Scope.LIBRARY_READ,)


@pytest.fixture
def registry() -> Registry:
    """Ann has claimed key 1."""
    registry = Registry()
    registry.claim("1")
    return registry


def codes(answers: list[Answer]) -> list[Code | None]:
    return [answer.code if isinstance(answer, Refused) else None for answer in answers]


# Issuing.


def test_the_first_key_of_an_email_makes_its_account() -> None:
    registry = Registry()
    answer = registry.one(registry.issue("1"))
    assert registry.accounts == {ANN: Account(ANN, "t1", NOON)}
    assert registry.tenants == {"t1": Tenant("t1", Tier.CLAIMED)}
    assert answer == KeySaved(registry.keys["k1"])
    assert registry.keys["k1"].tenant_id == "t1"


def test_a_later_key_belongs_to_the_accounts_tenant(registry: Registry) -> None:
    registry.act(registry.issue("2"))
    assert registry.keys["k2"].tenant_id == "t1"
    assert list(registry.tenants) == ["t1"]


def test_two_first_keys_in_one_batch_share_one_account() -> None:
    registry = Registry()
    registry.act(registry.issue("1"), registry.issue("2"))
    assert registry.keys["k2"].tenant_id == "t1"
    assert list(registry.tenants) == ["t1"]


def test_an_issued_key_does_not_expire(registry: Registry) -> None:
    registry.act(registry.issue("2"))
    assert registry.keys["k2"].expires_ms is None


def test_a_scoped_key_keeps_its_scopes(registry: Registry) -> None:
    answer = registry.one(registry.issue("2", scopes=READ))
    assert isinstance(answer, KeySaved)
    assert (answer.key.kind, answer.key.scopes) == (Kind.SCOPED, READ)


def test_issuing_is_audited_and_not_announced_for_nobody_can_know_the_key_yet(registry: Registry) -> None:
    issue = registry.issue("2")
    registry.act(issue)
    assert registry.audits[-1] == issue.audit
    assert (registry.last.touched_keys, registry.last.touched_tenants) == ([], [])


@pytest.mark.parametrize(
    ("by", "how"),
    [
        (None, "An operator of the service issued it."),
        ("account", "Somebody who was signed in to your account created it."),
        ("1", "Your key cs_anon_1... granted it."),
    ],
)
def test_the_owner_is_mailed_of_each_new_key_and_how_it_was_made(registry: Registry, by: str | None, how: str) -> None:
    letters = [notice(f"let_{name}", "new_key", ANN, NOON) for name in ("2", "3")]
    issues = [registry.issue(name, scopes=READ, by=by) for name in ("2", "3")]
    registry.act(*[replace(issue, notice=letter) for issue, letter in zip(issues, letters, strict=True)])
    assert registry.last.outbox == [
        replace(
            letter, facts=json.dumps({"ends": "key", "target": f"k{name}", "label": f"cs_scoped_{name}", "how": how})
        )
        for name, letter in zip(("2", "3"), letters, strict=True)
    ]


def test_the_owner_is_to_be_told_before_a_new_key_ends(registry: Registry) -> None:
    issue = registry.issue("2", scopes=READ)
    registry.act(replace(issue, key=replace(issue.key, expires_ms=NOON + END_NOTICE_MS + 1)))
    assert registry.keys["k2"].end_notice_ms == NOON + 1


def test_records_of_what_ends_with_a_key_name_keys(registry: Registry) -> None:
    registry.act(registry.issue("2", scopes=READ, by="1"))
    revoke = registry.revoke("1")
    registry.act(replace(revoke, audit=replace(revoke.audit, target_type="account")))
    assert [(each.target_type, each.target_id) for each in registry.last.audits] == [("account", "k1"), ("key", "k2")]


@pytest.mark.parametrize("scopes", [None, READ])
def test_a_key_that_exists_is_not_created_again(registry: Registry, scopes: tuple[Scope, ...] | None) -> None:
    issue = registry.issue("2", scopes=scopes)
    other = replace(issue, key=replace(issue.key, hash=b"other"))
    assert codes(registry.act(issue, other)) == [None, Code.IDEMPOTENCY_CONFLICT]
    registry.act(registry.revoke("2"))
    registry.act(*[registry.issue(str(number)) for number in range(3, 13)])
    kept = registry.keys["k2"]
    assert codes([registry.one(other)]) == [Code.IDEMPOTENCY_CONFLICT]
    assert registry.keys["k2"] == kept
    assert sum(record.target_id == "k2" and record.action == "key.issued" for record in registry.audits) == 1


def test_the_tenth_full_key_is_issued_and_the_eleventh_not(registry: Registry) -> None:
    answers = registry.act(*[registry.issue(str(number)) for number in range(2, 12)])
    assert codes(answers) == [None] * 9 + [Code.KEY_LIMIT]
    assert isinstance(answers[-1], Refused)
    assert answers[-1].message == "This account has 10 live full keys, the maximum. Revoke one first."
    assert "k11" not in registry.keys


def test_a_refused_key_is_not_audited(registry: Registry) -> None:
    registry.act(*[registry.issue(str(number)) for number in range(2, 12)])
    assert len(registry.audits) == 1 + 9


def test_the_twenty_fifth_scoped_key_is_issued_and_the_next_not(registry: Registry) -> None:
    answers = registry.act(*[registry.issue(str(number), scopes=READ) for number in range(2, 28)])
    assert codes(answers) == [None] * 25 + [Code.KEY_LIMIT]
    assert isinstance(answers[-1], Refused)
    assert answers[-1].message == "This account has 25 live scoped keys, the maximum. Revoke one first."


def test_scoped_and_full_keys_are_counted_apart(registry: Registry) -> None:
    registry.act(*[registry.issue(str(number), scopes=READ) for number in range(2, 27)])
    assert codes(registry.act(*[registry.issue(str(number)) for number in range(30, 39)])) == [None] * 9


def test_a_key_without_any_scope_is_a_scoped_key(registry: Registry) -> None:
    registry.act(*[registry.issue(str(number)) for number in range(2, 11)])
    assert codes(registry.act(registry.issue("20", scopes=()))) == [None]


def test_a_revoked_key_makes_room_within_the_batch_and_after(registry: Registry) -> None:
    registry.act(*[registry.issue(str(number)) for number in range(2, 11)])
    assert codes(registry.act(registry.revoke("5"), registry.issue("11"), registry.issue("12"))) == [
        None,
        None,
        Code.KEY_LIMIT,
    ]
    registry.act(registry.revoke("6"))
    assert codes(registry.act(registry.issue("13"))) == [None]


def test_accounts_are_counted_apart(registry: Registry) -> None:
    registry.act(*[registry.issue(str(number)) for number in range(2, 11)])
    assert codes(registry.act(registry.issue("20", BOB))) == [None]


# Revoking.


def test_a_revoked_key_is_dead_for_good(registry: Registry) -> None:
    registry.pass_ms(SECOND)
    answer = registry.one(registry.revoke("1"))
    assert registry.keys["k1"].revoked_ms == NOON + SECOND
    assert answer == KeySaved(registry.keys["k1"], changed=(b"1",), ended=("k1",))
    assert not is_live(registry.keys["k1"], registry.now_ms)


def test_a_revocation_is_announced_and_audited(registry: Registry) -> None:
    revoke = registry.revoke("1")
    registry.act(revoke)
    assert registry.last.touched_keys == [b"1"]
    assert registry.audits[-1] == revoke.audit


def test_revoking_again_keeps_the_first_time_and_is_not_audited(registry: Registry) -> None:
    first = registry.one(registry.revoke("1"))
    registry.pass_ms(MINUTE)
    assert isinstance(first, KeySaved)
    assert registry.one(registry.revoke("1")) == replace(first, ended=())
    assert [record.action for record in registry.audits] == ["key.claimed", "key.revoked"]


def test_revoking_twice_in_one_batch_is_revoking_once(registry: Registry) -> None:
    first, again = registry.act(registry.revoke("1"), registry.revoke("1"))
    assert isinstance(first, KeySaved)
    assert again == replace(first, ended=())
    assert registry.last.touched_keys == [b"1"]
    assert len(registry.last.audits) == 1


def test_an_unknown_key_cannot_be_revoked(registry: Registry) -> None:
    assert codes(registry.act(registry.revoke("9"))) == [Code.NOT_FOUND]


def test_a_key_can_be_issued_and_revoked_in_one_batch(registry: Registry) -> None:
    assert codes(registry.act(registry.issue("2"), registry.revoke("2"))) == [None, None]
    assert registry.keys["k2"].revoked_ms == NOON


def test_an_anonymous_key_can_be_revoked() -> None:
    registry = Registry()
    registry.act(registry.mint("1"))
    assert codes(registry.act(registry.revoke("1"))) == [None]


# Tiers.


@pytest.mark.parametrize("tier", [Tier.UPGRADED, Tier.CLAIMED])
def test_a_tier_is_set_and_unset(registry: Registry, tier: Tier) -> None:
    registry.act(registry.set_tier(Tier.UPGRADED))
    assert registry.one(registry.set_tier(tier)) == TierSet(registry.tenants["t1"])
    assert registry.tenants["t1"].tier is tier


def test_an_upgrade_leaves_the_counters(registry: Registry) -> None:
    registry.use("t1", 5)
    before = registry.tenants["t1"]
    registry.act(registry.set_tier(Tier.UPGRADED))
    assert registry.tenants["t1"] == replace(before, tier=Tier.UPGRADED)


def test_an_upgrade_is_announced_and_audited_with_its_tenant(registry: Registry) -> None:
    order = registry.set_tier(Tier.UPGRADED)
    registry.act(order)
    assert registry.last.touched_tenants == ["t1"]
    assert registry.audits[-1] == replace(order.audit, target_id="t1")


def test_a_tier_that_is_set_already_is_neither_announced_nor_audited(registry: Registry) -> None:
    registry.act(registry.set_tier(Tier.CLAIMED))
    assert (registry.last.touched_tenants, registry.last.audits) == ([], [])


def test_an_email_without_an_account_has_no_tier(registry: Registry) -> None:
    [answer] = registry.act(registry.set_tier(Tier.UPGRADED, BOB))
    assert answer == Refused(Code.NOT_FOUND, "There is no account with the email bob@example.org.")


def test_an_account_made_in_the_same_batch_can_be_upgraded() -> None:
    registry = Registry()
    registry.act(registry.issue("1"), registry.set_tier(Tier.UPGRADED))
    assert registry.tenants["t1"].tier is Tier.UPGRADED


def test_an_account_is_never_anonymous_again(registry: Registry) -> None:
    with pytest.raises(AssertionError, match="an account is claimed or upgraded"):
        registry.act(registry.set_tier(Tier.ANONYMOUS))


# Locked rows.


def test_a_batch_wants_its_rows_once_and_sorted() -> None:
    registry = Registry()
    rows = rows_to_lock(
        [
            registry.start("2"),
            registry.complete("3", BOB),
            registry.complete("1", ANN),
            registry.complete("2", ANN),
            registry.issue("8", "carl@example.org"),
            registry.set_tier(Tier.UPGRADED, BOB),
            registry.revoke("7"),
            registry.revoke("5"),
            registry.revoke("7"),
            registry.mint("9"),
        ]
    )
    emails, letters = (ANN, BOB, "carl@example.org"), tuple(sorted([*count_ids(ANN), count_ids(BOB)[0]]))
    tokens = (token("1"), token("2"), token("3"))
    assert rows == LockSet(tokens, ("k8",), emails, code_mail_ids=letters, families=("k5", "k7"), claimants=(ANN, BOB))


def test_minting_locks_nothing() -> None:
    assert rows_to_lock([Registry().mint("1")]) == LockSet((), (), ())


# Live keys.


def test_a_key_lives_until_it_expires() -> None:
    key = Registry().key("1", Kind.ANONYMOUS, expires_ms=NOON)
    assert is_live(key, NOON - 1)
    assert not is_live(key, NOON)


def test_living_keys_are_counted_by_tenant_and_by_scope() -> None:
    make = Registry().key
    full = make("1", Kind.USER)
    keys = [
        full,
        replace(full, id="k2", revoked_ms=NOON),
        replace(full, id="k3", expires_ms=NOON),
        replace(full, id="k4", scopes=READ),
        replace(full, id="k5", scopes=()),
        make("6", Kind.USER),
    ]
    assert count_live(keys, NOON) == {("t1", False): 1, ("t1", True): 2, ("t6", False): 1}
