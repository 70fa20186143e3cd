"""The rules of passkeys and of sign-ins that wait for one, without a store and without signatures."""

import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.sessions.messages import Answer, Message, Session, SessionSaved
from actors.sessions.passkeys import PasskeyRules, confirmed_until, not_available
from actors.sessions.second_factor import (
    Assertion,
    CancelSignIn,
    CeremonyStarted,
    Challenge,
    Confirm,
    FinishSignIn,
    Passkey,
    PasskeyNeeded,
    PasskeySaved,
    PasskeysRemoved,
    PendingSignIn,
    Purpose,
    Register,
    Remove,
    RemoveAll,
    Rename,
    StartCeremony,
)
from actors.sessions.state import SessionRules, rows_to_lock
from actors.times import DAY_MS, MINUTE_MS
from actors.values import AuditRecord, Code, Done, OutboxMessage, Refused
from tests.slow import shortened
from tests.state.test_sessions import ANN, BOB, Book, code_of

HASH, OTHER_HASH = b"hash" * 8, b"else" * 8


@dataclass
class Keyring(Book):
    """All rows, with passkeys."""

    made: int = 0
    rules: SessionRules = field(default_factory=lambda: SessionRules(passkeys=PasskeyRules(per_account=3)))

    def start_ceremony(self, holder: str, purpose: Purpose, email: str = ANN, hashed: bytes = HASH) -> StartCeremony:
        return StartCeremony(Challenge(holder, purpose, hashed, self.now_ms + 5 * MINUTE_MS), email)

    def passkey(self, name: str, email: str = ANN, count: int = 0) -> Passkey:
        return Passkey(f"psk_{name}", email, name.encode(), b"key", count, name, self.now_ms)

    def register(self, session: Session, passkey: Passkey, hashed: bytes = HASH) -> Register:
        audit = self.audited(session, "passkey.added", "passkey", passkey.id)
        return Register(session.id, hashed, passkey, audit, self.mail("passkey_added", session.email))

    def audited(self, session: Session, action: str, target_type: str, target: str) -> AuditRecord:
        return AuditRecord("aud_1", self.now_ms, "session", session.id, action, target_type, target, session.email)

    def mail(self, template: str, email: str) -> OutboxMessage:
        return OutboxMessage("let_2", email, template, b"", self.now_ms, self.now_ms + DAY_MS)

    def add(self, session: Session, name: str, count: int = 0) -> Passkey:
        started = self.start_ceremony(session.id, Purpose.REGISTER, session.email)
        passkey = self.passkey(name, session.email, count)
        answers = self.act(started, self.register(session, passkey))
        assert isinstance(answers[1], PasskeySaved), answers
        return answers[1].passkey

    def half(self, name: str, email: str = ANN) -> PendingSignIn:
        """A sign-in with the right code, which waits for a passkey."""
        answers = self.act(self.start(email), self.complete(name, email))
        assert isinstance(answers[1], PasskeyNeeded), answers
        self.now_ms += MINUTE_MS
        return answers[1].pending

    def finish(
        self, pending: PendingSignIn, passkey: Passkey, count: int = 1, hashed: bytes = HASH, email: str = ANN
    ) -> FinishSignIn:
        audit = self.audit(pending.id, "session.started")
        return FinishSignIn(pending.id, email, b"token", Assertion(hashed, passkey.credential_id, count), audit)

    def confirm(self, session: Session, passkey: Passkey, count: int = 1, hashed: bytes = HASH) -> Confirm:
        assertion = Assertion(hashed, passkey.credential_id, count)
        return Confirm(session.id, session.email, assertion, self.audit(session.id, "session.confirmed"))

    def remove(self, session: Session, passkey_id: str, email: str | None = None) -> Remove:
        audit = self.audited(session, "passkey.removed", "passkey", passkey_id)
        email = email or session.email
        return Remove(passkey_id, session.id, email, audit, self.mail("passkey_removed", email))

    def remove_all(self, email: str = ANN) -> RemoveAll:
        audit = AuditRecord("aud_1", self.now_ms, "cli", "uid 0", "account.passkeys_removed", "account", email)
        return RemoveAll(email, audit, self.mail("passkey_removed", email))

    def now(self, session: Session) -> Session:
        return self.rows.sessions[session.id]


