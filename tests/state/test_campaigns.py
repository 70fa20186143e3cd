"""The rules of profiles and campaigns: every move in every state, editing, permissions, audit and visibility."""

import json
from dataclasses import replace

import pytest

from actors.bookings.campaigns import OF_EDITS, PAST, initials
from actors.bookings.decision import BookingRules
from actors.bookings.messages import Answer, SendDigest
from actors.bookings.records import CampaignStatus, CampaignView, Sponsor
from actors.bookings.state import rows_to_lock
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from actors.shared.announcements import Topic
from actors.values import Code
from tests.state.ledger import ANN, BOB, CONTENT, HOUR, MONDAY, NOON, SECOND, Ledger, campaigned, furnished, refused

MINE = f"cmp_{ANN}"
DRAFT, PENDING, APPROVED, REJECTED, PAUSED = (
    CampaignStatus.DRAFT,
    CampaignStatus.PENDING,
    CampaignStatus.APPROVED,
    CampaignStatus.REJECTED,
    CampaignStatus.PAUSED,
)

OF_OTHERS = (CampaignMove.EDIT, *OF_EDITS.values())
"""Moves that no request names."""


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def put(ledger: Ledger, status: CampaignStatus, note: str | None = None) -> Ledger:
    """Bring Ann's campaign into a state."""
    ledger.campaigns[MINE] = replace(ledger.campaigns[MINE], status=status, review_note=note)
    return ledger


def saved(answer: Answer) -> Sponsor:
    assert isinstance(answer, Sponsor), answer
    return answer


# Profiles.


def test_a_first_profile_is_kept_and_audited() -> None:
    ledger = Ledger()
    sponsor = saved(ledger.one(ledger.save_profile(ANN, "Brand", "https://example.com/a")))
    assert ledger.sponsors == {ANN: sponsor}
    assert (sponsor.name, sponsor.website, sponsor.created_ms) == ("Brand", "https://example.com/a", NOON)
    assert ledger.told() == [("profile.saved", {"name": "Brand", "website": "https://example.com/a"})]
    assert (ledger.audits[0].target_type, ledger.audits[0].target_id) == ("sponsor", sponsor.id)
    assert ledger.last.visible


@pytest.mark.parametrize("fields", [("Other", "https://example.com"), ("Brand", "https://example.org")])
def test_a_profile_that_is_saved_again_keeps_its_id_and_age(fields: tuple[str, str]) -> None:
    ledger = Ledger()
    first = saved(ledger.one(ledger.save_profile(ANN, "Brand")))
    ledger.pass_ms(SECOND)
    message = ledger.save_profile(ANN, *fields)
    again = saved(ledger.one(replace(message, sponsor=replace(message.sponsor, id="spo_other"))))
    assert (again.id, again.created_ms) == (first.id, NOON)
    assert (again.name, again.website) == fields
    assert ledger.sponsors == {ANN: again}
    assert len(ledger.audits) == 2


def test_saving_the_same_profile_changes_nothing() -> None:
    ledger = Ledger()
    first, second = ledger.act(ledger.save_profile(), ledger.save_profile())
    assert first == second
    assert ledger.one(ledger.save_profile()) == first
    assert (len(ledger.audits), ledger.last.sponsors, ledger.last.visible) == (1, {}, False)


def test_profiles_of_two_accounts_are_two() -> None:
    ledger = Ledger()
    ledger.act(ledger.save_profile(ANN, "One"), ledger.save_profile(BOB, "Two"))
    assert {owner: sponsor.name for owner, sponsor in ledger.sponsors.items()} == {ANN: "One", BOB: "Two"}


# Creating.


def test_a_new_campaign_waits_for_review_and_is_not_seen() -> None:
    ledger = Ledger()
    view = ledger.one(ledger.create_campaign("cmp_new"))
    assert view == CampaignView(ledger.campaigns["cmp_new"], None)
    assert ledger.campaigns["cmp_new"].status is PENDING
    assert not ledger.last.visible
    [(action, changes)] = ledger.told()
    assert action == "campaign.created"
    assert (changes["name"], changes["headline"], changes["targetUrl"]) == (
        "Campaign cmp_new",
        CONTENT.headline,
        CONTENT.target_url,
    )


