"""The rules of signing in and of sessions, without a store: what each message changes, alone and within a batch."""

import json
from dataclasses import dataclass, field, replace

import pytest

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from actors.sessions.messages import (
    Answer,
    CompleteSignIn,
    EndSession,
    EndSessions,
    IssueLink,
    Message,
    Session,
    SessionSaved,
    SignIn,
    SignInLink,
    StartSignIn,
    Touch,
    UseLink,
)
from actors.sessions.second_factor import SecondFactorRows
from actors.sessions.state import Decision, LockSet, SessionRules, Snapshot, decide, rows_to_lock
from actors.shared.code_mails import CodeMailCount, CodeMailRules, Draft
from actors.shared.notices import notice
from actors.times import CLOCKS_DIFFER_MS
from actors.values import AcceptedTerms, Account, AuditRecord, Code, Done, OutboxMessage, Refused, Tenant, Tier
from tests.state.manners import well_said

NOON = 20_000 * DAY_MS + DAY_MS // 2
ANN, BOB = "ann@example.com", "bob@example.com"
RIGHT, LONG, WRONG = b"right", b"long", b"wrong"
HERS, THEIRS = b"her browser", b"their browser"


@dataclass
class Book:
    """All rows. `act` decides on exactly the rows that a batch locks, and applies the decision."""

    rules: SessionRules = field(default_factory=SessionRules)
    now_ms: int = NOON
    rows: Snapshot = field(default_factory=Snapshot)
    tenants: list[Tenant] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    outbox: int = 0
    mails: list[OutboxMessage] = field(default_factory=list)
    last: Decision = field(default_factory=Decision)

    def act(self, *messages: Message) -> list[Answer]:
        need, rows = rows_to_lock(messages), self.rows
        links = {each: rows.links[each] for each in need.link_hashes if each in rows.links}
        entering = {*need.entering, *(link.email for link in links.values())}
        found = Snapshot(
            {key: rows.sign_ins[key] for key in need.sign_ins if key in rows.sign_ins},
            {each: rows.letters[each] for each in need.code_mail_ids if each in rows.letters},
            links,
            {email: rows.accounts[email] for email in entering if email in rows.accounts},
            {
                each.id: each
                for each in rows.sessions.values()
                if each.id in need.session_ids
                or (each.email in entering and each.is_live(self.now_ms - CLOCKS_DIFFER_MS))
            },
            self._second_factor(need),
        )
        self.last = decision = decide(found, messages, self.now_ms, self.rules)
        rows.sign_ins |= decision.changed.sign_ins
        rows.letters |= decision.changed.letters
        rows.links |= decision.changed.links
        rows.accounts |= decision.changed.accounts
        rows.sessions |= decision.changed.sessions
        ours, theirs = rows.second_factor, decision.changed.second_factor
        ours.pending |= theirs.pending
        ours.challenges |= theirs.challenges
        ours.passkeys |= theirs.passkeys
        for passkey_id in theirs.removed:
            ours.passkeys.pop(passkey_id, None)
        self.tenants += decision.tenants
        self.audits += decision.audits
        self.outbox += len(decision.outbox)
        self.mails += [message for message in decision.outbox if message.facts != "{}"]
        well_said(decision.answers)
        return decision.answers

    def _second_factor(self, need: LockSet) -> SecondFactorRows:
        rows = self.rows.second_factor
        return SecondFactorRows(
            {
                each.id: each
                for each in rows.passkeys.values()
                if each.email in need.entering or each.credential_id in need.credential_ids
            },
            {holder: rows.challenges[holder] for holder in need.holders if holder in rows.challenges},
            {holder: rows.pending[holder] for holder in need.holders if holder in rows.pending},
        )

    def one(self, message: Message) -> Answer:
        [answer] = self.act(message)
        return answer

    def start(self, email: str = ANN, browser: bytes = HERS, network: str = "home") -> StartSignIn:
        message = OutboxMessage("let_1", email, "sign_in_code", b"nonce", self.now_ms, self.now_ms + 10 * MINUTE_MS)
        return StartSignIn(email, browser, Draft(message, RIGHT, LONG, *places(email, network)))

    def complete(
        self, name: str, email: str = ANN, proof: bytes = RIGHT, browser: bytes = HERS, network: str = "home"
    ) -> CompleteSignIn:
        session = Session(
            f"ses_{name}",
            name.encode(),
            email,
            "A browser",
            self.now_ms,
            self.now_ms,
            self.now_ms + self.rules.life_ms,
        )
        audit = self.audit(f"ses_{name}", "session.started")
        return CompleteSignIn(session, browser, proof, place(email, network), f"ten_{name}", audit)

    def end(self, name: str, email: str = ANN) -> EndSession:
        return EndSession(f"ses_{name}", email, self.audit(f"ses_{name}", "session.ended"))

    def audit(self, session_id: str, action: str) -> AuditRecord:
        return AuditRecord("aud_1", self.now_ms, "session", session_id, action, "session", session_id)

    def sign_in(self, name: str, email: str = ANN) -> Session:
        answers = self.act(self.start(email), self.complete(name, email))
        assert isinstance(answers[1], SessionSaved), answers
        self.now_ms += MINUTE_MS
        return answers[1].session


