"""Checks of every page of the table: head, markup, links and forms."""

import re
from collections.abc import AsyncIterator
from urllib.parse import quote, urljoin, urlsplit

import pytest

from service.api.operations import OPERATIONS
from service.observability.metrics import Metrics
from service.web.pages.parts.page import Audience, Page, PageRequest, Template
from service.web.pages.table import PAGES
from service.web.static_files import static_url
from tests.api.asgi import Client
from tests.api.conformity import DESCRIBED, check
from tests.api.sponsors import tables
from tests.api.world import LOCAL, World, open_world
from tests.application import build_app
from tests.web.markup import card_of, faults_of, parsed
from tests.web.samples import ANN, address_of, visitors_of
from tests.web.templates import CLASSES, faults_of_design
from tests.web.visitors import Visitor

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
OURS = [page for page in PAGES if page.path != "/dev/outbox/{id}"]
"""Without the HTML of a mail, which has styles of its own and which `test_mails` reads."""

WITH_SECRETS = {"/dev/outbox", "/sign-in/link"}
"""Pages for anybody that have codes or the token of a link in them."""

QUEUES = {"/admin", "/admin/reviews", "/admin/submissions"}
"""Pages with a filled button for each item that waits."""


def test_each_path_stands_in_the_table_once() -> None:
    assert len({page.path for page in PAGES}) == len(PAGES)


@pytest.fixture
async def place(page: Page) -> AsyncIterator[World]:
    """A node that has the page: those of `/dev` need one for this machine alone."""
    async with open_world(**(LOCAL if page.path.startswith("/dev/") else {})) as opened:
        yield opened


@pytest.mark.parametrize("page", OURS, ids=lambda page: page.path)
async def test_a_page_is_sound_html_by_the_design_under_a_strict_policy_for_whoever_may_see_it(
    place: World, page: Page
) -> None:
    path = await address_of(place, page)
    for visitor in visitors_of(place, page):
        response = await visitor.get(path)
        assert response.status in (200, 303), response.body
        assert response.header("content-type") == "text/html; charset=utf-8"
        more = " http://127.0.0.1:8123" if page.path == "/oauth/authorize" else ""
        assert response.header("content-security-policy") == POLICY.replace("'self'; base", f"'self'{more}; base")
        for_anybody = visitor.token is None and not page.capability and page.path not in WITH_SECRETS
        assert response.header("cache-control") == ("no-cache" if for_anybody else "no-store")
        if response.status == 200:
            html = response.body.decode()
            assert faults_of(html) == []
            assert len(parsed(html).all("table")) == len(parsed(html).all("caption"))
            assert faults_of_design(html, CLASSES, queue=page.path in QUEUES) == []
            assert _acts_of_nothing(html, path) == set()
            assert html.count(static_url("page.js")) == 1
            assert ("canonical" in card_of(html)) == page.indexed
            assert (response.header("link") is not None) == page.indexed


def _acts_of_nothing(html: str, path: str) -> set[str]:
    """The acts that buttons and fields name and no page has at the address to which a form is sent."""
    acts = {re.sub(r"{\w+}", "[^/]+", each.path): each.actions.keys() for each in PAGES}
    markup = parsed(html)
    targets = [
        form.attributes.get("action", path) for form in markup.all("form") if form.attributes["method"] == "post"
    ]
    named = {each.attributes["value"] for each in markup.all("button", "input") if each.attributes.get("name") == "do"}
    assert bool(named) == bool(targets)
    places = [urlsplit(target).path for target in targets]
    taken = {act for each, has in acts.items() if any(re.fullmatch(each, place) for place in places) for act in has}
    return named - taken - {"sign-out"}


@pytest.fixture(scope="module")
def reached() -> set[tuple[str, str]]:
    """The targets that earlier pages led to, each with the email of the visitor. Most links are on most pages."""
    return set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
async def test_a_page_leads_nowhere_that_is_not_there(world: World, page: Page, reached: set[tuple[str, str]]) -> None:
    path = await address_of(world, page)
    for visitor in visitors_of(world, page):
        html = (await visitor.get(path)).body.decode()
        for target in sorted(_targets(html, path)):
            if (visitor.email, target) in reached:
                continue
            reached.add((visitor.email, target))
            place, _, fragment = target.partition("#")
            response = await visitor.get(place)
            assert response.status < 400, f"{path} leads to {target}"
            if fragment and response.status != 303:
                assert fragment in parsed(response.body.decode()).ids, f"{path} leads to {target}"


