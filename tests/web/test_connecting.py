"""The ways to connect an agent: each read back as its client reads it, and all of them where people and programs look."""

import json
import shlex
from base64 import b64decode
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from service.web.pages.parts.connecting import NAME, Connection, connections
from tests.api.conformity import BASE_URL
from tests.api.world import World
from tests.web.markup import parsed
from tests.web.visitors import Visitor

HTTPS = ("https://catalog.example.com", "https://catalog.example.com:8443", "https://example.com/a's")
ADDRESSES = (*HTTPS, "http://127.0.0.1:8080", "http://[::1]:8080")


def _ways(base_url: str) -> dict[str, Connection]:
    return {way.client: way for way in connections(base_url)}


@pytest.mark.parametrize("base_url", ADDRESSES)
def test_each_link_command_and_file_names_the_service(base_url: str) -> None:
    ways, url = _ways(base_url), f"{base_url}/mcp"
    server = {"type": "http", "url": url}
    for client, scheme in (("VS Code", "vscode"), ("VS Code Insiders", "vscode-insiders")):
        link = urlsplit(ways[client].link)
        assert (link.scheme, link.path, link.fragment) == (scheme, "mcp/install", "")
        assert json.loads(unquote(link.query)) == {"name": NAME, **server}
    link = urlsplit(ways["Cursor"].link)
    query = {name: value for name, [value] in parse_qs(link.query, strict_parsing=True).items()}
    assert (link.scheme, link.netloc, link.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
    assert query.keys() == {"name", "config"}
    assert (query["name"], json.loads(b64decode(query["config"], validate=True))) == (NAME, {"url": url})
    program, option, added = shlex.split(ways["VS Code"].command)
    assert (program, option, json.loads(added)) == ("code", "--add-mcp", {"name": NAME, **server})
    for client, program in (("Claude Code", "claude"), ("Gemini CLI", "gemini")):
        words = shlex.split(ways[client].command)
        assert words == [program, "mcp", "add", "--scope", "user", "--transport", "http", NAME, url]
    assert json.loads(ways["Other clients"].file) == {"mcpServers": {NAME: server}}


@pytest.mark.parametrize("base_url", ADDRESSES)
def test_claude_connects_to_services_with_https_alone(base_url: str) -> None:
    assert ("Claude" in _ways(base_url)) is (base_url in HTTPS)
    if base_url in HTTPS:
        link = urlsplit(_ways(base_url)["Claude"].link)
        assert (link.scheme, link.netloc, link.path) == ("https", "claude.ai", "/customize/connectors")
        told = {"modal": ["add-custom-connector"], "connectorName": [NAME], "connectorUrl": [f"{base_url}/mcp"]}
        assert parse_qs(link.query, strict_parsing=True) == told


@pytest.mark.parametrize("path", ["/", "/docs"])
async def test_the_front_page_and_the_reference_have_each_way(world: World, path: str) -> None:
    page = parsed((await Visitor(world).get(path)).body.decode())
    links = [link.get("href") for link in page.all("a")]
    texts = {element.text for element in page.all("code")}
    for way in connections(BASE_URL):
        assert not way.link or links.count(way.link) == 1, way
        assert {" ".join(text.split()) for text in (way.command, way.file) if text} <= texts, way


async def test_llms_txt_has_each_way_on_a_line(world: World) -> None:
    lines = (await world.client.get("/llms.txt")).body.decode().splitlines()
    for way in connections(BASE_URL):
        for text in (way.link, way.command, " ".join(way.file.split())):
            assert not text or f"    {way.client}: {text}" in lines
