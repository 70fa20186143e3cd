"""Submissions through the API: proposing entries and edits, their lists, and the review that writes them to the catalog."""

import json
from typing import Any

import pytest

from tests.api.sponsors import Person, administrator, sponsor
from tests.api.world import World

SUBMISSIONS, REVIEWS = "/api/v1/catalog/submissions", "/api/v1/admin/catalog/submissions"
LINE = "Sorts receipts by month"


def bot(slug: str = "sorter", **changes: Any) -> dict[str, Any]:
    entry = {"slug": slug, "name": f"Bot {slug}", "who": "Ann", "handle": "@ann", "job": LINE, "addedAt": 1}
    return {"kind": "bots", "entry": entry | {"templateUrl": "https://bots.example.com/sorter"} | changes}


def edit(slug: str, **changes: Any) -> dict[str, Any]:
    return bot(slug, **changes) | {"slug": slug}


async def proposed(person: Person, body: dict[str, Any]) -> dict[str, Any]:
    made = await person.post(SUBMISSIONS, body)
    assert made.words == "200", made.body
    found: dict[str, Any] = made.json["submission"]
    return found


async def waiting(admin: Person) -> list[dict[str, Any]]:
    listed = await admin.get(f"{REVIEWS}?status=pending&order=oldest")
    found: list[dict[str, Any]] = listed.json["items"]
    return found


async def decide(admin: Person, item: dict[str, Any], decision: str, **more: Any) -> Any:
    body = {"decision": decision, "seen": item["version"]} | more
    return await admin.post(f"{REVIEWS}/{item['id']}/review", body)


async def test_a_proposed_entry_is_in_the_catalog_once_it_is_accepted(world: World) -> None:
    person, admin = sponsor(world), administrator(world)
    made = await proposed(person, bot())
    assert made == {
        "id": made["id"],
        "kind": "bots",
        "slug": "sorter",
        "edit": False,
        "entry": bot()["entry"] | {"addedAt": world.now_ms},
        "status": "pending",
        "createdAt": world.now_ms,
    }
    assert (await world.client.get("/api/v1/bots/sorter")).words == "404 not_found"
    [item] = await waiting(admin)
    assert (item["email"], item["id"]) == ("sponsor@example.com", made["id"])
    assert item.keys() & {"current", "base", "outdated"} == set()
    world.clock.at_ms += 5
    accepted = await decide(admin, item, "accept", note="Thank you.")
    decided = {"status": "accepted", "note": "Thank you.", "decidedAt": world.now_ms}
    assert accepted.json["submission"] == made | decided
    await world.settled()
    shown = (await world.client.get("/api/v1/bots/sorter")).json
    assert {name: shown[name] for name in bot()["entry"]} == bot()["entry"] | {"addedAt": world.now_ms}
    assert (await person.get(SUBMISSIONS)).json == {"items": [made | decided], "cursor": None, "hasMore": False}
    assert await waiting(admin) == []


async def test_an_accepted_edit_keeps_the_place_of_its_entry(world: World) -> None:
    person, admin = sponsor(world), administrator(world)
    before = (await world.client.get("/api/v1/bots/bot-00")).json
    await proposed(person, edit("bot-00", name="Better"))
    [item] = await waiting(admin)
    assert (item["edit"], item["base"], item["current"]) == (True, item["current"], item["base"])
    assert (await decide(admin, item, "accept")).words == "200"
    await world.settled()
    after = (await world.client.get("/api/v1/bots/bot-00")).json
    assert (after["name"], after["addedAt"], "category" in after) == ("Better", before["addedAt"], False)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "tools"}, "kind"),
        ({"kind": "usecases"}, "entry.title"),
        ({"entry": None}, "entry"),
        ({"entry": bot()["entry"] | {"price": 1}}, "entry.price"),
        ({"entry": bot()["entry"] | {"name": "Bot\u202eevil"}}, "entry.name"),
        ({"entry": bot()["entry"] | {"job": "a\x00b"}}, "entry.job"),
        ({"entry": bot()["entry"] | {"templateUrl": "javascript:alert(1)"}}, "entry.templateUrl"),
        ({"slug": "other"}, "entry.slug"),
        ({"entry": {name: value for name, value in bot()["entry"].items() if name != "slug"}}, "entry.slug"),
        ({"slug": "No slug"}, "slug"),
        ({"more": 1}, "more"),
    ],
)
async def test_what_is_no_entry_is_refused_at_its_field(world: World, changes: dict[str, Any], field: str) -> None:
    refused = await sponsor(world).post(SUBMISSIONS, bot() | changes)
    assert refused.words == "400 invalid_request"
    assert field in {each["name"] for each in refused.json["fields"]}
    assert world.memory.submissions == {}


