"""Operations 6 to 9: lists, search, single entries and caching (ADR 0021 and 0097)."""

import pytest

from actors.clock import HOUR_MS
from tests.api.asgi import Response
from tests.api.world import BOTS, GUIDE, NOON_MS, SLUGS, World, away

USECASE_LIST, BOT_LIST = "/api/v1/usecases", "/api/v1/bots"
BOT_SLUGS = [entry.slug for entry in BOTS]


def slugs(response: Response) -> list[str]:
    assert response.words == "200"
    return [entry["slug"] for entry in response.json["data"]]


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
    ["0", "101", "-1", "1.5", "abc", "+5", "%205", "5%20", "٣", "9" * 5000, "NULL"],
    ids=lambda limit: limit[:5],
)
async def test_any_other_limit_is_refused(world: World, limit: str) -> None:
    for path in (USECASE_LIST, BOT_LIST):
        response = await world.client.get(f"{path}?limit={limit}")
        assert response.words == "400 invalid_request"
        assert "limit" in response.json["message"]


async def test_a_cursor_is_the_same_for_everyone(world: World) -> None:
    keyless = await world.client.get(USECASE_LIST)
    keyed = await world.client.get(USECASE_LIST, world.key())
    assert keyless.body == keyed.body


async def test_what_is_no_cursor_of_the_list_is_refused(world: World) -> None:
    for path, other in ((USECASE_LIST, BOT_LIST), (BOT_LIST, USECASE_LIST)):
        cursor = (await world.client.get(other)).json["nextCursor"]
        for wrong in (cursor, cursor[:5] + "%20" + cursor[5:], "x", "é", "%00", "A" * 2_001, "..%2F"):
            response = await world.client.get(f"{path}?cursor={wrong}")
            assert response.words == "400 invalid_request"
            assert "cursor" in response.json["message"]


async def test_the_null_of_a_last_page_sent_back_is_no_cursor(world: World) -> None:
    for path in (USECASE_LIST, BOT_LIST):
        assert (await world.client.get(f"{path}?cursor=null")).json == (await world.client.get(path)).json


# Search.


async def test_a_search_gives_at_most_limit_entries_and_never_a_cursor(world: World) -> None:
    response = await world.client.get(f"{USECASE_LIST}?q=case&limit=3")
    assert len(slugs(response)) == 3
    assert response.json["nextCursor"] is None


async def test_a_cursor_beside_a_search_is_ignored(world: World) -> None:
    for cursor in ("garbage", (await world.client.get(USECASE_LIST)).json["nextCursor"]):
        assert slugs(await world.client.get(f"{USECASE_LIST}?q=zebra&cursor={cursor}")) == ["case-04", "case-30"]


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


async def test_without_its_store_searches_and_lists_go_on(world: World) -> None:
    world.catalog_memory.before = away
    assert slugs(await world.client.get(f"{USECASE_LIST}?q=zebra")) == ["case-04", "case-30"]
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
        "updatedAt": NOON_MS,
    }
    bot = (await world.client.get(f"{BOT_LIST}/bot-01")).json
    fields = {"slug", "name", "category", "who", "handle", "job", "templateUrl", "addedAt", "updatedAt"}
    assert bot.keys() == fields


async def test_a_field_that_is_not_set_is_absent(world: World) -> None:
    assert "guide" not in (await world.client.get(f"{USECASE_LIST}/case-00")).json


@pytest.mark.parametrize("path", [f"{USECASE_LIST}/nobody", f"{BOT_LIST}/case-04", f"{USECASE_LIST}/bot-00"])
async def test_a_slug_that_is_not_there_is_404(world: World, path: str) -> None:
    for key in (None, world.key()):
        assert (await world.client.get(path, key)).words == "404 not_found"


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


async def test_a_304_uses_the_addresss_limit(world: World) -> None:
    statuses = [(await world.client.get(USECASE_LIST, headers={"If-None-Match": "*"})).status for _ in range(31)]
    assert statuses == [304] * 30 + [429]


async def test_a_missing_entry_is_404_whatever_a_client_has(world: World) -> None:
    assert (await world.client.get(f"{USECASE_LIST}/nobody", headers={"If-None-Match": "*"})).words == "404 not_found"
