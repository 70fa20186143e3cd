"""A person with a browser at the pages of the service, and everything that went wrong in it."""

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, Response, ViewportSize, expect

from tests.acceptance.processes import Service
from tests.browser.acting import Acting, code_for
from tests.browser.looking import sticking_out, violations
from tests.browser.visitors import AGENT
from tests.slow import SLOW

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

WELCOME = "Welcome. Three steps to your first answer"
"""The heading of the dashboard of a new account."""


class Person(Acting):
    """One browser context with one page.

    `faults` are errors of scripts and of the console, what the policy of a page has stopped, requests that failed or were
    refused, requests to another origin, and dialogs. Who expects a refusal takes it away with `refused`. `screens` are the
    paths of the pages that were shown, in order.
    """

    def __init__(self, browser: Browser, node: Service, **options: Any) -> None:
        self.node = node
        self.faults: list[str] = []
        self.screens: list[str] = []
        self.scripts = bool(options.get("java_script_enabled", True))
        usual: dict[str, Any] = {
            "base_url": node.url,
            "user_agent": AGENT.format(0),
            "viewport": DESKTOP,
            "reduced_motion": "reduce",
        }
        self.context = browser.new_context(**(usual | options))
        self.context.set_default_timeout(10_000)
        self.context.on("page", self._opened)
        self.context.on("request", self._requested)
        self.context.on("requestfailed", self._failed)
        self.context.on("response", self._answered)
        self.page: Page = self.context.new_page()

    # What goes wrong.

    def _wrong(self, fault: str) -> None:
        self.faults.append(fault)

    def _opened(self, page: Page) -> None:
        page.on("pageerror", lambda error: self._wrong(f"thrown: {error}"))
        page.on("console", self._written)
        page.on("dialog", self._asked)

    def _written(self, message: ConsoleMessage) -> None:
        # What was refused is known by its status.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self._wrong(f"console: {message.text}")

    def _asked(self, dialog: Dialog) -> None:
        self._wrong(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((f"{self.node.url}/", "data:")):
            self._wrong(f"to another origin: {request.url}")

    def _failed(self, request: Request) -> None:
        # Leaving a page aborts the load of its icon.
        if request.failure != "net::ERR_ABORTED":
            self._wrong(f"failed: {request.url} {request.failure}")

    def _answered(self, response: Response) -> None:
        if (
            response.ok
            and response.request.is_navigation_request()
            and "html" in response.headers.get("content-type", "")
        ):
            self.screens.append(urlsplit(response.url).path)
        if response.status >= 400:
            self._wrong(f"{response.status} {response.url.removeprefix(self.node.url)}")

    def told_faults(self) -> list[str]:
        """The faults since the last call."""
        told, self.faults = self.faults, []
        return told

    def refused(self, status: int, path: str) -> None:
        """Expect that one request was refused."""
        self.faults.remove(f"{status} {path}")

    def leaves(self, url: str) -> None:
        """Expect that a link led to another site."""
        self.faults.remove(f"to another origin: {url}")

    # What people do.

    def opens(self, path: str) -> None:
        self.page.goto(path)

    def reads(self, heading: str) -> None:
        """Wait for the page whose main heading this is."""
        expect(self.page.get_by_role("heading", level=1, name=heading, exact=True)).to_be_visible()

    def told(self, words: str) -> None:
        """Wait for a notice that says this."""
        expect(self.page.get_by_role("status").filter(has_text=words).first).to_be_visible()

    def fills(self, **fields: str) -> None:
        """Type into the fields with these labels."""
        for label, text in fields.items():
            self.page.get_by_label(label, exact=True).fill(text)

    def presses(self, button: str, *, begins: bool = False) -> None:
        self.page.get_by_role("button", name=_named(button, begins), exact=True).click()

    def follows(self, link: str, *, begins: bool = False) -> None:
        self.page.get_by_role("link", name=_named(link, begins), exact=True).first.click()

    def unfolds(self, summary: str) -> None:
        self.page.get_by_text(summary, exact=True).click()

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def fits(self) -> None:
        self.page.wait_for_load_state()
        assert sticking_out(self.page) == [], self.page.url
        if SLOW and self.scripts:
            assert violations(self.page) == [], self.page.url

    def signs_out(self) -> None:
        """Sign out in the menu of the account."""
        self.page.locator("details.menu summary:visible").click()
        self.presses("Sign out")
        self.told("You are signed out.")

    def comes(self, email: str, path: str) -> None:
        """Open a page with a session that began without the forms of the page for it."""
        requests, ours = self.context.request, {"origin": self.node.url}
        sent = requests.post("/api/v1/auth/session", data={"email": email}, headers=ours)
        assert sent.ok, sent.text()
        typed = {"email": email, "code": code_for(self.node, email)}
        begun = requests.post("/api/v1/auth/session/complete", data=typed, headers=ours)
        assert begun.ok, begun.text()
        self.opens(path)


def _named(name: str, begins: bool) -> str | re.Pattern[str]:
    return re.compile(f"^{re.escape(name)}") if begins else name
