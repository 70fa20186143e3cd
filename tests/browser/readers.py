"""A reader of a website with any browser, and the requests that arrive at the service."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.acceptance.processes import Service, until
from tests.browser.sites import Site
from tests.browser.visitors import EVENTS
from tests.browser.webdriver import Browser

UNDRIVEN = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false });"
"""A driver makes the browser say that it is driven. The script then sends nothing."""

PARTS = """
window.parts = (name) => [...(window.root || document).querySelectorAll('[data-placements]')].flatMap(
    (box) => [...box.shadowRoot?.querySelectorAll(`[part=${name}]`) || []]);
window.drawn = () => parts('card').filter((card) => card.offsetHeight > 0).length;
addEventListener('pageshow', ({ persisted }) => window.kept = persisted);
"""
FIRST = f"<!doctype html><title>A site</title><script nonce=first>{UNDRIVEN}{PARTS}</script>"
"""The start of a page. In each page, HOST is the origin of the service, and SITE that of the page."""
DRIVEN = FIRST.replace(UNDRIVEN, f"navigator.webdriver || {UNDRIVEN.replace('false', 'true')}")
"""The start of a page in a driven browser. Chromium is started so that it does not say so by itself."""
BOX = "<div data-placements=left></div>"
SCRIPT = "<script async src=HOST/embed.js></script>"
PAGE = f"{FIRST}{BOX}{SCRIPT}"
SHOWN = 2
"""The placements of the demo on the left side."""
INVENTORY = "/api/v1/sponsors/inventory"
"""What the script never asks for."""


def answering(field: str, text: str) -> str:
    """The start of a page on which each placement that the service answers has this text."""
    change = f"placements.map((each) => ({{ ...each, {field}: '{text}' }}))"
    return f"""{FIRST}<script>const own = fetch; window.fetch = async (...asked) => {{
    const answer = await own(...asked);
    if (!/placements$/.test(asked[0])) return answer;
    const {{ placements }} = await answer.json();
    return Response.json({{ placements: {change} }})
    }}</script>"""


@dataclass(frozen=True, slots=True)
class Reader:
    """The site and the service are reached under these hosts, which this machine must resolve for the browser."""

    browser: Browser
    node: Service
    site: Site
    host: str = "127.0.0.1"
    service: str = "127.0.0.1"

    def opens(self, html: str, headers: Mapping[str, str] | None = None, *, path: str = "/") -> None:
        """Open a page of the site under this path, where it stays."""
        self.site.pages[path] = self.named(html)
        self.site.headers.clear()
        self.site.headers.update({name: self.named(text) for name, text in (headers or {}).items()})
        self.browser.opens(self.named(f"SITE{path}"))

    def named(self, text: str) -> str:
        """Put the origins of the service and of the site into a text."""
        site = f"http://{self.host}:{urlsplit(self.site.url).port}"
        return text.replace("HOST", f"http://{self.service}:{self.node.port}").replace("SITE", site)

    def is_true(self, expression: str) -> bool:
        return bool(self.browser.runs(f"return Boolean({expression})"))

    def sees(self, cards: int = SHOWN) -> None:
        until(lambda: self.is_true(f"window.drawn() === {cards}"), what=f"{cards} cards")

    def brings(self, events: int) -> None:
        """Fail unless exactly so many events have arrived, once the service has answered what the page has sent before."""
        arrived = self.arrived()
        until(lambda: self.arrived() >= events, what=f"{events} events instead of {arrived}")
        if arrived == events:
            # Longer than an impression takes.
            self.browser.runs("return new Promise((done) => setTimeout(done, 1_500))")
        asked = self.arrived("GET", INVENTORY)
        self.browser.runs(self.named(f"return fetch('HOST{INVENTORY}', {{ cache: 'no-store' }}).then(() => 1)"))
        until(lambda: self.arrived("GET", INVENTORY) > asked)
        assert self.arrived() == events

    def clicks(self) -> None:
        """Follow the link of the first placement."""
        self.browser.clicks("return parts('title')[0]")

    def arrived(self, method: str = "POST", path: str = EVENTS) -> int:
        """The number of requests that the service has answered with 200."""
        return self.node.log().count(f" {method} {path} status=200 ")
