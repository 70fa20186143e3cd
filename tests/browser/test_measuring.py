"""Plants faults in pages of another site, and lets `make pages` measure them: each is found, and a sound page has none."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser

from tests.acceptance.processes import Service
from tests.browser.people import Person
from tests.browser.sites import Site
from tests.pages.findings import MOST_BYTES, Finding, Place
from tests.pages.sweep import Eye

SOUND = """<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>Sound</title>
<style>
 :root { color-scheme: light dark; background: #fff; color: #111 } body { margin: 0 }
 @media (prefers-color-scheme: dark) { :root { background: #111; color: #eee } a { color: #9cf } }
 header { height: 56px; border-bottom: 1px solid #777 }
 .tap, summary, button { display: inline-flex; align-items: center; min-height: 44px }
 .menu div { position: absolute; background: inherit } details { background: inherit }
 .hit { position: relative } .hit::after { content: ""; position: absolute; inset: -16px }
 .skip { position: absolute; top: -80px }
 .scrolls { overflow-x: auto } pre { width: 900px; margin: 0 }
 svg { fill: currentColor }
</style></head><body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="tap" href="/">Name</a>
<details class="menu"><summary>Menu</summary><div><a class="tap" href="/a">All of it</a></div></details></header>
<main id="main"><h1>Sound</h1>
<p>A link <a href="/b" style="text-decoration: underline">in a sentence</a> is as high as its line.</p>
<p style="margin: 40px 0"><a class="hit" href="/c">A small link whose surroundings belong to it</a></p>
<p><label class="tap"><input type="checkbox"> A small box whose label belongs to it</label></p>
<div class="scrolls" tabindex="0" role="region" aria-label="Code"><pre>wide, and scrolls by itself</pre></div>
<svg width="80" height="20" role="img" aria-label="A chart"><text x="2" y="15">5 k</text></svg>
<details><summary>More</summary><p>Enough contrast here.</p></details>
HERE</main></body></html>"""

SCROLLS = (
    '<div class="scrolls" tabindex="0" role="region" aria-label="Code"><pre>wide, and scrolls by itself</pre></div>'
)

FAULTS = {
    "navigation": "<style>header { height: 60px }</style>",
    "heading": "<style>h1 { margin-top: 300px }</style>",
    "sideways": '<div style="width: 2000px; height: 1px; background: #777"></div>',
    "table": '<div class="scrolls" tabindex="0" role="region" aria-label="Figures">'
    '<table style="width: 2000px"><caption>Figures</caption>'
    "<tr><th scope=col>Name</th></tr><tr><td>Value</td></tr></table></div>",
    "transfer": f"<!--{'x' * MOST_BYTES}-->",
    "layout shift": '<p id="late"></p><p>This moves.</p><script src="/late.js"></script>',
    "contrast": '<svg width="80" height="20" role="img" aria-label="Pale"><text x="2" y="15" fill="#888">5 k</text></svg>',
    "axe color-contrast (serious)": '<p style="color: #888">Neither by day nor by night</p>',
    "axe image-alt (critical)": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" width="44" height="44">',
    "axe empty-heading (minor)": "<h2></h2>",
    "target": '<div><a href="/d">Alone in its line</a><p>Words of another block.</p></div>',
}
LOST = {
    "print: it is cut, because it scrolls on a screen": '<div style="overflow: auto"><pre>wide</pre></div>',
    "print: it is higher than a sheet and may not break": '<div style="break-inside: avoid; height: 1100px"></div>',
    "print: it is 2000 px wide on 680": '<div style="width: 2000px; height: 1px"></div>',
    "forced: it looks like its neighbour": "<p>It was <ins style='text-decoration: none; background: #dfd'>new</ins></p>",
    "forced: its focus does not show": '<button style="outline: none">Send</button>',
}
"""What a screen shows, and paper or colours of the system do not, by its finding."""

LARGE = '<div style="width: 60rem">Twice as wide with large text</div>'
IN_THE_MENU = '<div><a class="tap" href="/a">All of it</a>'
LATE = "document.getElementById('late').append('This comes late.')"


@pytest.fixture
def person(browser: Browser, node: Service) -> Iterator[Person]:
    """Somebody who visits another site than the node's, whose faults in doing so do not count."""
    visitor = Person(browser, node)
    yield visitor
    visitor.context.close()


def found(person: Person, site: Site, html: str, *, finger: bool) -> list[Finding]:
    """All findings of a page, in the two windows of a finger or the one of a desktop."""
    site.pages["/"], site.pages["/late.js"] = html, LATE
    eye = Eye(person, AXE_SCRIPT, finger=finger)
    widths = (390, 320) if finger else (1280,)
    place = Place("planted", widths[0])
    wrong = list(eye.opens(f"{site.url}/", place))
    for width in widths:
        wrong += eye.measures(Place("planted", width))
    return [*wrong, *eye.judges(place)]


@pytest.mark.parametrize("finger", [True, False], ids=["finger", "desktop"])
def test_a_sound_page_has_no_finding(person: Person, site: Site, finger: bool) -> None:
    assert found(person, site, SOUND.replace("HERE", ""), finger=finger) == []


def test_each_planted_fault_is_found_by_its_rule_alone(person: Person, site: Site) -> None:
    for rule, html in FAULTS.items():
        wrong = found(person, site, SOUND.replace("HERE", html), finger=True)
        assert {each.rule for each in wrong} == {rule}, rule


def test_a_contrast_is_found_by_night_alone(person: Person, site: Site) -> None:
    pale = "<style>@media (prefers-color-scheme: dark) { h1 { color: #555 } }</style>"
    [wrong] = found(person, site, SOUND.replace("HERE", pale), finger=False)
    assert (wrong.rule, wrong.place.scheme) == ("axe color-contrast (serious)", "dark")


def test_words_that_stick_out_of_their_box_are_named(person: Person, site: Site) -> None:
    html = SOUND.replace("HERE", '<pre id="words" style="width: 100px">' + "x" * 400 + "</pre>")
    wrong = found(person, site, html, finger=False)
    assert {(each.rule, each.element.partition(" ")[0]) for each in wrong} == {
        ("sideways", "html"),
        ("sideways", "pre#words"),
    }


def test_a_small_target_in_a_menu_is_found_once_the_menu_is_open(person: Person, site: Site) -> None:
    html = SOUND.replace("HERE", "").replace(IN_THE_MENU, IN_THE_MENU.replace(' class="tap"', ""))
    wrong = found(person, site, html, finger=True)
    assert {(each.rule, each.element) for each in wrong} == {("target", 'a "All of it"')}


def test_a_page_with_every_fault_has_all_findings(person: Person, site: Site) -> None:
    wrong = found(person, site, SOUND.replace("HERE", "".join(FAULTS.values())), finger=True)
    assert {each.rule for each in wrong} == FAULTS.keys()


def test_what_paper_and_colours_of_the_system_lose_is_found(person: Person, site: Site) -> None:
    eye, place = Eye(person, AXE_SCRIPT, finger=False), Place("planted", 1280)
    for wrong, html in {"": "", **LOST}.items():
        site.pages["/"] = SOUND.replace(SCROLLS, "").replace("HERE", html)
        list(eye.opens(f"{site.url}/", place))
        lost = {f"{each.rule}: {each.detail}" for each in eye.prints(place)}
        assert lost == ({wrong} if wrong else set())


def test_a_part_that_does_not_fit_at_400_per_cent_or_with_large_text_is_found(person: Person, site: Site) -> None:
    eye, place = Eye(person, AXE_SCRIPT, finger=False), Place("planted", 1280)
    for html, places in (
        ("", set()),
        (LARGE, {(640, "light"), (320, "light"), (1280, "large text"), (320, "large text")}),
    ):
        site.pages["/"] = SOUND.replace(SCROLLS, "").replace("HERE", html)
        list(eye.opens(f"{site.url}/", place))
        assert {(each.place.width, each.place.scheme) for each in eye.zooms(place)} == places
