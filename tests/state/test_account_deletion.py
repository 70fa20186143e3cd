"""The rules of deleting accounts, without a store: what each message changes, and when it is refused."""

import json
import time
from dataclasses import replace

import pytest

from actors.accounts.messages import (
    BeginErasure,
    ConfirmDeletion,
    Deletion,
    DeletionBlockers,
    Message,
    Scheduled,
    StartDeletion,
    UndoDeletion,
)
from actors.accounts.state import AccountRules, Decision, Snapshot, day_words, decide, obstacle, rows_to_lock
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.values import Account, AuditRecord, Code, Done, OutboxMessage, Refused
from tests.state.manners import well_said

NOON = 20_000 * DAY_MS + DAY_MS // 2
ANN, BOB = "ann@example.com", "bob@example.com"
RIGHT, WRONG = b"right", b"wrong"
RULES = AccountRules()
AUDIT = AuditRecord("aud_1", NOON, "session", "ses_1", "account.deletion_confirmed", "account", "", ANN, "r1")
ACCOUNT = Account(ANN, "ten_ann", 1)
ASKED = Deletion(
    tenant_id="ten_ann", email=ANN, requested_ms=NOON, proof=RIGHT, code_expires_ms=NOON + 10 * MINUTE_MS, sent_ms=NOON
)
DUE = replace(ASKED, proof=None, code_expires_ms=0, confirmed_ms=NOON, due_ms=NOON + 7 * DAY_MS)


def mail(template: str = "deletion_code") -> OutboxMessage:
    return OutboxMessage("let_1", ANN, template, b"nonce", NOON, NOON + DAY_MS)


def start() -> StartDeletion:
    return StartDeletion(ANN, RIGHT, mail())


def confirm(proof: bytes | None = RIGHT, delay_ms: int = RULES.undo_ms) -> ConfirmDeletion:
    return ConfirmDeletion(ANN, proof, delay_ms, mail("deletion_scheduled"), AUDIT)


def undo() -> UndoDeletion:
    return UndoDeletion(ANN, mail("deletion_undone"), replace(AUDIT, action="account.deletion_undone"))


def begin() -> BeginErasure:
    return BeginErasure(ANN, mail("account_deleted"), replace(AUDIT, action="account.deleted"))


def act(
    *messages: Message, row: Deletion | None = None, standing: DeletionBlockers | None = None, now_ms: int = NOON
) -> Decision:
    deletions = {} if row is None else {ANN: row}
    decision = decide(
        Snapshot({ANN: ACCOUNT}, deletions, {ANN: standing or DeletionBlockers()}), messages, now_ms, RULES
    )
    well_said(decision.answers)
    return decision


def test_a_code_is_sent_and_nothing_is_scheduled() -> None:
    decision = act(start())
    assert decision.answers == [Done()]
    assert [message.template for message in decision.outbox] == ["deletion_code"]
    assert (decision.deletions[ANN].due_ms, decision.deletions[ANN].sent_today) == (None, 1)
    assert decision.audits == []


def test_codes_are_limited_like_those_of_sign_ins() -> None:
    [again] = act(start(), row=ASKED, now_ms=NOON + 59_000).answers
    assert isinstance(again, Refused)
    assert again.code is Code.RATE_LIMITED


def test_the_right_code_schedules_the_deletion_and_tells_the_owner_when() -> None:
    decision = act(confirm(), row=ASKED, now_ms=NOON + MINUTE_MS)
    row = decision.deletions[ANN]
    assert decision.answers == [Scheduled(row)]
    assert (row.confirmed_ms, row.due_ms) == (NOON + MINUTE_MS, NOON + MINUTE_MS + 7 * DAY_MS)
    assert row.proof is None
    [message] = decision.outbox
    assert json.loads(message.facts) == {"day": "11 October 2024, 12:01 UTC"}
    assert [record.target_id for record in decision.audits] == ["ten_ann"]
    assert decision.ended == []


@pytest.mark.parametrize(
    ("row", "proof", "later_ms"),
    [(None, RIGHT, 0), (ASKED, WRONG, 0), (ASKED, RIGHT, 10 * MINUTE_MS), (replace(ASKED, attempts=5), RIGHT, 0)],
    ids=["never asked", "wrong", "too late", "too often"],
)
def test_any_other_code_schedules_nothing(row: Deletion | None, proof: bytes, later_ms: int) -> None:
    decision = act(confirm(proof), row=row, now_ms=NOON + later_ms)
    [answer] = decision.answers
    assert isinstance(answer, Refused)
    assert answer.code is Code.INVALID_CODE
    assert not any(row.due_ms for row in decision.deletions.values())
    assert decision.outbox == []


def test_a_wrong_guess_is_counted() -> None:
    assert act(confirm(WRONG), confirm(WRONG), row=ASKED).deletions[ANN].attempts == 2


