"""A person in a browser that WebDriver drives, who finds elements by their words as assistive technology does."""

import json

from tests.acceptance.processes import Service, until
from tests.browser.acting import Acting
from tests.browser.webdriver import Browser

FIND = """
const words = (text) => text.replace(/\\s+/g, " ").trim();
const fit = (name, wanted, begins) => (begins ? name.startsWith(wanted) : name === wanted);
const seen = (each) => (each.checkVisibility ? each.checkVisibility() : each.offsetParent);
const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
const named = (selector, wanted, begins) =>
  all(selector).find((each) => fit(words(each.getAttribute("aria-label") || each.textContent), wanted.trim(), begins));
const field = (label) => all("label").find((each) => fit(words(each.textContent), label))?.control;
"""


class Driven(Acting):
    """One window of Firefox or WebKitGTK, with the scripts of the pages."""

    def __init__(self, browser: Browser, node: Service) -> None:
        self.browser, self.node = browser, node

    def opens(self, path: str) -> None:
        self.browser.opens(f"{self.node.url}{path}")

    def reads(self, heading: str) -> None:
        self._waits(f'named("h1", {json.dumps(heading)})', f"the heading {heading}")

    def told(self, words: str) -> None:
        said = f'all("[role=status]").find((each) => words(each.textContent).includes({json.dumps(words)}))'
        self._waits(said, f"the notice {words}")

    def fills(self, **fields: str) -> None:
        for label, text in fields.items():
            found = f"field({json.dumps(label)})"
            self._waits(found, f"the field {label}")
            self.browser.types(f"{FIND} return {found}", text)

    def presses(self, button: str, *, begins: bool = False) -> None:
        self._clicks(f'named("button", {json.dumps(button)}, {json.dumps(begins)})', f"the button {button}")

    def follows(self, link: str, *, begins: bool = False) -> None:
        self._clicks(f'named("a[href]", {json.dumps(link)}, {json.dumps(begins)})', f"the link {link}")

    def unfolds(self, summary: str) -> None:
        self._clicks(f'named("summary", {json.dumps(summary)})', f"the line {summary}")

    def text(self, selector: str) -> str:
        return str(self.browser.runs(f"return document.querySelector({json.dumps(selector)}).innerText"))

    def fits(self) -> None:
        assert self.browser.runs("return document.documentElement.scrollWidth <= innerWidth"), self.browser.name

    def forgets(self) -> None:
        """Drop the session, as another person."""
        self.opens("/sign-out")
        self.presses("Sign out")
        self.told("You are signed out.")

    def _waits(self, expression: str, what: str) -> None:
        until(lambda: self.browser.runs(f"{FIND} return Boolean({expression})"), what=what)

    def _clicks(self, expression: str, what: str) -> None:
        self._waits(expression, what)
        self.browser.clicks(f"{FIND} return {expression}")