def test_a_repeated_creation_returns_the_campaign_as_it_is_now() -> None:
    ledger = Ledger()
    create = ledger.create_campaign("cmp_new")
    again = replace(create, campaign=replace(create.campaign, created_ms=ledger.now_ms + 1))
    first, second = ledger.act(create, again)
    assert first == second
    renamed = ledger.one(ledger.edit("cmp_new", name="Renamed"))
    assert ledger.one(again) == renamed
    assert [action for action, _ in ledger.told()] == ["campaign.created", "campaign.edited"]


def test_a_repetition_is_known_by_its_campaign_once_the_audit_is_pruned() -> None:
    ledger = Ledger()
    create = ledger.create_campaign("cmp_new")
    ledger.one(create)
    renamed = ledger.one(ledger.edit("cmp_new", name="Renamed"))
    ledger.audits.clear()
    assert ledger.one(create) == renamed
    assert ledger.audits == []


def test_a_creation_with_another_body_under_the_same_key_is_refused() -> None:
    ledger = Ledger()
    create = ledger.create_campaign("cmp_new")
    other = replace(create, campaign=ledger.campaign("cmp_other", ANN))
    assert refused(ledger.act(create, other)[1], Code.IDEMPOTENCY_CONFLICT)
    assert refused(ledger.one(other), Code.IDEMPOTENCY_CONFLICT)
    assert list(ledger.campaigns) == ["cmp_new"]


def test_a_campaign_is_answered_with_its_sponsors_name() -> None:
    ledger = furnished()
    for answer in ledger.act(ledger.create_campaign("cmp_new"), ledger.move("cmp_new", CampaignMove.REJECT)):
        assert isinstance(answer, CampaignView)
        assert answer.sponsor_name == f"Brand of {ANN}"


# Moves: the whole table, and nothing beside it.


@pytest.mark.parametrize("status", CampaignStatus)
@pytest.mark.parametrize("move", [move for move in CampaignMove if move not in OF_OTHERS])
def test_a_campaign_moves_as_the_table_says_and_not_otherwise(status: CampaignStatus, move: CampaignMove) -> None:
    ledger = put(furnished(), status, "Before")
    before = ledger.campaigns[MINE]
    answer = ledger.one(ledger.move(MINE, move, note="Because"))
    there = after(CAMPAIGN_MOVES, status, move)
    if there is None:
        told = refused(answer, Code.INVALID_STATE)
        assert told.message == f"A campaign that is {status} cannot be {PAST[move]}."
        assert (ledger.campaigns[MINE].status, ledger.audits, ledger.last.campaigns) == (status, [], {})
        return
    assert campaigned(answer) == replace(ledger.campaigns[MINE], status=there, review_note="Because")
    assert ledger.campaigns[MINE].status is there
    changes = {"status": [status, there], "reviewNote": ["Before", "Because"]}
    if move is CampaignMove.APPROVE and ledger.campaigns[MINE].shown_as != before.shown_as:
        changes["shownAs"] = [before.shown_as, f"Brand of {ANN}"]
    assert ledger.told() == [(f"campaign.{PAST[move]}", changes)]
    assert ledger.last.visible == (APPROVED in (status, there))


def test_the_tables_hold_what_was_decided() -> None:
    pairs = {(status, there) for status, moves in CAMPAIGN_MOVES.items() for there in moves.values() if there != status}
    assert pairs == {
        (PENDING, APPROVED),
        (PENDING, REJECTED),
        (APPROVED, PAUSED),
        (PAUSED, APPROVED),
        (DRAFT, PENDING),
        (REJECTED, PENDING),
        (PENDING, DRAFT),
        (APPROVED, REJECTED),
        (PAUSED, REJECTED),
    }
    assert set(CAMPAIGN_MOVES) == set(CampaignStatus)
    assert set(PAST) == set(CampaignMove)


