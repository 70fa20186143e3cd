"""Refusals: pages for people, JSON for programs, no internals in either."""

from collections.abc import Awaitable, Callable

import pytest

from service.api.errors import internal_error, too_large, unavailable
from service.web.pages.parts.error_page import address_of, specific_message, words_of
from service.web.pages.parts.messages import plain
from service.web.requests import wants_page
from tests.api.asgi import Response
from tests.api.world import LOCAL, World, away, broken, open_world
from tests.web.markup import Markup, faults_of, parsed
from tests.web.visitors import HERE, Visitor

BROWSERS = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/html, application/xhtml+xml, image/jxr, */*",
    *("text/html, text/*;q=0.5, image/*", "TEXT/HTML", "text/html;level=1", "text/html;q=0.5"),
    *("application/json;q=0.5, text/html;q=0.5", " text/html ;q=1.0 , application/json"),
)
PROGRAMS = (
    *(
        "",
        "*/*",
        "text/*",
        "application/json",
        "application/json, text/plain, */*",
        "application/json, text/html;q=0.9",
    ),
    *("text/html;q=0", "text/html;q=nonsense", "text/html;q=2", "text/html;q=-1", "text/html;q=nan", "text/htmlx"),
    *("text html", ";;;,,,;q=1", "\xff\xfe", "image/png", "x" * 1_000 + ",text/html"),
)


@pytest.mark.parametrize("accept", [*BROWSERS, *PROGRAMS], ids=lambda accept: accept[:40])
def test_a_person_gets_a_page_and_a_program_json(accept: str) -> None:
    assert wants_page({"accept": accept}) == (accept in BROWSERS)
    assert not wants_page({})


@pytest.mark.parametrize("path", ["/nowhere", "/usecases/nobody", "/static/nothing"])
async def test_a_refusal_is_a_page_for_people_and_json_for_programs(world: World, path: str) -> None:
    page, data = [await world.client.get(path, headers=headers) for headers in ({"Accept": BROWSERS[0]}, {})]
    assert (page.status, page.header("vary"), data.header("vary")) == (404, "Accept", "Accept")
    assert "code not_found" in _page_of(page).text
    assert data.words == "404 not_found"


def _page_of(response: Response) -> Markup:
    """Check the page of a refusal: markup, policy and request id."""
    html = response.body.decode()
    assert response.header("content-type") == "text/html; charset=utf-8"
    assert "default-src 'none'" in (response.header("content-security-policy") or "")
    assert faults_of(html) == []
    page = parsed(html)
    assert f"Request id {response.header('x-request-id')}" in page.text
    assert f"Status {response.status}," in page.text
    return page


async def _too_many(world: World) -> Response:
    for _ in range(world.config.pages.per_minute):
        assert (await Visitor(world).get("/claim")).status == 200
    return await Visitor(world).get("/claim")


def posted(path: str, body: bytes, **headers: str) -> Callable[[World], Awaitable[Response]]:
    return lambda world: Visitor(world).post(path, body, **headers)


def failing(path: str, failure: Callable[[], Awaitable[None]]) -> Callable[[World], Awaitable[Response]]:
    """A page for anybody on this machine, or for a person whose session cannot be looked up either."""

    async def get(world: World) -> Response:
        async with open_world(**LOCAL) as local:
            local_only = path.startswith("/dev/")
            world = local if local_only else world
            visitor = Visitor(world, None if local_only else world.session("ann@example.com"))
            world.memory.before = failure
            return await visitor.get(path)

    return get


BUG, AWAY = "Something went wrong on our side", "We cannot answer right now"
MET: dict[str, tuple[Callable[[World], Awaitable[Response]], int, str]] = {
    "405": (posted("/usecases", b""), 405, "That does not work here"),
    "403 of a foreign form": (
        posted("/claim/form", b"do=start", Sec_Fetch_Site="cross-site"),
        403,
        "We did not take that form",
    ),
    "400 of an unknown act": (posted("/claim/form", b"do=nothing"), 400, "We could not read that request"),
    "413": (posted("/claim/form", b"do=start&email=" + b"x" * 20_000), 413, "That was too large"),
    "429": (_too_many, 429, "That was a little too fast"),
    "500": (failing("/dev/outbox", broken), 500, BUG),
    "500 for a person": (failing("/", broken), 500, BUG),
    "503": (failing("/dev/outbox", away), 503, AWAY),
    "503 for a person": (failing("/dashboard", away), 503, AWAY),
}


