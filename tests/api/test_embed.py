"""`/embed.js`: headers and source. `tests/browser` tests its behaviour."""

import re

import brotli
import pytest

from service.web.documents import SCRIPT
from tests.api.world import World

LARGEST_BYTES = 2_400
"""As most browsers get it: compressed with br."""


async def test_the_script_is_served_to_any_site(world: World) -> None:
    response = await world.client.get("/embed.js", headers={"Origin": "https://elsewhere.example"})
    assert response.status == 200
    assert response.header("content-type") == "text/javascript; charset=utf-8"
    assert response.header("access-control-allow-origin") == "*"
    assert response.header("cross-origin-resource-policy") == "cross-origin"
    assert response.header("cache-control") == "public, max-age=3600"
    assert re.fullmatch(r'"[\w-]+"', response.header("etag") or ""), "a strong tag"
    assert response.body == SCRIPT.read_bytes()


async def test_who_has_the_script_is_told_so(world: World) -> None:
    fresh = await world.client.get("/embed.js")
    known = await world.client.get("/embed.js", headers={"If-None-Match": f'"other", {fresh.header("etag")}'})
    assert (known.status, known.body) == (304, b"")
    assert known.header("content-type") is None
    for name in ("etag", "cache-control", "access-control-allow-origin", "cross-origin-resource-policy"):
        assert known.header(name) == fresh.header(name)
    assert (await world.client.get("/embed.js", headers={"If-None-Match": '"other"'})).status == 200


async def test_head_of_the_script_says_what_get_would(world: World) -> None:
    headers = {"X-Request-Id": "same"}
    got, headed = [await world.client.request(method, "/embed.js", headers=headers) for method in ("GET", "HEAD")]
    assert (headed.status, headed.headers) == (200, got.headers)
    assert headed.header("content-length") == str(len(got.body))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_the_script_takes_no_other_method(world: World, method: str) -> None:
    response = await world.client.request(method, "/embed.js")
    assert response.words == "405 method_not_allowed"


async def test_nothing_else_may_be_embedded_by_other_origins(world: World) -> None:
    for path in (
        "/",
        "/docs",
        "/claim",
        "/metrics",
        "/healthz",
        "/embed",
    ):
        assert (await world.client.get(path)).header("cross-origin-resource-policy") is None


async def test_the_script_is_small_and_plain(world: World) -> None:
    sent = await world.client.get("/embed.js", headers={"Accept-Encoding": "gzip, deflate, br"})
    assert sent.header("content-encoding") == "br"
    assert len(sent.body) == int(sent.header("content-length") or 0) <= LARGEST_BYTES
    source = brotli.decompress(sent.body)
    assert source == SCRIPT.read_bytes()
    text = source.decode("ascii")
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "cookie", "eval", "import"):
        assert forbidden not in text
    assert '"use strict";' in text.splitlines()[:3]
