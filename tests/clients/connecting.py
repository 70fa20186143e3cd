"""Connects clients that others wrote by the address of a node alone: a person approves in a browser, once for each scope.

Each client gets a key of the account, is asked for another scope, refreshes a text that was replaced, asks again after its
owner has revoked the key, and says that the person denied. Those with a metadata document do the first two by it.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser

from tests.acceptance.processes import Service
from tests.clients.asking import Answer, Approver, Asked, Command, Proxy
from tests.clients.documents import serving_document
from tests.webhooks.listeners import CERTIFICATE

EMAIL = "person@example.com"
BOTH = "library:read sponsor:read"

SETTINGS: Mapping[str, object] = {
    "claim.code_pause_seconds": 0,
    "pages.per_minute": 100_000,
    "webhooks.allow_networks": '["127.0.0.0/8"]',
}
"""The document of a client is on this machine."""

_OF_THE_NODE = re.compile(r"\d{3} /|thrown: |dialog: |console: .*Content Security Policy")
"""Faults of pages of the node. Those to which a client's own page may lead are the client's."""


@dataclass(frozen=True)
class Way:
    """A client and how it is run. `steps_up`: it asks again for a scope that it lacks. `asks_both`: it asks for both scopes
    at first. `documented`: it can have a metadata document."""

    name: str
    words: Sequence[str | Path]
    kind: type[Asked] = Asked
    steps_up: bool = False
    asks_both: bool = False
    documented: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


def ways(python: Path, old_python: Path, modules: Path, url: str) -> Sequence[Way]:
    """All clients. Both Pythons have those in Python, `modules` those in TypeScript."""
    typescript = ("node", modules.parent / "connect_with_mcp.mjs")
    remote = ("node", modules / "mcp-remote" / "dist" / "proxy.js", f"{url}/mcp")
    inspector = modules / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    command = ("node", inspector, "--cli", f"{url}/mcp", "--transport", "http", "--format", "json")
    scripts = modules.parent.parent / "python"
    return (
        Way("mcp", (python, scripts / "connect_with_mcp.py"), steps_up=True, documented=True),
        Way("mcp 1.9.4", (old_python, scripts / "connect_with_old_mcp.py"), asks_both=True),
        Way(
            "@modelcontextprotocol/client",
            (*typescript, "@modelcontextprotocol/client"),
            steps_up=True,
            documented=True,
        ),
        Way("@modelcontextprotocol/sdk", (*typescript, "@modelcontextprotocol/sdk-newest"), documented=True),
        Way(
            "@modelcontextprotocol/sdk 1.12.3",
            (*typescript, "@modelcontextprotocol/sdk"),
            asks_both=True,
            variables={"SCOPE": BOTH},
        ),
        Way("FastMCP Client", (python, scripts / "connect_with_fastmcp.py"), steps_up=True, documented=True),
        Way("MCP CLI Proxy", remote, Proxy, steps_up=True),
        Way("MCP Inspector", command, Command, asks_both=True, variables={"MCP_AUTO_OPEN_ENABLED": "true"}),
    )


SCRIPTS = ("scripted.py", "connect_with_mcp.py", "connect_with_old_mcp.py", "connect_with_fastmcp.py")


class Connecting:
    """One node, one person, and a folder for each client that runs."""

    def __init__(self, service: Service, browser: Browser, home: Path, variables: Mapping[str, str]) -> None:
        self.service, self.home, self.variables = service, home, variables
        self.person = Approver(browser, service)
        self._homes = 0

    @contextmanager
    def _running(self, way: Way, **more: str) -> Iterator[Asked]:
        self._homes += 1
        home = self.home / f"client-{self._homes}"
        asked = way.kind(way.name, way.words, home, {**self.variables, **way.variables, **more})
        try:
            yield asked
        finally:
            asked.stops()

    def _called(self, asked: Asked, tool: str, clicks: int, button: str = "Approve") -> Answer:
        """The answer to a call, for which the person had to decide so many times."""
        self.person.clicks = 0
        answer = asked.calls(tool, self.person, EMAIL, button)
        assert self.person.clicks == clicks, (asked.name, tool, self.person.clicks, answer, asked.said()[-4_000:])
        faults = [fault for fault in self.person.told_faults() if _OF_THE_NODE.match(fault)]
        assert not faults, (asked.name, faults)
        return answer

    def all(self, clients: Sequence[Way]) -> Iterator[str]:
        """Connect each client in each way that it has. Yields the lines about them."""
        # In a session, so that all clicks are those that a client needs.
        self.person.signs_in(EMAIL)
        for way in clients:
            yield self.connects(way)
            if way.documented:
                yield self.connects_by_document(way)

    def connects(self, way: Way) -> str:
        """All steps of a client. Returns the line about it."""
        began = time.monotonic()
        with self._running(way) as asked:
            _gets(self._called(asked, "get_usage", 1), "email", EMAIL)
            line = f"{way.name}: connected in {time.monotonic() - began:.1f} s, 1 click"
            line += self._another_scope(way, asked)
            self._refreshes(asked)
            self._asks_again(way, asked)
        with self._running(way) as asked:
            answer = self._called(asked, "get_usage", 1, "Deny")
            assert "denied" in answer.get("error", ""), (way.name, answer)
        return line

    def connects_by_document(self, way: Way) -> str:
        """Connect a client whose id is the address of its metadata document."""
        name = f"{way.name} by its document"
        with serving_document(name, ["http://127.0.0.1/callback"]) as document:
            began = time.monotonic()
            with self._running(way, DOCUMENT=document, NODE_EXTRA_CA_CERTS=str(CERTIFICATE)) as asked:
                _gets(self._called(asked, "get_usage", 1), "email", EMAIL)
                assert asked.tokens()["client_id"] == document
                line = f"{name}: connected in {time.monotonic() - began:.1f} s, 1 click"
                if way.steps_up:
                    line += self._another_scope(way, asked)
        self.person.revokes(name)
        return line

    def _another_scope(self, way: Way, asked: Asked) -> str:
        """Call a tool whose scope a client lacks that asked for one alone."""
        if way.asks_both:
            assert self.person.scopes.split() == BOTH.split(), self.person.scopes
            _gets(self._called(asked, "list_bookings", 0), "items", [])
            return " for both scopes"
        assert self.person.scopes == "library:read", self.person.scopes
        if way.steps_up:
            _gets(self._called(asked, "list_bookings", 1), "items", [])
            assert sorted(self.person.scopes.split()) == BOTH.split(), self.person.scopes
            return ", and 1 for another scope"
        assert "403" in self._called(asked, "list_bookings", 0)["error"]
        with self._running(way) as another:
            _gets(self._called(another, "list_bookings", 1), "items", [])
            _gets(self._called(another, "get_usage", 0), "email", EMAIL)
        return ", and 1 anew for another scope, for which it does not ask"

    def _refreshes(self, asked: Asked) -> None:
        """Replace the text of the client's key. It gets the next text by itself."""
        kept = asked.tokens()
        fields = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"], "client_id": kept["client_id"]}
        refreshed = self.service.http.post("/oauth/token", data=fields)
        assert refreshed.status_code == 200, refreshed.text
        assert self.service.status("/api/v1/usage", kept["access_token"]) == 401
        _gets(self._called(asked, "get_usage", 0), "email", EMAIL)
        assert asked.tokens()["access_token"] != kept["access_token"]

    def _asks_again(self, way: Way, asked: Asked) -> None:
        """Revoke the client's keys on the dashboard. The client asks the person again."""
        self.person.revokes(way.name)
        _gets(self._called(asked, "get_usage", 1), "email", EMAIL)
        self.person.revokes(way.name)


def _gets(answer: Answer, name: str, value: object) -> None:
    assert answer.get("result", {}).get(name) == value, answer
