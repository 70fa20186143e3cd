"""`/embed.js` on pages of many kinds: with modules, shadow roots, two services, and libraries that change elements."""

import json

import pytest

from tests.acceptance.processes import Service
from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.browser.test_embed import HIDEABLE, LEFT, PAGE, SCRIPT, placement, turned
from tests.browser.visitors import EVENTS, PLACEMENTS, Visitor, answering

HEARD = "window.heard = []; addEventListener('placements:shown', ({ target }) => heard.push(target.id))"
TWO = [placement(), placement(bookingId="bok_2", headline="Another", side="right")]
STRICT_MODE = """
const mount = (id) => {
    const box = document.createElement('div');
    box.id = id;
    box.dataset.placements = 'left';
    document.body.append(box);
    placements.reload();
    return () => box.remove();
};
mount('a')();
mount('b');
null"""
DRIVE = """
const kept = document.body.cloneNode(true);
window.drive = (body) => {
    document.body.replaceWith(body);
    for (const script of document.querySelectorAll('body script[src]')) {
        const again = document.createElement('script');
        for (const { name, value } of script.attributes) again.setAttribute(name, value);
        script.replaceWith(again);
    }
};
window.back = () => drive(kept.cloneNode(true));"""
SWAP = """
const next = new DOMParser().parseFromString(HTML, 'text/html');
const box = document.querySelector('[data-placements]');
next.querySelector('[data-placements]').replaceWith(box);
document.body.replaceWith(next.body);
placements.reload();"""


def titles(visitor: Visitor) -> list[str]:
    """The titles of all placements on the page."""
    return visitor.page.locator("[part=title]").all_text_contents()


def a_second(visitor: Visitor) -> None:
    """Let a second pass, once every observer of the page was notified, and wait until all requests are reported."""
    visitor.looked("body")
    visitor.page.clock.run_for(1_000)
    visitor.settled()


# How the script is loaded.


@pytest.mark.parametrize(
    "script",
    [
        '<script type="module" src="https://HOST/embed.js"></script>',
        '<script type="module" src="https://HOST/embed.js?v=2.js"></script>',
        '<script type="module">import "https://HOST/embed.js"</script>',
        '<script>import("https://HOST/embed.js")</script>',
        "<script>const s = document.createElement('script'); s.src = 'https://HOST/embed.js';"
        "document.head.append(s); s.remove()</script>",
        "<script>const s = document.createElement('script'); s.src = 'https://HOST/embed.js'; const host ="
        "document.createElement('div'); document.body.append(host); host.attachShadow({mode: 'closed'}).append(s)</script>",
    ],
    ids=["module", "query", "static import", "import()", "removed", "in a shadow root"],
)
def test_the_script_works_in_whichever_way_it_is_loaded(visit: Visit, script: str) -> None:
    visitor = visit(f"<!doctype html><body>{LEFT}{script}", frozen=True, placements=TWO)
    visitor.filled()
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]
    assert visitor.asked(PLACEMENTS) == 2, "one for the box, and one of this test"


@pytest.mark.parametrize(
    ("attribute", "path"), [("data-preview", None), ('data-visitor="device"', ""), ("", "?unit=day")]
)
def test_a_module_reads_the_attributes_of_its_element(
    node: Service, visit: Visit, attribute: str, path: str | None
) -> None:
    script = SCRIPT.replace("async", f'type="module" {attribute}')
    visitor = visit(f"<!doctype html>{LEFT}{script}", frozen=True, placements=TWO)
    visitor.filled()
    a_second(visitor)
    sent = [request.url for request in visitor.requests if visitor.is_event(request)]
    assert sent == ([] if path is None else [f"{node.url}/api/v1/sponsors/events{path}"])


@pytest.mark.parametrize("broken", ["window.CSSStyleSheet = undefined", "window.IntersectionObserver = undefined"])
def test_a_browser_that_is_too_old_shows_nothing_and_nothing_is_thrown(visit: Visit, broken: str) -> None:
    visitor = visit(f"<!doctype html>{LEFT}{SCRIPT.replace('async', '')}", before=broken, placements=TWO)
    visitor.settled()
    assert titles(visitor) == []


def test_source_that_stands_in_the_page_itself_throws_nothing(node: Service, visit: Visit) -> None:
    source = node.get("/embed.js").text
    visitor = visit(f"<!doctype html>{LEFT}<script>{source}</script>", placements=TWO)
    visitor.settled()
    assert titles(visitor) == []


# Two services.


