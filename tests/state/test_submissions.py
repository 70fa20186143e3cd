"""The rules of submissions: what can be proposed, how many wait, and what a review does."""

import json
from dataclasses import replace

import pytest

from actors.catalog.messages import EntryId, Kind
from actors.catalog.submission_rules import dated
from actors.catalog.submissions import Answer, Outdated, SubmissionStatus
from actors.shared.announcements import Topic
from actors.times import HOUR_MS, MINUTE_MS
from actors.values import Code, Refused
from tests.snapshots.entries import bot
from tests.state.submissions import NOW, RULES, Desk, document, propose, review, saved, submission


def code(answer: Answer) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


def test_a_canonical_document_gets_another_time_and_stays_canonical() -> None:
    for text in ("plain", 'quotes " and \\ and \n\t', "é 東京 🚀 </script>"):
        entry = bot("a", job=text, addedAt=7)
        assert dated(document("a", job=text), 7) == entry.document.decode()


def test_an_edit_has_the_entry_as_its_base_and_a_new_entry_has_none() -> None:
    desk = Desk()
    desk.put(bot("a", addedAt=5))
    assert saved(desk.one(propose(submission(1, "a"), edit=True))).base == document("a", 5)
    assert saved(desk.one(propose(submission(2)))).base is None
    assert code(desk.one(propose(submission(3), edit=True))) is Code.NOT_FOUND
    assert code(desk.one(propose(submission(4, "a")))) is Code.INVALID_STATE
    assert code(desk.one(propose(submission(5, "a", name="Plain Helper"), edit=True))) is Code.INVALID_REQUEST
    assert list(desk.rows.submissions) == ["sub_1", "sub_2"]
    assert [(each.action, each.id) for each in desk.last.audits] == []


@pytest.mark.parametrize(
    "address", ["http://printer/", "https://10.0.0.1/", "https://files.internal/", "http://localhost:80/"]
)
def test_an_address_that_a_third_party_adds_is_public_when_it_is_proposed_and_when_it_is_accepted(address: str) -> None:
    desk, kept = Desk(), bot("kept", templateUrl=address)
    desk.put(kept)
    assert code(desk.one(propose(submission(1, templateUrl=address)))) is Code.INVALID_REQUEST
    assert (
        code(desk.one(propose(submission(2, "kept", templateUrl=address + "other"), edit=True))) is Code.INVALID_REQUEST
    )
    edited = saved(desk.one(propose(submission(3, "kept", templateUrl=address, job="Another."), edit=True)))
    assert code(desk.one(review(edited, desk.current("kept")))) is None
    older = submission(4, templateUrl=address)
    desk.rows.submissions[older.id] = older
    assert code(desk.one(review(older))) is Code.INVALID_STATE
    assert code(desk.one(review(older, accept=False, note="No."))) is None


def test_submissions_of_a_mailbox_that_wait_count_together_also_within_a_batch() -> None:
    desk = Desk()
    desk.rows.siblings = {"ten_1": frozenset({"ten_2"}), "ten_2": frozenset({"ten_1"})}
    first = [propose(submission(number, tenant=f"ten_{number % 2 + 1}")) for number in range(RULES.pending + 1)]
    assert [code(answer) for answer in desk.send(*first)] == [None] * RULES.pending + [Code.SUBMISSION_LIMIT]
    refused = desk.one(propose(submission(20)))
    assert isinstance(refused, Refused)
    assert refused.message.startswith("The accounts of this mailbox, none of which has paid yet, have 10 submissions")
    assert code(desk.one(propose(submission(21, tenant="ten_3")))) is None
    reviewed = review(submission(0, tenant="ten_1"), accept=False, note="No.")
    answers = desk.send(reviewed, propose(submission(22)), propose(submission(23)))
    assert [code(answer) for answer in answers] == [None, None, Code.SUBMISSION_LIMIT]


def test_a_keyed_proposal_is_made_once() -> None:
    desk, first = Desk(), submission(1)
    desk.one(propose(first, keyed=True))
    again = replace(first, created_ms=NOW + MINUTE_MS)
    assert saved(desk.one(propose(again, keyed=True, record="2"))) == first
    assert (desk.last.audits, desk.last.mails) == ([], [])
    other = replace(first, entry=document("new-1", name="Other"))
    assert code(desk.one(propose(other, keyed=True, record="3"))) is Code.IDEMPOTENCY_CONFLICT
    assert code(desk.one(propose(again, record="4"))) is Code.IDEMPOTENCY_CONFLICT, "an id that is no key's"


