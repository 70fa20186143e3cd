"""The contract of the session store, over Postgres and in memory: sign-ins, sessions and pruning."""

from dataclasses import replace
from typing import Any

import pytest

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.keys.messages import GrantAdmin
from actors.keys.state import Decision as KeyDecision
from actors.keys.state import KeyRules
from actors.keys.state import decide as decide_keys
from actors.keys.state import rows_to_lock as wanted_keys
from actors.retention.store import Rows
from actors.sessions.messages import (
    Answer,
    CompleteSignIn,
    EndSession,
    EndSessions,
    IssueLink,
    Message,
    Session,
    SessionSaved,
    SessionsEnded,
    SignedIn,
    SignInLink,
    StartSignIn,
    Touch,
    UseLink,
)
from actors.sessions.state import SessionRules, decide, rows_to_lock
from actors.shared.code_mails import CodeMailRules, Draft
from actors.shared.codes import CodeRules
from actors.shared.credentials import digest
from actors.times import CLOCKS_DIFFER_MS
from actors.values import (
    AcceptedTerms,
    Account,
    AuditRecord,
    BatchId,
    Code,
    Contended,
    Done,
    OutboxMessage,
    Refused,
    Tier,
)
from storage.connection.pool import Database
from storage.postgres.mail import PostgresOutbox
from tests.doubles.mail import MemoryOutbox
from tests.doubles.tables import Memory
from tests.fakes import now, together
from tests.stores.conftest import Stores, stores_over

NOW = 1_790_000_000_000
RULES = SessionRules(per_account=3, letters=CodeMailRules(pause_ms=MINUTE_MS))
ANN, BOB = "ann@example.com", "bob@example.com"
RIGHT, WRONG = b"right", b"wrong"
HERS, THEIRS = digest("her browser"), digest("their browser")


def session(number: int, email: str = ANN, **changes: Any) -> Session:
    made = Session(f"ses_{number}", number.to_bytes(32), email, "A browser", NOW, NOW, NOW + 30 * DAY_MS)
    return replace(made, **changes)


def audit(number: int, action: str = "session.started") -> AuditRecord:
    return AuditRecord(f"aud_{number}", NOW, "session", f"ses_{number}", action, "session", f"ses_{number}", ANN)


def count_id(*parts: str) -> bytes:
    return digest(" ".join(parts))


def start(number: int, email: str = ANN, browser: bytes = HERS, network: str = "home") -> StartSignIn:
    message = OutboxMessage(f"let_{number}", email, "sign_in_code", b"n" * 16, NOW, NOW + 600_000)
    ids = count_id(email, network), count_id(email, network, "block"), count_id(email)
    return StartSignIn(email, browser, Draft(message, RIGHT, b"long", *ids))


def complete(
    number: int, email: str = ANN, proof: bytes = RIGHT, browser: bytes = HERS, network: str = "home"
) -> CompleteSignIn:
    place = count_id(email, network)
    return CompleteSignIn(session(number, email), browser, proof, place, f"ten_{number}", audit(number))


def issue(number: int, email: str = ANN) -> IssueLink:
    return IssueLink(
        SignInLink(count_id("link", str(number)), email, NOW, NOW + 600_000), audit(200 + number, "issued")
    )


def use(number: int, link: int) -> UseLink:
    return UseLink(count_id("link", str(link)), session(number, ""), f"ten_{number}", audit(number))


