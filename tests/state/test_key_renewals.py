"""The rules of renaming keys, moving their ends, rotating them, and of mails before they end."""

import json
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from actors.keys.issuing import END_NOTICE_MS
from actors.keys.messages import (
    Answer,
    ByAccount,
    ByKey,
    EditKey,
    EndNotice,
    EndNoticesSent,
    Key,
    KeySaved,
    Rotated,
    RotateKey,
    SendEndNotices,
)
from actors.keys.state import LockSet, rows_to_lock
from actors.keys.validity import is_live
from actors.shared.credentials import Kind
from actors.shared.notices import notice
from actors.values import Code, Refused, Scope
from tests.doubles.conditions import count_in_grace, count_live
from tests.slow import shortened
from tests.state.registry import ANN, BOB, DAY, HOUR, MINUTE, NOON, SESSION, Registry

READ = (Scope.LIBRARY_READ,)
MANAGE = (Scope.KEYS_MANAGE, Scope.LIBRARY_READ)
YEAR = 365 * DAY


def edit(registry: Registry, which: str, by: str | None = None, *, full: bool = True, **changes: object) -> EditKey:
    """By the key `by`, or by a session. `expires_ms` sets the end."""
    sets_end = "expires_ms" in changes
    audit = registry.audit("key.changed", f"k{which}")
    giver = ByAccount(SESSION) if by is None else ByKey(f"k{by}")
    return EditKey(f"k{which}", ANN, audit, giver, full, sets_end=sets_end, **changes)  # type: ignore[arg-type]


def rotate(
    registry: Registry, name: str, fresh: str, by: str | None = None, *, grace_ms: int = HOUR, full: bool = True
) -> RotateKey:
    keys = {kind: registry.key(fresh, kind) for kind in (Kind.USER, Kind.SCOPED)}
    told = notice(f"let_{fresh}", "new_key", ANN, registry.now_ms)
    records = registry.audit("key.rotated", f"k{name}"), registry.audit("key.issued", f"k{fresh}")
    giver = ByAccount(SESSION) if by is None else ByKey(f"k{by}")
    return RotateKey(f"k{name}", ANN, keys, grace_ms, *records, giver, full, told)


MOST_IN_GRACE = (
    "This account has {} keys that still work, the maximum. Revoke one of them first, or rotate with graceSeconds 0."
)


def code(answer: Answer) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


@pytest.fixture
def registry() -> Registry:
    """Ann's full key 1, without an end, granted key 2, which ends in a year and granted key 3. An operator issued key 5."""
    registry = Registry()
    registry.claim("1")
    registry.claim("9", BOB)
    manager = registry.issue("2", scopes=MANAGE, by="1")
    registry.act(
        replace(manager, key=replace(manager.key, expires_ms=NOON + YEAR)),
        registry.issue("3", scopes=READ, by="2"),
        registry.issue("5", scopes=MANAGE),
    )
    return registry


# Editing.


def test_a_name_and_an_end_change_with_one_record_of_before_and_after(registry: Registry) -> None:
    answer = registry.one(edit(registry, "5", name="Report", expires_ms=NOON + 30 * DAY))
    assert isinstance(answer, KeySaved)
    assert (answer.key.name, answer.key.expires_ms) == ("Report", NOON + 30 * DAY)
    assert registry.last.touched_keys == [b"5"] == list(answer.changed)
    assert json.loads(registry.audits[-1].changes) == {"name": [None, "Report"], "expiresAt": [None, NOON + 30 * DAY]}


def test_what_is_absent_stays_and_null_takes_the_end_away(registry: Registry) -> None:
    registry.act(edit(registry, "5", name="Report", expires_ms=NOON + DAY))
    registry.act(edit(registry, "5", name="Other"))
    assert (registry.keys["k5"].name, registry.keys["k5"].expires_ms) == ("Other", NOON + DAY)
    registry.act(edit(registry, "5", expires_ms=None))
    assert (registry.keys["k5"].name, registry.keys["k5"].expires_ms) == ("Other", None)


def test_an_edit_that_changes_nothing_leaves_no_record(registry: Registry) -> None:
    before = len(registry.audits)
    assert registry.one(edit(registry, "5", expires_ms=None)) == KeySaved(registry.keys["k5"])
    assert (len(registry.audits), registry.last.touched_keys) == (before, [])


def test_a_key_ends_no_later_than_its_granter(registry: Registry) -> None:
    for end_ms in (None, NOON + 2 * YEAR):
        registry.act(edit(registry, "3", expires_ms=end_ms))
        assert registry.keys["k3"].expires_ms == NOON + YEAR


