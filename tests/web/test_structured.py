"""Addresses, cards and data of schema.org that pages give to search engines and link previews."""

import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from service.schemas.fields import NEWEST_MS
from service.web.pages.parts import structured_data
from service.web.pages.parts.words import SUMMARY_CHARACTERS, summary
from service.web.static_files import static_url
from tests.api.conformity import BASE_URL
from tests.api.world import GUIDE, World
from tests.web.markup import card_of, data_of
from tests.web.visitors import Visitor

REQUIRED = {
    "WebSite": {"name", "url", "potentialAction"},
    "ItemList": {"name", "url", "itemListElement"},
    "BreadcrumbList": {"itemListElement"},
    "Article": {"headline", "description", "url", "mainEntityOfPage", "author", "publisher", "datePublished"},
    "SoftwareApplication": {"name", "description", "url", "author", "datePublished"},
}
"""The properties that each thing has to have, by its type."""


async def _html(world: World, path: str) -> str:
    response = await Visitor(world).get(path)
    assert response.status == 200
    return response.body.decode()


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("/", {"WebSite"}),
        ("/usecases", {"ItemList", "BreadcrumbList"}),
        ("/bots", {"ItemList", "BreadcrumbList"}),
        ("/usecases/case-04", {"Article", "BreadcrumbList"}),
        ("/bots/bot-00", {"SoftwareApplication", "BreadcrumbList"}),
        ("/claim", set()),
    ],
)
async def test_a_page_describes_what_it_shows(world: World, path: str, types: set[str]) -> None:
    things = data_of(await _html(world, path))
    assert {thing["@type"] for thing in things} == types
    for thing in things:
        assert thing.keys() >= REQUIRED[thing["@type"]]
        for url in _urls_of(thing):
            assert urlsplit(url).scheme == "https"
            # The search template is filled in by whoever searches.
            place = url.removeprefix(BASE_URL).partition("?")[0]
            if url.startswith(BASE_URL) and not place.startswith("/static/"):
                assert (await Visitor(world).get(place)).status == 200, url


def _urls_of(thing: Any) -> list[str]:
    if isinstance(thing, list):
        return [url for each in thing for url in _urls_of(each)]
    if isinstance(thing, dict):
        return [url for each in thing.values() for url in _urls_of(each)]
    return [thing] if str(thing).startswith("http") else []


async def test_a_list_counts_its_entries_in_the_order_of_the_page(world: World) -> None:
    [listed, crumbs] = data_of(await _html(world, "/usecases"))
    items = listed["itemListElement"]
    assert [item["position"] for item in items] == list(range(1, 13))
    newest = (await world.client.get("/api/v1/usecases?limit=12")).json["data"]
    assert [item["url"] for item in items] == [f"{BASE_URL}/usecases/{entry['slug']}" for entry in newest]
    assert [crumb["item"] for crumb in crumbs["itemListElement"]] == [f"{BASE_URL}/", f"{BASE_URL}/usecases"]


async def test_a_guide_is_a_part_of_its_use_case(world: World) -> None:
    [article, _] = data_of(await _html(world, "/usecases/case-04"))
    guide = article["hasPart"]
    assert (guide["@type"], guide["name"], guide["description"]) == ("HowTo", GUIDE["title"], GUIDE["opportunity"])
    assert [(step["position"], step["text"]) for step in guide["step"]] == [(1, "Begin"), (2, "Go on")]
    await world.add("brief", guide=GUIDE | {"steps": []})
    assert "hasPart" not in data_of(await _html(world, "/usecases/brief"))[0]


async def test_what_a_client_cannot_use_is_left_out(world: World) -> None:
    await world.add("far", NEWEST_MS, title="W" * 200)
    [article, _] = data_of(await _html(world, "/usecases/far"))
    assert "datePublished" not in article, "the calendar of most programs ends with the year 9999"
    assert article["headline"] == "W" * structured_data.HEADLINE_CHARACTERS
    entry = {"slug": "a", "name": "A", "who": "A person", "handle": "@a", "job": "Sorts", "addedAt": 0, "updatedAt": 0}
    for url in ("javascript:alert(1)", "data:text/html,a", "ftp://example.com/a", "/bots"):
        [application, _] = structured_data.bot(BASE_URL, "Catalog", entry | {"templateUrl": url})["@graph"]
        assert "installUrl" not in application
        assert "applicationCategory" not in application


def test_data_cannot_end_its_script_or_begin_markup() -> None:
    for words in ("</script><script>alert(1)</script>", "<!--", "]]>", "&lt;", "\u2028\u2029"):
        text = str(structured_data.json_ld({"words": words}))
        assert not set(text) & set("<>&\u2028\u2029")


@pytest.mark.parametrize("path", ["/", "/usecases", "/usecases/case-04", "/bots/bot-00", "/claim", "/embed", "/docs"])
async def test_a_page_has_one_address_whatever_the_query_says(world: World, path: str) -> None:
    for query in ("", "?notice=signed_out", "?utm_source=mail&x=%22%3E"):
        card = card_of(await _html(world, path + query))
        assert card["canonical"] == card["og:url"] == f"{BASE_URL}{path}"
        assert card["og:image"] == f"{BASE_URL}{static_url('card.png')}"


@pytest.mark.parametrize("kind", ["usecases", "bots"])
async def test_search_engines_list_the_first_page_of_a_list_alone(world: World, kind: str) -> None:
    cursor = (await world.client.get(f"/api/v1/{kind}?limit=20")).json["nextCursor"]
    for query in ("q=zebra", "q=nothing-like-it", f"cursor={cursor}"):
        assert card_of(await _html(world, f"/{kind}?{query}")) == {"robots": "noindex"}
    assert card_of((await Visitor(world).get(f"/{kind}?cursor=none")).body.decode()) == {"robots": "noindex"}


@pytest.mark.parametrize("path", ["/usecases/case-04", "/bots/bot-00"])
async def test_an_entry_leads_to_its_json(world: World, path: str) -> None:
    response = await Visitor(world).get(path)
    assert (response.header("link") or "").startswith(f'</api/v1{path}>; rel="alternate"; type="application/json", ')
    assert card_of(response.body.decode())["alternate"] == f"/api/v1{path}"
    assert (await world.client.get(f"/api/v1{path}")).json["slug"] == path.rpartition("/")[2]


async def test_pages_lead_programs_to_the_description_of_the_api(world: World) -> None:
    link = (await Visitor(world).get("/")).header("link") or ""
    relations = {}
    for part in link.split(", "):
        target, *parameters = part.split("; ")
        relations[parameters[0]] = target.strip("<>")
    assert relations == {
        'rel="service-desc"': "/openapi.json",
        'rel="service-doc"': "/docs",
        'rel="api-catalog"': "/.well-known/api-catalog",
    }
    for target in relations.values():
        assert (await world.client.get(target)).status == 200


def test_a_summary_is_one_line_cut_between_words() -> None:
    assert summary(" a\n b\t c ") == "a b c"
    assert summary("word " * 100) == "word " * 38 + "word…"
    assert summary("w" * 300) == "w" * (SUMMARY_CHARACTERS - 1) + "…"
    assert len(summary("ab " * 100)) <= SUMMARY_CHARACTERS


def test_the_card_is_a_small_image_of_the_size_that_pages_say() -> None:
    image = (Path(structured_data.__file__).parents[2] / "static" / "card.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", image[16:24]) == (1_200, 630)
    assert len(image) <= 40 * 1024
