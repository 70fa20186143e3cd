"""Administrators edit the catalog over HTTP, and mirrors follow its changes."""

import json
from copy import deepcopy
from typing import Any

import pytest

from actors.clock import DAY_MS
from actors.retention.store import Rows
from service.snapshots.etags import digest_in
from tests.api.sponsors import Person, administrator, changes
from tests.api.world import BOTS, NOON_MS, USECASES, World, away
from tests.contract import BOT, USECASE
from tests.doubles.retention import MemoryRetention

ADMIN, PUBLIC = "/api/v1/admin/catalog/bots", "/api/v1/bots"
CHANGES = "/api/v1/changes"


async def mirrored(world: World, cursor: str = "", limit: int = 7) -> tuple[list[Any], str]:
    """All changes after a cursor, and the cursor of the end."""
    found: list[Any] = []
    while True:
        answer = await world.client.get(f"{CHANGES}?limit={limit}&cursor={cursor}")
        assert answer.words == "200", answer.body
        found += answer.json["data"]
        cursor = answer.json["nextCursor"]
        if answer.header("link") is None:
            return found, cursor


def told(found: list[Any]) -> list[tuple[str, str, str]]:
    return [(each["kind"], each["slug"], each["change"]) for each in found]


# Putting and retiring.


async def test_an_entry_is_put_read_replaced_retired_and_restored(world: World) -> None:
    admin = administrator(world)
    made = await admin.put(f"{ADMIN}/made-here", BOT)
    assert made.json == {"bot": BOT | {"slug": "made-here", "addedAt": world.now_ms, "updatedAt": world.now_ms}}
    await world.settled()
    shown = await world.client.get(f"{PUBLIC}/made-here")
    assert (shown.json, shown.header("etag")) == (made.json["bot"], made.header("etag"))
    world.clock.at_ms += 5
    edited = await admin.put(
        f"{ADMIN}/made-here", shown.json | {"job": "Another."}, if_match=shown.header("etag") or ""
    )
    assert edited.json["bot"] == made.json["bot"] | {"job": "Another.", "updatedAt": world.now_ms}
    world.clock.at_ms += 5
    retired = await admin.delete(f"{ADMIN}/made-here")
    assert retired.json["retiredAt"] == world.now_ms
    assert (await admin.get(f"{ADMIN}/made-here")).json == retired.json
    await world.settled()
    assert (await world.client.get(f"{PUBLIC}/made-here")).words == "404 not_found"
    world.clock.at_ms += 5
    restored = await admin.put(f"{ADMIN}/made-here", retired.json["bot"])
    assert restored.json["bot"] == edited.json["bot"] | {"updatedAt": world.now_ms}
    await world.settled()
    assert (await world.client.get(f"{PUBLIC}/made-here")).json == restored.json["bot"]
    actions = ["entry.created", "entry.edited", "entry.retired", "entry.restored"]
    assert changes(world) == [("key", action) for action in actions]
    assert {record.actor_email for record in world.memory.audits} == {"admin@example.com"}


async def test_an_import_and_a_put_of_the_same_are_the_same(world: World) -> None:
    admin, revision = administrator(world), await world.catalog_store.revision()
    for kind, name, entry in (("bots", "bot", BOTS[0]), ("usecases", "useCase", USECASES[4])):
        answer = await admin.put(f"/api/v1/admin/catalog/{kind}/{entry.slug}", json.loads(entry.document))
        assert answer.json[name]["updatedAt"] == NOON_MS
    assert await world.catalog_store.revision() == revision
    assert not changes(world)


NAMED = [
    ("If-Match", "{etag}", 200),
    ("If-Match", '"nothing", {etag}', 200),
    ("If-Match", "*", 200),
    ("If-Match", "W/{etag}", 412),
    ("If-Match", '"AAAAAAAAAAAAAAAAAAAAAA"', 412),
    ("If-Match", '"of another service"', 412),
    ("If-Match", "unquoted", 400),
    ("If-Match", "", 400),
    ("If-None-Match", "*", 412),
    ("If-None-Match", "{etag}", 400),
]


@pytest.mark.parametrize(("header", "value", "status"), NAMED)
async def test_a_change_is_made_to_the_version_that_it_names(
    world: World, header: str, value: str, status: int
) -> None:
    admin, before = administrator(world), await world.client.get(f"{PUBLIC}/bot-01")
    named = {header: value.format(etag=before.header("etag"))}
    answer = await admin.put(f"{ADMIN}/bot-01", BOT, **named)
    assert answer.status == status, answer.body
    await world.settled()
    after = await world.client.get(f"{PUBLIC}/bot-01")
    assert (after.json == before.json) == (status != 200)
    if status == 412:
        assert answer.json["error"] == "precondition_failed"
    if header == "If-Match" and status != 200:
        assert (await admin.delete(f"{ADMIN}/bot-01", **named)).status == status
        assert (await admin.get(f"{ADMIN}/bot-01")).json.keys() == {"bot"}


