"""A node, a browser and the people who look at the pages of `tests/browser/looks.py`."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase

from playwright.sync_api import Browser, CDPSession, Page

from tests.acceptance.processes import Service
from tests.browser.conftest import NO_CHROMIUM, chromium_here, running_browser, running_node
from tests.browser.looks import LOOKS, Look, address_of, everybody, lookers, placeholders
from tests.browser.people import Person

EVERY = "*"

SITE = {
    "site__ads_per_side": "3",
    "site__name": "Example Media for People and Their Agents",
    "site__contact": "hello@example.com",
    "site__links": '[{"label": "Imprint", "url": "https://example.com/imprint"}]',
    "site__terms_url": "https://example.com/terms",
    "site__privacy_url": "https://example.com/privacy",
}
"""A name of usual length, and all documents, so that pages are seen with them."""


def chosen(patterns: str) -> list[Look]:
    """The looks whose name matches one of the patterns, which are those of file names with commas between them.

    Exits if there is none.
    """
    each = [pattern.strip() for pattern in patterns.split(",")]
    looks = [look for look in LOOKS if any(fnmatchcase(look.name, pattern) for pattern in each)]
    if not looks:
        sys.exit(f"No look of tests/browser/looks.py has a name like {patterns}.")
    return looks


@dataclass(frozen=True, slots=True)
class Stage:
    """`found` are the ids in addresses, by their placeholder in a look."""

    node: Service
    browser: Browser
    chromium: str
    """The path of the browser's program."""
    people: Mapping[str, Person]
    found: Mapping[str, str]

    def address(self, look: Look) -> str:
        return address_of(look, self.found)

    def looker(self, look: Look) -> Person:
        """The first of the people who look at the page."""
        return self.people[lookers(look)[0]]


@contextmanager
def open_stage() -> Iterator[Stage]:
    """A node with its demo, and bookings in all states. Exits if there is no Chromium."""
    chromium = chromium_here()
    if chromium is None:
        sys.exit(NO_CHROMIUM)
    with (
        running_node(**SITE) as node,
        running_browser(chromium) as browser,
        everybody(browser, node, viewport={"width": 1280, "height": 800}) as people,
    ):
        yield Stage(node, browser, chromium, people, placeholders(node, people))


def touch(page: Page) -> CDPSession:
    """Make the pointer at a page a finger (`pointer: coarse`), until the session is detached."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    return session
