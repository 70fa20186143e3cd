"""Operations 6 to 9: lists, search, single entries and caching (ADR 0015 and 0021)."""

import json

import pytest

from actors.catalog.store import Import, Kind
from actors.clock import HOUR_MS
from tests.api.asgi import Response
from tests.api.world import BOTS, GUIDE, NOON_MS, SLUGS, USECASES, World, away

USECASE_LIST, BOT_LIST = "/api/v1/usecases", "/api/v1/bots"
BOT_SLUGS = [entry.slug for entry in BOTS]


def slugs(response: Response) -> list[str]:
    assert response.words == "200"
    return [entry["slug"] for entry in response.json["data"]]


async def walk(world: World, path: str, limit: int) -> list[list[str]]:
    """All pages of a list. Uses a key, because there may be many."""
    key, pages, cursor = world.key(), [], ""
    while True:
        response = await world.client.get(f"{path}?limit={limit}&cursor={cursor}", key)
        pages.append(slugs(response))
        cursor = response.json["nextCursor"]
        if cursor is None:
            return pages


# Lists.


async def test_a_list_is_newest_first_then_by_slug(world: World) -> None:
    for path, expected in {USECASE_LIST: SLUGS, BOT_LIST: BOT_SLUGS}.items():
        response = await world.client.get(path)
        assert response.json.keys() == {"data", "nextCursor"}
        assert slugs(response) == expected[:20]


@pytest.mark.parametrize(
    ("limit", "size"), [("", 20), ("null", 20), ("1", 1), ("44", 44), ("45", 45), ("46", 45), ("100", 45), ("007", 7)]
)
async def test_this_limit_gives_a_page_of_this_size(world: World, limit: str, size: int) -> None:
    response = await world.client.get(f"{USECASE_LIST}?limit={limit}")
    assert slugs(response) == SLUGS[:size]
    assert (response.json["nextCursor"] is None) == (size == 45)


@pytest.mark.parametrize(
    "limit",
    [
        "0",
        "101",
        "-1",
        "1.5",
        "1.0",
        "abc",
        "1e1",
        "+5",
        "%205",
        "5%20",
        "0x10",
        "1_0",
        "٣",
        "²",
        "true",
        "None",
        "[]",
        "9" * 19,
        "9" * 5000,
        "%00",
        "-",
        "--1",
        "NULL",
    ],
)
async def test_any_other_limit_is_refused(world: World, limit: str) -> None:
    for path in (USECASE_LIST, BOT_LIST):
        response = await world.client.get(f"{path}?limit={limit}")
        assert response.words == "400 invalid_request"
        assert "limit" in response.json["message"]


@pytest.mark.parametrize("limit", [1, 2, 7, 20, 44, 45])
async def test_walking_a_list_gives_each_entry_once(world: World, limit: int) -> None:
    pages = await walk(world, USECASE_LIST, limit)
    assert [slug for page in pages for slug in page] == SLUGS
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1], "no page is empty"


