"""The contract of the session store on passkeys, over Postgres and in memory, and races of two nodes over Postgres."""

from dataclasses import replace

import pytest

from actors.clock import MINUTE_MS
from actors.retention.store import Rows
from actors.sessions.messages import Session, SessionSaved
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
from actors.values import AuditRecord, BatchId, Code, Done, OutboxMessage
from storage.connection.pool import Database
from storage.postgres.mail import PostgresOutbox
from tests.doubles.mail import MemoryOutbox
from tests.doubles.tables import Memory
from tests.fakes import now, together
from tests.stores.conftest import stores_over
from tests.stores.test_sessions_contract import ANN, BOB, NOW, Desk, audit, code_of, complete, desk, start

__all__ = ["desk"]

HASH = b"h" * 32


def mail(number: int, template: str) -> OutboxMessage:
    return OutboxMessage(f"let_{number}", ANN, template, b"", NOW, NOW + 1)


def passkey(number: int, email: str = ANN) -> Passkey:
    return Passkey(f"psk_{number}", email, bytes([number]), b"key", 0, f"Passkey {number}", NOW + number)


def starting(holder: str, purpose: Purpose, email: str = ANN, hashed: bytes = HASH) -> StartCeremony:
    return StartCeremony(Challenge(holder, purpose, hashed, NOW + 30 * MINUTE_MS), email)


def registering(session: Session, number: int, hashed: bytes = HASH) -> Register:
    new = passkey(number, session.email)
    return Register(session.id, hashed, new, audit(200 + number, "passkey.added"), mail(100 + number, "passkey_added"))


def confirming(session: Session, number: int, count: int = 1) -> Confirm:
    return Confirm(session.id, session.email, Assertion(HASH, bytes([number]), count), audit(300 + number))


def finishing(pending: PendingSignIn, number: int, token: int, count: int = 1) -> FinishSignIn:
    assertion = Assertion(HASH, bytes([number]), count)
    return FinishSignIn(pending.id, pending.email, token.to_bytes(32), assertion, audit(400 + token))


async def added(desk: Desk, session: Session, number: int) -> Passkey:
    answers = await desk.act(starting(session.id, Purpose.REGISTER, session.email), registering(session, number))
    assert isinstance(answers[1], PasskeySaved), answers
    return answers[1].passkey


async def half(desk: Desk, number: int, email: str = ANN, now_ms: int = NOW + MINUTE_MS) -> PendingSignIn:
    answers = await desk.act(start(number, email), complete(number, email), now_ms=now_ms)
    assert isinstance(answers[1], PasskeyNeeded), answers
    return answers[1].pending


async def test_a_passkey_is_kept_used_renamed_and_removed(desk: Desk) -> None:
    session = await desk.sign_in(1)
    first = await added(desk, session, 1)
    second = await added(desk, session, 2)
    sessions = desk.stores.sessions
    assert await sessions.passkeys_of(ANN) == [first, second]
    assert await sessions.passkeys_of(BOB) == []
    assert (await sessions.of_email(ANN, NOW))[0].passkey_ms == NOW
    shown = await desk.act(starting("ses_1", Purpose.CONFIRM), confirming(session, 2, 7), now_ms=NOW + 1)
    assert isinstance(shown[1], SessionSaved)
    renamed = await desk.one(Rename("psk_2", ANN, "Phone", audit(500, "passkey.renamed")))
    assert isinstance(renamed, PasskeySaved)
    assert await sessions.passkeys_of(ANN) == [first, replace(second, sign_count=7, used_ms=NOW + 1, name="Phone")]
    [found] = (await sessions.resolve([session.token_hash])).values()
    assert found.session.passkey_ms == NOW + 1
    removal = Remove("psk_1", "ses_1", ANN, audit(501, "passkey.removed"), mail(501, "passkey_removed"))
    assert await desk.one(removal) == PasskeysRemoved((first,))
    assert [each.id for each in await sessions.passkeys_of(ANN)] == ["psk_2"]
    last = RemoveAll(ANN, audit(502, "account.passkeys_removed"), mail(502, "passkey_removed"))
    assert isinstance(await desk.one(last), PasskeysRemoved)
    assert await sessions.passkeys_of(ANN) == []
    [found] = (await sessions.resolve([session.token_hash])).values()
    assert found.session.passkey_ms is None


