"""Judges measures of pages that are sound, at a limit, or wrong."""

from typing import Any

import pytest

from tests.pages import findings
from tests.pages.findings import (
    Finding,
    Place,
    contrast,
    lines,
    of_axe,
    of_colours,
    of_geometry,
    of_lighthouse,
    of_load,
)
from tests.pages.shots import FORMS, sheet_of
from tests.pages.stage import chosen

PHONE = Place("home", 390)
SOUND = {"width": 390, "page": 390, "bar": 56, "title": 200, "wide": [], "tables": [], "small": []}
WHITE, BLACK, NOTHING = [255, 255, 255, 255], [0, 0, 0, 255], [0, 0, 0, 0]


def rules(found: list[Finding]) -> list[tuple[str, str]]:
    return [(each.rule, each.element) for each in found]


def test_a_page_at_the_limits_is_sound() -> None:
    assert list(of_geometry(PHONE, SOUND)) == []
    assert list(of_load(PHONE, findings.MOST_BYTES, {"sum": 0, "parts": []})) == []


@pytest.mark.parametrize(
    ("measured", "rule", "words"),
    [
        ({"page": 391}, "sideways", "the page is 391 px wide"),
        ({"wide": [["div.x", 412.5]]}, "sideways", "it ends at 412.5 px"),
        ({"tables": [["table.list", 600]]}, "table", "it is 600 px wide"),
        ({"bar": 57}, "navigation", "it is 57 px high, more than 56"),
        ({"bar": None}, "navigation", "there is none"),
        ({"title": 201}, "heading", "it begins at 201 px, below 200"),
        ({"title": None}, "heading", "there is none"),
        ({"small": [["a.x", 90, 32]]}, "target", "a finger has 90 by 32 px, less than 44"),
    ],
    ids=str,
)
def test_a_measure_beyond_its_limit_is_one_finding(measured: dict[str, Any], rule: str, words: str) -> None:
    [found] = of_geometry(PHONE, SOUND | measured)
    assert (found.rule, found.detail) == (rule, words)


def test_a_heading_may_begin_lower_on_a_desktop() -> None:
    assert list(of_geometry(Place("home", 1280), SOUND | {"title": 240})) == []


def test_a_load_that_costs_too_much_or_moves_is_found() -> None:
    found = list(of_load(PHONE, 60_001, {"sum": 0.0021, "parts": ["div.field", "p"]}))
    assert rules(found) == [("transfer", "first view"), ("layout shift", "div.field, p")]
    assert [each.detail for each in found] == ["60,001 bytes, more than 60,000", "0.0021"]


def node(target: str, **parts: Any) -> dict[str, Any]:
    return {"target": [target], "impact": "minor", "any": [], "all": [], "none": []} | parts


def test_faults_of_axe_of_every_impact_are_found_with_their_reason() -> None:
    reason = {"message": "Element has no name"}
    results = {
        "violations": [{"id": "empty-heading", "nodes": [node("h2", any=[reason]), node("h3")]}],
        "incomplete": [],
    }
    found = list(of_axe(PHONE, results, []))
    assert rules(found) == [("axe empty-heading (minor)", "h2"), ("axe empty-heading (minor)", "h3")]
    assert [each.detail for each in found] == ["Element has no name", ""]


def test_a_contrast_that_axe_cannot_tell_is_judged_by_its_colours() -> None:
    unsure = {"id": "color-contrast", "nodes": [node("text.day"), node("text.pale")]}
    results = {"violations": [], "incomplete": [{"id": "aria-hidden-focus", "nodes": [node("a")]}, unsure]}
    colours = {"backs": [NOTHING, WHITE], "opacity": 1, "picture": False, "large": False}
    dark, pale = colours | {"front": BLACK}, colours | {"front": [170, 170, 170, 255]}
    assert [each["target"] for each in findings.unsure(results)] == [["text.day"], ["text.pale"]]
    [found] = of_axe(PHONE, results, [dark, pale])
    assert (found.rule, found.element, found.detail) == ("contrast", "text.pale", "its contrast is 2.32, less than 4.5")
    with pytest.raises(ValueError, match="shorter"):
        list(of_axe(PHONE, results, [dark]))


def test_contrasts_are_those_of_wcag() -> None:
    assert contrast(WHITE[:3], BLACK[:3]) == contrast(BLACK[:3], WHITE[:3]) == pytest.approx(21)
    assert contrast([119, 119, 119], WHITE[:3]) == pytest.approx(4.478, abs=0.001)
    assert contrast([118, 118, 118], WHITE[:3]) == pytest.approx(4.542, abs=0.001)


@pytest.mark.parametrize(
    ("seen", "wrong"),
    [
        ({"front": BLACK}, ""),
        ({"front": [0, 0, 0, 102]}, "its contrast is 2.85, less than 4.5"),
        ({"front": BLACK, "opacity": 0.4}, "its contrast is 2.85, less than 4.5"),
        ({"front": BLACK, "backs": [[0, 0, 0, 153], WHITE]}, "its contrast is 3.66, less than 4.5"),
        ({"front": BLACK, "backs": [[0, 0, 0, 153], WHITE], "large": True}, ""),
        ({"front": BLACK, "picture": True}, "a picture lies behind it"),
    ],
    ids=str,
)
def test_colours_are_laid_over_one_another(seen: dict[str, Any], wrong: str) -> None:
    usual = {"backs": [WHITE], "opacity": 1, "picture": False, "large": False}
    assert of_colours(usual | seen) == wrong


def test_a_category_of_lighthouse_below_its_points_is_found_with_what_cost_them() -> None:
    good, bad = {"score": 0.95, "lost": ["unused-css 2 kB"]}, {"score": 0.94, "lost": ["meta-description"]}
    found = list(
        of_lighthouse(PHONE, {"categories": {"seo": bad, "accessibility": good, "performance": {"score": None}}})
    )
    assert rules(found) == [("lighthouse seo", "page"), ("lighthouse performance", "page")]
    assert found[0].detail == "94 points of 95: meta-description"
    [failed] = of_lighthouse(PHONE, {"error": "NO_FCP: nothing was painted"})
    assert failed.detail == "NO_FCP: nothing was painted"


def test_the_same_finding_at_several_widths_and_in_both_schemes_is_one_line() -> None:
    found = [
        Finding(Place("home", width, scheme), "target", element, "too small")
        for element in ("a.y", "a.x")
        for width in (1280, 390)
        for scheme in ("light", "dark")
    ]
    found.append(Finding(Place("home", 320), "target", "a.x", "smaller"))
    assert list(lines(found)) == [
        "home 320 light: target: a.x: smaller",
        "home 390/1280 light/dark: target: a.x: too small",
        "home 390/1280 light/dark: target: a.y: too small",
    ]


def test_pages_are_chosen_by_patterns() -> None:
    assert [look.name for look in chosen("home, device*")] == ["home", "device", "device-asked"]
    with pytest.raises(SystemExit, match="has a name like nothing-such"):
        chosen("nothing-such")


def test_a_contact_sheet_has_the_picture_of_each_page_in_one_form() -> None:
    html = sheet_of(["home", "a<b"], FORMS[0])
    assert html.count("<img ") == 2
    assert 'src="home-1280-light.png"' in html
    assert "a&lt;b" in html
    assert "a<b" not in html