@pytest.mark.parametrize("name", MET)
async def test_a_refusal_is_a_page_with_what_to_do_and_nothing_of_the_inside(world: World, name: str) -> None:
    cause, status, heading = MET[name]
    response = await cause(world)
    assert response.status == status
    page = _page_of(response)
    assert page.one("h1").text == heading
    assert response.header("allow") == ("GET, HEAD" if status == 405 else None)
    assert (response.header("retry-after") is not None) == (status in (429, 503))
    assert ("You can try again in" in page.text) == (status in (429, 503))
    for inside in ("Traceback", "RuntimeError", "StorageUnavailable", "a bug of this test", "the database", ".py"):
        assert inside not in page.text


async def test_the_seconds_to_wait_are_said_in_words_and_in_the_header(world: World) -> None:
    response = await _too_many(world)
    wait = int(response.header("retry-after") or "")
    assert 1 < wait <= 60
    assert f"You can try again in {wait} seconds" in _page_of(response).text
    await world.pass_seconds(wait)
    assert (await Visitor(world).get("/claim")).status == 200


async def test_all_pages_of_one_address_share_one_limit_and_others_have_their_own() -> None:
    async with open_world(PAGES__PER_MINUTE=2) as world:
        assert [(await Visitor(world).get(path)).status for path in ("/", "/bots", "/claim")] == [200, 200, 429]
        assert (await world.client.get("/", address="198.51.100.7")).status == 200


async def test_large_documents_count_as_pages_and_small_ones_are_not_limited() -> None:
    paths = ("/openapi.json", "/metrics", "/openapi.json", "/docs", "/bots", "/metrics", "/embed.js", "/favicon.ico")
    async with open_world(PAGES__PER_MINUTE=2) as world:
        statuses = [(await world.client.get(path)).status for path in paths]
        assert statuses == [200, 200, 429, 429, 429, 429, 200, 301]
        assert (await world.client.get("/openapi.json")).words == "429 rate_limited"
        assert (await world.client.get("/openapi.json", address="198.51.100.7")).status == 200
        await world.pass_seconds(60)
        assert (await world.client.get("/openapi.json")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", "/api/v1/nowhere", "404 not_found"),
        ("GET", "/api/", "404 not_found"),
        ("GET", "/api/v1/usecases/nobody", "404 not_found"),
        ("GET", "/api/v1/usecases?cursor=x", "400 invalid_request"),
        ("DELETE", "/api/v1/bots", "405 method_not_allowed"),
        ("GET", "/api/v1/usage", "401 unauthorized"),
        ("POST", "/api/v1/auth/agent", "503 service_unavailable"),
        ("GET", "/api/v1/sponsors/nowhere", "404 not_found"),
        ("GET", "/api/v1/admin/nowhere", "404 not_found"),
    ],
)
async def test_the_api_answers_a_browser_in_json(world: World, method: str, path: str, words: str) -> None:
    world.memory.before = away
    response = await world.client.request(method, path, headers={"Accept": BROWSERS[0]}, address=HERE)
    assert response.words == words


async def test_a_head_request_of_what_is_not_there_says_what_get_would(world: World) -> None:
    headers = {"Accept": BROWSERS[0], "X-Request-Id": "same"}
    got, headed = [await world.client.request(method, "/nowhere", headers=headers) for method in ("GET", "HEAD")]
    assert (headed.status, headed.headers) == (got.status, got.headers)