class Desk:
    """Sends messages through a store like an actor: one batch id per call, and retries when contended."""

    def __init__(self, stores: Stores, owner: str = "node/sessions") -> None:
        self.stores = stores
        self.owner = owner
        self.batches = 0
        self.contended = 0

    async def act(
        self, *messages: Message, now_ms: int = NOW, batch_id: BatchId | None = None, rules: SessionRules = RULES
    ) -> list[Answer]:
        self.batches += 1
        batch_id = batch_id or BatchId(self.owner, self.batches)
        while True:
            try:
                decision = await self.stores.sessions.transact(
                    batch_id, rows_to_lock(messages), lambda snapshot: decide(snapshot, messages, now_ms, rules), now_ms
                )
            except Contended:
                self.contended += 1
                assert self.contended < 100
            else:
                return decision.answers

    async def one(self, message: Message, now_ms: int = NOW) -> Answer:
        [answer] = await self.act(message, now_ms=now_ms)
        return answer

    async def sign_in(self, number: int, email: str = ANN, now_ms: int = NOW) -> Session:
        assert await self.one(start(number, email), now_ms) == Done()
        answer = await self.one(complete(number, email), now_ms)
        assert isinstance(answer, SessionSaved), answer
        return answer.session


@pytest.fixture
def desk(stores: Stores) -> Desk:
    return Desk(stores)


def code_of(answer: Answer) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


async def test_a_session_is_resolved_with_its_accounts_tenant(desk: Desk) -> None:
    begun = await desk.sign_in(1)
    found = await desk.stores.sessions.resolve([begun.token_hash, b"x" * 32])
    assert found == {begun.token_hash: SignedIn(session(1), "ten_1", Tier.CLAIMED)}
    assert await desk.stores.sessions.of_email(ANN, NOW) == [session(1)]
    assert await desk.stores.sessions.of_email(BOB, NOW) == []


async def test_an_administrators_session_says_so(desk: Desk) -> None:
    await desk.sign_in(1)
    grant = GrantAdmin(ANN, audit(7))
    await desk.stores.keys.transact(
        BatchId("node/keys", 1), wanted_keys([grant]), lambda found: decide_keys(found, [grant], NOW, KeyRules()), NOW
    )
    found = await desk.stores.sessions.resolve([session(1).token_hash])
    assert found[session(1).token_hash].admin


async def test_letters_and_audits_are_kept_with_what_they_are_about(desk: Desk) -> None:
    await desk.sign_in(1)
    below = desk.stores.below
    outbox = MemoryOutbox(below) if isinstance(below, Memory) else PostgresOutbox(below)
    assert [letter.template for letter in await outbox.recent(5)] == ["sign_in_code"]
    [record] = await desk.stores.sponsorship.audit(None, 5)
    assert (record.action, record.target_id, record.actor_type) == ("session.started", "ses_1", "session")


async def test_attempts_and_codes_are_counted_over_batches(desk: Desk) -> None:
    await desk.one(start(1))
    wrong = [code_of(await desk.one(complete(number, proof=WRONG))) for number in range(2, 7)]
    assert wrong == [Code.INVALID_CODE] * 5
    assert code_of(await desk.one(complete(8))) is Code.INVALID_CODE
    assert code_of(await desk.one(start(2))) is Code.RATE_LIMITED
    assert await desk.one(start(3), NOW + MINUTE_MS) == Done()
    assert isinstance(await desk.one(complete(9), NOW + MINUTE_MS), SessionSaved)


async def test_a_batch_that_runs_again_starts_nothing_twice(desk: Desk) -> None:
    await desk.one(start(1))
    batch_id = BatchId("another/sessions", 1)
    first = await desk.act(complete(1), batch_id=batch_id)
    assert await desk.act(complete(1), batch_id=batch_id) == first
    assert isinstance(first[0], SessionSaved)
    assert len(await desk.stores.sessions.of_email(ANN, NOW)) == 1


async def test_the_session_that_was_not_used_for_longest_makes_room(desk: Desk) -> None:
    for number in range(1, 5):
        await desk.sign_in(number, now_ms=NOW + number * MINUTE_MS)
        await desk.one(Touch(f"ses_{number}"), NOW + number * HOUR_MS)
    live = await desk.stores.sessions.of_email(ANN, NOW + 5 * HOUR_MS)
    assert [each.id for each in live] == ["ses_4", "ses_3", "ses_2"]