def _targets(html: str, path: str) -> set[str]:
    """The local addresses of a page, except the targets of POST forms."""
    targets = set()
    for element in parsed(html).elements:
        named = [element.attributes[name] for name in ("href", "src") if name in element.attributes]
        if element.tag == "form" and element.attributes["method"] == "get":
            named.append(element.attributes.get("action", path))
        targets |= {urljoin(path, each) for each in named if not each.startswith("#")}
    return {target for target in targets if not any(urlsplit(target)[:2]) and not target.startswith("/static/")}


async def test_a_page_of_an_account_asks_who_is_not_signed_in_to_and_comes_back(world: World) -> None:
    for page in PAGES:
        if page.who is not Audience.ANYBODY:
            path = await address_of(world, page)
            asked = path if "?" in path else f"{path}?a=b"
            response = await Visitor(world).get(asked)
            assert response.status == 303
            assert response.header("location") == f"/sign-in?next={quote(asked, safe='')}"


async def test_a_page_of_administrators_and_its_forms_are_refused_to_others(world: World) -> None:
    person = Visitor(world, world.session("bob@example.com"))
    for page in PAGES:
        assert (page.who is Audience.ADMIN) is page.path.startswith(("/admin", "/ops")), page.path
        if page.who is Audience.ADMIN:
            path = await address_of(world, page)
            before = tables(world)
            assert (await person.get(path)).status == 403
            for act in page.actions:
                assert (await person.send(path, do=act)).status == 403
                assert (await Visitor(world).send(path, do=act)).status == 303
            assert tables(world) == before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
async def test_a_form_does_only_what_the_page_has_and_only_from_a_page_of_ours(world: World, page: Page) -> None:
    path, visitor = await address_of(world, page), visitors_of(world, page)[-1]
    if not page.actions:
        refused = await visitor.post(path, b"do=anything")
        assert (refused.status, refused.header("allow")) == (405, "GET, HEAD")
        return
    for body in (b"", b"do=", b"do=no-such-act", b"\xff\xfe", b"&&=", b"do=no-such-act&" + b"x=1&" * 200):
        assert (await visitor.post(path, body)).status == 400
    for act in page.actions:
        refused = await visitor.post(path, f"do={act}".encode(), Sec_Fetch_Site="cross-site")
        assert (refused.status == 403) is not page.capability, act


@pytest.mark.parametrize(
    ("path", "refusal"),
    [("/dashboard", "-"), ("/sponsor/bookings/nothing", "not_found"), ("/dashboard?days=0", "invalid_request")],
)
async def test_a_page_is_logged_and_counted_as_a_page_whatever_it_asks(
    world: World, caplog: pytest.LogCaptureFixture, path: str, refusal: str
) -> None:
    person = Visitor(world, world.session(ANN))
    with caplog.at_level("INFO", "service.access"):
        await person.get(path)
    [line] = [vars(record) for record in caplog.records if record.name == "service.access"]
    assert (line["operation"], line["refusal"]) == ("page", refusal)


async def test_a_refusal_that_a_page_makes_nothing_of_is_not_noted(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def anyway(request: PageRequest) -> Template:
        assert (await request.ask("getBooking", path={"id": "nothing"})).refused is not None
        return Template("sign_out.html")

    page = Page("/anyway", anyway, who=Audience.ACCOUNT)
    app = build_app(world.services, OPERATIONS, DESCRIBED, Metrics(), (page,))
    headers = Visitor(world, world.session(ANN)).headers
    with caplog.at_level("INFO", "service.access"):
        assert (await Client(app, check).get("/anyway", headers=headers)).status == 200
    [line] = [vars(record) for record in caplog.records if record.name == "service.access"]
    assert (line["operation"], line["refusal"]) == ("page", "-")


@pytest.mark.parametrize("page", [page for page in PAGES if "{" in page.path], ids=lambda page: page.path)
async def test_an_unknown_name_in_a_path_is_a_page_that_says_so(world: World, page: Page) -> None:
    path, visitor = re.sub(r"\{\w+\}", "{}", page.path), visitors_of(world, page)[-1]
    for name in ("nobody", "%00", "%ff", "..%2f..", "x" * 3_000, "<script>", "%F0%9F%98%80", "a%2Fb"):
        response = await visitor.get(path.format(name))
        assert response.status == 404
        html = response.body.decode()
        assert faults_of(html) == []
        assert not re.search(r"<script>|\x00", html)