async def test_an_etag_of_a_compressed_body_names_its_version(world: World) -> None:
    admin, long = administrator(world), {"job": "Helps. " * 200}
    made = await admin.put(f"{ADMIN}/long", BOT | long)
    await world.settled()
    packed = await world.client.get(f"{PUBLIC}/long", headers={"Accept-Encoding": "gzip"})
    tag = packed.header("etag") or ""
    assert packed.header("content-encoding") == "gzip"
    assert tag != made.header("etag")
    assert digest_in(tag) == digest_in(made.header("etag") or "")
    assert (await admin.put(f"{ADMIN}/long", BOT, if_match=tag)).words == "200"


async def test_an_edit_of_what_was_retired_meanwhile_is_refused_and_creating_it_is_not(world: World) -> None:
    admin, etag = administrator(world), (await world.client.get(f"{PUBLIC}/bot-01")).header("etag") or ""
    await admin.delete(f"{ADMIN}/bot-01")
    refused = await admin.put(f"{ADMIN}/bot-01", BOT, if_match=etag)
    assert (refused.words, "retired" in refused.json["message"]) == ("412 precondition_failed", True)
    assert (await admin.put(f"{ADMIN}/bot-01", BOT, if_match="*")).words == "412 precondition_failed"
    assert (await admin.put(f"{ADMIN}/bot-01", BOT, if_none_match="*")).words == "200"


BAD: list[tuple[str, Any, int]] = [
    ("bot-01", BOT | {"color": "red"}, 400),
    ("bot-01", BOT | {"slug": "bot-02"}, 400),
    ("bot-01", BOT | {"job": 3}, 400),
    ("bot-01", {}, 400),
    ("bot-01", USECASE, 400),
    ("bot-01", BOT | {"addedAt": -1}, 400),
    ("bot-01", BOT | {"templateUrl": "javascript:alert(1)"}, 400),
    ("bot-01", BOT | {"job": "a" * 1_048_576}, 413),
    ("bot-01", BOT | {"updatedAt": "now"}, 400),
    ("BOT-01", BOT, 404),
    ("bot--01", BOT, 404),
    ("b%C3%B6t", BOT, 404),
    ("%2e%2e", BOT, 404),
    ("..%2Fusecases%2Fcase-01", BOT, 404),
    ("bot-01%00", BOT, 404),
    ("bot-01%0A", BOT, 404),
    ("a" * 101, BOT, 404),
    ("", BOT, 404),
]


@pytest.mark.parametrize(("slug", "body", "status"), BAD)
async def test_a_bad_entry_is_refused_and_nothing_changes(world: World, slug: str, body: Any, status: int) -> None:
    answer = await administrator(world).put(f"{ADMIN}/{slug}", body)
    assert answer.status == status, answer.body
    assert answer.json["message"]
    assert await world.catalog_store.revision() == 1
    assert not world.memory.audits


async def test_the_largest_entry_fits_however_its_letters_are_written(world: World) -> None:
    guide = {
        "title": "t",
        "category": "c",
        "opportunity": "o",
        "audience": "a",
        "platforms": [],
        "botSlugs": [],
        "steps": [],
    }
    path, admin = "/api/v1/admin/catalog/usecases/large", administrator(world)
    fits = USECASE | {"guide": guide | {"prompt": "\u00fc" * 20_000, "steps": ["\u00fc" * 500] * 21}}
    written = json.dumps(fits).encode()
    assert len(written) > 3 * 60_000
    answer = await world.client.request("PUT", path, admin.key, body=written)
    assert answer.words == "200", answer.body
    more = USECASE | {"guide": guide | {"prompt": "\u00fc" * 20_000, "steps": ["\u00fc" * 500] * 30}}
    refused = await admin.put(path, more)
    assert (refused.words, "64 KiB" in refused.json["message"]) == ("413 payload_too_large", True)


@pytest.mark.parametrize(
    "path", ["/api/v1/admin/catalog/slots/a", "/api/v1/admin/catalog/bots", "/api/v1/admin/catalog/bot/a"]
)
async def test_another_kind_is_no_path(world: World, path: str) -> None:
    assert (await administrator(world).put(path, BOT)).words == "404 not_found"


async def test_a_retired_entry_is_retired_again_and_an_unknown_one_is_not_found(world: World) -> None:
    admin = administrator(world)
    first = await admin.delete(f"{ADMIN}/bot-01")
    assert (await admin.delete(f"{ADMIN}/bot-01")).json == first.json
    assert (await admin.delete(f"{ADMIN}/unknown")).words == "404 not_found"
    assert changes(world) == [("key", "entry.retired")]


# Changes.


