"""The rules of the design: templates use its parts only, nothing in the sheet rots, and pages have one thing to do."""

import gzip
import re
from pathlib import Path

import pytest

from service.web.pages.table import PAGES
from service.web.static_files import static_url
from tests.web.templates import (
    CLASSES,
    SHEET,
    WEB,
    attributes_of,
    blocked,
    classes_of_sheet,
    classes_of_template,
    faults_of_design,
)

TEMPLATES = sorted((WEB / "templates").glob("*.html"))
MOST_LINES, MOST_BYTES = 1_500, 12_000


def test_the_sheet_is_small() -> None:
    assert len(SHEET.splitlines()) <= MOST_LINES
    assert len(gzip.compress(SHEET.encode(), 9, mtime=0)) <= MOST_BYTES


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_a_template_uses_classes_of_the_sheet_and_no_styles_of_its_own(template: Path) -> None:
    source = template.read_text(encoding="utf-8")
    assert classes_of_template(source) - CLASSES == set()
    assert list(attributes_of(source, "style")) == []
    assert "<style" not in source
    names = [*attributes_of(source, "class"), *attributes_of(source, "id"), *attributes_of(source, "href")]
    assert [name for name in names if blocked(name)] == []


def test_every_class_of_the_sheet_is_used() -> None:
    places = [*TEMPLATES, *(WEB / "static").glob("*.js"), *WEB.rglob("*.py")]
    used = {word for place in places for word in re.findall(r"[\w-]+", place.read_text(encoding="utf-8"))}
    assert CLASSES - used == set()


def test_no_address_has_a_word_that_blockers_hide() -> None:
    addresses = [page.path for page in PAGES] + [static_url(path.name) for path in (WEB / "static").iterdir()]
    assert [address for address in addresses if blocked(address)] == []


def test_a_number_in_a_bar_is_short() -> None:
    bars = [path.read_text(encoding="utf-8") for path in TEMPLATES if path.name in ("base.html", "components.html")]
    assert [re.findall(r'class="badge count">{{ (.*?) }}', bar) for bar in bars] == [["waiting|up_to_99"]] * 2


# The readers find what they are meant to find.


def test_the_classes_of_a_sheet_are_those_of_its_selectors() -> None:
    css = '/* .no */ .a:is(.b, .c-d) > i { margin: .5em; content: ".e" } @media (x) { .f::after { top: 0 } }'
    assert classes_of_sheet(css) == {"a", "b", "c-d", "f"}


def test_the_classes_of_a_template_are_those_outside_of_expressions() -> None:
    source = """{# class="no" #}<p class="a {{ "x" if b == "y" }} c-{{ d }} e{{ ' f' if g }}{{ h|i("j") }} k">"""
    assert classes_of_template(source) == {"a", "k"}
    assert list(attributes_of('<p{{ a }} style="b"><i data-style="c" style="d {{ e }}">', "style")) == ["b", "d \0"]


@pytest.mark.parametrize("name", ["ad", "ad-box", "box_ads", "topAd", "/ads/1", "/a?ad=1", "ad2"])
def test_a_word_that_blockers_hide_is_found(name: str) -> None:
    assert blocked(name)


@pytest.mark.parametrize(
    "name", ["/advertise", "head", "add", "loads", "admin", "reads", "heAder", "download", "/static/style.207a81ad.css"]
)
def test_a_longer_word_is_no_such_word(name: str) -> None:
    assert not blocked(name)


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<p class="a b">x</p>', "the style sheet has no class b"),
        ('<p id="ad-1">x</p>', "blockers hide ad-1"),
        ('<a href="/ads">x</a>', "blockers hide /ads"),
        ('<a class="main">x</a><button class="main">y</button>', "it has 2 filled buttons"),
        ("<p>Your Campaigns here</p>", "it says: Your Campaigns here"),
        ('<a aria-label="Edit the campaign">x</a>', "it says: Edit the campaign"),
        ("<code>x</code><p>a campaign</p>", "it says: a campaign"),
        ("<p>Readers of the feed</p>", "it says: Readers of the feed"),
    ],
)
def test_a_fault_of_a_page_is_found(html: str, fault: str) -> None:
    assert any(each.startswith(fault) for each in faults_of_design(html, {"a", "main"}))


def test_what_keeps_the_rules_has_no_faults() -> None:
    html = (
        '<main><h1 class="a">Ads</h1><a class="main">One</a><p><code>campaign.approved</code> <bdi>My campaign</bdi></p>'
        '<textarea name="b">A campaign</textarea><input value="campaign"></main>'
    )
    assert faults_of_design(html, {"a", "main"}) == []
    assert faults_of_design("<a class='main'></a>" * 2, {"main"}, queue=True) == []


def test_a_filled_button_counts_once_its_form_is_shown() -> None:
    button = "<button class='main'>Go</button>"
    step = f"<form hidden><p>x</p>{button}</form>"
    assert faults_of_design(f"{button}{step}", {"main"}) == []
    assert faults_of_design(f"{step}{button}{button}", {"main"}) == ["it has 2 filled buttons"]