def places(email: str, network: str = "home") -> tuple[bytes, bytes, bytes]:
    """The rows that count a letter: those of its network, of its block, and of all."""
    return place(email, network), place(email, f"block of {network.partition('/')[0]}"), place(email)


def place(email: str, network: str = "") -> bytes:
    """The id of the row that counts letters to an email, from one network or from all."""
    return f"{email} {network}".encode()


def code_of(answer: Answer) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


def test_a_first_code_makes_a_row_for_the_browser_and_three_counts() -> None:
    book = Book()
    assert book.one(book.start()) == Done()
    ids = places(ANN)
    assert book.rows == Snapshot(
        {(ANN, HERS): SignIn(ANN, HERS, proof=RIGHT, code_expires_ms=NOON + 10 * MINUTE_MS)},
        {each: CodeMailCount(each, sent_ms=NOON, sent_day=20_000, sent_today=1) for each in ids},
    )


def test_a_right_code_begins_a_session_and_makes_an_account_once() -> None:
    book = Book()
    session = book.sign_in("1")
    assert book.rows.accounts == {ANN: Account(ANN, "ten_1", NOON)}
    assert book.tenants == [Tenant("ten_1", Tier.CLAIMED)]
    assert json.loads(book.audits[0].changes) == {"tenantId": [None, "ten_1"]}
    book.sign_in("2")
    assert book.rows.sessions["ses_1"] == session
    assert len(book.tenants) == 1
    assert json.loads(book.audits[1].changes) == {}


def test_a_code_is_used_up_by_any_clock() -> None:
    book = Book()
    book.sign_in("1")
    for now_ms in (NOON - DAY_MS, NOON, NOON + SECOND_MS):
        book.now_ms = now_ms
        assert code_of(book.one(book.complete("2"))) is Code.INVALID_CODE
    assert len(book.rows.sessions) == 1


def test_without_a_code_there_is_none_to_be_right() -> None:
    book = Book()
    assert code_of(book.one(book.complete("1"))) is Code.INVALID_CODE
    assert book.rows == Snapshot()


def test_attempts_are_counted_within_a_batch_and_a_spent_code_counts_no_more() -> None:
    book = Book()
    book.act(book.start(), *(book.complete(str(number), proof=WRONG) for number in range(5)))
    assert book.rows.sign_ins[ANN, HERS].attempts == 5
    assert code_of(book.one(book.complete("6"))) is Code.INVALID_CODE
    assert book.last.changed == Snapshot(), "nothing is written where nothing changes"


def test_two_right_codes_in_a_batch_begin_one_session() -> None:
    book = Book()
    answers = book.act(book.start(), book.complete("1"), book.complete("2"))
    assert [code_of(answer) for answer in answers] == [None, None, Code.INVALID_CODE]


def test_the_account_keeps_the_sessions_that_were_used_last() -> None:
    book = Book(SessionRules(per_account=2))
    for name in ("1", "2"):
        book.sign_in(name)
    book.rules = replace(book.rules, touch_ms=0)
    book.act(Touch("ses_1"))
    book.sign_in("3")
    live = {each.id for each in book.rows.sessions.values() if each.is_live(book.now_ms)}
    assert live == {"ses_1", "ses_3"}
    assert json.loads(book.audits[-1].changes) == {"ended": ["ses_2"]}