async def test_a_request_id_that_a_client_chose_is_text(world: World) -> None:
    headers = {"Accept": BROWSERS[0], "X-Request-Id": "<script>alert(1)</script>"}
    response = await world.client.get("/nowhere", headers=headers)
    assert "<script>" not in response.body.decode()
    _page_of(response)


# The page of a refusal knows the request.


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/usecases/late-invoces", "late invoces"),
        ("/bots/shift_swap-desk", "shift swap desk"),
        ("/invoices", "invoices"),
        ("/usecases/", ""),
        ("/", ""),
        ("/end/lnk_9f8a7b6c5d", "lnk"),
        ("/usecases/<script>alert(1)</script>", "script"),
        ("/usecases/caf\u00e9", "caf\u00e9"),
        ("/usecases/" + "word-" * 50, " ".join(["word"] * 8)),
        ("/usecases/" + "w" * 500, "w" * 80),
    ],
)
def test_the_words_of_an_address_are_what_to_search_for(path: str, words: str) -> None:
    assert words_of(path) == words


@pytest.mark.parametrize(
    ("path", "query", "address"),
    [
        ("/usecases", "q=a&b=c", "/usecases?q=a&b=c"),
        ("//evil.example.com/", "", "/evil.example.com/"),
        ("/\\evil.example.com", "", "/evil.example.com"),
        ('/a"><b', "", "/a%22%3E%3Cb"),
    ],
)
def test_an_address_to_try_again_is_on_this_site(path: str, query: str, address: str) -> None:
    assert address_of(path, query) == address


async def test_a_lost_page_fills_the_search_and_names_the_sign_in_or_the_dashboard(world: World) -> None:
    page = _page_of(await Visitor(world).get("/bots/late-invoces"))
    [field] = page.all("input")
    [form] = page.all("form")
    assert (field.attributes["value"], form.attributes["action"]) == ("late invoces", "/bots")
    assert "There is nothing at /bots/late-invoces." in page.text
    assert "They show once you sign in." in page.text
    page = _page_of(await Visitor(world, world.session("ann@example.com")).get("/usecases/late-invoces"))
    assert "They are on your dashboard." in page.text


async def test_a_lost_page_of_the_reference_searches_the_reference(world: World) -> None:
    page = _page_of(await Visitor(world).get("/docs/createBokings"))
    assert page.one("form").attributes["action"] == "/docs"
    assert page.one("input").attributes["aria-label"] == "Search the reference"


@pytest.mark.parametrize(
    ("path", "words", "instead"),
    [
        ("/end/lnk_unknown", "older than 30 days. Open it from the newest mail", "/dashboard"),
        ("/unsubscribe/unknown", "This link is not valid. Open it from the newest mail", "/dashboard"),
        ("/checkout/unknown", "Open it again from the page of the booking.", "/sponsor/bookings"),
        ("/shared/unknown", "no longer shared. Ask whoever sent it to you for another one.", "/"),
        ("/receipt/unknown", "Open it again from the page of the booking.", "/sponsor/bookings"),
    ],
)
async def test_a_link_that_does_not_work_says_where_to_get_another_and_is_no_search(
    world: World, path: str, words: str, instead: str
) -> None:
    page = _page_of(await Visitor(world).get(path))
    assert page.one("h1").text == "This link does not work"
    assert words in page.text
    assert instead in [each.attributes["href"] for each in page.all("a")]
    assert page.all("form") == []


async def test_a_page_that_may_be_asked_for_again_is_linked_from_its_refusal(world: World) -> None:
    links = {each.text: each.attributes["href"] for each in _page_of(await _too_many(world)).all("a")}
    assert links["Try again"] == "/claim"
    posted = await Visitor(world).post("/claim/form", b"do=start")
    assert posted.status == 429
    assert "Try again" not in {each.text for each in _page_of(posted).all("a")}


def test_a_page_says_a_message_only_if_it_says_more_than_its_heading() -> None:
    payment = "Payment is unavailable right now. Try again in a moment."
    assert specific_message(payment) == payment
    assert [specific_message(plain(each.message)) for each in (unavailable(), too_large(), internal_error())] == [
        ""
    ] * 3
