"""Opens every page in a real Chromium and measures it, on a desktop and under a finger, by day and by night."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize

from tests.browser.looks import Look, lookers
from tests.browser.people import DESKTOP, PHONE, Person
from tests.pages import findings
from tests.pages.findings import Finding, Place
from tests.pages.stage import Stage, touch

PROBE = (Path(__file__).parent / "probe.js").read_text(encoding="utf-8")
SMALL_PHONE: ViewportSize = {"width": 320, "height": 640}
ZOOMED: Sequence[ViewportSize] = ({"width": 640, "height": 400}, {"width": 320, "height": 200})
"""A desktop at 200 and at 400 per cent."""

TEXT_PX = 16
PAPER: ViewportSize = {"width": 680, "height": 1_009}
"""A sheet of A4 without its margins of 15 mm."""

EXPERIMENTAL = (
    "css-orientation-lock",
    "focus-order-semantics",
    "label-content-name-mismatch",
    "table-fake-caption",
    "td-has-header",
)
"""Rules that axe-core leaves out unless it is told to. `p-as-heading` stays out: it takes large codes for headings."""

ALL_RULES: dict[str, Any] = {
    "resultTypes": ["violations", "incomplete"],
    "rules": {rule: {"enabled": True} for rule in ("target-size", *EXPERIMENTAL)},
}
COLOURS: dict[str, Any] = ALL_RULES | {"runOnly": ["color-contrast", "link-in-text-block"], "rules": {}}
"""The rules whose answer depends on the scheme."""


RUN_AXE = """async (options) => {
  const { violations, incomplete } = await axe.run(document, options);
  return { violations, incomplete: incomplete.filter((rule) => rule.id === "color-contrast") };
}"""


class Loads:
    """Counts what a page transfers, with the cache off, and holds its scripts back until it has been painted.

    Otherwise it is chance whether a script moves something before or after the first paint.
    """

    def __init__(self, page: Page) -> None:
        self.transferred = 0
        self._page = page
        self._debugger = debugger = page.context.new_cdp_session(page)
        debugger.send("Network.enable")
        debugger.send("Network.setCacheDisabled", {"cacheDisabled": True})
        debugger.on("Network.loadingFinished", self._finished)

    def _finished(self, event: Mapping[str, Any]) -> None:
        self.transferred += int(event["encodedDataLength"])

    def load(self, go: Callable[[], object]) -> None:
        """Do what opens a page, and wait until all that belongs to it has come."""
        self.transferred = 0
        self._debugger.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Script"}]})
        go()
        self._page.evaluate(PROBE)
        self._page.evaluate("probe.painted()")
        # This lets go of what was held.
        self._debugger.send("Fetch.disable")
        self._page.wait_for_load_state()


class Eye:
    """One person at one kind of window. `finger` says that the pointer is one."""

    def __init__(self, person: Person, axe: str, *, finger: bool) -> None:
        self.person, self.finger = person, finger
        self._axe = axe
        self._loads = Loads(person.page)
        if finger:
            touch(person.page)

    def opens(self, address: str, place: Place, pressed: str = "") -> Iterator[Finding]:
        """Load a page. Yields what is wrong with the load."""
        page = self.person.page
        page.set_viewport_size(PHONE if self.finger else DESKTOP)
        self._loads.load(lambda: page.goto(address, wait_until="commit"))
        if pressed:
            self._loads.load(lambda: self._press(pressed))
        elif "/sign-in" in page.url and "/sign-in" not in address:
            yield Finding(place, "fault", "page", f"it leads to {page.url}")
        yield from findings.of_load(place, self._loads.transferred, page.evaluate("probe.shifted()"))

    def _press(self, button: str) -> None:
        with self.person.page.expect_navigation(wait_until="commit"):
            self.person.presses(button)

    def measures(self, place: Place) -> Iterator[Finding]:
        """The faults of the layout at the width of the place."""
        page = self.person.page
        if self.finger:
            page.set_viewport_size({"width": place.width, "height": PHONE["height"]})
        measured = page.evaluate("(finger) => probe.geometry(finger)", self.finger)
        yield from findings.of_geometry(place, measured)
        yield from findings.of_menus(place, page.evaluate("(finger) => probe.menus(finger)", self.finger))

    def zooms(self, place: Place) -> Iterator[Finding]:
        """What a desktop at 200 and at 400 per cent cuts, and large text in a window of its own size and on a small phone."""
        page = self.person.page
        for window in ZOOMED:
            page.set_viewport_size(window)
            yield from self.measures(replace(place, width=window["width"]))
        session = page.context.new_cdp_session(page)
        session.send("Page.setFontSizes", {"fontSizes": {"standard": 2 * TEXT_PX}})
        for window in (DESKTOP, SMALL_PHONE):
            page.set_viewport_size(window)
            large = page.evaluate("probe.geometry(false).wide")
            yield from findings.of_sideways(replace(place, width=window["width"], scheme="large text"), large)
        session.send("Page.setFontSizes", {"fontSizes": {"standard": TEXT_PX}})
        session.detach()

    def prints(self, place: Place) -> Iterator[Finding]:
        """What is lost on paper, and in colours of the system."""
        page = self.person.page
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print")
        on_paper = replace(place, width=PAPER["width"], scheme="print")
        yield from findings.of_scheme(on_paper, page.evaluate("(sheet) => probe.paper(sheet)", PAPER["height"]))
        page.set_viewport_size(DESKTOP)
        page.emulate_media(media="screen", forced_colors="active")
        yield from findings.of_scheme(replace(place, scheme="forced"), page.evaluate("probe.forced()"))
        page.emulate_media(forced_colors="none")

    def judges(self, place: Place, alike: str = "") -> Iterator[Finding]:
        """The findings of axe-core by day, and those of colours by night."""
        page = self.person.page
        page.evaluate("probe.unfold()")
        if alike:
            page.evaluate("(alike) => document.querySelectorAll(alike).forEach((part) => part.remove())", alike)
        page.evaluate(self._axe)
        yield from self._judges(place, ALL_RULES)
        page.emulate_media(color_scheme="dark")
        yield from self._judges(replace(place, scheme="dark"), COLOURS)
        page.emulate_media(color_scheme="light")

    def _judges(self, place: Place, options: Mapping[str, Any]) -> Iterator[Finding]:
        page = self.person.page
        results = page.evaluate(RUN_AXE, options)
        targets = [node["target"][0] for node in findings.unsure(results)]
        colours = page.evaluate("(targets) => targets.map(probe.colours)", targets) if targets else []
        yield from findings.of_axe(place, results, colours)


def sweep(stage: Stage, looks: Iterable[Look], axe: str) -> Iterator[Finding]:
    """All that is wrong with these pages. `axe` is the source of axe-core."""
    with eyes(stage, axe) as seeing:
        for look in looks:
            yield from look_at(stage, look, seeing)


@contextmanager
def eyes(stage: Stage, axe: str) -> Iterator[Mapping[str, tuple[Eye, Eye]]]:
    """For each person one eye at a desktop, and one above a phone with the same session."""
    phones = {
        who: Person(
            stage.browser,
            stage.node,
            viewport=PHONE,
            color_scheme="light",
            storage_state=person.context.storage_state(),
        )
        for who, person in stage.people.items()
    }
    yield {
        who: (Eye(person, axe, finger=False), Eye(phones[who], axe, finger=True))
        for who, person in stage.people.items()
    }
    for phone in phones.values():
        phone.context.close()


def look_at(stage: Stage, look: Look, seeing: Mapping[str, tuple[Eye, Eye]]) -> Iterator[Finding]:
    """All that is wrong with a page: for the first of its lookers everything, for the others the layout under a finger."""
    first, *others = lookers(look)
    address = stage.address(look)
    for eye in seeing[first]:
        place = Place(look.name, PHONE["width"] if eye.finger else DESKTOP["width"])
        yield from eye.opens(address, place, look.pressed)
        yield from eye.measures(place)
        if eye.finger:
            yield from eye.measures(Place(look.name, SMALL_PHONE["width"]))
            eye.person.page.set_viewport_size(PHONE)
        else:
            yield from eye.zooms(place)
            yield from eye.prints(place)
        yield from eye.judges(place, look.alike)
        yield from told(eye.person, look, address, place)
    for who in others:
        _, phone = seeing[who]
        place = Place(f"{look.name} ({who})", PHONE["width"])
        yield from phone.opens(address, place, look.pressed)
        yield from phone.measures(place)
        yield from phone.measures(Place(place.page, SMALL_PHONE["width"]))
        yield from told(phone.person, look, address, place)


def told(person: Person, look: Look, address: str, place: Place) -> Iterator[Finding]:
    """The faults of scripts, of the policy and of requests, without the refusal that the look is about."""
    for fault in person.told_faults():
        if look.status == 200 or fault != f"{look.status} {address}":
            yield Finding(place, "fault", "page", fault)