def test_confirming_again_changes_nothing_and_an_operator_may_bring_it_forward() -> None:
    assert act(confirm(), row=DUE, now_ms=NOON + DAY_MS).deletions == {}
    assert act(confirm(None), row=DUE, now_ms=NOON + DAY_MS).deletions == {}
    assert act(confirm(None, 0), row=DUE, now_ms=NOON + DAY_MS).deletions[ANN].due_ms == NOON + DAY_MS


def test_an_operator_needs_no_code() -> None:
    assert act(confirm(None, 0)).deletions[ANN].due_ms == NOON


def test_undoing_keeps_the_account_and_the_limit_of_codes() -> None:
    decision = act(undo(), row=replace(DUE, sent_today=3))
    assert decision.answers == [Done()]
    row = decision.deletions[ANN]
    assert (row.confirmed_ms, row.due_ms, row.sent_today) == (None, None, 3)
    assert [message.template for message in decision.outbox] == ["deletion_undone"]
    again = act(undo(), row=row)
    assert (again.deletions, again.outbox, again.audits) == ({}, [], [])
    assert act(undo()).answers == [Done()]


def test_undoing_before_the_confirmation_invalidates_the_code() -> None:
    decision = act(undo(), confirm(), row=ASKED)
    assert isinstance(decision.answers[1], Refused)
    assert decision.outbox == []


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (DeletionBlockers(admin=True, administrators=1), "last administrator"),
        (DeletionBlockers(paid_until_ms=NOON + 1), "Paid weeks"),
        (DeletionBlockers(refunds=1), "refund"),
    ],
)
def test_what_keeps_an_account_is_said_at_each_step_and_waited_for_at_the_last(
    standing: DeletionBlockers, words: str
) -> None:
    for message, row in ((start(), None), (confirm(), ASKED), (confirm(None), None)):
        [answer] = act(message, row=row, standing=standing).answers
        assert isinstance(answer, Refused)
        assert answer.code is Code.INVALID_STATE
        assert words in answer.message
    due = replace(DUE, due_ms=NOON)
    waiting = act(begin(), row=due, standing=standing)
    assert (waiting.ended, waiting.outbox, waiting.audits) == ([], [], [])
    assert waiting.deletions[ANN] == replace(due, due_ms=NOON + HOUR_MS)


def test_what_is_over_keeps_nobody() -> None:
    free = DeletionBlockers(admin=True, administrators=2, paid_until_ms=NOON, holds=3)
    assert obstacle(free, NOON) is None


def test_of_two_administrators_whose_accounts_are_due_at_once_one_stays() -> None:
    due, standing = replace(DUE, due_ms=NOON), DeletionBlockers(admin=True, administrators=2)
    rows = Snapshot(
        {ANN: ACCOUNT, BOB: Account(BOB, "ten_bob", 1)},
        {ANN: due, BOB: replace(due, email=BOB, tenant_id="ten_bob")},
        {ANN: standing, BOB: standing},
    )
    decision = decide(rows, [begin(), replace(begin(), email=BOB)], NOON, RULES)
    assert decision.ended == [ACCOUNT]
    assert decision.deletions[BOB].due_ms == NOON + HOUR_MS


def test_an_open_hold_is_waited_for_at_the_end_only() -> None:
    holding = DeletionBlockers(holds=1)
    assert act(start(), standing=holding).answers == [Done()]
    assert act(begin(), row=replace(DUE, due_ms=NOON), standing=holding).ended == []


def test_an_account_ends_when_its_deletion_is_due_and_not_before() -> None:
    early = act(begin(), row=DUE, now_ms=NOON + 7 * DAY_MS - 1)
    assert (early.ended, early.deletions) == ([], {})
    decision = act(begin(), row=DUE, now_ms=NOON + 7 * DAY_MS)
    assert decision.ended == [ACCOUNT]
    assert decision.deletions[ANN].begun_ms == NOON + 7 * DAY_MS
    [message] = decision.outbox
    assert (message.template, message.created_ms) == ("account_deleted", NOON + 7 * DAY_MS)
    assert [record.target_id for record in decision.audits] == ["ten_ann"]
    assert act(begin()).ended == []


def test_an_account_that_ends_is_unknown_to_later_messages_of_its_batch() -> None:
    decision = act(begin(), undo(), row=replace(DUE, due_ms=NOON))
    assert decision.ended == [ACCOUNT]
    refused = decision.answers[1]
    assert isinstance(refused, Refused)
    assert refused.code is Code.NOT_FOUND


def test_the_rows_are_those_of_the_emails_and_those_that_may_end_are_apart() -> None:
    locks = rows_to_lock([start(), replace(begin(), email=BOB)])
    assert (locks.emails, locks.ending) == ((ANN, BOB), (BOB,))


def test_a_moment_is_said_in_utc_whatever_the_time_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        said = day_words(NOON + 999)
    time.tzset()
    assert said == "4 October 2024, 12:00 UTC"