async def test_a_large_entry_is_refused(world: World) -> None:
    person, long = sponsor(world), "x" * 20_000
    guide: dict[str, Any] = {
        "title": "T",
        "category": "C",
        "opportunity": "O",
        "audience": "A",
        "platforms": [],
        "botSlugs": [],
    }
    guide |= {"steps": ["s" * 1_000] * 50, "prompt": long}
    case: dict[str, Any] = {
        "slug": "large",
        "title": "T",
        "who": "W",
        "handle": "@w",
        "roi": "R",
        "sourceUrl": "https://example.com/",
    }
    case |= {"addedAt": 1, "guide": guide}
    refused = await person.post(SUBMISSIONS, {"kind": "usecases", "entry": case})
    assert refused.words == "413 payload_too_large"
    case["guide"]["prompt"] = "fits"
    fits = {"kind": "usecases", "entry": case}
    assert len(json.dumps(fits)) > 50_000, "more than other bodies have"
    await proposed(person, fits)
    huge = await person.post(SUBMISSIONS, bot(job="x" * 1_000_000))
    assert huge.words == "413 payload_too_large"


async def test_an_edit_needs_an_entry_and_a_new_entry_a_free_slug(world: World) -> None:
    person = sponsor(world)
    assert (await person.post(SUBMISSIONS, edit("unknown"))).words == "404 not_found"
    assert (await person.post(SUBMISSIONS, bot("bot-00"))).words == "409 invalid_state"
    same = (await world.client.get("/api/v1/bots/bot-00")).json
    same = {name: value for name, value in same.items() if name != "updatedAt"}
    refused = await person.post(SUBMISSIONS, {"kind": "bots", "slug": "bot-00", "entry": same})
    assert (refused.words, refused.json["fields"][0]["name"]) == ("400 invalid_request", "entry")


async def test_the_eleventh_submission_that_waits_is_refused(world: World) -> None:
    person, admin = sponsor(world), administrator(world)
    for number in range(10):
        await proposed(person, bot(f"bot-of-mine-{number}"))
    refused = await person.post(SUBMISSIONS, bot())
    assert refused.words == "409 submission_limit"
    assert "10 submissions" in refused.json["message"]
    await decide(admin, (await waiting(admin))[0], "decline", note="No source.")
    await proposed(person, bot())


async def test_submissions_of_others_do_not_exist(world: World) -> None:
    made = await proposed(sponsor(world), bot())
    other = sponsor(world, "bob@example.com")
    assert (await other.get(f"{SUBMISSIONS}/{made['id']}")).words == "404 not_found"
    assert (await other.get(SUBMISSIONS)).json["items"] == []


async def test_an_outdated_submission_is_shown_with_both_entries_and_cannot_be_accepted(world: World) -> None:
    person, other, admin = sponsor(world), sponsor(world, "bob@example.com"), administrator(world)
    await proposed(person, edit("bot-00", name="Mine"))
    world.clock.at_ms += 1
    await proposed(other, edit("bot-00", name="Theirs"))
    mine, theirs = await waiting(admin)
    assert (await decide(admin, theirs, "accept")).words == "200"
    stale = await decide(admin, mine, "accept")
    assert (stale.words, "Read it again" in stale.json["message"]) == ("409 invalid_state", True)
    [mine] = await waiting(admin)
    shown = (mine["outdated"], mine["base"]["name"], mine["current"]["name"], mine["entry"]["name"])
    assert shown == ("changed", "Bot bot-00", "Theirs", "Mine")
    refused = await decide(admin, mine, "accept")
    assert (refused.words, "has been changed" in refused.json["message"]) == ("409 invalid_state", True)
    await world.settled()
    assert (await world.client.get("/api/v1/bots/bot-00")).json["name"] == "Theirs"
    assert (await decide(admin, mine, "decline", note="It has changed.")).words == "200"
    again = await decide(admin, mine, "decline", note="It has changed.")
    assert (again.words, again.json["message"]) == ("409 invalid_state", "This submission has already been declined.")


async def test_a_review_needs_what_was_seen_and_a_note_to_decline(world: World) -> None:
    admin = administrator(world)
    await proposed(sponsor(world), bot())
    [item] = await waiting(admin)
    refused = await decide(admin, item, "decline")
    assert [each["name"] for each in refused.json["fields"]] == ["note"]
    unseen = await admin.post(f"{REVIEWS}/{item['id']}/review", {"decision": "accept"})
    assert [each["name"] for each in unseen.json["fields"]] == ["seen"]
    assert len(await waiting(admin)) == 1


async def test_a_repeated_proposal_is_one(world: World) -> None:
    person = sponsor(world)

    async def post(body: dict[str, Any]) -> Any:
        return await world.client.post(SUBMISSIONS, person.key, json=body, headers={"idempotency-key": "k1"})

    first = await post(bot())
    assert (await post(bot(addedAt=7))).json == first.json
    assert (await post(bot(name="Other"))).words == "409 idempotency_conflict"
    assert len(world.memory.submissions) == 1


async def test_decisions_are_mailed_and_administrators_are_told_of_submissions_once_an_hour(world: World) -> None:
    person, admin = sponsor(world), administrator(world)
    for number in range(3):
        await proposed(person, bot(f"mine-{number}"))
    first, second, _ = await waiting(admin)
    await decide(admin, first, "accept")
    await decide(admin, second, "decline", note="No source.")
    mails = [(row.recipient, row.template, row.created_ms - world.now_ms) for row in world.memory.messages.values()]
    assert sorted(mails) == [
        ("admin@example.com", "submissions_wait", 0),
        ("admin@example.com", "submissions_wait", 3_600_000),
        ("sponsor@example.com", "submission_accepted", 0),
        ("sponsor@example.com", "submission_declined", 0),
    ]
