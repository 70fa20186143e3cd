"""The pages of submissions: the form of an entry and of an edit, the list, and the administrators' queue."""

from typing import Any

import pytest

from actors.catalog.messages import Kind
from service.web.pages.admin.submission_queue import lines_of
from service.web.pages.parts.entry_form import FORMS, entry_of, slug_of, typed_of
from service.web.pages.parts.words import counted
from tests.api.test_submissions import SUBMISSIONS, bot, edit
from tests.api.world import World
from tests.snapshots.entries import guide_fields
from tests.web.visitors import Seen, Visitor

ANN, BOSS = "ann@example.com", "boss@example.com"
BOT = {name: str(value) for name, value in bot()["entry"].items() if name not in ("slug", "addedAt")}


@pytest.fixture
def ann(world: World) -> Visitor:
    return Visitor(world, world.session(ANN), ANN)


@pytest.fixture
def boss(world: World) -> Visitor:
    return Visitor(world, world.session(BOSS, admin=True), BOSS)


def pending(seen: Seen) -> list[dict[str, str]]:
    """The hidden fields of each submission in the queue."""
    names = zip(seen.values("submission"), seen.values("seen"), strict=True)
    return [{"submission": submission, "seen": version} for submission, version in names]


def test_what_was_typed_is_the_entry_and_the_reverse() -> None:
    value = {"amount": "400", "label": "a month", "basis": "A guess", "kind": "reported"}
    guide = guide_fields() | {"platforms": ["Mail", "Sheets"], "botSlugs": ["a", "b"], "value": value}
    case: dict[str, Any] = {"slug": "one", "title": "One", "who": "W", "handle": "@w", "roi": "R\nS", "guide": guide}
    case |= {"sourceUrl": "https://example.com/", "addedAt": 7}
    for kind, entry in ((Kind.USECASES, case), (Kind.BOTS, bot()["entry"] | {"addedAt": 7})):
        typed = typed_of(kind, entry)
        assert list(typed) == list(FORMS[kind].fields)
        assert entry_of(kind, typed, 7) == entry
    untouched = typed_of(Kind.USECASES, {}) | {"value_kind": "illustrative"}
    assert entry_of(Kind.USECASES, untouched, 7) == {"addedAt": 7, "slug": ""}
    assert slug_of("  Größe: sorts (receipts)! ") == "groe-sorts-receipts"


async def test_a_person_proposes_an_entry_and_sees_how_it_went(world: World, ann: Visitor, boss: Visitor) -> None:
    shelf = await ann.look("/bots")
    assert "/submissions/new?kind=bots" in shelf.links
    form = await ann.look("/submissions/new?kind=bots")
    assert "A person reads it before others do" in form.text
    after = await ann.led("/submissions/new?kind=bots", do="send-bots", form_id="f1", **BOT)
    assert "Your submission is sent and waits for review" in after.text
    assert "Bot sorter In review Bot template" in after.text
    queue = await boss.look("/admin/submissions")
    assert "1 waiting for you" in queue.text
    assert "New bot template" in queue.text
    [shown] = pending(queue)
    refused = Seen.of(await boss.send("/admin/submissions", do="decline", note=" ", **shown))
    assert "Write why you decline it. The account reads it." in refused.text
    done = await boss.led("/admin/submissions", do="accept", note="Thanks <b>", **shown)
    assert "The submission is accepted" in done.text
    assert "Nothing waits for review" in done.text
    await world.settled()
    listed = await ann.look("/submissions")
    assert "Bot sorter Accepted Thanks <b>" in listed.text
    assert "/bots/bot-sorter" in listed.links
    stranger = await Visitor(world).look("/bots/bot-sorter")
    assert "Sorts receipts by month" in stranger.text
    assert "/submissions/new?kind=bots&slug=bot-sorter" in stranger.links


async def test_an_edit_begins_with_the_entry_and_the_queue_shows_what_differs(ann: Visitor, boss: Visitor) -> None:
    path = "/submissions/new?kind=bots&slug=bot-00"
    form = await ann.look(path)
    [typed] = [each.fields for each in form.forms if "send-bots" in each.buttons]
    unchanged = {name: typed[name] for name in FORMS[Kind.BOTS].fields if name != "slug"}
    assert (unchanged["name"], unchanged["job"]) == ("Bot bot-00", "Sorts receipts")
    same = Seen.of(await ann.send(path, do="send-bots", form_id="f1", **unchanged))
    assert "Nothing was changed." in same.text
    await ann.led(path, do="send-bots", form_id="f2", **unchanged | {"name": "Bot better", "category": ""})
    queue = await boss.look("/admin/submissions")
    assert "Edit of a bot template" in queue.text
    assert "Name Bot bot-00 Bot better Category Finance nothing" in queue.text
    assert "Sorts receipts" not in queue.text, "what is the same is left out"


async def test_a_page_of_what_is_not_there_is_not_found(ann: Visitor) -> None:
    for query in ("kind=bots&slug=unknown", "kind=tools"):
        assert (await ann.get(f"/submissions/new?{query}")).status == 404


async def test_an_outdated_edit_is_shown_with_three_versions_and_can_only_be_declined(
    world: World, ann: Visitor, boss: Visitor
) -> None:
    key = world.key_of(ANN)
    for name in ("Mine", "Theirs"):
        world.clock.at_ms += 1
        assert (await world.client.post(SUBMISSIONS, key, json=edit("bot-00", name=name))).words == "200"
    stale, newer = pending(await boss.look("/admin/submissions"))
    await boss.led("/admin/submissions", do="accept", **newer)
    refused = Seen.of(await boss.send("/admin/submissions", do="accept", note="Fine", **stale))
    assert "The catalog's entry has been changed since you read this submission" in refused.text
    assert refused.values("note") == ["Fine"], "what was typed is not lost"
    assert "The entry has been changed since this edit was proposed." in refused.text
    assert "Name Bot bot-00 Theirs Mine" in refused.text
    [form] = [each for each in refused.forms if "decline" in each.buttons]
    assert form.buttons == ["decline"]


def test_the_lines_of_a_submission_are_those_that_differ() -> None:
    item: dict[str, Any] = {"kind": "bots", "status": "pending", "entry": bot(name="New")["entry"]}
    fields = len(BOT)
    assert counted(len(lines_of(item)), "line") == counted(fields + 1, "line"), "a new entry has all, with its slug"
    base = bot(name="Old")["entry"]
    [line] = lines_of(item | {"base": base, "current": base})
    assert (line.base, line.current, line.proposed) == (None, [("gone", "Old")], [("new", "New")])
    retired = lines_of(item | {"base": base})
    assert [each.current for each in retired] == [()] * (fields + 1)
    accepted = lines_of(item | {"status": "accepted", "base": base, "current": item["entry"]})
    assert [each.label for each in accepted] == ["Name"]
