"""`/embed.js` in Chromium, Firefox and WebKitGTK, on pages of another origin: shown, counted exactly once, nothing stored."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from tests.acceptance.processes import Service, until
from tests.browser.conftest import running_node
from tests.browser.readers import BOX, DRIVEN, FIRST, PAGE, SCRIPT, Reader, answering
from tests.browser.sites import serving_site
from tests.browser.test_embed import live
from tests.browser.visitors import EVENTS, PLACEMENTS, new_context
from tests.browser.walking import counts
from tests.browser.webdriver import Browser, Chromium, running_firefox, running_webkit

STRICT = "default-src 'none'; require-trusted-types-for 'script'; script-src 'nonce-first' HOST; connect-src HOST"
ISOLATED = {"cross-origin-embedder-policy": "require-corp", "cross-origin-opener-policy": "same-origin"}
FRAMED = f"{PAGE}<script>addEventListener('placements:shown', (e) => parent.postMessage(e.detail.number, '*'))</script>"
FRAMING = f"""{FIRST}<script>addEventListener('message', ({{ data }}) => window.drawn = () => data)</script>
<iframe sandbox=allow-scripts src=/framed width=900 height=600></iframe>"""
SHADOW = f"""{FIRST}<p id=host></p><script>
window.root = host.attachShadow({{ mode: 'open' }}); root.innerHTML = '{BOX}'; window.loaded = () => placements.reload(root)
</script><script src=HOST/embed.js onload=loaded()></script>"""
LEAVING = f"{answering('targetUrl', 'SITE/away')}{BOX}{SCRIPT}"
DIRECTIONS = "['title', 'sponsor'].map((name) => getComputedStyle(parts(name)[0]).direction).join()"


@dataclass(frozen=True, slots=True)
class Case:
    """A page that shows its placements, the number of events that arrive, and what is then true on the page."""

    html: str
    events: int = 2
    headers: Mapping[str, str] = field(default_factory=dict)
    holds: str = "true"


CASES = {
    "driven": Case(f"{DRIVEN}{BOX}{SCRIPT}", events=0, holds="navigator.webdriver"),
    "module": Case(f"{FIRST}{BOX}<script type=module src=HOST/embed.js></script>"),
    "import": Case(f"{FIRST}{BOX}<script type=module>import('HOST/embed.js')</script>"),
    "policy": Case(PAGE, headers={"content-security-policy": STRICT}),
    "isolated": Case(PAGE, headers=ISOLATED, holds="crossOriginIsolated"),
    "sandbox": Case(FRAMING),
    "shadow root": Case(SHADOW),
    "right to left": Case(f"{answering('headline', 'مرحبا بكم.')}{BOX}{SCRIPT}", holds=f"{DIRECTIONS} === 'rtl,ltr'"),
    "long word": Case(
        f"{answering('headline', 'Rindfleisch' * 5)}<div style='overflow: hidden; width: 200px'>{BOX}</div>{SCRIPT}",
        holds="parts('card').every((card) => card.getBoundingClientRect().right <= 208)",
    ),
}
STORED = """return (async () => ({
    local: localStorage.length, session: sessionStorage.length, cookies: document.cookie.length,
    databases: (await indexedDB.databases()).length, caches: (await caches.keys()).length
}))()"""
STORES = """<script>
localStorage.a = sessionStorage.a = document.cookie = 'a=1';
window.stored = Promise.all([caches.open('a'), new Promise((done) => indexedDB.open('a').onsuccess = () => done())])
</script>"""


@pytest.fixture(scope="module")
def own_node() -> Iterator[Service]:
    """A node that has counted no other visitor."""
    with running_node() as service:
        yield service


@pytest.fixture(scope="module", params=["chromium", "firefox", "webkit"])
def reader(
    request: pytest.FixtureRequest, own_node: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader]:
    """A reader with each engine, which is started once."""
    home = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        browser: Browser
        if request.param == "chromium":
            context = stack.enter_context(new_context(request.getfixturevalue("browser")))
            browser = Chromium(context.new_page())
        else:
            start = running_firefox if request.param == "firefox" else running_webkit
            browser = stack.enter_context(start(home))
        yield Reader(browser, own_node, stack.enter_context(serving_site()))


def test_each_engine_shows_counts_once_and_stores_nothing(reader: Reader) -> None:
    booking = live(reader.node, "left")[0]["bookingId"]
    (seen, clicked), arrived = counts(reader.node, booking), reader.arrived()
    reader.site.pages["/away"] = FIRST
    reader.opens(LEAVING)
    reader.sees()
    reader.brings(arrived + 2)
    reader.clicks()
    until(lambda: reader.is_true("location.pathname === '/away'"))
    reader.brings(arrived + 3)
    assert counts(reader.node, booking) == (seen + 1, clicked + 1)
    assert set(reader.browser.runs(STORED).values()) == {0}
    assert cookies(reader, "SITE/away", *(f"HOST{path}" for path in ("/embed.js", PLACEMENTS, EVENTS))) == set()


def cookies(reader: Reader, *places: str) -> set[str]:
    """The names of all cookies that a browser sends to these addresses. A cookie may be for one path only."""
    kept = set()
    for place in places:
        reader.browser.opens(reader.named(place))
        kept.update(reader.browser.cookies())
    return kept


def test_a_page_that_comes_back_counts_no_second_impression_and_its_first_click(reader: Reader) -> None:
    arrived = reader.arrived()
    reader.opens(LEAVING)
    reader.sees()
    reader.brings(arrived + 2)
    reader.opens(FIRST, path="/away")
    reader.browser.goes_back()
    reader.sees()
    kept = reader.is_true("window.kept")
    assert kept == (reader.browser.name != "chromium"), "Playwright turns Chromium's cache of pages off"
    reader.brings(arrived + (2 if kept else 4))
    reader.clicks()
    until(lambda: reader.is_true("location.pathname === '/away'"))
    reader.brings(arrived + (3 if kept else 5))


def test_each_engine_shows_and_counts_on_each_kind_of_page(reader: Reader) -> None:
    reader.site.pages["/framed"] = reader.named(FRAMED)
    wrong: dict[str, object] = {}
    for name, case in CASES.items():
        arrived = reader.arrived()
        try:
            reader.opens(case.html, case.headers)
            reader.sees()
            reader.brings(arrived + case.events)
            assert reader.is_true(case.holds), case.holds
        except AssertionError as failed:
            wrong[name] = failed
    assert wrong == {}


def test_what_a_page_stores_is_found(reader: Reader) -> None:
    reader.opens(f"{FIRST}{STORES}", {"set-cookie": f"hidden=1; HttpOnly; Path={EVENTS}; Max-Age=60"})
    reader.browser.runs("return window.stored.then(() => true)")
    assert all(reader.browser.runs(STORED).values())
    assert cookies(reader, "SITE/", f"HOST{EVENTS}") == {"a", "hidden"}