async def test_walking_a_list_gives_each_entry_once_while_others_come_and_go(world: World) -> None:
    seen, cursor, number = [], "", 0
    while cursor is not None:
        response = await world.client.get(f"{USECASE_LIST}?limit=4&cursor={cursor}", world.key())
        seen += slugs(response)
        cursor = response.json["nextCursor"]
        number += 1
        # One first, one in the middle of a moment, one last.
        await world.add(f"new-{number}", NOON_MS + number * HOUR_MS)
        await world.add(f"case-{number:02}-half", NOON_MS - number // 3 * HOUR_MS)
        await world.add(f"old-{number}", NOON_MS - 1_000 * HOUR_MS - number)
    assert len(seen) == len(set(seen))
    assert [slug for slug in seen if slug in SLUGS] == SLUGS


async def test_a_cursor_leads_on_after_its_entry_was_removed(world: World) -> None:
    cursor = (await world.client.get(f"{USECASE_LIST}?limit=5")).json["nextCursor"]
    rest = [entry for entry in USECASES if entry.slug != "case-04"]
    await world.catalog_store.replace(Import({Kind.USECASES: rest}, prune=True))
    await world.settled()
    assert slugs(await world.client.get(f"{USECASE_LIST}?limit=2&cursor={cursor}")) == ["case-05", "case-06"]


async def test_a_page_size_may_change_on_the_way(world: World) -> None:
    cursor = (await world.client.get(f"{USECASE_LIST}?limit=3")).json["nextCursor"]
    assert slugs(await world.client.get(f"{USECASE_LIST}?limit=5&cursor={cursor}")) == SLUGS[3:8]


async def test_a_cursor_is_the_same_for_everyone(world: World) -> None:
    keyless = await world.client.get(USECASE_LIST)
    keyed = await world.client.get(USECASE_LIST, world.key())
    assert keyless.body == keyed.body


@pytest.mark.parametrize("change", ["first", "last", "cut", "longer", "padded", "spaced", "other alphabet"])
async def test_a_changed_cursor_is_refused(world: World, change: str) -> None:
    cursor = (await world.client.get(USECASE_LIST)).json["nextCursor"]
    changed = {
        "first": ("B" if cursor[0] != "B" else "C") + cursor[1:],
        "last": cursor[:-1] + ("Q" if cursor[-1] != "Q" else "g"),
        "cut": cursor[:-2],
        "longer": cursor + "AAAA",
        "padded": cursor + "%3D",
        "spaced": cursor[:5] + "%20" + cursor[5:],
        "other alphabet": cursor[:5] + "%2B" + cursor[6:],
    }[change]
    await _refused(world, USECASE_LIST, changed)


@pytest.mark.parametrize("cursor", ["x", "0", "A" * 22, "é", "%00", "%F0%9F%98%80", "A" * 2_001, "{}", "..%2F"])
async def test_what_is_no_cursor_is_refused(world: World, cursor: str) -> None:
    for path in (USECASE_LIST, BOT_LIST):
        await _refused(world, path, cursor)


async def test_the_null_of_a_last_page_sent_back_is_no_cursor(world: World) -> None:
    for path in (USECASE_LIST, BOT_LIST):
        assert (await world.client.get(f"{path}?cursor=null")).json == (await world.client.get(path)).json


async def test_a_cursor_of_the_other_list_is_refused(world: World) -> None:
    for path, other in ((USECASE_LIST, BOT_LIST), (BOT_LIST, USECASE_LIST)):
        await _refused(world, other, (await world.client.get(path)).json["nextCursor"])


async def _refused(world: World, path: str, cursor: str) -> None:
    response = await world.client.get(f"{path}?cursor={cursor}")
    assert response.words == "400 invalid_request"
    assert "cursor" in response.json["message"]


# Search.


async def test_a_search_finds_the_best_match_first_and_gives_no_cursor(world: World) -> None:
    response = await world.client.get(f"{USECASE_LIST}?q=zebra&limit=1")
    assert slugs(response) == ["case-04"], "a title outweighs the rest"
    assert response.json["nextCursor"] is None
    assert slugs(await world.client.get(f"{USECASE_LIST}?q=zebra")) == ["case-04", "case-30"]


async def test_a_search_gives_at_most_limit_entries_and_never_a_cursor(world: World) -> None:
    response = await world.client.get(f"{USECASE_LIST}?q=case&limit=3")
    assert len(slugs(response)) == 3
    assert response.json["nextCursor"] is None


async def test_a_search_looks_into_its_own_list_only(world: World) -> None:
    assert slugs(await world.client.get(f"{BOT_LIST}?q=zebra")) == []
    assert len(slugs(await world.client.get(f"{BOT_LIST}?q=receipts"))) == 20


async def test_a_cursor_beside_a_search_is_ignored(world: World) -> None:
    for cursor in ("garbage", (await world.client.get(USECASE_LIST)).json["nextCursor"]):
        assert slugs(await world.client.get(f"{USECASE_LIST}?q=zebra&cursor={cursor}")) == ["case-04", "case-30"]


@pytest.mark.parametrize(
    "q", ["nothinglikethis", "%26", "!!!", '"', '""', "%2D", "()", "%27%3B--", "%5C", "...", "*", "%25"]
)
async def test_a_search_without_a_match_or_a_word_finds_nothing(world: World, q: str) -> None:
    assert (await world.client.get(f"{USECASE_LIST}?q={q}")).json == {"data": [], "nextCursor": None}


@pytest.mark.parametrize("q", ["", "%20", "%09%0A"])
async def test_an_empty_search_is_the_list(world: World, q: str) -> None:
    response = await world.client.get(f"{USECASE_LIST}?q={q}")
    assert slugs(response) == SLUGS[:20]
    assert response.json["nextCursor"]


@pytest.mark.parametrize("letter", ["a", "%C3%A9", "%F0%9F%98%80"])
async def test_a_search_has_at_most_200_characters(world: World, letter: str) -> None:
    assert (await world.client.get(f"{USECASE_LIST}?q={letter * 200}")).words == "200"
    assert (await world.client.get(f"{USECASE_LIST}?q={letter * 201}")).words == "400 invalid_request"


async def test_a_search_with_a_nul_is_refused(world: World) -> None:
    assert (await world.client.get(f"{USECASE_LIST}?q=a%00b")).words == "400 invalid_request"


async def test_without_its_store_a_search_is_refused_and_lists_go_on(world: World) -> None:
    world.catalog_memory.before = away
    assert (await world.client.get(f"{USECASE_LIST}?q=zebra")).words == "503 service_unavailable"
    assert slugs(await world.client.get(USECASE_LIST)) == SLUGS[:20]


# Single entries.


async def test_an_entry_has_the_fields_of_the_specification(world: World) -> None:
    entry = (await world.client.get(f"{USECASE_LIST}/case-04")).json
    assert entry == {
        "slug": "case-04",
        "title": "Zebra counting",
        "who": "A person",
        "handle": "@person",
        "roi": "2 hours a week",
        "sourceUrl": "https://example.com/case-04",
        "addedAt": NOON_MS - HOUR_MS,
        "guide": GUIDE,
    }
    bot = (await world.client.get(f"{BOT_LIST}/bot-01")).json
    fields = {"slug", "name", "category", "who", "handle", "job", "templateUrl", "addedAt"}
    assert bot.keys() == fields


async def test_a_field_that_is_not_set_is_absent(world: World) -> None:
    assert "guide" not in (await world.client.get(f"{USECASE_LIST}/case-00")).json


async def test_an_entry_is_the_same_in_its_list(world: World) -> None:
    listed = (await world.client.get(f"{USECASE_LIST}?limit=5")).json["data"][4]
    assert listed == (await world.client.get(f"{USECASE_LIST}/case-04")).json


@pytest.mark.parametrize("path", [f"{USECASE_LIST}/nobody", f"{BOT_LIST}/case-04", f"{USECASE_LIST}/bot-00"])
async def test_a_slug_that_is_not_there_is_404(world: World, path: str) -> None:
    for key in (None, world.key()):
        assert (await world.client.get(path, key)).words == "404 not_found"


async def test_an_import_is_seen_at_once_in_lists_entries_and_searches(world: World) -> None:
    assert (await world.client.get(f"{USECASE_LIST}/fresh")).status == 404
    assert slugs(await world.client.get(f"{USECASE_LIST}?q=okapi")) == []
    await world.add("fresh", title="An okapi")
    assert (await world.client.get(f"{USECASE_LIST}/fresh")).status == 200
    assert slugs(await world.client.get(USECASE_LIST))[3] == "fresh"
    assert slugs(await world.client.get(f"{USECASE_LIST}?q=okapi")) == ["fresh"]


# Caching.

CACHED = [
    USECASE_LIST,
    f"{USECASE_LIST}?limit=3",
    f"{USECASE_LIST}?q=zebra",
    f"{USECASE_LIST}/case-04",
    f"{BOT_LIST}/bot-00",
]


@pytest.mark.parametrize("target", CACHED)
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '{},"other"', ' W/"x" , {} ', "*"])
async def test_what_a_client_has_already_is_304(world: World, target: str, form: str) -> None:
    fresh = await world.client.get(target)
    etag = fresh.header("etag")
    assert etag is not None
    assert etag.startswith('"')
    response = await world.client.get(target, headers={"If-None-Match": form.format(etag)})
    assert (response.status, response.body) == (304, b"")
    for name in ("etag", "cache-control", "vary", "access-control-allow-origin"):
        assert response.header(name) == fresh.header(name)