def holder() -> tuple[Keyring, Session, Passkey]:
    """Ann with a session and a passkey."""
    book = Keyring()
    session = book.sign_in("1")
    return book, session, book.add(session, "laptop")


# Sign-in.


def test_the_right_code_of_an_account_with_a_passkey_begins_no_session() -> None:
    book, _, _ = holder()
    before = dict(book.rows.sessions)
    pending = book.half("2")
    assert book.rows.sessions == before
    assert (pending.email, pending.id) == (ANN, "ses_2")
    assert pending.expires_ms - pending.created_ms == 10 * MINUTE_MS
    assert book.audits[-1].action == "session.awaits_passkey"


def test_a_wrong_code_of_such_an_account_is_a_wrong_code() -> None:
    book, _, _ = holder()
    answers = book.act(book.start(), book.complete("2", proof=b"wrong"))
    assert code_of(answers[1]) is Code.INVALID_CODE
    assert book.rows.second_factor.pending == {}


def test_a_passkey_turns_the_pending_sign_in_into_a_session() -> None:
    book, _, passkey = holder()
    pending = book.half("2")
    answers = book.act(book.start_ceremony(pending.id, Purpose.SIGN_IN), book.finish(pending, passkey))
    assert answers[0] == CeremonyStarted((passkey,))
    now = book.now_ms
    session = Session(pending.id, b"token", ANN, "A browser", now, now, now + book.rules.life_ms, None, now)
    assert answers[1] == SessionSaved(session)
    assert book.rows.second_factor.passkeys[passkey.id] == replace(passkey, sign_count=1, used_ms=now)
    assert not book.rows.second_factor.pending[pending.id].is_live(now)
    assert book.audits[-1].action == "session.started"


def test_a_pending_sign_in_makes_no_room_and_its_session_does() -> None:
    """Otherwise whoever reads the mail could end the sessions of the owner."""
    book, first, passkey = holder()
    book.rules = replace(book.rules, per_account=1)
    pending = book.half("2")
    assert book.now(first).revoked_ms is None
    book.act(book.start_ceremony(pending.id, Purpose.SIGN_IN), book.finish(pending, passkey))
    assert book.now(first).revoked_ms is not None
    assert json.loads(book.audits[-1].changes) == {"ended": [first.id]}


@pytest.mark.parametrize("end", ["time", "cancel", "finish"])
def test_a_pending_sign_in_that_has_ended_stays_so(end: str) -> None:
    book, _, passkey = holder()
    pending = book.half("2")
    book.one(book.start_ceremony(pending.id, Purpose.SIGN_IN))
    if end == "time":
        book.now_ms = pending.expires_ms
    elif end == "cancel":
        assert book.one(CancelSignIn(pending.id)) == Done()
        assert book.one(CancelSignIn(pending.id)) == Done()
    else:
        assert isinstance(book.one(book.finish(pending, passkey)), SessionSaved)
    before = dict(book.rows.sessions)
    started, finished = book.act(
        book.start_ceremony(pending.id, Purpose.SIGN_IN), book.finish(pending, passkey, count=2)
    )
    assert (code_of(started), code_of(finished)) == (Code.UNAUTHORIZED, Code.UNAUTHORIZED)
    assert book.rows.sessions == before


def test_cancelling_what_is_not_there_changes_nothing() -> None:
    book = Keyring()
    assert book.one(CancelSignIn("ses_9")) == Done()
    assert book.rows.second_factor.pending == {}


def test_a_pending_sign_in_belongs_to_its_account() -> None:
    book, _, passkey = holder()
    pending = book.half("2")
    started = book.one(book.start_ceremony(pending.id, Purpose.SIGN_IN, BOB))
    assert code_of(started) is Code.UNAUTHORIZED
    book.one(book.start_ceremony(pending.id, Purpose.SIGN_IN))
    assert code_of(book.one(book.finish(pending, passkey, email=BOB))) is Code.UNAUTHORIZED


