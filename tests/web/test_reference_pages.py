"""The pages of the reference: sound, small, complete, and with a search that works without scripts."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from service.api.errors import TABLE
from service.api.operations import OPERATIONS
from service.web.reference.contents import REMEDIES
from tests.api.conformity import DOCUMENT
from tests.api.world import World, open_world
from tests.slow import repeats
from tests.web.markup import Markup, faults_of, parsed
from tests.web.test_every_page import POLICY

MOST_BYTES = 60_000
"""The size of a page of the reference, without compression."""

BY_NAME: Mapping[str, Any] = {
    each["operationId"]: each for methods in DOCUMENT["paths"].values() for each in methods.values()
}


async def opened(world: World, path: str) -> Markup:
    response = await world.client.get(path)
    assert response.status == 200, path
    return parsed(response.body.decode())


@pytest.fixture
async def start(world: World) -> Markup:
    return await opened(world, "/docs")


def links_of(page: Markup) -> list[str]:
    return [each.attributes["href"] for each in page.all("a") if "href" in each.attributes]


@repeats("a few pages in test_every_page.py; make pages measures each")
async def test_every_page_is_sound_and_small_and_leads_to_all_others() -> None:
    async with open_world(PAGES__PER_MINUTE=10_000) as world:
        first = await opened(world, "/docs")
        assert faults_of(first.html) == []
        pages = {link for link in links_of(first) if re.fullmatch(r"/docs/[\w-]+", link)}
        groups = {f"/docs/{re.sub('[^a-z0-9]+', '-', tag['name'].lower())}" for tag in DOCUMENT["tags"]}
        assert len(groups) == len(DOCUMENT["tags"])
        assert pages == groups | {f"/docs/{operation.name}" for operation in OPERATIONS}
        sizes = {"/docs": len(first.html.encode())}
        for path in sorted(pages):
            page = await opened(world, path)
            assert faults_of(page.html) == [], path
            assert {f"/docs/{operation.name}" for operation in OPERATIONS} <= set(links_of(page)), path
            sizes[path] = len(page.html.encode())
        assert {path: size for path, size in sizes.items() if size > MOST_BYTES} == {}


async def test_old_anchors_name_the_operation_or_the_rule(start: Markup) -> None:
    rules = {"introduction", "authentication", "sign-in", "errors", "rate-limits", "etags", "cursors"}
    assert rules | BY_NAME.keys() <= set(start.ids)
    assert {f"chapter-{tag['name'].lower().replace(' ', '-')}" for tag in DOCUMENT["tags"]} <= set(start.ids)


async def test_sign_in_and_the_cookie_are_told_in_words(start: Markup) -> None:
    [scheme] = [name for name, each in DOCUMENT["components"]["securitySchemes"].items() if each.get("in") == "cookie"]
    cookie = DOCUMENT["components"]["securitySchemes"][scheme]["name"]
    assert f"a session in the cookie {cookie}, the security scheme {scheme}" in start.text
    assert "/sign-in" in links_of(start)


async def test_one_table_has_every_error_code_with_its_status_and_remedy(start: Markup) -> None:
    assert TABLE.keys() == REMEDIES.keys()
    rows = {row.attributes["id"]: row.text for row in start.all("tr") if "id" in row.attributes}
    expected = {str(code): f"{code}{TABLE[code].status}{remedy.replace('`', '')}" for code, remedy in REMEDIES.items()}
    assert {code: text.replace(" ", "") for code, text in rows.items()} == {
        code: text.replace(" ", "") for code, text in expected.items()
    }


@pytest.mark.parametrize("name", ["mintKey", "getUsage", "listUseCases", "listSessions", "createBooking", "createSlot"])
async def test_an_operation_says_who_may_call_it_what_it_takes_and_when_it_is_refused(world: World, name: str) -> None:
    operation, page = BY_NAME[name], await opened(world, f"/docs/{name}")
    assert page.one("h1").text == operation["summary"]
    words = {"": "None.", "bearer": "A key is optional", "bearer session": "key", "session": "Keys do not work here"}
    assert words[" ".join(scheme for each in operation["security"] for scheme in each)] in page.text
    for scope in re.findall(r"\w+:\w+", operation["description"]):
        assert scope in page.text
    assert ("An administrator's." in page.text) == ("must be an administrator" in operation["description"])
    named = {each.text for each in page.all("code") if "dt" in each.above}
    assert {each["name"] for each in operation.get("parameters", ())} <= named
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    model = DOCUMENT["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], {})
    assert model.get("properties", {}).keys() <= named
    codes = {str(code) for each in OPERATIONS if each.name == name for code in each.all_codes}
    linked = {link.removeprefix("/docs#") for link in links_of(page) if link.startswith("/docs#")}
    assert linked & {str(code) for code in TABLE} == codes


async def test_search_without_scripts_finds_names_paths_descriptions_and_codes(world: World) -> None:
    async def found(query: str) -> list[str]:
        page = await opened(world, f"/docs?q={query}")
        assert faults_of(page.html) == []
        return [each.attributes["href"] for each in page.all("a") if "ol" in each.above and "nav" not in each.above]

    assert (await found("getUsage"))[0] == "/docs/getUsage"
    assert (await found("%2Fapi%2Fv1%2Fsponsors%2Finventory"))[0] == "/docs/getInventory"
    assert {"/docs#slot_unavailable", "/docs/createBooking", "/docs/startBooking"} <= set(
        await found("slot_unavailable")
    )
    assert "/docs/recordEvent" in await found("VISITORID")
    assert (await found("POST+/api/v1/sponsors/bookings"))[0] == "/docs/createBooking"
    assert "/docs/listDeliveries" in await found("csv")
    assert await found("zeppelin") == []
    assert len(await found("%20")) == 0
    page = await opened(world, "/docs?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in page.html
    page = await opened(world, "/docs?q=%E2%80%AEabc")
    assert "“<bdi>\u202eabc</bdi>”" in page.html, "what is typed turns no words around it"


async def test_a_search_that_is_too_long_is_refused_in_words(world: World) -> None:
    assert (await world.client.get(f"/docs?q={'x' * 200}")).status == 200
    response = await world.client.get(f"/docs?q={'x' * 201}")
    assert response.status == 400
    page = parsed(response.body.decode())
    assert faults_of(page.html) == []
    assert "This search has 201 characters. Shorten it to 200." in page.text


async def test_unknown_names_are_the_usual_page_that_says_so(world: World) -> None:
    for name in ("nothing", "getusage", "search", "getUsage/more", "%3Cscript%3E", "x" * 3_000, "%ff", "..%2fdocs"):
        response = await world.client.get(f"/docs/{name}", headers={"accept": "text/html"})
        assert response.status == 404, name
        assert faults_of(response.body.decode()) == []


@pytest.mark.parametrize("path", ["/docs", "/docs/getUsage", "/docs/keys"])
async def test_a_page_that_the_client_has_is_not_sent_again(world: World, path: str) -> None:
    first = await world.client.get(path)
    etag = first.header("etag") or ""
    again = await world.client.get(path, headers={"if-none-match": etag})
    assert (again.status, again.body, again.header("etag")) == (304, b"", etag)
    assert (first.header("cache-control"), first.header("content-security-policy")) == ("no-cache", POLICY)
    repeated = ("cache-control", "content-security-policy", "referrer-policy")
    assert [again.header(name) for name in repeated] == [first.header(name) for name in repeated]
    assert (await world.client.get(path, headers={"if-none-match": '"other"'})).body == first.body


async def test_pages_and_searches_count_as_pages_of_an_address() -> None:
    paths = ("/docs/getUsage", "/docs?q=keys", "/docs/keys")
    async with open_world(PAGES__PER_MINUTE=2) as world:
        assert [(await world.client.get(path)).status for path in paths] == [200, 200, 429]