def test_each_of_two_services_fills_the_boxes_that_name_it(node: Service, site: Site, visit: Visit) -> None:
    ours, theirs = node.url.split("//")[1], node.url.split("//")[1].replace("127.0.0.1", "localhost")
    names = ("", f'data-service="{ours}"', f'data-service="{theirs}"', 'data-service="elsewhere.example.com"')
    boxes = "".join(f'<div data-placements="left" {name}></div>' for name in names)
    scripts = "".join(f'<script src="http://{host}/embed.js"></script>' for host in (ours, theirs, ours))
    visitor = visit("<!doctype html>", frozen=True)
    for host, answer in ((ours, placement(headline="Ours")), (theirs, placement(headline="Theirs", bookingId="bok_2"))):
        visitor.context.route(f"http://{host}{PLACEMENTS}", answering([answer]))
        visitor.context.route(f"http://{host}{EVENTS}*", lambda route: route.fulfill(json={}))
    site.pages["/"] = f"<!doctype html>{boxes}{scripts}"
    visitor.page.reload()
    visitor.page.locator("[data-placed='1']").nth(2).wait_for()
    assert titles(visitor) == ["Ours", "Ours", "Theirs"]
    a_second(visitor)
    sent = [(each.url, json.loads(each.post_data or "")["bookingId"]) for each in visitor.requests if each.post_data]
    assert sorted(sent) == sorted(
        [(f"http://{ours}{EVENTS}?unit=day", "bok_1"), (f"http://{theirs}{EVENTS}?unit=day", "bok_2")]
    )
    left_alone = "(box) => [box.dataset.placed ?? null, box.shadowRoot]"
    assert visitor.page.locator("[data-placements]").nth(3).evaluate(left_alone) == [None, None]
    visitor.page.evaluate(
        "async (host) => { const box = document.createElement('p'); box.dataset.placements = 'left';"
        "box.dataset.service = host; document.body.append(box); await placements.reload() }",
        theirs,
    )
    assert titles(visitor) == ["Ours", "Ours", "Theirs", "Theirs"]


# Shadow roots.


def test_reload_looks_into_a_shadow_root_that_it_is_given(visit: Visit) -> None:
    visitor = visit(f"<!doctype html><body>{LEFT}{SCRIPT}", before=HEARD, frozen=True, placements=TWO)
    visitor.filled()
    made = visitor.page.evaluate(
        """async () => {
            const host = document.createElement('div');
            window.shadow = host.attachShadow({ mode: 'closed' });
            shadow.innerHTML = '<section id="inner" data-placements="right"></section>';
            document.body.append(host);
            await placements.reload();
            const before = shadow.firstChild.dataset.placed;
            await placements.reload(shadow);
            return [before, shadow.firstChild.dataset.placed, shadow.firstChild.shadowRoot.querySelector('a').textContent];
        }"""
    )
    assert made == [None, "1", "Another"]
    a_second(visitor)
    assert sorted(visitor.events("impression")) == ["bok_1", "bok_2"]
    visitor.page.evaluate("placements.reload(shadow)")
    assert visitor.asked(PLACEMENTS) == 3, "two for the boxes, one of this test, and none if nothing has changed"


@pytest.mark.parametrize(
    "given", ["null", "7", "'text'", "{}", "new Event('x')", "document", "document.body", "[shadow]"]
)
def test_reload_takes_anything_else_as_no_root(visit: Visit, given: str) -> None:
    visitor = visit(PAGE, before=f"{HEARD}; window.shadow = 1", placements=TWO)
    visitor.filled()
    visitor.page.evaluate(
        f"async () => {{ document.body.insertAdjacentHTML('beforeend', '<p data-placements></p>');"
        f"await placements.reload({given}) }}"
    )
    assert len(titles(visitor)) == 3
    assert visitor.page.evaluate("heard.length") == 2, "each box was drawn once"


def test_every_caller_of_reload_waits_until_the_boxes_are_drawn(visit: Visit) -> None:
    visitor = visit(PAGE, placements=TWO)
    visitor.filled()
    numbers = visitor.page.evaluate(
        """() => {
            const added = [1, 2, 3].map(() => document.body.appendChild(document.createElement('div')));
            return Promise.all(added.map(async (box) => {
                box.dataset.placements = '';
                await placements.reload();
                return box.dataset.placed;
            }));
        }"""
    )
    assert numbers == ["2", "2", "2"]
    assert visitor.asked(PLACEMENTS) == 3


# Libraries that change the page.


def test_an_effect_that_runs_undoes_and_runs_again_counts_once(visit: Visit) -> None:
    visitor = visit(f"<!doctype html><body>{SCRIPT.replace('async', '')}", before=HEARD, frozen=True, placements=TWO)
    visitor.page.evaluate(STRICT_MODE)
    visitor.filled()
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]
    assert titles(visitor) == ["A headline"]


def test_a_body_that_is_replaced_and_comes_back_from_a_cache_is_filled_and_counts_once(visit: Visit) -> None:
    visitor = visit(f"<!doctype html><body>{LEFT}{SCRIPT}", frozen=True, placements=TWO)
    visitor.filled()
    a_second(visitor)
    visitor.page.evaluate(DRIVE)
    for _ in range(3):
        visitor.page.evaluate("back()")
        visitor.page.get_by_text("A headline").wait_for()
        a_second(visitor)
    assert titles(visitor) == ["A headline"]
    assert visitor.events("impression") == ["bok_1"]