def test_approving_without_a_note_takes_the_old_one_away() -> None:
    ledger = put(furnished(), PENDING, "Too loud")
    assert campaigned(ledger.one(ledger.move(MINE, CampaignMove.APPROVE))).review_note is None
    assert json.loads(ledger.mails[-1].facts)["note"] == ""


def test_moves_of_one_batch_see_each_other() -> None:
    ledger = put(furnished(), PENDING)
    moves = [CampaignMove.APPROVE, CampaignMove.PAUSE, CampaignMove.PAUSE, CampaignMove.RESUME]
    answers = ledger.act(*(ledger.move(MINE, move) for move in moves))
    refused(answers[2], Code.INVALID_STATE)
    assert [campaigned(answers[number]).status for number in (0, 1, 3)] == [APPROVED, PAUSED, APPROVED]
    assert ledger.last.visible
    assert len(ledger.audits) == 3


def test_pausing_without_a_note_keeps_the_last_one() -> None:
    ledger = put(furnished(), APPROVED, "Well done")
    assert campaigned(ledger.one(ledger.move(MINE, CampaignMove.PAUSE))).review_note == "Well done"


def test_an_approval_is_of_the_sponsors_name_too() -> None:
    ledger = put(furnished(), PENDING)
    assert campaigned(ledger.one(ledger.move(MINE, CampaignMove.APPROVE))).shown_as == f"Brand of {ANN}"
    ledger.act(ledger.save_profile(ANN, "Another brand"))
    assert ledger.campaigns[MINE].shown_as == f"Brand of {ANN}"
    ledger.act(ledger.edit(MINE, headline="New"), ledger.move(MINE, CampaignMove.APPROVE))
    assert ledger.campaigns[MINE].shown_as == "Another brand"
    assert ledger.told()[-1][1]["shownAs"] == [f"Brand of {ANN}", "Another brand"]


def test_the_audit_keeps_names_as_they_are_written() -> None:
    ledger = furnished()
    ledger.act(ledger.save_profile(ANN, "Größe"))
    assert '"name":"Größe"' in ledger.audits[-1].changes


def test_without_a_profile_there_is_no_name_to_approve() -> None:
    ledger = Ledger()
    ledger.act(ledger.create_campaign("cmp_new"))
    refused(ledger.one(ledger.move("cmp_new", CampaignMove.APPROVE)), Code.PROFILE_REQUIRED)
    assert ledger.campaigns["cmp_new"].status is PENDING


def test_what_was_edited_after_it_was_read_is_not_decided_on() -> None:
    ledger = put(furnished(), PENDING)
    seen = replace(ledger.move(MINE, CampaignMove.APPROVE), seen=CONTENT)
    ledger.act(ledger.edit(MINE, headline="New"))
    refused(ledger.one(seen), Code.INVALID_STATE)
    assert ledger.campaigns[MINE].status is PENDING
    ledger.act(replace(seen, seen=replace(CONTENT, headline="New")))
    assert ledger.campaigns[MINE].status is APPROVED


def test_a_sponsor_renamed_after_the_review_is_not_approved() -> None:
    ledger = put(furnished(), PENDING)
    seen = replace(ledger.move(MINE, CampaignMove.APPROVE), seen=CONTENT, seen_as=f"Brand of {ANN}")
    ledger.act(ledger.save_profile(ANN, "Somebody famous"))
    refused(ledger.one(seen), Code.INVALID_STATE)
    assert ledger.campaigns[MINE].status is PENDING
    ledger.act(replace(seen, seen_as="Somebody famous"))
    assert ledger.campaigns[MINE].shown_as == "Somebody famous"


@pytest.mark.parametrize("move", [CampaignMove.APPROVE, CampaignMove.REJECT])
def test_an_owner_does_not_review(move: CampaignMove) -> None:
    ledger = put(furnished(), PENDING)
    refused(ledger.one(ledger.move(MINE, move, ANN)), Code.FORBIDDEN)
    assert ledger.campaigns[MINE].status is PENDING