@pytest.mark.parametrize("tag", ['"other"', "", "W/", '""', "etag", ","])
async def test_another_tag_gets_the_whole_answer(world: World, tag: str) -> None:
    response = await world.client.get(USECASE_LIST, headers={"If-None-Match": tag})
    assert response.words == "200"
    assert response.body


async def test_two_if_none_match_headers_are_one_list(world: World) -> None:
    etag = (await world.client.get(USECASE_LIST)).header("etag") or ""
    both = [("If-None-Match", '"other"'), ("If-None-Match", etag)]
    assert (await world.client.get(USECASE_LIST, headers=both)).status == 304


async def test_a_keyed_request_is_never_304(world: World) -> None:
    etag = (await world.client.get(USECASE_LIST)).header("etag") or ""
    response = await world.client.get(USECASE_LIST, world.key(), headers={"If-None-Match": etag})
    assert response.words == "200"
    assert response.header("etag") is None


async def test_a_304_uses_the_addresss_limit(world: World) -> None:
    statuses = [(await world.client.get(USECASE_LIST, headers={"If-None-Match": "*"})).status for _ in range(31)]
    assert statuses == [304] * 30 + [429]


async def test_a_missing_entry_is_404_whatever_a_client_has(world: World) -> None:
    assert (await world.client.get(f"{USECASE_LIST}/nobody", headers={"If-None-Match": "*"})).words == "404 not_found"


async def test_a_tag_changes_with_the_answer_and_only_then(world: World) -> None:
    async def tag(target: str) -> str | None:
        return (await world.client.get(target)).header("etag")

    last_page, first_page, entry = (
        f"{USECASE_LIST}?limit=3&q=zebra",
        f"{USECASE_LIST}?limit=3",
        f"{USECASE_LIST}/case-04",
    )
    before = [await tag(target) for target in (last_page, first_page, entry)]
    await world.add("newest", NOON_MS + HOUR_MS)
    after = [await tag(target) for target in (last_page, first_page, entry)]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]


async def test_head_of_a_cached_answer_is_304_too(world: World) -> None:
    response = await world.client.request("HEAD", USECASE_LIST, headers={"If-None-Match": "*"})
    assert response.status == 304


async def test_pages_are_json_as_it_was_imported(world: World) -> None:
    response = await world.client.get(f"{USECASE_LIST}?limit=100")
    assert [json.loads(entry.document) for entry in USECASES] == response.json["data"]