async def test_mails_tell_the_name_and_audits_are_kept(desk: Desk) -> None:
    session = await desk.sign_in(1)
    await added(desk, session, 1)
    below = desk.stores.below
    outbox = MemoryOutbox(below) if isinstance(below, Memory) else PostgresOutbox(below)
    facts = {letter.template: letter.facts for letter in await outbox.recent(5)}
    assert facts == {"sign_in_code": "{}", "passkey_added": '{"name": "Passkey 1"}'}
    assert "passkey.added" in [record.action for record in await desk.stores.sponsorship.audit(None, 5)]


async def test_a_pending_sign_in_is_no_session_until_it_is_finished(desk: Desk) -> None:
    session = await desk.sign_in(1)
    await added(desk, session, 1)
    pending = await half(desk, 2)
    sessions = desk.stores.sessions
    assert await sessions.pending(pending.token_hash) == pending
    assert await sessions.pending(b"x" * 32) is None
    assert await sessions.resolve([pending.token_hash]) == {}
    assert [each.id for each in await sessions.of_email(ANN, NOW)] == ["ses_1"]
    answers = await desk.act(starting(pending.id, Purpose.SIGN_IN), finishing(pending, 1, 77), now_ms=NOW + MINUTE_MS)
    assert isinstance(answers[0], CeremonyStarted)
    assert isinstance(answers[1], SessionSaved)
    [found] = (await sessions.resolve([(77).to_bytes(32)])).values()
    assert (found.session.id, found.session.passkey_ms) == (pending.id, NOW + MINUTE_MS)
    assert await sessions.pending(pending.token_hash) == replace(pending, expires_ms=0)


async def test_a_cancelled_sign_in_has_ended(desk: Desk) -> None:
    await added(desk, await desk.sign_in(1), 1)
    pending = await half(desk, 2)
    assert await desk.one(CancelSignIn(pending.id)) == Done()
    answers = await desk.act(starting(pending.id, Purpose.SIGN_IN), finishing(pending, 1, 77))
    assert [code_of(answer) for answer in answers] == [Code.UNAUTHORIZED] * 2


async def test_a_challenge_is_used_once_over_batches_and_replaced_by_the_next(desk: Desk) -> None:
    session = await desk.sign_in(1)
    await desk.one(starting("ses_1", Purpose.REGISTER, hashed=b"x" * 32))
    await desk.one(starting("ses_1", Purpose.REGISTER))
    assert code_of(await desk.one(registering(session, 1, b"x" * 32))) is Code.INVALID_PASSKEY
    assert isinstance(await desk.one(registering(session, 1)), PasskeySaved)
    assert code_of(await desk.one(registering(session, 2))) is Code.INVALID_PASSKEY


async def test_a_batch_that_runs_again_adds_nothing_twice(desk: Desk) -> None:
    session = await desk.sign_in(1)
    batch_id = BatchId("another/passkeys", 1)
    messages = starting("ses_1", Purpose.REGISTER), registering(session, 1)
    first = await desk.act(*messages, batch_id=batch_id)
    assert await desk.act(*messages, batch_id=batch_id) == first
    assert len(await desk.stores.sessions.passkeys_of(ANN)) == 1


async def test_a_credential_of_another_account_is_seen(desk: Desk) -> None:
    await added(desk, await desk.sign_in(1), 1)
    bob = await desk.sign_in(2, BOB)
    await desk.one(starting(bob.id, Purpose.REGISTER, BOB))
    again = registering(bob, 1)
    again = replace(again, passkey=replace(again.passkey, id="psk_other"))
    assert code_of(await desk.one(again)) is Code.INVALID_STATE


