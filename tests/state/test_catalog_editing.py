"""The rules of editing the catalog: what a change makes of an entry, when it is refused, and what the audit says."""

import json
from dataclasses import replace

import pytest

from actors.catalog.messages import (
    EXISTS,
    Condition,
    Conflict,
    Entry,
    EntryId,
    EntryRetired,
    EntrySaved,
    Message,
)
from actors.catalog.state import Decision, Snapshot, decide, entries_to_read
from actors.values import Code, Refused
from tests.snapshots.editing import drafted, entry_id, put, retire

NOW_MS = 9_000
NAME = entry_id("bots/a")
STORED = Entry("a", 1_000, drafted(NAME, 1_000), 2_000)
OTHER = Entry("a", 1_000, drafted(NAME, 1_000, job="Another."), NOW_MS)
HELD = Snapshot({NAME: STORED})
GONE = Snapshot(retired={NAME: replace(STORED, updated_ms=3_000)})
ABSENT = Condition(absent=True)


def decided(snapshot: Snapshot, *messages: Message) -> Decision:
    return decide(snapshot, messages, NOW_MS)


def audited(decision: Decision) -> list[tuple[str, object]]:
    return [(audit.action, json.loads(audit.changes).get("fields")) for audit in decision.audits]


def test_a_new_entry_is_added_now_and_a_known_one_keeps_its_time() -> None:
    for snapshot, added_ms, given in (
        (Snapshot(), NOW_MS, None),
        (HELD, 1_000, None),
        (GONE, 1_000, None),
        (HELD, 7, 7),
    ):
        [answer] = decided(snapshot, put("bots/a", given, job="Another.")).answers
        document = drafted(NAME, added_ms, job="Another.")
        assert answer == EntrySaved(Entry("a", added_ms, document, NOW_MS), created=snapshot is not HELD)


def test_equal_content_changes_nothing_and_keeps_its_time_of_update() -> None:
    decision = decided(HELD, put("bots/a"), put("bots/a", 1_000))
    assert decision == Decision(answers=[EntrySaved(STORED), EntrySaved(STORED)])


def test_a_retired_entry_comes_back_with_equal_content() -> None:
    decision = decided(GONE, put("bots/a"))
    assert decision.answers == [EntrySaved(replace(STORED, updated_ms=NOW_MS), created=True)]
    assert audited(decision) == [("entry.restored", [])]


@pytest.mark.parametrize("message", [put("bots/a", job="Another."), put("usecases/a"), retire("bots/a")])
def test_a_change_is_later_than_the_one_before_whatever_the_clocks_of_their_nodes_say(message: Message) -> None:
    ahead = replace(STORED, updated_ms=NOW_MS + 5)
    [answer] = decided(Snapshot({NAME: ahead}, retired={entry_id("usecases/a"): ahead}), message).answers
    assert isinstance(answer, EntrySaved | EntryRetired)
    changed = answer.entry if isinstance(answer, EntrySaved) else answer.retired
    assert changed.updated_ms == NOW_MS + 6


def test_each_entry_is_read_once_and_in_order() -> None:
    names = ["bots/b", "bots/a", "bots/b"]
    assert entries_to_read([put(name) for name in names]) == [NAME, entry_id("bots/b")]


def test_an_entry_is_retired_in_the_version_that_is_named() -> None:
    [answer] = decided(HELD, retire("bots/a", Condition(versions=(STORED.version,)))).answers
    assert isinstance(answer, EntryRetired)


def test_an_entry_is_retired_once_and_an_unknown_one_is_not_found() -> None:
    decision = decided(HELD, retire("bots/a"), retire("bots/a"), retire("usecases/a"))
    gone = EntryRetired(replace(STORED, updated_ms=NOW_MS))
    assert decision.answers[:2] == [gone, gone]
    assert isinstance(decision.answers[2], Refused)
    assert (decision.answers[2].code, decision.answers[2].message) == (
        Code.NOT_FOUND,
        "There is no use case with this slug.",
    )
    assert audited(decision) == [("entry.retired", None)]


@pytest.mark.parametrize(
    ("snapshot", "condition", "holds"),
    [
        (HELD, Condition([STORED.version]), True),
        (HELD, Condition([OTHER.version, STORED.version]), True),
        (HELD, Condition([OTHER.version]), False),
        (HELD, EXISTS, True),
        (HELD, ABSENT, False),
        (GONE, Condition([STORED.version]), False),
        (GONE, EXISTS, False),
        (GONE, ABSENT, True),
        (Snapshot(), Condition([STORED.version]), False),
        (Snapshot(), ABSENT, True),
    ],
)
def test_a_change_whose_condition_does_not_hold_is_a_conflict_with_what_is_there(
    snapshot: Snapshot, condition: Condition, holds: bool
) -> None:
    decision = decided(snapshot, put("bots/a", condition=condition, job="Another."))
    if holds:
        assert isinstance(decision.answers[0], EntrySaved)
    else:
        assert decision == Decision(answers=[Conflict(snapshot.entries.get(NAME))])


def test_a_repeated_change_finds_its_own_version_and_is_no_conflict() -> None:
    seen = Condition([STORED.version])
    edit = put("bots/a", condition=seen, job="Another.")
    decision = decided(HELD, edit, edit, put("bots/a", condition=seen, job="A third."), retire("bots/a", seen))
    assert decision.answers == [EntrySaved(OTHER), EntrySaved(OTHER), Conflict(OTHER), Conflict(OTHER)]
    assert decided(GONE, retire("bots/a", seen)).answers == [EntryRetired(GONE.retired[NAME])]


def test_creating_what_exists_is_a_conflict_even_with_equal_content() -> None:
    assert decided(HELD, put("bots/a", condition=ABSENT)).answers == [Conflict(STORED)]


def test_an_entry_that_changes_twice_in_a_batch_does_so_in_order() -> None:
    decision = decided(Snapshot(), put("bots/a"), put("bots/b"), retire("bots/a"), put("bots/a", job="Another."))
    changed = [(sorted(round_.saved), sorted(round_.removed)) for round_ in decision.rounds]
    other = EntryId(NAME.kind, "b")
    assert changed == [([NAME, other], []), ([], [NAME]), ([NAME], [])]
    assert [action for action, _ in audited(decision)] == [
        "entry.created",
        "entry.created",
        "entry.retired",
        "entry.restored",
    ]


def test_the_audit_names_the_fields_that_changed() -> None:
    assert audited(decided(HELD, put("bots/a", 7, job="Another.", category="New"))) == [
        ("entry.edited", ["addedAt", "category", "job"])
    ]
    assert audited(decided(Snapshot(), put("bots/a"))) == [("entry.created", None)]
