"""A visitor of a website with a browser, and the requests that the browser sent."""

import itertools
import json
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, Locator, Page, Request, Route

from tests.acceptance.processes import Service
from tests.browser.sites import Site

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.{}.0 Safari/537.36"
"""The service drops a browser that calls itself headless, and counts those of one address and agent as one visitor."""

_numbers = itertools.count(1)
EVENTS, PLACEMENTS = "/api/v1/sponsors/events", "/api/v1/sponsors/placements"
FILLED = "[data-placed]:not([data-placed='0'])"


def new_context(browser: Browser, *, frozen: bool = False, **options: Any) -> BrowserContext:
    """The browser context of a visitor."""
    context = browser.new_context(
        user_agent=AGENT.format(next(_numbers)), viewport={"width": 1000, "height": 700}, **options
    )
    context.set_default_timeout(10_000)
    if frozen:
        context.clock.install(time=0)
        context.clock.pause_at(1_000)
    return context


class Visitor:
    """One page, in a browser context of its own unless there is one to `share`.

    Events are kept here instead of being sent to the node, unless `counted`. With `frozen` the page's timers stand still
    until `page.clock` moves them; what comes from the network and from the renderer goes on.
    """

    def __init__(
        self,
        browser: Browser,
        node: Service,
        site: Site,
        *,
        before: str = "",
        counted: bool = False,
        frozen: bool = False,
        placements: object = None,
        share: BrowserContext | None = None,
        **options: Any,
    ) -> None:
        self.node = node
        self.sent: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        self.errors: list[str] = []
        self.shared = share is not None
        self.context = share or new_context(browser, frozen=frozen, **options)
        # A shared context keeps the last visitor's page, which is cheaper than a new one.
        pages = self.context.pages if self.shared else []
        self.page: Page = pages[0] if pages else self.context.new_page()
        self.page.on("pageerror", self._threw)
        self.context.on("request", self._requested)
        if not counted:
            self.context.route(f"{node.url}{EVENTS}*", lambda route: route.fulfill(json={"recorded": True}))
        if placements is not None:
            self.context.route(f"{node.url}{PLACEMENTS}", answering(placements))
        # The targets of the demo's links.
        self.context.route("https://*.example.*/**", lambda route: route.fulfill(body="a sponsor's page"))
        self.context.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        if before:
            self.page.add_init_script(before)

    def leave(self) -> None:
        """Close the context, or clear a shared one for the next visitor."""
        if not self.shared:
            self.context.close()
            return
        for page in self.context.pages[1:]:
            page.close()
        self.page.goto("about:blank")
        self.page.remove_listener("pageerror", self._threw)
        self.context.remove_listener("request", self._requested)
        self.context.unroute_all()
        self.context.clear_cookies()

    def _threw(self, error: Error) -> None:
        self.errors.append(str(error))

    def _requested(self, request: Request) -> None:
        self.requests.append(request)
        if self.is_event(request):
            self.sent.append(json.loads(request.post_data or ""))

    def is_event(self, request: Request) -> bool:
        """Whether a request reports an event, by device or by day."""
        return request.url.partition("?")[0] == f"{self.node.url}{EVENTS}"

    def filled(self) -> Locator:
        """The boxes, once they have content."""
        boxes = self.page.locator(FILLED)
        boxes.first.wait_for()
        return boxes

    def asked(self, path: str) -> int:
        """The number of requests for this path."""
        return sum(request.url == f"{self.node.url}{path}" for request in self.requests)

    def settled(self) -> None:
        """Wait until all earlier requests have been reported; they arrive in order."""
        self.page.evaluate(f"fetch('{self.node.url}{PLACEMENTS}', {{cache: 'no-store'}}).then(r => r.text(), () => 0)")

    def looked(self, selector: str) -> float:
        """The visible share of an element, once every observer on the page has been notified."""
        share: float = self.page.locator(selector).first.evaluate(
            "(element) => new Promise((told) => new IntersectionObserver("
            "([entry]) => told(entry.intersectionRatio)).observe(element))"
        )
        return share

    def events(self, kind: str) -> list[str]:
        """The bookings of the sent events, in order."""
        return [event["bookingId"] for event in self.sent if event["kind"] == kind]


def answering(placements: object) -> Any:
    """A route that answers with placements, with text, with a status if given a number, or not at all."""

    def answer(route: Route) -> None:
        headers = {"access-control-allow-origin": "*"}
        match placements:
            case str():
                route.fulfill(body=placements, headers=headers)
            case int():
                route.fulfill(status=placements, json={"error": "service_unavailable"}, headers=headers)
            case list():
                route.fulfill(json={"placements": placements}, headers=headers)
            case _:
                route.abort()

    return answer