async def test_pending_sign_ins_and_challenges_are_pruned_in_bounded_batches(desk: Desk) -> None:
    session = await desk.sign_in(1)
    await added(desk, session, 1)
    for number in (2, 3, 4):
        pending = await half(desk, number, now_ms=NOW + number * MINUTE_MS)
        challenge = Challenge(pending.id, Purpose.SIGN_IN, HASH, pending.expires_ms)
        await desk.one(StartCeremony(challenge, ANN), NOW + number * MINUTE_MS)
    prune, ends = desk.stores.retention.prune, NOW + 10 * MINUTE_MS
    # The challenge of the registration was used, so it has ended long ago.
    assert await prune(Rows.CHALLENGES, NOW, 5) == 1
    for rows in (Rows.PENDING_SIGN_INS, Rows.CHALLENGES):
        bounds = ((ends + 2 * MINUTE_MS, 5), (ends + 4 * MINUTE_MS, 1), (ends + 4 * MINUTE_MS, 5))
        assert [await prune(rows, *each) for each in bounds] == [0, 1, 1]


# Nodes over one Postgres.


@pytest.fixture
def nodes(database: Database) -> list[Desk]:
    return [Desk(stores_over(database), f"node {number}/passkeys") for number in range(2)]


async def test_one_challenge_used_on_two_nodes_begins_one_session(nodes: list[Desk]) -> None:
    session = await nodes[0].sign_in(1)
    await added(nodes[0], session, 1)
    for round_number in range(4):
        now_ms = NOW + (1 + round_number) * MINUTE_MS
        pending = await half(nodes[0], 10 + round_number, now_ms=now_ms)
        await nodes[0].one(starting(pending.id, Purpose.SIGN_IN), now_ms)
        finishes = [
            finishing(pending, 1, 100 + 10 * round_number + place, 1 + 2 * round_number + place) for place in (0, 1)
        ]
        answers = await together(*(now(desk.one, finish, now_ms) for desk, finish in zip(nodes, finishes, strict=True)))
        assert [type(answer) for answer in answers if isinstance(answer, SessionSaved)] == [SessionSaved]


async def test_one_signature_sent_to_two_nodes_confirms_once(nodes: list[Desk]) -> None:
    session = await nodes[0].sign_in(1)
    await added(nodes[0], session, 1)
    for count in range(1, 5):
        await nodes[0].one(starting("ses_1", Purpose.CONFIRM))
        confirm = confirming(session, 1, count)
        confirms = [replace(confirm, audit=_numbered(confirm.audit, 2 * count + place)) for place in (0, 1)]
        answers = await together(*(now(desk.one, each) for desk, each in zip(nodes, confirms, strict=True)))
        assert sorted(str(code_of(answer)) for answer in answers) == ["None", "invalid_passkey"]


def _numbered(record: AuditRecord, number: int) -> AuditRecord:
    return replace(record, id=f"aud_numbered_{number}")


async def test_two_browsers_add_a_first_passkey_on_two_nodes_and_one_is_the_first(nodes: list[Desk]) -> None:
    """The other one has to show the first passkey. In rounds, because only some of them meet in the middle."""
    for number in range(10, 26, 2):
        email = f"person{number}@example.com"
        browsers = [await nodes[0].sign_in(number + place, email, NOW + place * MINUTE_MS) for place in (0, 1)]
        for browser in browsers:
            await nodes[0].one(starting(browser.id, Purpose.REGISTER, email))
        answers = await together(
            *(
                now(desk.one, registering(browser, number + place))
                for place, (desk, browser) in enumerate(zip(nodes, browsers, strict=True))
            )
        )
        assert sorted(str(code_of(answer)) for answer in answers) == ["None", "forbidden"]
        assert len(await nodes[0].stores.sessions.passkeys_of(email)) == 1


async def test_two_accounts_register_one_credential_at_once_and_one_gets_it(nodes: list[Desk]) -> None:
    people = [await nodes[0].sign_in(1), await nodes[0].sign_in(2, BOB)]
    for person in people:
        await nodes[0].one(starting(person.id, Purpose.REGISTER, person.email))
    messages = []
    for place, person in enumerate(people):
        message = registering(person, 1)
        new = replace(message.passkey, id=f"psk_{place}")
        messages.append(
            replace(
                message,
                passkey=new,
                audit=_numbered(message.audit, place),
                message=replace(message.message, id=f"let_numbered_{place}"),
            )
        )
    answers = await together(*(now(desk.one, each) for desk, each in zip(nodes, messages, strict=True)))
    assert sorted(str(code_of(answer)) for answer in answers) == ["None", "invalid_state"]