def test_what_a_morph_takes_from_a_box_comes_back(visit: Visit) -> None:
    page = PAGE.replace(LEFT, f"{LEFT[:-6]}<b>Be the first</b></div><a data-placements>A link</a>")
    visitor = visit(page, before=HEARD, frozen=True, placements=TWO)
    visitor.filled()
    a_second(visitor)
    card = visitor.page.evaluate_handle("document.querySelector('[data-placements]').shadowRoot.querySelector('li')")
    for morph in (
        "box.removeAttribute('data-placed')",
        "box.dataset.placed = 0",
        "box.innerHTML = '<b>Be the second</b>'",
    ):
        visitor.page.evaluate(
            f"async () => {{ for (const box of document.querySelectorAll('[data-placements]')) {{ {morph} }};"
            "await placements.reload() }"
        )
        assert visitor.page.evaluate(
            "[...document.querySelectorAll('[data-placements]')].map((b) => b.dataset.placed)"
        ) == [
            "1",
            "0",
        ]
    assert card.evaluate("(card) => card.isConnected"), "the box was not drawn again"
    assert not visitor.page.locator("div").get_by_text("Be the").is_visible()
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]
    assert visitor.page.evaluate("heard.length") == 1


def test_html_that_is_swapped_in_with_its_script_or_from_a_snapshot_is_filled(visit: Visit) -> None:
    visitor = visit(f"<!doctype html><body><main>{LEFT}</main>{SCRIPT}", frozen=True, placements=TWO)
    visitor.filled()
    a_second(visitor)
    visitor.page.evaluate(
        "async () => { const main = document.querySelector('main'); main.innerHTML += ' '; await placements.reload() }"
    )
    assert titles(visitor) == ["A headline"]
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]


def test_a_box_that_a_view_transition_keeps_keeps_its_look(visit: Visit) -> None:
    """Moving into another document and back takes the style sheets of a shadow root."""
    visitor = visit(f"<!doctype html><body>{LEFT}{SCRIPT}", frozen=True, placements=TWO)
    visitor.filled()
    border = "(card) => getComputedStyle(card).borderTopStyle"
    visitor.page.evaluate(f"async () => {{ const HTML = '<body><h1>Next</h1>{LEFT}'; {SWAP} }}")
    visitor.page.get_by_text("Next").wait_for()
    assert visitor.page.locator("li").evaluate(border) == "solid"
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]


def test_a_page_that_watches_its_elements_and_reloads_at_each_change_comes_to_rest(visit: Visit) -> None:
    watch = (
        "window.changes = 0; addEventListener('load', () => new MutationObserver(() => { changes++; placements.reload() })"
        ".observe(document.body, { attributes: true, childList: true, subtree: true }))"
    )
    visitor = visit(f"<!doctype html><body>{LEFT}{SCRIPT}", before=watch, placements=TWO)
    visitor.filled()
    visitor.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p data-placements></p>')")
    visitor.page.locator("p[data-placed='2']").wait_for()
    visitor.settled()
    assert visitor.page.evaluate("changes") <= 4
    assert visitor.asked(PLACEMENTS) == 3


# States of the page.


def test_a_page_that_comes_back_from_the_cache_of_the_browser_counts_no_second_time(visit: Visit) -> None:
    visitor = visit(PAGE, before=HIDEABLE, frozen=True, placements=TWO)
    visitor.filled()
    a_second(visitor)
    for persisted in ("pagehide", "pageshow"):
        visitor.page.evaluate(f"dispatchEvent(new PageTransitionEvent('{persisted}', {{ persisted: true }}))")
        turned(visitor, away=persisted == "pagehide")
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]


def test_a_page_that_is_prerendered_counts_nothing_before_it_is_opened(visit: Visit) -> None:
    prerendered = "window.ahead = true; Object.defineProperty(document, 'prerendering', { get: () => window.ahead })"
    visitor = visit(PAGE, before=prerendered, frozen=True, placements=TWO)
    visitor.filled()
    visitor.looked("li")
    visitor.page.clock.run_for(60_000)
    visitor.settled()
    assert visitor.sent == []
    visitor.page.evaluate("ahead = false; document.dispatchEvent(new Event('prerenderingchange', { bubbles: true }))")
    a_second(visitor)
    assert visitor.events("impression") == ["bok_1"]


@pytest.mark.parametrize("sandbox", ["allow-scripts", "allow-scripts allow-same-origin"])
@pytest.mark.parametrize(
    "script", [SCRIPT, SCRIPT.replace("async", 'async data-visitor="device"')], ids=["day", "device"]
)
def test_a_sandboxed_frame_shows_and_counts(visit: Visit, sandbox: str, script: str) -> None:
    inner = f"<!doctype html>{LEFT}{script}".replace('"', "&quot;")
    page = f'<!doctype html><iframe sandbox="{sandbox}" srcdoc="{inner}" style="width: 90%; height: 300px"></iframe>'
    visitor = visit(page, placements=TWO)
    with visitor.page.expect_request(visitor.is_event):
        visitor.page.frame_locator("iframe").get_by_text("A headline").wait_for()
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]