# Editing.


@pytest.mark.parametrize("status", [CampaignStatus.DRAFT, PENDING, REJECTED])
def test_new_content_of_a_campaign_that_is_not_approved_replaces_the_old(status: CampaignStatus) -> None:
    ledger = put(furnished(), status, "A note")
    edited = campaigned(ledger.one(ledger.edit(MINE, headline="New", target_url="https://example.org/")))
    assert (edited.status, edited.edit) == (status, None)
    assert edited.content == replace(CONTENT, headline="New", target_url="https://example.org/")
    assert (edited.review_note, ledger.campaigns[MINE]) == ("A note", edited)
    changes = {"headline": ["A headline", "New"], "targetUrl": [CONTENT.target_url, "https://example.org/"]}
    assert ledger.told() == [("campaign.edited", changes)]
    assert not ledger.last.visible


@pytest.mark.parametrize("status", [APPROVED, PAUSED])
@pytest.mark.parametrize("field", ["headline", "body", "cta", "target_url", "logo_text"])
def test_each_field_that_visitors_see_waits_beside_the_approved_content(field: str, status: CampaignStatus) -> None:
    ledger = put(furnished(), status)
    edited = campaigned(ledger.one(ledger.edit(MINE, **{field: "new"})))
    assert edited.edit == replace(CONTENT, **{field: "new"})
    assert (edited.status, edited.content, edited.waits) == (status, CONTENT, True)
    assert (edited.submitted_ms, ledger.last.visible) == (ledger.now_ms, False)
    [(action, changes)] = ledger.told()
    assert (action, list(changes)) == ("campaign.edited", ["pending" + camel(field)])


@pytest.mark.parametrize("status", CampaignStatus)
def test_the_name_is_for_its_owner_and_needs_no_review(status: CampaignStatus) -> None:
    ledger = put(furnished(), status)
    edited = campaigned(ledger.one(ledger.edit(MINE, name="Mine")))
    assert (edited.name, edited.status, edited.content) == ("Mine", status, CONTENT)
    assert ledger.told() == [("campaign.edited", {"name": [f"Campaign {MINE}", "Mine"]})]


def test_an_edit_that_changes_nothing_leaves_no_trace() -> None:
    ledger = furnished()
    same = campaigned(ledger.one(ledger.edit(MINE, name=f"Campaign {MINE}", headline=CONTENT.headline)))
    assert same == ledger.campaigns[MINE]
    assert campaigned(ledger.one(ledger.edit(MINE))).status is APPROVED
    assert (ledger.audits, ledger.last.campaigns, ledger.last.visible) == ([], {}, False)


def test_writing_the_approved_content_again_takes_the_edit_back() -> None:
    ledger = furnished()
    ledger.act(ledger.edit(MINE, headline="New"), ledger.edit(MINE, headline=CONTENT.headline))
    campaign = ledger.campaigns[MINE]
    assert (campaign.status, campaign.content, campaign.pending) == (APPROVED, CONTENT, None)
    assert (campaign.submitted_ms, len(ledger.audits), ledger.last.visible) == (None, 2, False)


def test_an_edit_of_an_edit_keeps_its_other_new_words_and_its_time() -> None:
    ledger = furnished()
    ledger.act(ledger.edit(MINE, headline="New"))
    submitted_ms = ledger.now_ms
    ledger.pass_ms(SECOND)
    edited = campaigned(ledger.one(ledger.edit(MINE, body="Newer")))
    assert edited.edit == replace(CONTENT, headline="New", body="Newer")
    assert edited.submitted_ms == submitted_ms