def test_an_earlier_end_takes_granted_keys_along_with_a_record_each(registry: Registry) -> None:
    answer = registry.one(edit(registry, "1", expires_ms=NOON + HOUR))
    assert isinstance(answer, KeySaved)
    assert {registry.keys[name].expires_ms for name in ("k1", "k2", "k3")} == {NOON + HOUR}
    assert registry.keys["k5"].expires_ms is None
    assert set(answer.changed) == {b"1", b"2", b"3"}
    records = {each.target_id: json.loads(each.changes) for each in registry.audits if each.action == "key.changed"}
    assert records["k3"] == {"expiresAt": [NOON + YEAR, NOON + HOUR], "endsWith": "k1"}
    assert len({each.id for each in registry.audits if each.action == "key.changed"}) == 3
    registry.act(edit(registry, "1", expires_ms=None))
    assert registry.keys["k2"].expires_ms == NOON + HOUR, "a later end is given to each key by itself"


def test_granted_keys_that_end_no_later_stay_as_they_are(registry: Registry) -> None:
    registry.act(edit(registry, "3", expires_ms=NOON + MINUTE), edit(registry, "2", expires_ms=NOON + HOUR))
    answer = registry.one(edit(registry, "1", expires_ms=NOON + HOUR))
    assert isinstance(answer, KeySaved)
    assert answer.changed == (b"1",)
    assert registry.keys["k3"].expires_ms == NOON + MINUTE


@pytest.mark.parametrize(
    ("name", "by", "expected"),
    [
        ("2", "2", Code.FORBIDDEN),
        ("5", "2", Code.FORBIDDEN),
        ("2", "5", Code.FORBIDDEN),
        ("3", "2", None),
        ("2", "1", None),
    ],
)
def test_a_key_extends_only_what_it_granted(registry: Registry, name: str, by: str, expected: Code | None) -> None:
    registry.act(edit(registry, name, expires_ms=NOON + HOUR))
    assert code(registry.one(edit(registry, name, by, expires_ms=NOON + 2 * HOUR))) is expected
    assert code(registry.one(edit(registry, name, by, name="Other", expires_ms=NOON + MINUTE))) is None


def test_only_live_keys_of_the_account_can_be_edited_and_rotated(registry: Registry) -> None:
    registry.act(registry.revoke("5"), edit(registry, "3", expires_ms=NOON + HOUR))
    registry.pass_ms(HOUR)
    for name, expected in (
        ("5", Code.NOT_FOUND),
        ("3", Code.INVALID_STATE),
        ("9", Code.NOT_FOUND),
        ("x", Code.NOT_FOUND),
    ):
        assert code(registry.one(edit(registry, name, name="Other"))) is expected
        assert code(registry.one(rotate(registry, name, "6"))) is expected
    assert code(registry.one(edit(registry, "1", full=False, name="Other"))) is Code.NOT_FOUND
    assert code(registry.one(rotate(registry, "1", "6", full=False))) is Code.NOT_FOUND
    assert "k6" not in registry.keys


def test_who_has_ended_meanwhile_changes_nothing(registry: Registry) -> None:
    gone = ByAccount("ses_gone")
    assert code(registry.one(replace(edit(registry, "5", name="Other"), by=gone))) is Code.UNAUTHORIZED
    assert code(registry.one(replace(rotate(registry, "5", "6"), by=gone))) is Code.UNAUTHORIZED
    registry.act(registry.revoke("2"))
    assert code(registry.one(edit(registry, "5", "2", name="Other"))) is Code.INVALID_API_KEY
    assert code(registry.one(rotate(registry, "5", "6", "2"))) is Code.INVALID_API_KEY
    eve = replace(edit(registry, "5", name="Other"), email="eve@example.org")
    assert code(registry.one(eve)) is Code.UNAUTHORIZED


def test_all_keys_of_the_account_are_locked(registry: Registry) -> None:
    edited = LockSet((), ("k5",), (ANN,), (ANN,), owners=(ANN,), session_ids=(SESSION,))
    assert rows_to_lock([edit(registry, "5")]) == edited
    assert rows_to_lock([rotate(registry, "5", "6", "5")]) == LockSet((), ("k5", "k6"), (ANN,), (ANN,), owners=(ANN,))


# Rotating.


