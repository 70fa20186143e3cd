"""A node, a browser and the people who look at the pages of `tests/browser/test_pages.py`."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, CDPSession

from tests.acceptance.processes import Service
from tests.browser.conftest import NO_CHROMIUM, chromium_here, running_browser, running_node
from tests.browser.people import Person
from tests.browser.test_pages import Look, address_of, everybody, lookers, placeholders


@dataclass(frozen=True, slots=True)
class Stage:
    """`found` are the ids in addresses, by their placeholder in a look."""

    node: Service
    browser: Browser
    chromium: str
    """The path of its program."""
    people: Mapping[str, Person]
    found: Mapping[str, str]

    debuggers: dict[Person, CDPSession] = field(default_factory=dict)

    def debugger(self, person: Person) -> CDPSession:
        """The protocol of Chromium's debugger, to the page of a person."""
        if person not in self.debuggers:
            self.debuggers[person] = person.context.new_cdp_session(person.page)
        return self.debuggers[person]

    def touch(self, person: Person, *, touching: bool) -> None:
        """Make the pointer of a person a finger (`pointer: coarse`), or a mouse again."""
        self.debugger(person).send("Emulation.setTouchEmulationEnabled", {"enabled": touching})

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
        running_node() as node,
        running_browser(chromium) as browser,
        everybody(browser, node, viewport={"width": 1280, "height": 800}) as people,
    ):
        yield Stage(node, browser, chromium, people, placeholders(node, people))