async def test_all_sessions_end_that_may_still_work_where_a_clock_is_behind(desk: Desk) -> None:
    over_ms = CLOCKS_DIFFER_MS + (await desk.sign_in(1)).expires_ms
    await desk.sign_in(2, BOB)
    assert await desk.one(EndSessions(ANN, None, audit(3)), over_ms - 1) == SessionsEnded(("ses_1",))
    assert await desk.one(EndSessions(BOB, None, audit(4)), over_ms) == SessionsEnded(())


async def test_old_rows_are_pruned_in_bounded_batches(desk: Desk) -> None:
    for number, email in enumerate((ANN, BOB, "cat@example.com"), 1):
        await desk.sign_in(number, email, NOW + number)
        await desk.one(EndSession(f"ses_{number}", email, audit(10 + number)), NOW + number)
    sessions, prune = desk.stores.sessions, desk.stores.retention.prune
    assert [await prune(Rows.ENDED_SESSIONS, NOW + at, most) for at, most in ((1, 5), (3, 1), (3, 5))] == [0, 1, 1]
    assert [await prune(Rows.SIGN_IN_CODES, 1, 2), await prune(Rows.SIGN_IN_CODES, 1, 2)] == [2, 1], (
        "used codes have ended"
    )
    assert code_of(await desk.one(complete(9, ANN))) is Code.INVALID_CODE
    found = await sessions.resolve([session(number).token_hash for number in (1, 2, 3)])
    assert [each.session.id for each in found.values()] == ["ses_3"]


async def test_codes_counts_and_links_are_pruned_after_their_end(desk: Desk) -> None:
    await desk.act(start(1), start(2, BOB), complete(2, BOB), issue(1), issue(2, BOB))
    prune, known_ms = desk.stores.retention.prune, RULES.letters.known_ms
    end_ms = NOW + 600_000
    assert [await prune(Rows.SIGN_IN_CODES, at, 5) for at in (NOW, end_ms, end_ms + 1)] == [1, 0, 1]
    assert [
        await prune(Rows.SIGN_IN_LINKS, at, most) for at, most in ((end_ms, 5), (end_ms + 1, 1), (end_ms + 1, 5))
    ] == [
        0,
        1,
        1,
    ]
    ends = (NOW, NOW + 1, NOW + known_ms, NOW + known_ms + 1)
    assert [await prune(Rows.CODE_MAIL_COUNTS, at, 5) for at in ends] == [0, 5, 0, 1]


async def test_a_link_signs_in_its_email_once(desk: Desk) -> None:
    await desk.sign_in(1)
    assert await desk.act(issue(1), issue(2, BOB)) == [Done(), Done()]
    assert [code_of(each) for each in await desk.act(use(2, 1), use(3, 1), use(4, 9))] == [
        None,
        *[Code.INVALID_CODE] * 2,
    ]
    assert code_of(await desk.one(use(5, 1))) is Code.INVALID_CODE
    assert {each.id for each in await desk.stores.sessions.of_email(ANN, NOW)} == {"ses_1", "ses_2"}
    assert isinstance(await desk.one(use(6, 2)), SessionSaved), "a link creates its account"
    assert code_of(await desk.one(use(7, 2), NOW + 600_000)) is Code.INVALID_CODE


# Nodes over one Postgres. They share a pool, but each transaction has its own connection.


@pytest.fixture
def nodes(database: Database) -> list[Desk]:
    return [Desk(stores_over(database), f"node {number}/sessions") for number in range(2)]


async def test_two_right_completions_at_once_make_one_session(nodes: list[Desk]) -> None:
    for number in range(8):
        email = f"person{number}@example.com"
        await nodes[0].one(start(number, email))
        answers = await together(
            *(now(desk.one, complete(10 * number + place, email)) for place, desk in enumerate(nodes))
        )
        assert [type(answer) for answer in answers if not isinstance(answer, Refused)] == [SessionSaved]
        assert [code_of(answer) for answer in answers if isinstance(answer, Refused)] == [Code.INVALID_CODE]
        assert len(await nodes[0].stores.sessions.of_email(email, NOW)) == 1


