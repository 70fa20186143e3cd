"""The rules of profiles and campaigns: every move in every state, editing, permissions, audit and visibility."""

import json
from dataclasses import replace

import pytest

from actors.bookings.campaigns import PAST
from actors.bookings.messages import Answer, ProfileKept
from actors.bookings.records import CampaignStatus, CampaignView, Sponsor
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from actors.values import Code
from tests.state.ledger import ANN, BOB, CONTENT, NOON, SECOND, Ledger, campaigned, furnished, refused

MINE = f"cmp_{ANN}"
DRAFT, PENDING, APPROVED, REJECTED, PAUSED = (
    CampaignStatus.DRAFT,
    CampaignStatus.PENDING,
    CampaignStatus.APPROVED,
    CampaignStatus.REJECTED,
    CampaignStatus.PAUSED,
)


def put(ledger: Ledger, status: CampaignStatus, note: str | None = None) -> Ledger:
    """Bring Ann's campaign into a state."""
    ledger.campaigns[MINE] = replace(ledger.campaigns[MINE], status=status, review_note=note)
    return ledger


def saved(answer: Answer) -> Sponsor:
    assert isinstance(answer, ProfileKept), answer
    return answer.sponsor


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
@pytest.mark.parametrize("move", [move for move in CampaignMove if move is not CampaignMove.EDIT])
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
        (APPROVED, PENDING),
        (PAUSED, PENDING),
        (APPROVED, REJECTED),
        (PAUSED, REJECTED),
    }
    assert set(CAMPAIGN_MOVES) == set(CampaignStatus)
    assert set(PAST) == set(CampaignMove)


def test_approving_without_a_note_takes_the_old_one_away() -> None:
    ledger = put(furnished(), PENDING, "Too loud")
    assert campaigned(ledger.one(ledger.move(MINE, CampaignMove.APPROVE))).review_note is None


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


@pytest.mark.parametrize("status", CampaignStatus)
def test_other_content_has_to_be_reviewed_again(status: CampaignStatus) -> None:
    ledger = put(furnished(), status, "A note")
    edited = campaigned(ledger.one(ledger.edit(MINE, headline="New", target_url="https://example.org/")))
    assert edited.status is CAMPAIGN_MOVES[status][CampaignMove.EDIT]
    assert edited.content == replace(CONTENT, headline="New", target_url="https://example.org/")
    assert (edited.review_note, ledger.campaigns[MINE]) == ("A note", edited)
    [(action, changes)] = ledger.told()
    assert action == "campaign.edited"
    expected = {"headline": ["A headline", "New"], "targetUrl": [CONTENT.target_url, "https://example.org/"]}
    if edited.status is not status:
        expected["status"] = [status, edited.status]
    assert changes == expected
    assert ledger.last.visible == (status is APPROVED)


@pytest.mark.parametrize("field", ["headline", "body", "cta", "target_url", "logo_text"])
def test_each_field_that_visitors_see_is_content(field: str) -> None:
    ledger = furnished()
    edited = campaigned(ledger.one(ledger.edit(MINE, **{field: "new"})))
    assert edited.content == replace(CONTENT, **{field: "new"})
    assert edited.status is PENDING


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


def test_an_edit_and_its_undoing_are_two_changes_and_end_in_review() -> None:
    ledger = furnished()
    ledger.act(ledger.edit(MINE, headline="New"), ledger.edit(MINE, headline=CONTENT.headline))
    assert (ledger.campaigns[MINE].status, ledger.campaigns[MINE].content) == (PENDING, CONTENT)
    assert len(ledger.audits) == 2
    assert ledger.last.visible


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