def test_a_session_of_another_account_makes_no_room() -> None:
    book = Book(SessionRules(per_account=1))
    book.sign_in("1")
    book.sign_in("2", BOB)
    assert all(each.is_live(book.now_ms) for each in book.rows.sessions.values())


def test_a_touch_within_the_hour_writes_nothing() -> None:
    book = Book()
    session = book.sign_in("1")
    book.now_ms = NOON + HOUR_MS - 1
    assert book.one(Touch("ses_1")) == SessionSaved(session)
    assert book.last.changed == Snapshot()
    book.now_ms += 1
    assert book.one(Touch("ses_1")) == SessionSaved(
        replace(session, seen_ms=book.now_ms, expires_ms=book.now_ms + book.rules.life_ms)
    )


def test_an_ended_session_stays_ended() -> None:
    book = Book()
    book.sign_in("1")
    first = book.one(book.end("1"))
    book.now_ms += HOUR_MS
    assert book.act(book.end("1"), book.end("1")) == [first, first]
    assert code_of(book.one(Touch("ses_1"))) is Code.UNAUTHORIZED
    assert [record.action for record in book.audits] == ["session.started", "session.ended"]


def test_ending_a_session_keeps_when_and_is_told_once_within_a_batch() -> None:
    book = Book()
    session = book.sign_in("1")
    ended = SessionSaved(replace(session, revoked_ms=book.now_ms, expires_ms=book.now_ms))
    assert book.act(book.end("1"), book.end("1")) == [ended, ended]
    assert [record.action for record in book.audits] == ["session.started", "session.ended"]


def test_only_its_own_account_ends_a_session() -> None:
    book = Book()
    book.sign_in("1")
    assert code_of(book.one(book.end("1", BOB))) is Code.NOT_FOUND
    assert code_of(book.one(book.end("unknown"))) is Code.NOT_FOUND
    assert code_of(book.one(Touch("ses_1"))) is None


def test_the_next_code_has_to_wait() -> None:
    book = Book(SessionRules(letters=CodeMailRules(pause_ms=MINUTE_MS)))
    book.act(book.start())
    book.now_ms += 59 * SECOND_MS
    assert code_of(book.one(book.start())) is Code.RATE_LIMITED
    book.now_ms += SECOND_MS
    assert book.one(book.start()) == Done()
    assert (book.outbox, book.rows.letters[place(ANN, "home")].sent_today) == (2, 2)


def test_who_had_the_codes_of_a_day_is_told_that_this_email_gets_no_more() -> None:
    book = Book(SessionRules(letters=CodeMailRules(per_network=2)))
    *_, answer = book.act(book.start(), book.start(), book.start())
    assert isinstance(answer, Refused)
    assert answer.message.startswith("No more codes can be sent to this email from your network today.")


def test_a_code_dies_with_its_last_millisecond() -> None:
    book = Book()
    book.act(book.start())
    book.now_ms += 10 * MINUTE_MS
    assert code_of(book.one(book.complete("1"))) is Code.INVALID_CODE
    book.now_ms -= 1
    assert isinstance(book.one(book.complete("1")), SessionSaved)


def test_two_sign_ins_of_one_batch_make_one_account() -> None:
    book = Book()
    answers = book.act(book.start(), book.complete("1"), book.start(), book.complete("2"))
    assert [code_of(answer) for answer in answers] == [None] * 4
    assert book.rows.accounts == {ANN: Account(ANN, "ten_1", NOON)}
    assert book.tenants == [Tenant("ten_1", Tier.CLAIMED)]


def test_what_else_a_batch_reads_makes_no_room_and_needs_none() -> None:
    book = Book(SessionRules(per_account=1))
    book.sign_in("1")
    book.act(book.end("1"))
    book.sign_in("2", BOB)
    ended = book.rows.sessions["ses_1"]
    book.act(Touch("ses_1"), Touch("ses_2"), book.start(), book.complete("3"))
    assert book.rows.sessions["ses_1"] == ended
    assert book.rows.sessions["ses_2"].is_live(book.now_ms)
    assert json.loads(book.audits[-1].changes) == {}