def test_a_rotated_key_is_replaced_by_one_like_it_and_works_until_its_grace_ends(registry: Registry) -> None:
    registry.act(edit(registry, "2", name="Manager"))
    answer = registry.one(rotate(registry, "2", "6"))
    assert isinstance(answer, Rotated)
    old, fresh = registry.keys["k2"], registry.keys["k6"]
    assert answer == Rotated(fresh, old, NOON + HOUR, (b"2", b"3"))
    same = (fresh.name, fresh.scopes, fresh.kind, fresh.tenant_id, fresh.granter_id, fresh.expires_ms, fresh.admin)
    assert same == ("Manager", MANAGE, Kind.SCOPED, "t1", "k1", NOON + YEAR, False)
    assert (old.successor_id, old.expires_ms, old.revoked_ms) == ("k6", NOON + HOUR, None)
    assert registry.keys["k3"].granter_id == "k6", "keys that it granted do not end with it"
    records = {each.action: json.loads(each.changes) for each in registry.audits[-2:]}
    assert records["key.rotated"] == {"successorId": "k6", "endsAt": NOON + HOUR, "movedKeys": ["k3"]}
    assert records["key.issued"]["replaces"] == "k2"
    facts = json.loads(registry.outbox[-1].facts)
    assert (facts["target"], facts["old"], facts["old_ends_ms"]) == ("k6", "cs_scoped_2", str(NOON + HOUR))


def test_without_grace_the_old_key_is_revoked_at_once(registry: Registry) -> None:
    answer = registry.one(rotate(registry, "1", "6", grace_ms=0))
    assert isinstance(answer, Rotated)
    assert (registry.keys["k1"].revoked_ms, answer.ends_ms) == (NOON, NOON)
    assert registry.keys["k6"].kind is Kind.USER, "nobody minted it"
    assert is_live(registry.keys["k2"], NOON)


def test_the_grace_ends_with_the_old_key_at_the_latest(registry: Registry) -> None:
    registry.act(edit(registry, "5", expires_ms=NOON + MINUTE))
    answer = registry.one(rotate(registry, "5", "6"))
    assert isinstance(answer, Rotated)
    assert (answer.ends_ms, registry.keys["k6"].expires_ms) == (NOON + MINUTE, NOON + MINUTE)


def test_a_key_is_rotated_and_edited_no_more_once_it_was_rotated(registry: Registry) -> None:
    registry.act(rotate(registry, "5", "6"))
    assert code(registry.one(rotate(registry, "5", "7"))) is Code.INVALID_STATE
    assert code(registry.one(edit(registry, "5", expires_ms=None))) is Code.INVALID_STATE
    assert code(registry.one(rotate(registry, "6", "7"))) is None
    assert code(registry.one(rotate(registry, "5", "7"))) is Code.IDEMPOTENCY_CONFLICT


@pytest.mark.parametrize(
    ("name", "by", "expected"),
    [("2", "2", None), ("3", "2", None), ("3", "1", None), ("5", "2", Code.FORBIDDEN), ("2", "3", Code.FORBIDDEN)],
)
def test_a_key_rotates_itself_and_what_it_granted(
    registry: Registry, name: str, by: str, expected: Code | None
) -> None:
    assert code(registry.one(rotate(registry, name, "6", by))) is expected


@pytest.mark.parametrize("grace_ms", [0, HOUR])
def test_a_key_that_rotated_itself_takes_its_successors_along_when_it_is_revoked(
    registry: Registry, grace_ms: int
) -> None:
    """A revocation ends every key that a leaked key was rotated into."""
    registry.act(rotate(registry, "2", "6", "2", grace_ms=grace_ms))
    registry.pass_ms(1)
    registry.act(rotate(registry, "6", "7", "6", grace_ms=grace_ms))
    registry.act(registry.issue("8", scopes=READ, by="7"))
    answer = registry.one(registry.revoke("6"))
    assert isinstance(answer, KeySaved)
    assert {"k7", "k8", "k3"} <= set(answer.ended)
    live = {name for name, key in registry.keys.items() if is_live(key, registry.now_ms)}
    assert live == {"k1", "k5", "k9"} | ({"k2"} if grace_ms else set())


def test_a_key_that_a_person_rotated_leaves_its_successor_alone(registry: Registry) -> None:
    registry.act(rotate(registry, "2", "6"))
    registry.act(registry.revoke("2"))
    assert is_live(registry.keys["k6"], NOON)
    assert is_live(registry.keys["k3"], NOON)


def test_at_the_limit_a_key_can_be_rotated_and_so_can_each_until_as_many_are_in_grace(registry: Registry) -> None:
    registry.rules = replace(registry.rules, scoped_keys_per_account=3)
    assert code(registry.one(registry.issue("8", scopes=READ))) is Code.KEY_LIMIT
    rotations = [rotate(registry, old, new) for old, new in (("2", "a"), ("3", "b"), ("5", "c"), ("c", "d"))]
    *rotated, refused = registry.act(*rotations)
    assert [code(each) for each in rotated] == [None, None, None]
    assert refused == Refused(Code.KEY_LIMIT, MOST_IN_GRACE.format("3 rotated scoped"))
    assert code(registry.one(rotate(registry, "c", "d", grace_ms=0))) is None
    registry.pass_ms(HOUR)
    assert code(registry.one(rotate(registry, "d", "e"))) is None


