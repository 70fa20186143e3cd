"""A real node with its demo, a website of another origin, and a headless Chromium that visits it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.acceptance.postgres import ask
from tests.acceptance.processes import Service, serving, until
from tests.browser.people import Person
from tests.browser.sites import Site, serving_site
from tests.browser.visitors import PLACEMENTS, Visitor, new_context
from tests.memory import in_memory

Visit = Callable[..., Visitor]
Meet = Callable[..., Person]

ADMIN = "admin@example.com"
DOCTYPE = "<!doctype html>"
SETTINGS = {
    "admin.emails": f'["{ADMIN}"]',
    "bookings.sweep_seconds": 0.5,
    "claim.code_pause_seconds": 0,
    "claim.codes_per_day": 1_000,
    "claim.letters_per_email": 1_000,
    "claim.guesses_per_email": 1_000,
    "device.interval_seconds": 1,
    "device.starts_per_hour": 1_000,
    "device.per_hour_total": 100_000,
    "mail.per_hour_total": 100_000,
    "pages.per_minute": 100_000,
    "sessions.completions_per_hour": 1_000,
    "site.ads_per_side": 6,
    "sessions.starts_per_hour": 1_000,
}
"""Limits that these tests do not reach, and short intervals of what they wait for."""

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser")
"""Programs to use, the first that is here. The shell has no window of its own to paint, and costs half as much."""

NO_CHROMIUM = "there is no Chromium here (Debian's packages are `chromium-headless-shell` and `chromium`)"

FEATURES_OFF = (
    # Chromium builds these parts of its own window, which nobody sees, from more than 40 scripts for each new context.
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
    # A spare renderer is started after each navigation.
    "SpareRendererForSitePerProcess",
    # Of two such lists the last one counts, so this one repeats Playwright's.
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
    "LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch",
)
FRUGAL = (
    f"--disable-features={','.join(FEATURES_OFF)}",
    # Scripts of these pages, and axe-core on them, end before optimized code pays.
    "--js-flags=--no-opt,--no-maglev,--min-semi-space-size=16",
)
LIKE_A_VISITOR = "--disable-blink-features=AutomationControlled"
"""`navigator.webdriver` is false, because `embed.js` reports nothing of automated browsers."""

"""Arguments that save a third of Chromium's processor time and change nothing for a page."""


@contextmanager
def running_node(**settings: object) -> Iterator[Service]:
    """A node after its first start, with the demo. Settings are named `section__name`."""
    place = Path(tempfile.mkdtemp(prefix="catalog-browser-", dir=in_memory()))
    # The unprivileged user of Postgres has to traverse this directory.
    place.chmod(0o711)
    try:
        chosen = {name.replace("__", "."): value for name, value in settings.items()}
        with serving(place / "data", {**SETTINGS, **chosen}) as service:
            yield service
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="package")
def node() -> Iterator[Service]:
    """A node with the placements of the demo. Tests remove the placements that they add."""
    with running_node() as service:
        yield service


@contextmanager
def plain_asyncio() -> Iterator[None]:
    """The loops of asyncio itself, which the driver needs: trio-asyncio makes those of its importers run in Trio."""
    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(policy)


def chromium_here() -> str | None:
    """The path of the browser to use, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextmanager
def running_browser(chromium: str) -> Iterator[Browser]:
    """A browser under the control of Playwright."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with plain_asyncio(), sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=[*FRUGAL, LIKE_A_VISITOR, *sandbox])
        yield started
        started.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this package. Each visitor has a context."""
    chromium = chromium_here()
    if chromium is None:
        pytest.skip(NO_CHROMIUM)
    with running_browser(chromium) as started:
        yield started


@pytest.fixture
def site() -> Iterator[Site]:
    """A website of this test alone."""
    with serving_site() as opened:
        yield opened


@pytest.fixture(scope="package")
def rooms(browser: Browser) -> Iterator[dict[bool, BrowserContext]]:
    """Contexts for the visitors who change nothing in theirs, with and without a clock that stands still.

    Browsers keep storage by origin, and each test has a site with an origin of its own, so no visitor sees another's.
    """
    contexts = {frozen: new_context(browser, frozen=frozen) for frozen in (False, True)}
    yield contexts
    for context in contexts.values():
        context.close()


@pytest.fixture
def visit(browser: Browser, node: Service, site: Site, rooms: dict[bool, BrowserContext]) -> Iterator[Visit]:
    """Visits a page of the site as a new visitor. Fails at the end if a page threw an error."""
    visitors: list[Visitor] = []

    def visiting(
        html: str, headers: Mapping[str, str] | None = None, *, before: str = "", frozen: bool = False, **options: Any
    ) -> Visitor:
        if before and not headers:
            # A script of the page comes first, too, and goes with it.
            html, before = html.replace(DOCTYPE, f"{DOCTYPE}<script>{before}</script>", 1), ""
        site.pages["/"] = html.replace("https://HOST", node.url)
        site.headers.update(headers or {})
        # Who is counted has a user agent of their own.
        share = None if headers or visitors or options.get("counted") else rooms[frozen]
        visitor = Visitor(browser, node, site, before=before, frozen=frozen, share=share, **options)
        visitors.append(visitor)
        visitor.page.goto(f"{site.url}/")
        return visitor

    yield visiting
    for visitor in visitors:
        visitor.leave()
    assert [error for visitor in visitors for error in visitor.errors] == []


def left_behind(node: Service) -> list[str]:
    """The ids of the bookings that are shown and not the demo's."""
    shown = node.get(PLACEMENTS).json()["placements"]
    return [each["bookingId"] for each in shown if not each["demo"]]


def take_down(node: Service, bookings: list[str]) -> None:
    """Suspend the accounts of bookings that a failed test left, so that the next tests see the placements of the demo."""
    ids = ", ".join(f"'{booking}'" for booking in bookings)
    owners = f"select distinct email from bookings join accounts using (tenant_id) where bookings.id in ({ids})"
    for owner in ask(node.sockets, owners):
        node.command("suspend-account", owner["email"], "--reason", "Its test is over.")
    until(lambda: not left_behind(node), what="the placements to go")


@pytest.fixture
def meet(browser: Browser, node: Service) -> Iterator[Meet]:
    """Creates new visitors of the service. Fails at the end if anything went wrong in a browser."""
    people: list[Person] = []

    def meeting(**options: object) -> Person:
        person = Person(browser, node, **options)
        people.append(person)
        return person

    yield meeting
    for person in people:
        person.context.close()
    if bookings := left_behind(node):
        take_down(node, bookings)
    assert [fault for person in people for fault in person.faults] == []