def test_without_passkeys_a_pending_sign_in_is_of_no_use() -> None:
    """An operator removed them meanwhile: the next code signs in."""
    book, _, _ = holder()
    pending = book.half("2")
    book.one(book.remove_all())
    assert code_of(book.one(book.start_ceremony(pending.id, Purpose.SIGN_IN))) is Code.UNAUTHORIZED


# Challenges and counters.


@pytest.mark.parametrize("wrong", ["hash", "time", "purpose", "missing", "credential", "account"])
def test_an_assertion_counts_only_for_its_challenge_in_time_by_a_passkey_of_the_account(wrong: str) -> None:
    book, _, passkey = holder()
    others = book.add(book.sign_in("bob", BOB), "phone")
    pending = book.half("2")
    finish = book.finish(pending, passkey)
    if wrong != "missing":
        purpose = Purpose.CONFIRM if wrong == "purpose" else Purpose.SIGN_IN
        challenge = Challenge(pending.id, purpose, HASH, book.now_ms + MINUTE_MS)
        book.rows.second_factor.challenges[pending.id] = challenge
    match wrong:
        case "hash":
            finish = book.finish(pending, passkey, hashed=OTHER_HASH)
        case "time":
            book.now_ms += MINUTE_MS
        case "credential":
            finish = book.finish(pending, replace(passkey, credential_id=b"unknown"))
        case "account":
            finish = book.finish(pending, others)
    assert code_of(book.one(finish)) is Code.INVALID_PASSKEY
    assert pending.id not in book.rows.sessions


def test_a_challenge_is_used_up_by_whatever_follows() -> None:
    book, _, passkey = holder()
    pending = book.half("2")
    book.one(book.start_ceremony(pending.id, Purpose.SIGN_IN))
    unknown = replace(passkey, credential_id=b"unknown")
    first, second = book.act(book.finish(pending, unknown), book.finish(pending, passkey))
    assert (code_of(first), code_of(second)) == (Code.INVALID_PASSKEY, Code.INVALID_PASSKEY)


@pytest.mark.parametrize(
    ("stored", "sent", "counts"),
    [(0, 0, True), (0, 1, True), (5, 6, True), (5, 99, True), (5, 5, False), (5, 4, False), (5, 0, False)],
)
def test_a_counter_grows_or_there_is_none(stored: int, sent: int, counts: bool) -> None:
    book = Keyring()
    session = book.sign_in("1")
    passkey = book.add(session, "laptop", stored)
    book.one(book.start_ceremony(session.id, Purpose.CONFIRM))
    answer = book.one(book.confirm(session, passkey, sent))
    assert isinstance(answer, SessionSaved) == counts
    record = book.audits[-1]
    if counts:
        assert (record.action, record.target_type) == ("session.confirmed", "session")
        assert book.rows.second_factor.passkeys[passkey.id].sign_count == sent
    else:
        assert code_of(answer) is Code.INVALID_PASSKEY
        assert (record.action, record.target_type, record.target_id) == ("passkey.refused", "passkey", passkey.id)
        assert json.loads(record.changes) == {"signCount": [stored, sent]}
        assert book.rows.second_factor.passkeys[passkey.id] == passkey


# Adding.


def test_a_registration_adds_the_passkey_and_counts_as_showing_it() -> None:
    book = Keyring()
    session = book.sign_in("1")
    passkey = book.add(session, "laptop")
    assert book.rows.second_factor.passkeys == {passkey.id: passkey}
    assert book.now(session).passkey_ms == book.now_ms
    assert json.loads(book.audits[-1].changes) == {"name": "laptop"}
    [mail] = book.mails
    assert (mail.recipient, mail.template, json.loads(mail.facts)) == (ANN, "passkey_added", {"name": "laptop"})