@pytest.mark.parametrize("everything", [False, True])
def test_a_session_that_is_ended_after_it_expired_is_over_where_a_clock_is_behind(*, everything: bool) -> None:
    book = Book()
    session = book.sign_in("1")
    book.now_ms = session.expires_ms
    book.one(EndSessions(ANN, None, book.audit(ANN, "sessions.ended")) if everything else book.end("1"))
    assert book.rows.sessions["ses_1"] == replace(session, revoked_ms=book.now_ms)
    book.now_ms = session.expires_ms - 1
    assert code_of(book.one(Touch("ses_1"))) is Code.UNAUTHORIZED


# Browsers, networks and links.


def test_strangers_neither_replace_a_code_nor_use_up_its_guesses() -> None:
    book = Book(SessionRules(letters=CodeMailRules(pause_ms=MINUTE_MS)))
    book.act(book.start())
    before = book.rows.sign_ins[ANN, HERS]
    strangers = [book.start(browser=THEIRS, network="elsewhere")]
    guesses = [book.complete(f"{n}", proof=WRONG, browser=browser) for n, browser in enumerate([THEIRS, b"none"] * 30)]
    book.act(*strangers, *guesses)
    assert book.rows.sign_ins[ANN, HERS] == before
    assert code_of(book.one(book.complete("thief", browser=b"none"))) is Code.INVALID_CODE, "not even the right code"
    assert isinstance(book.one(book.complete("ann")), SessionSaved)


def test_a_guess_without_a_code_writes_nothing() -> None:
    book = Book()
    book.one(book.complete("1", proof=WRONG, browser=THEIRS))
    assert book.last.changed == Snapshot()


def test_a_strangers_codes_neither_delay_nor_use_up_those_of_another_network() -> None:
    book = Book(SessionRules(letters=CodeMailRules(per_network=2, pause_ms=MINUTE_MS)))
    for _ in range(3):
        book.one(book.start(browser=THEIRS, network="elsewhere"))
        assert (code_of(book.one(book.start(browser=THEIRS, network="elsewhere")))) is Code.RATE_LIMITED
        book.now_ms += MINUTE_MS
    assert book.outbox == 2
    assert book.one(book.start()) == Done()


def test_beyond_the_total_a_new_network_gets_one_letter_and_a_known_one_all_of_its_own() -> None:
    book = Book(SessionRules(letters=CodeMailRules(per_network=5, per_mailbox=6, last_resort=8)))
    book.act(book.start(), book.complete("1"))
    book.act(*(book.start(browser=THEIRS, network="elsewhere") for _ in range(5)))
    assert book.outbox == 6
    asked = [("new", Done), ("new", Refused), ("elsewhere", Refused), ("home", Done), ("late", Refused)]
    for network, kind in asked:
        answer = book.one(book.start(browser=THEIRS, network=network))
        assert isinstance(answer, kind), (network, answer)
    assert isinstance(answer, Refused)
    assert answer.message.startswith("No more codes can be sent to this email from a network that is new to it today.")
    assert [book.one(book.start()) for _ in range(3)] == [Done()] * 3
    assert code_of(book.one(book.start())) is Code.RATE_LIMITED, "a known network has its own limit, too"


def test_the_daily_count_does_not_refuse_a_known_network_and_makes_its_codes_long() -> None:
    book = Book(SessionRules(letters=CodeMailRules(per_network=3, pause_ms=MINUTE_MS, per_mailbox=4, last_resort=6)))
    book.act(book.start(), book.complete("1"))
    templates = []
    for _ in range(5):
        assert code_of(book.one(book.start(browser=THEIRS))) is Code.RATE_LIMITED, "the pause holds"
        book.now_ms += MINUTE_MS
        assert book.one(book.start()) == Done()
        templates.append(book.last.outbox[0].template)
    assert templates == ["sign_in_code"] * 2 + ["sign_in_code_long"] * 3
    assert isinstance(book.one(book.complete("2", proof=LONG)), SessionSaved)
    book.now_ms += MINUTE_MS
    refused = book.one(book.start())
    assert isinstance(refused, Refused), "the daily limit of the mailbox holds"
    assert refused.message.startswith("No more codes can be sent to this email today.")