@pytest.mark.parametrize("status", [APPROVED, PAUSED])
def test_an_approved_edit_replaces_the_content_and_keeps_the_state(status: CampaignStatus) -> None:
    ledger = put(furnished(), status)
    ledger.act(ledger.edit(MINE, headline="New"), ledger.save_profile(ANN, "Renamed"))
    approved = campaigned(ledger.one(ledger.move(MINE, CampaignMove.APPROVE)))
    assert (approved.status, approved.content) == (status, replace(CONTENT, headline="New"))
    assert (approved.pending, approved.submitted_ms, approved.shown_as) == (None, None, "Renamed")
    action, changes = ledger.told()[-1]
    assert action == "campaign.edit_approved"
    assert (changes["headline"], changes["pendingHeadline"]) == (["A headline", "New"], ["New", None])
    assert ledger.last.visible == (status is APPROVED)
    assert (ledger.mailed(), ledger.published()) == (["campaign_approved"], ["campaign.approved"])


def test_a_rejected_edit_leaves_the_approved_words_on_the_air() -> None:
    ledger = furnished()
    ledger.act(ledger.edit(MINE, headline="New"))
    rejected = campaigned(ledger.one(ledger.move(MINE, CampaignMove.REJECT, note="Too loud")))
    assert (rejected.status, rejected.content, rejected.pending) == (APPROVED, CONTENT, None)
    assert (rejected.review_note, ledger.last.visible) == ("Too loud", False)
    facts = json.loads(ledger.mails[-1].facts)
    assert (ledger.mails[-1].template, facts["note"], facts["edit"]) == ("campaign_rejected", "Too loud", "yes")
    ledger.act(ledger.move(MINE, CampaignMove.REJECT, note="The whole ad"))
    assert ledger.campaigns[MINE].status is REJECTED


def test_a_withdrawn_edit_is_gone() -> None:
    ledger = furnished()
    refused(ledger.one(ledger.move(MINE, CampaignMove.WITHDRAW, ANN)), Code.INVALID_STATE)
    ledger.act(ledger.edit(MINE, headline="New"), ledger.move(MINE, CampaignMove.WITHDRAW, ANN))
    campaign = ledger.campaigns[MINE]
    assert (campaign.status, campaign.content, campaign.pending) == (APPROVED, CONTENT, None)
    assert ledger.told()[-1][0] == "campaign.edit_withdrawn"


def test_pausing_takes_effect_while_an_edit_waits() -> None:
    ledger = furnished()
    ledger.act(ledger.edit(MINE, headline="New"))
    paused = campaigned(ledger.one(ledger.move(MINE, CampaignMove.PAUSE, ANN)))
    assert (paused.status, paused.edit) == (PAUSED, replace(CONTENT, headline="New"))
    assert ledger.last.visible


def test_a_reviewer_who_has_read_the_approved_words_does_not_decide_on_the_edit() -> None:
    ledger = furnished()
    ledger.act(ledger.edit(MINE, headline="New"))
    refused(ledger.one(replace(ledger.move(MINE, CampaignMove.APPROVE), seen=CONTENT)), Code.INVALID_STATE)
    seen = replace(CONTENT, headline="New")
    assert campaigned(ledger.one(replace(ledger.move(MINE, CampaignMove.APPROVE), seen=seen))).content == seen


def test_an_edit_that_another_version_left_on_a_waiting_campaign_does_not_count() -> None:
    ledger = furnished()
    left = replace(ledger.campaigns[MINE], status=PENDING, pending=replace(CONTENT, headline="Old edit"))
    ledger.campaigns[MINE] = left
    approved = campaigned(ledger.one(ledger.move(MINE, CampaignMove.APPROVE)))
    assert (approved.content, approved.pending) == (CONTENT, None)


def test_edits_that_wait_count_among_the_campaigns_that_wait() -> None:
    ledger = furnished(BookingRules(pending_campaigns=1))
    ledger.act(ledger.create_campaign("cmp_new"))
    refused(ledger.one(ledger.edit(MINE, headline="New")), Code.CAMPAIGN_LIMIT)
    assert ledger.campaigns[MINE].pending is None


def test_a_batch_counts_a_campaign_that_it_edits_once() -> None:
    ledger = furnished(BookingRules(campaigns=2, pending_campaigns=2))
    put(ledger, PENDING)
    edited, created = ledger.act(ledger.edit(MINE, headline="New"), ledger.create_campaign("cmp_1"))
    assert [campaigned(each).status for each in (edited, created)] == [PENDING, PENDING]