def test_the_first_passkey_needs_a_session_of_less_than_ten_minutes() -> None:
    book = Keyring()
    session = book.sign_in("1")
    book.now_ms = session.created_ms + 10 * MINUTE_MS - 1
    assert isinstance(book.one(book.start_ceremony(session.id, Purpose.REGISTER)), CeremonyStarted)
    book.now_ms += 1
    refused = book.one(book.start_ceremony(session.id, Purpose.REGISTER))
    assert isinstance(refused, Refused)
    words = "This session is too old to add a passkey. Sign out, sign in again, and add it then."
    assert refused == Refused(Code.FORBIDDEN, words)
    assert code_of(book.one(book.register(session, book.passkey("laptop")))) is Code.FORBIDDEN
    assert book.mails == []


def test_the_next_passkey_needs_a_session_that_has_shown_one_however_old() -> None:
    book = Keyring()
    bystander, session = book.sign_in("1"), book.sign_in("2")
    passkey = book.add(session, "laptop")
    refused = book.one(book.start_ceremony(bystander.id, Purpose.REGISTER))
    assert isinstance(refused, Refused)
    assert (refused.code, "Confirm" in refused.message) == (Code.FORBIDDEN, True)
    book.act(book.start_ceremony(bystander.id, Purpose.CONFIRM), book.confirm(bystander, passkey))
    book.now_ms += 20 * DAY_MS
    book.add(bystander, "phone")


def test_a_registration_needs_its_challenge() -> None:
    book = Keyring()
    session = book.sign_in("1")
    assert code_of(book.one(book.register(session, book.passkey("laptop")))) is Code.INVALID_PASSKEY
    book.one(book.start_ceremony(session.id, Purpose.REGISTER))
    wrong = book.register(session, book.passkey("laptop"), OTHER_HASH)
    right = book.register(session, book.passkey("laptop"))
    answers = book.act(wrong, right, book.register(session, book.passkey("phone")))
    assert code_of(answers[0]) is Code.INVALID_PASSKEY
    assert isinstance(answers[1], PasskeySaved)
    assert code_of(answers[2]) is Code.INVALID_PASSKEY


def test_a_credential_is_registered_once() -> None:
    book, session, passkey = holder()
    for owner in (session, book.sign_in("bob", BOB)):
        book.one(book.start_ceremony(owner.id, Purpose.REGISTER, owner.email))
        again = replace(passkey, id="psk_other", email=owner.email)
        assert code_of(book.one(book.register(owner, again))) is Code.INVALID_STATE
    book.act(book.remove(session, passkey.id), book.start_ceremony(session.id, Purpose.REGISTER))
    book.add(book.sign_in("3"), "laptop")


def test_the_limit_of_passkeys_holds_within_a_batch_and_over_batches() -> None:
    book, session, _ = holder()
    book.add(session, "phone")
    several = [
        message
        for name in ("tablet", "watch")
        for message in (
            book.start_ceremony(session.id, Purpose.REGISTER),
            book.register(session, book.passkey(name)),
        )
    ]
    answers = book.act(*several)
    assert [code_of(answer) for answer in answers] == [None, None, Code.PASSKEY_LIMIT, Code.PASSKEY_LIMIT]
    assert len(book.rows.second_factor.passkeys) == 3


@pytest.mark.parametrize("purpose", [Purpose.REGISTER, Purpose.CONFIRM])
def test_a_session_that_has_ended_does_nothing(purpose: Purpose) -> None:
    book, session, passkey = holder()
    book.act(book.start_ceremony(session.id, purpose), book.end("1"))
    messages = (
        book.start_ceremony(session.id, purpose),
        book.register(session, book.passkey("phone")),
        book.confirm(session, passkey),
        book.remove(session, passkey.id),
    )
    for message in messages:
        assert code_of(book.one(message)) is Code.UNAUTHORIZED


def test_confirming_needs_a_passkey_to_confirm_with() -> None:
    book = Keyring()
    session = book.sign_in("1")
    assert code_of(book.one(book.start_ceremony(session.id, Purpose.CONFIRM))) is Code.INVALID_STATE


# Renaming and removing.