def test_full_keys_in_grace_have_a_limit_of_their_own(registry: Registry) -> None:
    registry.rules = replace(registry.rules, full_keys_per_account=1)
    _, refused = registry.act(rotate(registry, "1", "a"), rotate(registry, "a", "b"))
    assert refused == Refused(Code.KEY_LIMIT, MOST_IN_GRACE.format("1 rotated full"))
    assert registry.one(rotate(registry, "a", "b")) == refused, "in a later batch, too"


def test_a_key_of_a_program_is_rotated_by_a_person_only(registry: Registry) -> None:
    registry.keys["k2"] = replace(registry.keys["k2"], text_expires_ms=NOON + HOUR)
    words = "The refresh token of a program renews this key. Sign in to rotate it on the dashboard."
    assert registry.one(rotate(registry, "2", "6", "2")) == Refused(Code.FORBIDDEN, words, hint="/dashboard")
    assert code(registry.one(rotate(registry, "2", "6"))) is None


def test_administration_is_renewed_by_whom_may_grant_it(registry: Registry) -> None:
    registry.act(registry.grant_admin(ANN))
    registry.keys["k1"] = replace(registry.keys["k1"], admin=True)
    weak = ByAccount(SESSION, administers=False)
    assert code(registry.one(replace(rotate(registry, "1", "6"), by=weak))) is Code.FORBIDDEN
    registry.keys["k1"] = replace(registry.keys["k1"], expires_ms=NOON + HOUR)
    assert code(registry.one(replace(edit(registry, "1", expires_ms=None), by=weak))) is Code.FORBIDDEN
    assert code(registry.one(replace(edit(registry, "1", expires_ms=NOON + MINUTE), by=weak))) is None
    answer = registry.one(rotate(registry, "1", "6"))
    assert isinstance(answer, Rotated)
    assert answer.key.admin
    records = {each.action: json.loads(each.changes) for each in registry.audits[-2:]}
    assert records["key.issued"]["admin"] is True


# Mails before the end.


def tell(registry: Registry, *names: str, email: str = ANN) -> Answer:
    mails = [EndNotice(f"k{name}", email, notice(f"let_end_{name}", "key_ends", email, NOON)) for name in names]
    return registry.one(SendEndNotices(tuple(mails)))


def test_the_owner_is_mailed_once_for_each_end_and_again_after_it_was_moved(registry: Registry) -> None:
    registry.act(edit(registry, "5", name="Report", expires_ms=NOON + 30 * DAY))
    assert tell(registry, "5") == EndNoticesSent(())
    registry.pass_ms(23 * DAY)
    assert tell(registry, "5") == EndNoticesSent(("k5",))
    assert registry.outbox[-1].template == "key_ends"
    assert json.loads(registry.outbox[-1].facts) == {
        "label": "cs_scoped_5",
        "name": "Report",
        "expires_ms": str(NOON + 30 * DAY),
    }
    assert tell(registry, "5", "5") == EndNoticesSent(())
    registry.act(edit(registry, "5", expires_ms=NOON + 60 * DAY))
    registry.pass_ms(30 * DAY)
    assert tell(registry, "5", "5") == EndNoticesSent(("k5",))


def test_an_end_within_a_week_is_known_to_whoever_chose_it(registry: Registry) -> None:
    registry.act(edit(registry, "5", expires_ms=NOON + END_NOTICE_MS))
    assert registry.keys["k5"].end_notice_ms is None
    registry.act(edit(registry, "5", expires_ms=NOON + END_NOTICE_MS + 1))
    assert registry.keys["k5"].end_notice_ms == NOON + 1


def test_keys_that_were_rotated_revoked_or_claimed_by_nobody_are_not_told(registry: Registry) -> None:
    registry.act(*[registry.issue(name, scopes=READ) for name in ("6", "7", "8")])
    for name in ("6", "7", "8"):
        registry.act(edit(registry, name, expires_ms=NOON + 30 * DAY))
    registry.act(rotate(registry, "6", "a"), registry.revoke("7"))
    registry.pass_ms(23 * DAY)
    assert tell(registry, "6", "7", "a") == EndNoticesSent(("ka",))
    assert tell(registry, "8", email=BOB) == EndNoticesSent(()), "it is another's"
    registry.act(edit(registry, "5", expires_ms=registry.now_ms + 30 * DAY))
    registry.pass_ms(30 * DAY)
    assert tell(registry, "5") == EndNoticesSent(()), "it has ended, so the mail would be late"


