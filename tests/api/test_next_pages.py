"""The `Link` header of lists: it leads through all pages, for clients that know nothing of cursors."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from requests.utils import parse_header_links

from service.api.operations.responses import next_link
from service.schemas.lists import CatalogQuery
from tests.api.asgi import Response
from tests.api.conformity import BASE_URL
from tests.api.sponsors import ADMIN, administrator, sponsor
from tests.api.world import SLUGS, World


def following(response: Response) -> str | None:
    """The path of the next page, as a stock client reads it."""
    header = response.header("link")
    if header is None:
        return None
    [link] = parse_header_links(header)
    assert link["rel"] == "next"
    assert str(link["url"]).startswith(f"{BASE_URL}/api/v1/")
    return str(link["url"]).removeprefix(BASE_URL)


async def walked(world: World, path: str, key: str | None = None) -> Sequence[Any]:
    """The items of all pages."""
    items: list[Any] = []
    address: str | None = path
    while address is not None:
        response = await world.client.get(address, key)
        assert response.words == "200"
        body = response.json
        items += body["data"] if "data" in body else body["items"]
        address = following(response)
        assert (address is None) == (body.get("nextCursor", body.get("cursor")) is None)
    return items


@pytest.mark.parametrize("query", ["", "?limit=7", "?limit=45", "?limit=44&cursor=null"])
async def test_a_list_of_the_catalog_is_walked_by_its_links(world: World, query: str) -> None:
    assert [entry["slug"] for entry in await walked(world, f"/api/v1/usecases{query}", world.key())] == SLUGS


async def test_a_link_keeps_the_parameters_that_the_list_knows(world: World) -> None:
    response = await world.client.get('/api/v1/bots?limit=5&x=">;rel=evil&cursor=')
    address = following(response) or ""
    cursor = response.json["nextCursor"]
    assert address == f"/api/v1/bots?limit=5&cursor={cursor}"
    assert following(await world.client.get("/api/v1/bots")) == (
        f"/api/v1/bots?cursor={(await world.client.get('/api/v1/bots')).json['nextCursor']}"
    )


async def test_a_search_and_an_answer_without_a_body_have_no_link(world: World) -> None:
    first = await world.client.get("/api/v1/usecases")
    assert following(first) is not None
    seen = {"If-None-Match": first.header("etag") or ""}
    for response in (
        await world.client.get("/api/v1/usecases?q=case&limit=1"),
        await world.client.get("/api/v1/usecases", headers=seen),
        await world.client.get("/api/v1/usecases/case-04"),
    ):
        assert response.header("link") is None
    assert re.search(r"\bLink\b", first.header("access-control-expose-headers") or ""), "scripts of other sites read it"


async def test_lists_of_sponsors_and_administrators_are_walked_by_their_links(world: World) -> None:
    person, admin = sponsor(world), administrator(world)
    campaigns = {await person.campaign(name=f"Campaign {number}") for number in range(5)}
    assert {each["id"] for each in await walked(world, "/api/v1/sponsors/campaigns?limit=2", person.key)} == campaigns
    for path, least in {
        f"{ADMIN}/campaigns?limit=2&status=pending&order=oldest": 5,
        f"{ADMIN}/reviews?limit=2": 5,
        f"{ADMIN}/audit?limit=3": 5,
        "/api/v1/admin/accounts?limit=1": 2,
    }.items():
        found = await walked(world, path, admin.key)
        names = [str(each.get("id") or each.get("tenantId") or each) for each in found]
        assert len(names) == len(set(names)) >= least, path


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("", ""),
        ("limit=5&cursor=old", "limit=5&"),
        ("limit=&q=&limit=7", "limit=7&"),
        ("x=1&y=%22%3E%0d%0aA:b&limit=5", "limit=5&"),
        ('limit=5">;rel=evil', "limit=5%22%3E%3Brel%3Devil&"),
        ("limit=\udcff", ""),
    ],
)
def test_a_link_holds_nothing_that_the_request_could_break_it_with(query: str, kept: str) -> None:
    link = next_link(BASE_URL, "/api/v1/bots", query, CatalogQuery, "c-1")
    assert link == ("link", f'<{BASE_URL}/api/v1/bots?{kept}cursor=c-1>; rel="next"')
