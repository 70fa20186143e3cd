"""A real node with its demo, a website of another origin, and a headless Chromium that visits it."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.acceptance.processes import Service, serving
from tests.browser.sites import Site, serving_site
from tests.browser.visitors import Visitor
from tests.memory import in_memory

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def node() -> Iterator[Service]:
    """A node just after its first start, so that the demo's placements are live."""
    place = Path(tempfile.mkdtemp(prefix="catalog-browser-", dir=in_memory()))
    # The unprivileged user of Postgres passes through.
    place.chmod(0o711)
    try:
        with serving(place / "data") as service:
            yield service
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def plain_asyncio() -> Iterator[None]:
    """The loops of asyncio itself, which the driver needs: trio-asyncio makes those of its importers run in Trio."""
    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())
    try:
        yield
    finally:
        asyncio.set_event_loop_policy(policy)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser a module."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium here (Debian's package is `chromium`)")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with plain_asyncio(), sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=sandbox)
        yield started
        started.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """A website of this test alone."""
    with serving_site() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, node: Service, site: Site) -> Iterator[Visit]:
    """Visits a page of the site, each time as somebody new. In the end no page may have thrown."""
    visitors: list[Visitor] = []

    def visiting(html: str, headers: Mapping[str, str] | None = None, **options: object) -> Visitor:
        site.pages["/"] = html.replace("https://HOST", node.url)
        site.headers.update(headers or {})
        visitor = Visitor(browser, node, site, **options)
        visitors.append(visitor)
        visitor.page.goto(f"{site.url}/")
        return visitor

    yield visiting
    for visitor in visitors:
        visitor.context.close()
    assert [error for visitor in visitors for error in visitor.errors] == []