# All of it together.


class Renewals(RuleBasedStateMachine):
    """Random edits and rotations of Ann's keys, by sessions and by keys, with time passing."""

    @initialize()
    def start(self) -> None:
        self.registry = Registry()
        self.registry.rules = replace(self.registry.rules, scoped_keys_per_account=6)
        self.registry.claim("1")
        self.made = 1
        self.past = dict[str, int]()

    def draw(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.registry.keys)))[1:]

    def giver(self, data: st.DataObject) -> str | None:
        return data.draw(st.one_of(st.none(), st.sampled_from(sorted(self.registry.keys)).map(lambda each: each[1:])))

    @rule(data=st.data())
    def issue(self, data: st.DataObject) -> None:
        self.made += 1
        by = self.giver(data) or "account"
        order = self.registry.issue(str(self.made), scopes=MANAGE, by=by)
        end_ms = data.draw(st.one_of(st.none(), st.integers(1, 20).map(lambda days: self.registry.now_ms + days * DAY)))
        self.registry.act(replace(order, key=replace(order.key, expires_ms=end_ms)))

    @rule(data=st.data(), days=st.one_of(st.none(), st.integers(1, 20)))
    def move(self, data: st.DataObject, days: int | None) -> None:
        end_ms = None if days is None else self.registry.now_ms + days * DAY
        self.registry.act(edit(self.registry, self.draw(data), self.giver(data), expires_ms=end_ms))

    @rule(data=st.data(), grace_days=st.sampled_from((0, 1, 7)))
    def rotate(self, data: st.DataObject, grace_days: int) -> None:
        self.made += 1
        name, by = self.draw(data), self.giver(data)
        before = self.registry.keys[f"k{name}"]
        answer = self.registry.one(rotate(self.registry, name, str(self.made), by, grace_ms=grace_days * DAY))
        if isinstance(answer, Rotated):
            assert answer.key.expires_ms == before.expires_ms
            assert answer.ends_ms <= self.registry.now_ms + grace_days * DAY
            assert is_live(answer.old, self.registry.now_ms) == (grace_days > 0)

    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        name = self.draw(data)
        self.registry.act(self.registry.revoke(name))
        for key in self.registry.keys.values():
            assert not is_live(key, self.registry.now_ms) or not self.reaches(f"k{name}", key)

    @rule(days=st.integers(1, 10))
    def wait(self, days: int) -> None:
        self.registry.pass_ms(days * DAY)

    def reaches(self, root: str, key: Key) -> bool:
        """Whether a key was granted by another, directly or through others, by the rows."""
        while key.granter_id is not None:
            if key.granter_id == root:
                return True
            key = self.registry.keys[key.granter_id]
        return False

    @invariant()
    def no_key_outlives_its_granter(self) -> None:
        for key in self.registry.keys.values():
            granter = self.registry.keys.get(key.granter_id or "")
            if granter is not None and is_live(key, self.registry.now_ms):
                assert granter.revoked_ms is None
                assert granter.expires_ms is None or (key.expires_ms or granter.expires_ms + 1) <= granter.expires_ms

    @invariant()
    def ended_keys_stay_ended(self) -> None:
        now_ms = self.registry.now_ms
        for name, key in self.registry.keys.items():
            if not is_live(key, now_ms):
                self.past.setdefault(name, now_ms)
            assert name not in self.past or not is_live(key, now_ms)

    @invariant()
    def an_account_has_no_more_keys_than_allowed(self) -> None:
        now_ms, keys = self.registry.now_ms, self.registry.keys.values()
        for counted in (count_live(keys, now_ms), count_in_grace(keys, now_ms)):
            assert counted.get(("t1", True), 0) <= 6
            assert counted.get(("t1", False), 0) <= self.registry.rules.full_keys_per_account

    @invariant()
    def a_successor_exists_and_a_mail_is_due_for_the_current_end_only(self) -> None:
        for key in self.registry.keys.values():
            assert key.successor_id is None or key.successor_id in self.registry.keys
            if key.end_notice_ms is not None:
                assert key.successor_id is None
                assert key.expires_ms == key.end_notice_ms + END_NOTICE_MS


Renewals.TestCase.settings = settings(
    max_examples=shortened(60), stateful_step_count=25, derandomize=True, database=None, deadline=None
)
TestRenewals = Renewals.TestCase