async def test_guesses_on_two_nodes_are_all_counted(nodes: list[Desk]) -> None:
    await nodes[0].one(start(1))
    rules = SessionRules(codes=CodeRules(attempts=20))
    guesses = [complete(number, proof=WRONG) for number in range(10)]
    await together(*(now(desk.act, *guesses, rules=rules) for desk in nodes))
    assert code_of((await nodes[0].act(complete(99), rules=rules))[0]) is Code.INVALID_CODE
    one_more = SessionRules(codes=CodeRules(attempts=21))
    assert isinstance((await nodes[0].act(complete(99), rules=one_more))[0], SessionSaved)


async def test_one_link_that_is_used_on_two_nodes_at_once_signs_in_once(nodes: list[Desk]) -> None:
    for number in range(8):
        await nodes[0].one(issue(number, f"person{number}@example.com"))
        answers = await together(*(now(desk.one, use(10 * number + at, number)) for at, desk in enumerate(nodes)))
        assert sorted(code_of(answer) or "kept" for answer in answers) == [Code.INVALID_CODE, "kept"]


async def test_letters_that_two_nodes_send_at_once_are_all_counted(nodes: list[Desk]) -> None:
    several = [start(number, browser=digest(str(number)), network=f"network {number}") for number in range(5)]
    rules = SessionRules(letters=CodeMailRules(per_mailbox=2, last_resort=7))
    answers = await together(now(nodes[0].act, *several, rules=rules), now(nodes[1].act, *several, rules=rules))
    sent = [code_of(answer) for batch in answers for answer in batch].count(None)
    assert sent == 5, "the first letter of each network, whichever node sends it"


async def test_two_first_codes_at_once_send_one_letter(nodes: list[Desk]) -> None:
    answers = await together(*(now(desk.one, start(place)) for place, desk in enumerate(nodes)))
    assert sorted(code_of(answer) or "sent" for answer in answers) == [Code.RATE_LIMITED, "sent"]


async def test_crossing_batches_of_two_nodes_come_to_an_end(nodes: list[Desk]) -> None:
    emails = [f"person{number}@example.com" for number in range(12)]
    for number, email in enumerate(emails):
        await nodes[0].one(start(number, email))
    there = [complete(number, email) for number, email in enumerate(emails)]
    back = [complete(100 + number, email) for number, email in reversed(list(enumerate(emails)))]
    answers = await together(now(nodes[0].act, *there), now(nodes[1].act, *back))
    assert sum(isinstance(answer, SessionSaved) for each in answers for answer in each) == len(emails)


async def test_the_first_acceptance_of_each_version_of_the_terms_is_kept(desk: Desk) -> None:
    """Also when sessions and claims accept a version at once."""
    rules = [SessionRules(terms_version=version, per_account=3) for version in ("v1", "v2")]
    await desk.act(start(1), start(2, browser=THEIRS), rules=rules[0])
    await desk.act(complete(1), complete(2, browser=THEIRS), rules=rules[0])
    await desk.act(start(3), complete(3), now_ms=NOW + HOUR_MS, rules=rules[0])
    await desk.act(start(4), complete(4), now_ms=NOW + 2 * HOUR_MS, rules=rules[1])
    decision = KeyDecision(terms=[AcceptedTerms("ten_1", "v2", NOW), AcceptedTerms("ten_1", "v3", NOW)])
    await desk.stores.keys.transact(BatchId("node/keys", 1), wanted_keys([]), lambda _: decision, NOW)
    exported = await desk.stores.accounts.export(Account(ANN, "ten_1", NOW), "accepted_terms", "", 9)
    assert [(each.row["version"], each.row["accepted_ms"]) for each in exported] == [
        ("v1", NOW),
        ("v2", NOW + 2 * HOUR_MS),
        ("v3", NOW),
    ]
