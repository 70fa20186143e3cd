"""The rules of choosing mails, without a store."""

import json
from collections.abc import Mapping

import pytest

from actors.accounts.messages import BeginErasure, ChooseMails, Deletion, MailChoices, MailsChosen, Message
from actors.accounts.state import AccountRules, Decision, Snapshot, decide, rows_to_lock
from actors.clock import DAY_MS
from actors.shared.announcements import Topic
from actors.values import Account, AuditRecord, Code, OutboxMessage, Refused

NOON = 20_000 * DAY_MS + DAY_MS // 2
ANN, BOB = "ann@example.com", "bob@example.com"
AUDIT = AuditRecord("aud_1", NOON, "session", "ses_1", "account.mails_chosen", "account", "", ANN, "r1")
ACCOUNT = Account(ANN, "ten_ann", 1)
SILENT = MailChoices(ANN, reviews=False, bookings=False, reports=False)


def choose(choices: Mapping[Topic, bool], email: str = ANN) -> ChooseMails:
    return ChooseMails(email, choices, AUDIT)


def act(*messages: Message, row: MailChoices | None = None) -> Decision:
    snapshot = Snapshot(accounts={ANN: ACCOUNT}, choices={} if row is None else {ANN: row})
    return decide(snapshot, messages, NOON, AccountRules())


@pytest.mark.parametrize("topic", Topic)
def test_an_account_without_a_row_gets_all_mails_and_turns_one_topic_off(topic: Topic) -> None:
    decision = act(choose({topic: False}))
    [chosen] = decision.answers
    assert isinstance(chosen, MailsChosen)
    assert {each: getattr(chosen.choices, each) for each in Topic} == {each: each is not topic for each in Topic}
    assert decision.choices == {ANN: chosen.choices}
    [record] = decision.audits
    assert (record.target_id, json.loads(record.changes)) == ("ten_ann", {topic.value: [True, False]})


def test_a_topic_is_turned_on_again_and_the_others_stay() -> None:
    decision = act(choose({Topic.REPORTS: True}), row=SILENT)
    assert decision.choices == {ANN: MailChoices(ANN, reviews=False, bookings=False, reports=True)}


def test_a_choice_that_is_made_already_changes_nothing_and_leaves_no_record() -> None:
    decision = act(choose({Topic.REPORTS: False, Topic.REVIEWS: False}), row=SILENT)
    assert decision.answers == [MailsChosen(SILENT)]
    assert (decision.choices, decision.audits) == ({}, [])


def test_the_record_names_only_what_changed() -> None:
    decision = act(choose({Topic.REVIEWS: True, Topic.BOOKINGS: False}), row=SILENT)
    [record] = decision.audits
    assert json.loads(record.changes) == {"reviews": [False, True]}


def test_choices_of_one_batch_add_up() -> None:
    decision = act(choose({Topic.REVIEWS: False}), choose({Topic.BOOKINGS: False}), choose({Topic.REVIEWS: False}))
    assert decision.choices == {ANN: MailChoices(ANN, reviews=False, bookings=False)}
    assert decision.answers[0] == MailsChosen(MailChoices(ANN, reviews=False))
    assert len(decision.audits) == 2


def test_nobody_chooses_for_an_account_that_is_not_there_or_has_ended() -> None:
    [unknown] = act(choose({Topic.REVIEWS: False}, BOB)).answers
    assert isinstance(unknown, Refused)
    assert unknown.code is Code.NOT_FOUND
    due = Deletion(tenant_id="ten_ann", email=ANN, requested_ms=1, confirmed_ms=1, due_ms=2)
    mail = OutboxMessage("let_1", ANN, "account_deleted", b"", NOON, NOON + DAY_MS)
    snapshot = Snapshot(accounts={ANN: ACCOUNT}, deletions={ANN: due})
    begin = BeginErasure(ANN, mail, AUDIT)
    decision = decide(snapshot, [begin, choose({Topic.REVIEWS: False})], NOON, AccountRules())
    assert isinstance(decision.answers[1], Refused)
    assert decision.choices == {}
    before = decide(snapshot, [choose({Topic.REVIEWS: False}), begin], NOON, AccountRules())
    assert (before.ended, before.choices) == ([ACCOUNT], {}), "no row refers to an account that is gone"


def test_a_choice_locks_its_account_and_ends_none() -> None:
    locks = rows_to_lock([choose({Topic.REVIEWS: False}, BOB), choose({Topic.REVIEWS: False})])
    assert (locks.emails, locks.ending) == ((ANN, BOB), ())