def test_a_new_name_is_kept_and_recorded_once() -> None:
    book, session, passkey = holder()
    rename = Rename(passkey.id, ANN, "desk", book.audited(session, "passkey.renamed", "passkey", passkey.id))
    before = len(book.audits)
    for _ in range(2):
        assert book.one(rename) == PasskeySaved(replace(passkey, name="desk"))
    assert [json.loads(each.changes) for each in book.audits[before:]] == [{"name": ["laptop", "desk"]}]
    assert code_of(book.one(replace(rename, email=BOB))) is Code.NOT_FOUND


def test_a_passkey_is_removed_within_ten_minutes_of_showing_one() -> None:
    book, session, passkey = holder()
    book.add(session, "phone")
    book.now_ms += 10 * MINUTE_MS - 1
    assert book.one(book.remove(session, passkey.id)) == PasskeysRemoved((passkey,))
    assert list(book.rows.second_factor.passkeys) == ["psk_phone"]
    assert (book.mails[-1].template, json.loads(book.mails[-1].facts)) == ("passkey_removed", {"name": "laptop"})
    book.now_ms += 1
    assert code_of(book.one(book.remove(session, "psk_phone"))) is Code.FORBIDDEN
    assert code_of(book.one(book.remove(session, passkey.id))) is Code.NOT_FOUND
    bob = book.sign_in("bob", BOB)
    assert code_of(book.one(book.remove(bob, "psk_phone"))) is Code.NOT_FOUND


def test_without_the_last_passkey_no_session_counts_as_having_shown_one() -> None:
    book, session, passkey = holder()
    pending = book.half("2")
    book.act(book.start_ceremony(pending.id, Purpose.SIGN_IN), book.finish(pending, passkey))
    book.add(session, "phone")
    book.one(book.remove(session, passkey.id))
    assert all(each.passkey_ms is not None for each in book.rows.sessions.values())
    book.one(book.remove(session, "psk_phone"))
    assert all(each.passkey_ms is None for each in book.rows.sessions.values())
    assert isinstance(book.sign_in("3"), Session)


def test_an_operator_removes_all_with_one_record_and_one_mail() -> None:
    book, session, _ = holder()
    book.add(session, "phone")
    audits, mails = len(book.audits), len(book.mails)
    answer = book.one(book.remove_all())
    assert isinstance(answer, PasskeysRemoved)
    assert [each.name for each in answer.passkeys] == ["laptop", "phone"]
    assert book.rows.second_factor.passkeys == {}
    assert book.now(session).passkey_ms is None
    [record], [mail] = book.audits[audits:], book.mails[mails:]
    assert (record.action, json.loads(record.changes)) == ("account.passkeys_removed", {"name": "laptop, phone"})
    assert json.loads(mail.facts) == {"name": "laptop, phone"}
    assert book.one(book.remove_all()) == PasskeysRemoved(())
    assert len(book.audits) == audits + 1


def test_rows_are_locked_in_order() -> None:
    book = Keyring()
    session = Session("ses_1", b"", ANN, "", 0, 0, 1)
    messages: list[Message] = [
        book.start_ceremony("ses_2", Purpose.SIGN_IN, BOB),
        book.register(session, book.passkey("b")),
        book.register(session, book.passkey("a")),
        CancelSignIn("ses_3"),
    ]
    locks = rows_to_lock(messages)
    assert locks.entering == (ANN, BOB)
    assert locks.holders == ("ses_1", "ses_2", "ses_3")
    assert locks.credential_ids == (b"a", b"b")


# Any order of messages.