def test_a_batch_is_visible_if_one_of_its_campaigns_is() -> None:
    ledger = put(furnished(), PENDING)
    ledger.act(
        ledger.move(MINE, CampaignMove.APPROVE), ledger.create_campaign("cmp_1"), ledger.edit("cmp_1", cta="Now")
    )
    assert ledger.last.visible


@pytest.mark.parametrize(
    ("move", "owner", "counted"),
    [(CampaignMove.SUBMIT, ANN, (ANN,)), (CampaignMove.PAUSE, ANN, ()), (CampaignMove.SUBMIT, None, ())],
)
def test_campaigns_are_counted_for_a_submission(
    move: CampaignMove, owner: str | None, counted: tuple[str, ...]
) -> None:
    ledger = Ledger()
    rows = rows_to_lock([ledger.move(MINE, move, owner)], ledger.rules, MONDAY)
    assert (rows.campaigns_of, rows.week_ms) == (counted, None)


# The digest of reviews.


def test_administrators_get_one_digest_an_hour_about_new_submissions() -> None:
    ledger = furnished()
    ledger.act(ledger.create_campaign("cmp_1"), ledger.edit(MINE, headline="New"))
    assert ledger.act(SendDigest(), SendDigest()) == [True, True]
    [digest] = ledger.alerts
    facts = json.loads(digest.facts)
    assert (digest.template, digest.topic, facts["count"]) == ("review_digest", Topic.REVIEWS, "2")
    assert facts["ads"].splitlines() == ["No name: New", "No name: A headline"]
    ledger.pass_ms(HOUR)
    assert ledger.one(SendDigest()) is False, "nothing is new"
    ledger.act(ledger.create_campaign("cmp_2"))
    assert ledger.one(SendDigest()) is True
    ledger.pass_ms(HOUR - 1)
    ledger.act(ledger.create_campaign("cmp_3"))
    assert ledger.one(SendDigest()) is False, "the last one is too recent"
    assert len(ledger.alerts) == 2


# Ownership.


def test_what_belongs_to_somebody_else_does_not_exist() -> None:
    ledger = furnished()
    refused(ledger.one(ledger.edit(MINE, BOB, headline="Mine now")), Code.NOT_FOUND)
    refused(ledger.one(ledger.move(MINE, CampaignMove.PAUSE, BOB)), Code.NOT_FOUND)
    refused(ledger.one(ledger.edit("cmp_none", headline="x")), Code.NOT_FOUND)
    refused(ledger.one(ledger.move("cmp_none", CampaignMove.PAUSE)), Code.NOT_FOUND)
    assert (ledger.campaigns[MINE].status, ledger.audits) == (APPROVED, [])


def test_its_owner_and_administrators_pause_and_resume() -> None:
    ledger = furnished()
    assert campaigned(ledger.one(ledger.move(MINE, CampaignMove.PAUSE, ANN))).status is PAUSED
    assert campaigned(ledger.one(ledger.move(MINE, CampaignMove.RESUME))).status is APPROVED


def test_the_audit_names_the_request_and_who_asked() -> None:
    ledger = furnished()
    message = ledger.move(MINE, CampaignMove.PAUSE, ANN)
    ledger.act(message)
    [record] = ledger.audits
    assert (record.id, record.request_id) == (message.origin.audit_id, "req-1")
    assert (record.actor_type, record.actor_id) == (message.origin.agent.type, message.origin.agent.id)
    assert (record.target_type, record.target_id) == ("campaign", MINE)
    assert record.changes == json.dumps({"status": ["approved", "paused"]}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Night Train of the North", "NTO"),
        ("day & night, at work", "DNA"),
        ("(box)", "B"),
        ("7 seas", "7S"),
        (" ?! ", "?"),
        ("", ""),
    ],
)
def test_initials_are_the_first_letters_or_digits_of_up_to_three_words(name: str, letters: str) -> None:
    assert initials(name) == letters
