"""Categories: their list, and lists and searches within one; and searches that no entry matches in full (ADR 0097)."""

import pytest

from tests.api.asgi import Response
from tests.api.world import BOTS, World, away
from tests.snapshots.entries import guide_fields

CATEGORIES, USECASE_LIST, BOT_LIST = "/api/v1/categories", "/api/v1/usecases", "/api/v1/bots"
BOT_SLUGS = [entry.slug for entry in BOTS]


def slugs(response: Response) -> list[str]:
    assert response.words == "200"
    return [entry["slug"] for entry in response.json["data"]]


# The list of categories.


async def test_categories_are_listed_with_the_number_of_entries_of_both_lists(world: World) -> None:
    assert (await world.client.get(CATEGORIES)).json == {"data": [{"name": "Finance", "useCases": 1, "bots": 23}]}
    await world.add("fresh", guide=guide_fields(category="Ärzte"))
    expected = [{"name": "Finance", "useCases": 1, "bots": 23}, {"name": "Ärzte", "useCases": 1, "bots": 0}]
    assert (await world.client.get(CATEGORIES)).json == {"data": expected}


async def test_categories_are_cached_and_change_with_the_counts(world: World) -> None:
    etag = (await world.client.get(CATEGORIES)).header("etag") or ""
    assert (await world.client.get(CATEGORIES, headers={"If-None-Match": etag})).status == 304
    await world.add("plain")
    assert (await world.client.get(CATEGORIES)).header("etag") == etag
    await world.add("fresh", guide=guide_fields(category="Finance"))
    assert (await world.client.get(CATEGORIES, headers={"If-None-Match": etag})).status == 200


# Lists of one category.


@pytest.mark.parametrize("name", ["Finance", "finance", "FINANCE", "%20Finance%20"])
async def test_a_list_of_a_category_has_its_entries_only(world: World, name: str) -> None:
    assert slugs(await world.client.get(f"{USECASE_LIST}?category={name}")) == ["case-04"]
    assert slugs(await world.client.get(f"{BOT_LIST}?category={name}&limit=100")) == BOT_SLUGS


@pytest.mark.parametrize("name", ["", "%20"])
async def test_an_empty_category_is_none(world: World, name: str) -> None:
    assert len(slugs(await world.client.get(f"{USECASE_LIST}?category={name}"))) == 20


@pytest.mark.parametrize("name", ["Unknown", "Financ", "%F0%9F%98%80", "%22%27%5C", "x" * 200])
async def test_an_unknown_category_has_no_entries(world: World, name: str) -> None:
    cursor = (await world.client.get(USECASE_LIST)).json["nextCursor"]
    for query in ("", "&q=zebra", f"&cursor={cursor}"):
        response = await world.client.get(f"{USECASE_LIST}?category={name}{query}")
        assert response.json == {"data": [], "nextCursor": None}


async def test_a_category_that_is_too_long_or_has_a_nul_is_refused(world: World) -> None:
    for name in ("x" * 201, "a%00b"):
        response = await world.client.get(f"{USECASE_LIST}?category={name}")
        assert response.words == "400 invalid_request"
        assert "category" in response.json["message"]


@pytest.mark.parametrize("category", ["Finance", "Unknown"])
async def test_what_is_no_cursor_is_refused_in_a_category_too(world: World, category: str) -> None:
    response = await world.client.get(f"{BOT_LIST}?category={category}&cursor=garbage")
    assert response.words == "400 invalid_request"


async def test_lists_of_categories_need_no_store(world: World) -> None:
    world.catalog_memory.before = away
    assert slugs(await world.client.get(f"{USECASE_LIST}?category=Finance")) == ["case-04"]
    assert (await world.client.get(CATEGORIES)).words == "200"


# Searches.


async def test_a_search_within_a_category_finds_its_entries_only(world: World) -> None:
    assert slugs(await world.client.get(f"{USECASE_LIST}?q=zebra&category=finance")) == ["case-04"]
    assert slugs(await world.client.get(f"{USECASE_LIST}?q=zebra")) == ["case-04", "case-30"]


async def test_a_search_that_no_entry_matches_in_full_finds_those_with_most_words_and_says_so(world: World) -> None:
    response = await world.client.get(f"{USECASE_LIST}?q=zebra%20submarine")
    assert slugs(response) == ["case-04", "case-30"]
    assert response.header("x-search-relaxed") == "true"
    assert response.json.keys() == {"data", "nextCursor"}
    etag = response.header("etag") or ""
    again = await world.client.get(f"{USECASE_LIST}?q=zebra%20submarine", headers={"If-None-Match": etag})
    assert (again.status, again.header("x-search-relaxed")) == (304, "true")