def test_an_accepted_entry_is_written_once_with_its_records_and_mail() -> None:
    desk, new = Desk(), submission(1)
    desk.one(propose(new))
    accepted = saved(desk.one(review(new, note="Thanks."), NOW + 9))
    assert (accepted.status, accepted.note, accepted.decided_ms) == (SubmissionStatus.ACCEPTED, "Thanks.", NOW + 9)
    assert desk.current("new-1") == document("new-1", NOW + 9, name="Bot 1")
    records = [(each.action, each.target_type, each.target_id) for each in desk.last.audits]
    assert records == [("submission.accepted", "submission", "sub_sub_1_review"), ("entry.created", "bot", "new-1")]
    assert len({each.id for each in desk.last.audits}) == 2
    [mail] = desk.last.mails
    assert (mail.tenant_id, mail.template, mail.topic) == ("ten_1", "submission_accepted", Topic.REVIEWS)
    assert json.loads(mail.facts) == {"name": "Bot 1", "kind": "bots", "slug": "new-1", "edit": "", "note": "Thanks."}
    again = desk.one(review(new, document("new-1", NOW + 9, name="Bot 1"), record="2"))
    assert isinstance(again, Refused)
    assert (again.code, again.message) == (Code.INVALID_STATE, "This submission has already been accepted.")
    assert (desk.last.rounds, desk.last.mails, desk.last.audits) == ([], [], [])


def test_a_version_is_of_all_that_a_reviewer_reads_and_stays_over_an_upgrade() -> None:
    row = submission(1, "a")
    others = [replace(row, id="sub_2"), replace(row, entry="{}"), replace(row, base="{}")]
    assert len({row.version(None), row.version("{}"), *(each.version(None) for each in others)}) == 5
    assert row.version(None) == "eb181d9f0f915569"


def test_a_declined_submission_changes_no_entry() -> None:
    desk, new = Desk(), submission(1)
    desk.one(propose(new))
    assert saved(desk.one(review(new, accept=False, note="No."))).status is SubmissionStatus.DECLINED
    assert (desk.last.rounds, [mail.template for mail in desk.last.mails]) == ([], ["submission_declined"])
    assert code(desk.one(review(new, accept=False, note="No.", record="2"))) is Code.INVALID_STATE
    assert code(desk.one(review(submission(9)))) is Code.NOT_FOUND


def test_an_edited_or_restored_entry_keeps_its_place() -> None:
    desk = Desk()
    desk.put(bot("a", addedAt=5))
    edited = saved(desk.one(propose(submission(1, "a"), edit=True)))
    desk.one(review(edited, document("a", 5)))
    assert desk.current("a") == document("a", 5, name="Bot 1")
    desk.rows.catalog.retired[EntryId(Kind.BOTS, "b")] = replace(bot("b", addedAt=6), updated_ms=NOW)
    restored = saved(desk.one(propose(submission(2, "b"))))
    desk.one(review(restored))
    assert desk.current("b") == document("b", 6, name="Bot 2")
    assert [each.action for each in desk.last.audits] == ["submission.accepted", "entry.restored"]


@pytest.mark.parametrize("why", Outdated)
def test_an_outdated_submission_can_be_declined_only(why: Outdated) -> None:
    desk = Desk()
    if why is not Outdated.TAKEN:
        desk.put(bot("a"))
    proposed = saved(desk.one(propose(submission(1, "a"), edit=why is not Outdated.TAKEN)))
    desk.rows.catalog.entries.clear()
    if why is not Outdated.RETIRED:
        desk.put(bot("a", job="Another."))
    current = desk.current("a")
    assert proposed.outdated(current) is why
    unread = desk.one(review(proposed, proposed.base))
    assert isinstance(unread, Refused)
    assert (unread.code, "Read it again" in unread.message) == (Code.INVALID_STATE, True)
    refused = desk.one(review(proposed, current, record="2"))
    assert isinstance(refused, Refused)
    assert (refused.code, "Decline it" in refused.message) == (Code.INVALID_STATE, True)
    assert (desk.last.rounds, desk.last.submissions, desk.last.audits, desk.last.mails) == ([], {}, [], [])
    assert saved(desk.one(review(proposed, current, accept=False, note="It changed.", record="3"))).decided_ms == NOW


def test_of_two_edits_in_one_batch_the_second_is_outdated() -> None:
    desk = Desk()
    desk.put(bot("a", addedAt=5))
    first, second = (saved(desk.one(propose(submission(number, "a"), edit=True))) for number in (1, 2))
    answers = desk.send(review(first, document("a", 5)), review(second, document("a", 5)))
    assert [code(answer) for answer in answers] == [None, Code.INVALID_STATE]
    assert desk.current("a") == document("a", 5, name="Bot 1")


def test_administrators_are_mailed_at_once_then_when_the_hour_is_over() -> None:
    desk = Desk()
    mailed = []
    for number, minutes in enumerate((0, 1, 2, 61, 62, 200)):
        desk.one(propose(submission(number, tenant=f"ten_{number}")), NOW + minutes * MINUTE_MS)
        mailed.append([(mail.template, mail.created_ms - NOW) for mail in desk.last.mails])
    wait = "submissions_wait"
    assert mailed == [
        [(wait, 0)],
        [(wait, HOUR_MS)],
        [],
        [(wait, 2 * HOUR_MS)],
        [],
        [(wait, 200 * MINUTE_MS)],
    ]