def test_a_network_is_known_for_a_while() -> None:
    book = Book(SessionRules(letters=CodeMailRules(per_mailbox=0, known_ms=DAY_MS)))
    book.act(book.start(network="home"))
    assert book.outbox == 1, "the first letter of a network passes"
    book.one(book.complete("1", network="train"))
    known = [(network, code_of(book.one(book.start(network=network)))) for network in ("home", "train", "train")]
    assert known == [("home", Code.RATE_LIMITED), ("train", None), ("train", None)]
    book.now_ms += DAY_MS
    assert [code_of(book.one(book.start(network="train"))) for _ in range(2)] == [None, Code.RATE_LIMITED]


def test_codes_get_longer_once_those_of_a_day_allow_many_guesses() -> None:
    book = Book(SessionRules(letters=CodeMailRules(short_codes=2)))
    book.act(book.start(), book.start())
    assert book.rows.sign_ins[ANN, HERS].proof == RIGHT
    book.act(book.start())
    assert book.last.outbox[0].template == "sign_in_code_long"
    assert code_of(book.one(book.complete("1"))) is Code.INVALID_CODE
    assert isinstance(book.one(book.complete("2", proof=LONG)), SessionSaved)


def link(book: Book, name: str = "1") -> IssueLink:
    made = SignInLink(f"token {name}".encode(), ANN, book.now_ms, book.now_ms + 10 * MINUTE_MS)
    return IssueLink(made, book.audit(ANN, "session.link_issued"))


def use(book: Book, name: str, token: bytes = b"token 1") -> UseLink:
    session = book.complete(name, email="").session
    return UseLink(token, session, f"ten_{name}", book.audit(session.id, "session.started_by_link"))


def test_a_link_signs_in_once_and_not_after_its_end() -> None:
    book = Book()
    answers = book.act(link(book), use(book, "1"), use(book, "2"), use(book, "3", b"another"))
    assert [type(answer) for answer in answers] == [Done, SessionSaved, Refused, Refused]
    assert [each.email for each in book.rows.sessions.values()] == [ANN]
    assert book.rows.accounts[ANN].tenant_id == "ten_1"
    assert [(each.action, each.actor_email) for each in book.audits] == [
        ("session.link_issued", None),
        ("session.started_by_link", ANN),
    ]
    book.act(link(book, "2"))
    book.now_ms += 10 * MINUTE_MS
    assert code_of(book.one(use(book, "4", b"token 2"))) is Code.INVALID_CODE


def test_a_session_from_a_link_makes_room_like_any_other() -> None:
    book = Book(SessionRules(per_account=1))
    book.sign_in("1")
    book.act(link(book))
    assert isinstance(book.one(use(book, "2")), SessionSaved)
    assert [each.id for each in book.rows.sessions.values() if each.is_live(book.now_ms)] == ["ses_2"]


def test_the_owner_of_the_account_is_mailed_of_a_session_from_a_link() -> None:
    """The request that opens a link names no email."""
    book = Book()
    letter = notice("let_1", "new_session", "", NOON)
    book.act(link(book), replace(use(book, "1"), notice=letter))
    assert [message.recipient for message in book.last.outbox] == [ANN]


def test_a_link_is_locked_by_its_token_when_it_is_made_and_used() -> None:
    book = Book()
    assert [rows_to_lock([message]).link_hashes for message in (link(book), use(book, "1"))] == [(b"token 1",)] * 2


# Terms.


def test_a_sign_in_accepts_the_terms_of_its_time() -> None:
    book = Book(SessionRules(terms_version="2026-11"))
    book.act(book.start(), book.complete("1", proof=WRONG))
    assert book.last.terms == []
    book.act(book.start(), book.complete("1"))
    [account] = book.rows.accounts.values()
    assert book.last.terms == [AcceptedTerms(account.tenant_id, "2026-11", NOON)]
    book.rules = SessionRules()
    book.act(book.start(), book.complete("2"))
    assert book.last.terms == [], "the service has no terms"
