"""The contract of the session store, over Postgres and in memory: sign-ins, sessions and pruning."""

from dataclasses import replace
from typing import Any

import pytest

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.codes import CodeRules
from actors.keys.messages import GrantAdmin
from actors.keys.state import KeyRules
from actors.keys.state import decide as decide_keys
from actors.keys.state import rows_to_lock as wanted_keys
from actors.sessions.messages import (
    Answer,
    CodeSent,
    CompleteSignIn,
    EndSession,
    Kept,
    Message,
    Session,
    SignedIn,
    StartSignIn,
    Touch,
)
from actors.sessions.state import SessionRules, decide, rows_to_lock
from actors.values import AuditRecord, BatchId, Code, Contended, OutboxMessage, Refused, Tier
from storage.memory.mail import MemoryOutbox
from storage.memory.tables import Memory
from storage.pool import Database
from storage.postgres.mail import PostgresOutbox
from tests.fakes import now, together
from tests.stores.conftest import Stores, stores_over

NOW = 1_790_000_000_000
RULES = SessionRules(per_account=3)
ANN, BOB = "ann@example.com", "bob@example.com"
RIGHT, WRONG = b"right", b"wrong"


def session(number: int, email: str = ANN, **changes: Any) -> Session:
    made = Session(f"ses_{number}", number.to_bytes(32), email, "A browser", NOW, NOW, NOW + 30 * DAY_MS)
    return replace(made, **changes)


def audit(number: int, action: str = "session.started") -> AuditRecord:
    return AuditRecord(f"aud_{number}", NOW, "session", f"ses_{number}", action, "session", f"ses_{number}", ANN)


def start(number: int, email: str = ANN) -> StartSignIn:
    return StartSignIn(
        email, RIGHT, OutboxMessage(f"let_{number}", email, "sign_in_code", b"n" * 16, NOW, NOW + 600_000)
    )


def complete(number: int, email: str = ANN, proof: bytes = RIGHT) -> CompleteSignIn:
    return CompleteSignIn(session(number, email), proof, f"ten_{number}", audit(number))


def end(number: int, email: str = ANN) -> EndSession:
    return EndSession(f"ses_{number}", email, audit(100 + number, "session.ended"))


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
        assert await self.one(start(number, email), now_ms) == CodeSent()
        answer = await self.one(complete(number, email), now_ms)
        assert isinstance(answer, Kept), answer
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


async def test_a_second_session_belongs_to_the_same_account(desk: Desk) -> None:
    await desk.sign_in(1)
    await desk.sign_in(2, now_ms=NOW + MINUTE_MS)
    found = await desk.stores.sessions.resolve([session(1).token_hash, session(2).token_hash])
    assert {each.tenant_id for each in found.values()} == {"ten_1"}


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
    assert await desk.one(start(3), NOW + MINUTE_MS) == CodeSent()
    assert isinstance(await desk.one(complete(9), NOW + MINUTE_MS), Kept)


async def test_a_batch_that_runs_again_starts_nothing_twice(desk: Desk) -> None:
    await desk.one(start(1))
    batch_id = BatchId("another/sessions", 1)
    first = await desk.act(complete(1), batch_id=batch_id)
    assert await desk.act(complete(1), batch_id=batch_id) == first
    assert isinstance(first[0], Kept)
    assert len(await desk.stores.sessions.of_email(ANN, NOW)) == 1


async def test_the_session_that_was_not_used_for_longest_makes_room(desk: Desk) -> None:
    for number in range(1, 5):
        await desk.sign_in(number, now_ms=NOW + number * MINUTE_MS)
        await desk.one(Touch(f"ses_{number}"), NOW + number * HOUR_MS)
    live = await desk.stores.sessions.of_email(ANN, NOW + 5 * HOUR_MS)
    assert [each.id for each in live] == ["ses_4", "ses_3", "ses_2"]


async def test_a_touched_session_lives_on_and_an_ended_one_does_not(desk: Desk) -> None:
    await desk.sign_in(1)
    later = NOW + 2 * HOUR_MS
    answer = await desk.one(Touch("ses_1"), later)
    assert answer == Kept(session(1, seen_ms=later, expires_ms=later + 30 * DAY_MS))
    assert await desk.one(end(1), later + 1) == Kept(
        session(1, seen_ms=later, expires_ms=later + 1, revoked_ms=later + 1)
    )
    assert code_of(await desk.one(Touch("ses_1"), later + HOUR_MS)) is Code.UNAUTHORIZED
    found = await desk.stores.sessions.resolve([session(1).token_hash])
    assert not found[session(1).token_hash].session.is_live(later + 1)
    assert await desk.stores.sessions.of_email(ANN, later + 1) == []


async def test_only_its_own_account_ends_a_session(desk: Desk) -> None:
    await desk.sign_in(1)
    assert [code_of(each) for each in await desk.act(end(1, BOB), end(9))] == [Code.NOT_FOUND] * 2
    assert len(await desk.stores.sessions.of_email(ANN, NOW)) == 1


async def test_old_rows_are_pruned_in_bounded_batches(desk: Desk) -> None:
    for number, email in enumerate((ANN, BOB, "cat@example.com"), 1):
        await desk.sign_in(number, email, NOW + number)
        await desk.one(EndSession(f"ses_{number}", email, audit(10 + number)), NOW + number)
    sessions = desk.stores.sessions
    for prune in (sessions.prune_sign_ins, sessions.prune_sessions):
        assert [await prune(NOW + 1, 5), await prune(NOW + 3, 1), await prune(NOW + 3, 5)] == [0, 1, 1]
    assert code_of(await desk.one(complete(9, ANN))) is Code.INVALID_CODE
    found = await sessions.resolve([session(number).token_hash for number in (1, 2, 3)])
    assert [each.session.id for each in found.values()] == ["ses_3"]


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
        assert [type(answer) for answer in answers if not isinstance(answer, Refused)] == [Kept]
        assert [code_of(answer) for answer in answers if isinstance(answer, Refused)] == [Code.INVALID_CODE]
        assert len(await nodes[0].stores.sessions.of_email(email, NOW)) == 1


async def test_guesses_on_two_nodes_are_all_counted(nodes: list[Desk]) -> None:
    await nodes[0].one(start(1))
    rules = SessionRules(codes=CodeRules(attempts=20))
    guesses = [complete(number, proof=WRONG) for number in range(10)]
    await together(*(now(desk.act, *guesses, rules=rules) for desk in nodes))
    assert code_of((await nodes[0].act(complete(99), rules=rules))[0]) is Code.INVALID_CODE
    one_more = SessionRules(codes=CodeRules(attempts=21))
    assert isinstance((await nodes[0].act(complete(99), rules=one_more))[0], Kept)


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
    assert sum(isinstance(answer, Kept) for each in answers for answer in each) == len(emails)