class Machine(RuleBasedStateMachine):
    """Two accounts, in any order of messages."""

    def __init__(self) -> None:
        super().__init__()
        self.book = Keyring()
        self.sessions = {email: self.book.sign_in(f"first {email}", email) for email in (ANN, BOB)}
        self.used: set[bytes] = set()
        self.number = 0

    @rule(minutes=st.integers(1, 12))
    def wait(self, minutes: int) -> None:
        self.book.now_ms += minutes * MINUTE_MS

    @rule(email=st.sampled_from((ANN, BOB)), name=st.sampled_from("abcd"), stale=st.booleans())
    def register(self, email: str, name: str, stale: bool) -> None:
        book, session = self.book, self.sessions[email]
        before = dict(book.rows.second_factor.passkeys)
        started = None if stale else book.one(book.start_ceremony(session.id, Purpose.REGISTER, email))
        passkey = replace(book.passkey(name, email), id=f"psk_{email}_{name}")
        answer = book.one(book.register(session, passkey))
        if isinstance(answer, PasskeySaved):
            assert isinstance(started, CeremonyStarted)
            assert all(each.credential_id != passkey.credential_id for each in before.values())

    @rule(email=st.sampled_from((ANN, BOB)), whose=st.sampled_from((ANN, BOB)), name=st.sampled_from("abcd"))
    def sign_in(self, email: str, whose: str, name: str) -> None:
        book = self.book
        self.number += 1
        answers: list[Answer] = book.act(book.start(email), book.complete(str(self.number), email))
        book.now_ms += MINUTE_MS
        own = {each.id: each for each in book.rows.second_factor.passkeys.values() if each.email == email}
        answer = answers[1]
        if isinstance(answer, SessionSaved):
            assert not own
            self.sessions[email] = answer.session
        if not isinstance(answer, PasskeyNeeded):
            return
        assert own
        pending, passkey = answer.pending, replace(book.passkey(name, whose), id=f"psk_{whose}_{name}")
        kept = book.rows.second_factor.passkeys.get(passkey.id)
        book.one(book.start_ceremony(pending.id, Purpose.SIGN_IN, email))
        count = 1 if kept is None else kept.sign_count + 1
        finish = book.finish(pending, passkey, count, email=email)
        finished = book.one(finish)
        known = any(each.credential_id == passkey.credential_id for each in own.values())
        assert isinstance(finished, SessionSaved) == (known and self._counts(own, finish))
        if isinstance(finished, SessionSaved):
            self.sessions[email] = finished.session
            assert not isinstance(book.one(finish), SessionSaved)

    def _counts(self, own: dict[str, Passkey], finish: FinishSignIn) -> bool:
        [stored] = [each for each in own.values() if each.credential_id == finish.assertion.credential_id]
        return finish.assertion.sign_count > stored.sign_count

    @rule(email=st.sampled_from((ANN, BOB)), name=st.sampled_from("abcd"))
    def remove(self, email: str, name: str) -> None:
        book, session = self.book, self.sessions[email]
        shown_ms = book.now(session).passkey_ms
        answer = book.one(book.remove(session, f"psk_{email}_{name}"))
        if isinstance(answer, PasskeysRemoved):
            assert shown_ms is not None
            assert book.now_ms - shown_ms < book.rules.passkeys.fresh_ms

    @rule(email=st.sampled_from((ANN, BOB)))
    def remove_all(self, email: str) -> None:
        self.book.one(self.book.remove_all(email))

    @invariant()
    def the_passkeys_of_an_account_stay_few(self) -> None:
        passkeys = self.book.rows.second_factor.passkeys.values()
        for email in (ANN, BOB):
            assert len([each for each in passkeys if each.email == email]) <= self.book.rules.passkeys.per_account
        assert len({each.credential_id for each in passkeys}) == len(passkeys)

    @invariant()
    def only_accounts_with_a_passkey_have_sessions_that_have_shown_one(self) -> None:
        owners = {each.email for each in self.book.rows.second_factor.passkeys.values()}
        for session in self.book.rows.sessions.values():
            if session.is_live(self.book.now_ms) and session.passkey_ms is not None:
                assert session.email in owners


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=shortened(100), stateful_step_count=30, derandomize=True, database=None, deadline=None
)


def test_a_session_that_has_shown_no_passkey_is_not_confirmed() -> None:
    book = Keyring()
    assert confirmed_until(book.sign_in("1"), book.rules.passkeys) == 0


def test_without_a_name_that_passkeys_can_have_none_is_offered() -> None:
    """At an address such as http://203.0.113.1."""
    words = "Passkeys need a host name with https, or http://localhost: browsers offer none at this address."
    assert not_available() == Refused(Code.INVALID_STATE, words)