async def test_a_mirror_reads_all_changes_once_and_then_only_what_is_new(world: World) -> None:
    found, end = await mirrored(world)
    assert sorted(told(found)) == sorted(
        (kind, entry.slug, "added") for kind, entries in (("bots", BOTS), ("usecases", USECASES)) for entry in entries
    )
    assert {each["at"] for each in found} == {NOON_MS}
    assert await mirrored(world, end) == ([], end)
    admin = administrator(world)
    world.clock.at_ms += 1
    await admin.put(f"{ADMIN}/bot-01", BOT)
    await admin.delete(f"{ADMIN}/bot-02")
    await admin.put(f"{ADMIN}/made-here", BOT)
    await admin.put(f"{ADMIN}/bot-01", BOT | {"job": "Another."})
    await world.settled()
    new, end = await mirrored(world, end, limit=1)
    assert told(new) == [("bots", "bot-02", "removed"), ("bots", "made-here", "added"), ("bots", "bot-01", "updated")]
    assert {each["at"] for each in new} == {world.now_ms, world.now_ms + 1}
    assert await mirrored(world, end) == ([], end)


async def test_changes_are_read_while_the_database_is_away_and_a_304_says_that_there_are_none(world: World) -> None:
    _, end = await mirrored(world)
    world.catalog_memory.before = away
    answer = await world.client.get(f"{CHANGES}?cursor={end}")
    assert answer.json == {"data": [], "nextCursor": end}
    again = await world.client.get(f"{CHANGES}?cursor={end}", headers={"If-None-Match": answer.header("etag") or ""})
    assert (again.status, again.body) == (304, b"")


async def test_a_day_without_changes_costs_a_mirror_less_than_a_kilobyte(world: World) -> None:
    _, end = await mirrored(world)
    answer = await world.client.get(f"{CHANGES}?cursor={end}")
    head = sum(len(name) + len(value) + 4 for name, value in answer.headers)
    assert head + len(answer.body) < 1_000


@pytest.mark.parametrize("query", ["cursor=x", "limit=0", "limit=1001", "limit=x", "cursor=a&cursor=b"])
async def test_a_bad_query_for_changes_is_refused(world: World, query: str) -> None:
    assert (await world.client.get(f"{CHANGES}?{query}")).words == "400 invalid_request"


async def test_a_cursor_of_a_list_is_none_of_the_changes(world: World) -> None:
    cursor = (await world.client.get(f"{PUBLIC}?limit=1")).json["nextCursor"]
    assert (await world.client.get(f"{CHANGES}?cursor={cursor}")).words == "400 invalid_request"


async def _forgotten(world: World) -> None:
    assert await MemoryRetention(world.catalog_memory).prune(Rows.RETIRED_ENTRIES, world.now_ms + DAY_MS, 10) > 0
    world.services.catalog.refresh_soon()
    await world.settled()


async def test_a_cursor_that_missed_a_forgotten_removal_is_told_to_begin_again(world: World) -> None:
    admin, early = administrator(world), (await world.client.get(f"{CHANGES}?limit=5")).json["nextCursor"]
    await admin.delete(f"{ADMIN}/bot-02")
    await world.settled()
    _, after = await mirrored(world)
    await _forgotten(world)
    assert (await world.client.get(f"{CHANGES}?cursor={early}")).words == "410 cursor_expired"
    assert (await mirrored(world, after))[0] == []
    # A mirror that begins now has missed nothing, page by page.
    found, end = await mirrored(world)
    assert len(found) == len(BOTS) - 1 + len(USECASES)
    assert await mirrored(world, end) == ([], end)


async def test_a_removal_that_is_forgotten_during_the_first_reading_is_not_missed(world: World) -> None:
    admin: Person = administrator(world)
    everything = len(BOTS) + len(USECASES)
    half = (await world.client.get(f"{CHANGES}?limit={everything - 1}")).json["nextCursor"]
    await admin.delete(f"{ADMIN}/bot-02")
    await world.settled()
    await _forgotten(world)
    assert (await world.client.get(f"{CHANGES}?cursor={half}")).words == "410 cursor_expired"


async def test_a_cursor_from_before_a_restore_is_told_to_begin_again_also_if_its_revision_is_reached_anew(
    world: World,
) -> None:
    admin, backup = administrator(world), deepcopy(world.catalog_memory.catalog)
    await admin.delete(f"{ADMIN}/bot-02")
    await world.settled()
    _, end = await mirrored(world)
    world.catalog_memory.catalog = backup
    backup.epoch += 1
    await admin.delete(f"{ADMIN}/bot-03")
    await world.settled()
    assert [each["slug"] for each in (await mirrored(world))[0] if each["change"] == "removed"] == ["bot-03"]
    assert (await world.client.get(f"{PUBLIC}/bot-02")).status == 200
    assert (await world.client.get(f"{CHANGES}?cursor={end}")).words == "410 cursor_expired"
