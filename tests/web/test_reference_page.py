"""The readable reference: sound, complete, and with words for sign-in."""

import pytest

from service.api.operations import OPERATIONS
from tests.api.conformity import DOCUMENT
from tests.api.world import World
from tests.web.markup import Markup, faults_of, parsed


@pytest.fixture
async def reference(world: World) -> Markup:
    html = (await world.client.get("/docs")).body.decode()
    assert faults_of(html) == []
    return parsed(html)


async def test_the_contents_lead_to_every_chapter_and_operation(reference: Markup) -> None:
    contents = [
        each.text for each in reference.all("a") if "nav" in each.above and each.attributes["href"].startswith("#")
    ]
    assert {tag["name"] for tag in DOCUMENT["tags"]} <= set(contents)
    assert {operation.name for operation in OPERATIONS} <= set(contents)
    assert len(contents) == len(set(contents)), "a chapter or an operation stands twice"


async def test_sign_in_and_the_cookie_are_told_in_words(reference: Markup) -> None:
    [scheme] = [name for name, each in DOCUMENT["components"]["securitySchemes"].items() if each.get("in") == "cookie"]
    cookie = DOCUMENT["components"]["securitySchemes"][scheme]["name"]
    assert f"a session in the cookie {cookie}, the security scheme {scheme}" in reference.text
    assert "/sign-in" in [each.attributes["href"] for each in reference.all("a")]


async def test_each_operation_says_what_it_asks_for(reference: Markup) -> None:
    words = {"": "no key", "bearer": "key optional", "bearer session": "key or sign-in", "session": "sign-in required"}
    operations = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    by_name = {each["operationId"]: each for each in operations}
    articles = [each for each in reference.all("article") if "id" in each.attributes]
    assert {each.attributes["id"] for each in articles} == by_name.keys()
    for article in articles:
        security = by_name[article.attributes["id"]]["security"]
        asked = words[" ".join(name for each in security for name in each)]
        assert asked in article.text
