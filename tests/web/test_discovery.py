"""The documents by which programs find the service: llms.txt, robots.txt, security.txt, OAuth metadata, the API catalog."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.robotparser import RobotFileParser

import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

from actors.clock import DAY_MS, SECOND_MS
from service.api.operations import OPERATIONS
from service.api.policy import Access
from service.config.loading import load
from service.config.user_errors import ConfigError
from service.web.discovery.llms import MAIN_TAGS, NOT_FOR_AGENTS
from service.web.pages.parts.page import Audience
from service.web.pages.table import PAGES
from tests.api.conformity import BASE_URL
from tests.api.devices import FORM, GRANT
from tests.api.world import NOON_MS, World, open_world
from tests.web.markup import card_of, parsed
from tests.web.samples import address_of
from tests.web.visitors import Visitor

LLMS, ROBOTS, SECURITY = "/llms.txt", "/robots.txt", "/.well-known/security.txt"
OAUTH, API_CATALOG = "/.well-known/oauth-authorization-server", "/.well-known/api-catalog"
LINK = re.compile(r"- \[([^\]]+)\]\((\S+)\): (.+)")
NO_CONTACTS = (
    *("http://example.com", "example.com", "@example.com", "ann@", "mailto:", "https://", "https:///a"),
    *("tel:+1-201-555-0123", " ann@example.com", "https://example.com/\u00e4", "ann@example.com,eve@example.com"),
    *("ann@example.com\nContact: eve@example.com", "https://example.com/\r\nA: b", "a@" + "b" * 500),
    "javascript:alert(1)@example.com",
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


async def _text(world: World, path: str) -> str:
    response = await world.client.get(path)
    assert (response.status, response.header("content-type")) == (200, "text/plain; charset=utf-8")
    return response.body.decode()


# llms.txt.


async def test_llms_txt_has_the_form_that_its_readers_know(world: World) -> None:
    text = await _text(world, LLMS)
    head, *sections = text.split("\n## ")
    assert head.startswith("# Catalog and Sponsorship Service\n\n> ")
    assert not re.search(r"^#+ ", head[2:], re.MULTILINE), "the introduction has no headings"
    assert [section.partition("\n")[0] for section in sections] == ["Start here", "Operations", "Pages", "Optional"]
    for section in sections:
        _, _, links = section.partition("\n\n")
        assert all(LINK.fullmatch(line) for line in links.strip().splitlines())


async def test_each_link_of_llms_txt_leads_somewhere(world: World) -> None:
    found = LINK.findall(await _text(world, LLMS))
    assert len(found) > 40
    pages: dict[str, list[str]] = {}
    for _, url, _ in found:
        assert url.startswith(f"{BASE_URL}/")
        place, _, fragment = url.removeprefix(BASE_URL).partition("#")
        if place not in pages:
            response = await world.client.get(place, headers={"Accept": "text/html"})
            # The endpoint of MCP takes messages by POST only.
            assert response.status == (405 if place == "/mcp" else 200), place
            html = (response.header("content-type") or "").startswith("text/html")
            pages[place] = parsed(response.body.decode()).ids if html else []
        assert not fragment or fragment in pages[place], url


async def test_llms_txt_names_the_operations_of_agents_as_they_are(world: World) -> None:
    named = {name: note for name, _, note in LINK.findall(await _text(world, LLMS)) if name in BY_NAME}
    for name, note in named.items():
        operation = BY_NAME[name]
        assert note.startswith(f"`{operation.method} {operation.path}`. {operation.summary}. ")
        assert ("Needs a key" in note) == (operation.access is Access.REQUIRED)
    needed = {"mintKey", "listUseCases", "getBot", "getUsage", "startDevice", "pollDevice", "createBooking"}
    assert needed <= named.keys()
    assert not [name for name in named if BY_NAME[name].admin or BY_NAME[name].access is Access.SESSION]
    assert {*MAIN_TAGS, *NOT_FOR_AGENTS} <= {operation.tag for operation in OPERATIONS}


async def test_the_lines_to_paste_of_llms_txt_work(world: World) -> None:
    text = await _text(world, LLMS)
    lines = re.findall(r"^    curl (?:-X (\w+) )?'?(\S+?)'?$", text, re.MULTILINE)
    assert len(lines) == 3
    for method, url in lines:
        path = url.removeprefix(BASE_URL).replace("SLUG", "case-04")
        response = await world.client.request(method or "GET", path)
        assert response.status == 200, url
    assert {"apiKey", "claimToken"} <= (await world.client.post("/api/v1/auth/agent")).json.keys()


async def test_llms_txt_says_the_limits_that_are_set() -> None:
    async with open_world(TIERS__ANONYMOUS__DAILY=77, TIERS__ANONYMOUS__EXPIRES_HOURS=5) as world:
        text = " ".join((await _text(world, LLMS)).split())
    assert "77 requests a day, 1000 in all and 200 reads of use cases, and expires after 5 h." in text


async def test_llms_txt_names_the_endpoint_of_mcp(world: World) -> None:
    assert f"({BASE_URL}/mcp)" in await _text(world, LLMS)
    assert (await world.client.post("/mcp")).status != 404


# robots.txt.


def _allowed(text: str, path: str) -> bool:
    """Whether RFC 9309 allows a path: the longest line that fits decides, an `Allow` before a `Disallow` of that length."""
    lines = re.findall(r"^(Allow|Disallow): (\S+)$", text, re.MULTILINE)
    fitting = [(len(prefix), rule == "Allow") for rule, prefix in lines if path.startswith(prefix)]
    return max(fitting, default=(0, True))[1]


def _first_match(text: str) -> RobotFileParser:
    """A parser that takes the first line that fits."""
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return parser


async def test_robots_may_read_what_is_public_and_nothing_of_a_person(world: World) -> None:
    text = await _text(world, ROBOTS)
    assert text.startswith("User-agent: *\n")
    assert text.endswith(f"\nSitemap: {BASE_URL}/sitemap.xml\n")
    simple = _first_match(text)
    for page in PAGES:
        path = await address_of(world, page) if page.path != "/dev/outbox/{id}" else "/dev/outbox/1"
        personal = page.who is not Audience.ANYBODY or page.capability or page.path.startswith("/dev/outbox/")
        assert _allowed(text, path) is not personal, path
        assert simple.can_fetch("anybody", f"{BASE_URL}{path}") is not personal, path
        if not personal and not page.indexed:
            html = (await Visitor(world).get(path)).body.decode()
            assert not html or card_of(html) == {"robots": "noindex"}, "a crawler has to read this"
    for path in ("/openapi.json", "/docs", LLMS, "/sitemap.xml", "/static/style.css", "/embed.js", OAUTH):
        assert _allowed(text, path)


async def test_robots_may_read_the_catalog_as_json_and_no_other_operation(world: World) -> None:
    text = await _text(world, ROBOTS)
    for operation in OPERATIONS:
        if operation.method == "GET" and operation.path.startswith("/api/"):
            assert _allowed(text, operation.path) is (operation.access is Access.OPTIONAL), operation.name
            assert _first_match(text).can_fetch("anybody", operation.path) is (operation.access is Access.OPTIONAL)


# security.txt.


def _fields(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines())


async def test_without_a_contact_there_is_no_security_txt(world: World) -> None:
    for path in (SECURITY, "/security.txt"):
        assert (await world.client.get(path)).words == "404 not_found"


async def test_security_txt_names_the_contact_and_expires_within_a_year() -> None:
    async with open_world(SERVER__SECURITY_CONTACT="security@example.com") as world:
        first = await world.client.get(SECURITY)
        fields = _fields(await _text(world, SECURITY))
        expires = datetime.fromisoformat(fields.pop("Expires"))
        assert fields == {
            "Contact": "mailto:security@example.com",
            "Preferred-Languages": "en",
            "Canonical": f"{BASE_URL}{SECURITY}",
        }
        ahead = expires - datetime.fromtimestamp(NOON_MS // SECOND_MS, UTC)
        assert 30 < ahead.days < 365
        old = await world.client.get("/security.txt")
        assert (old.status, old.header("location")) == (301, SECURITY)
        seen = {"If-None-Match": first.header("etag") or ""}
        assert (await world.client.get(SECURITY, headers=seen)).status == 304
        await world.pass_seconds(11.9 * 3600)
        assert (await world.client.get(SECURITY)).body == first.body
        await world.pass_seconds(DAY_MS // SECOND_MS)
        later = datetime.fromisoformat(_fields(await _text(world, SECURITY))["Expires"])
        assert (later - expires).days == 1


async def test_security_txt_of_a_service_without_https_names_no_address_of_its_own() -> None:
    async with open_world(
        SERVER__BASE_URL="http://localhost:8080", SERVER__SECURITY_CONTACT="https://example.com/report"
    ) as world:
        assert _fields(await _text(world, SECURITY)).keys() == {"Contact", "Expires", "Preferred-Languages"}


@pytest.mark.parametrize(
    ("setting", "contact"),
    [
        ("", ""),
        ("ann@example.com", "mailto:ann@example.com"),
        ("mailto:ann+reports@example.com", "mailto:ann+reports@example.com"),
        ("https://example.com/security?form=1#top", "https://example.com/security?form=1#top"),
        ("https://[2001:db8::1]/", "https://[2001:db8::1]/"),
    ],
)
def test_a_contact_is_an_email_address_or_a_web_address(setting: str, contact: str) -> None:
    assert load(None, {"CATALOG__SERVER__SECURITY_CONTACT": setting}).server.security_contact == contact


@pytest.mark.parametrize("setting", NO_CONTACTS)
def test_another_contact_is_refused_by_the_name_of_its_setting(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.security_contact"):
        load(None, {"CATALOG__SERVER__SECURITY_CONTACT": setting})


# OAuth metadata and the API catalog.


async def test_the_oauth_metadata_is_valid_and_names_the_device_login(world: World) -> None:
    response = await world.client.get(OAUTH)
    assert response.header("content-type") == "application/json"
    metadata = AuthorizationServerMetadata(response.json)
    metadata.validate()
    assert metadata["issuer"] == BASE_URL, "RFC 8414, 3.3: clients compare it with the address that they asked"
    assert metadata["grant_types_supported"] == ["authorization_code", "refresh_token", GRANT]
    assert metadata["token_endpoint_auth_methods_supported"] == ["none"]
    started = await world.client.post(metadata["device_authorization_endpoint"].removeprefix(BASE_URL))
    assert started.status == 200
    form = f"grant_type={GRANT}&device_code={started.json['device_code']}&client_id=a-program".encode()
    polled = await world.client.post(metadata["token_endpoint"].removeprefix(BASE_URL), headers=FORM, body=form)
    assert polled.words == "400 authorization_pending"
    assert (await world.client.get(metadata["service_documentation"].removeprefix(BASE_URL))).status == 200


async def test_the_api_catalog_leads_to_all_descriptions(world: World) -> None:
    response = await world.client.get(API_CATALOG)
    assert response.header("content-type") == (
        'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
    )
    head = await world.client.request("HEAD", API_CATALOG)
    assert head.header("link") == response.header("link") == f'<{BASE_URL}{API_CATALOG}>; rel="api-catalog"'
    [api] = response.json["linkset"]
    assert api.keys() == {"anchor", "service-desc", "service-doc", "service-meta", "status"}
    assert all(
        operation.path.startswith(api["anchor"].removeprefix(BASE_URL))
        or operation.tag in ("Operation", "Authorization")
        for operation in OPERATIONS
    )
    for url, kind in _targets(api):
        target = await world.client.get(url.removeprefix(BASE_URL))
        assert (target.status, (target.header("content-type") or "").partition(";")[0]) == (200, kind)


def _targets(api: dict[str, list[dict[str, str]]]) -> Iterator[tuple[str, str]]:
    for name, links in api.items():
        if name != "anchor":
            yield from ((link["href"], link["type"]) for link in links)


@pytest.mark.parametrize("path", [LLMS, ROBOTS, OAUTH, API_CATALOG])
async def test_a_document_is_kept_for_an_hour_and_then_asked_for_by_its_etag(world: World, path: str) -> None:
    first = await world.client.get(path)
    assert first.header("cache-control") == "public, max-age=3600"
    again = await world.client.get(path, headers={"If-None-Match": first.header("etag") or ""})
    assert (again.status, again.body, again.header("etag")) == (304, b"", first.header("etag"))
    assert (await world.client.post(path)).words == "405 method_not_allowed"
