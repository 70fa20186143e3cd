"""The page in small has the measures of the page."""

import re

from service.web.pages.parts.miniature import (
    AD_GAP,
    BAR,
    CARD_GAP,
    MARGIN,
    PHONE_MARGIN,
    RAIL,
    RAIL_GAP,
    WINDOW,
    Box,
    miniature,
)
from tests.architecture import ROOT

SHEET = (ROOT / "service/web/static/style.css").read_text(encoding="utf-8")


def pixels(pattern: str) -> int:
    """A length of the sheet that a pattern finds: in rem, or a token of one."""
    found = re.search(pattern, SHEET)
    assert found, pattern
    token = re.fullmatch(r"var\((--[\w-]+)\)", found[1])
    return pixels(rf"{token[1]}: ([^;]+);") if token else round(float(found[1].removesuffix("rem")) * 16)


def test_its_measures_are_those_of_the_sheet() -> None:
    assert pixels(r"min-width: ([\d.]+rem)\) \{\s+\.cards > \.creative \{ display: none") == WINDOW
    assert pixels(r"\.beside \{ flex: 0 0 ([^;]+);") == RAIL
    assert pixels(r"\.rails \{[^}]*gap: ([^;]+);") == RAIL_GAP
    assert pixels(r"\.stack\.close \{ gap: ([^;]+);") == AD_GAP
    assert pixels(r"\.cards \{[^}]*gap: ([^;]+);") == CARD_GAP
    assert pixels(r"\.bar, main, \.foot \{[^}]*padding-inline: ([^;]+);") == MARGIN
    assert pixels(r"  \.bar, main, \.foot \{ padding-inline: ([^;]+);") == PHONE_MARGIN
    assert pixels(r"\.bar \{[^}]*height: ([^;]+);") == BAR


def of(kind: str, boxes: tuple[Box, ...]) -> list[tuple[int, int]]:
    return [(box.x, box.width) for box in boxes if box.kind == kind]


def test_the_place_of_an_ad_is_outlined_on_its_side_and_after_the_third_card_of_a_phone() -> None:
    picture = miniature({"left": 9, "right": 1}, ("right",), 3)
    beside, within = of("place", picture.boxes)
    assert beside == (WINDOW - MARGIN - RAIL, RAIL)
    assert within[0] > WINDOW
    assert of("part", picture.boxes).count((MARGIN, RAIL)) == 3, "so many at a time stand on the other side"
    assert "outlined on the right" in picture.words
    phone = [box for box in picture.boxes if box.x == within[0]]
    assert [box.kind for box in phone[-5:]] == ["part", "part", "part", "place", "part"]


def test_a_side_without_ads_has_no_rail_unless_it_is_sold() -> None:
    alone = miniature({}, ("left",), 3)
    assert len(of("place", alone.boxes)) == 2
    assert (WINDOW - MARGIN - RAIL, RAIL) not in of("part", alone.boxes)
    assert "on both sides" in miniature({}, ("left", "right"), 3).words
    for box in alone.boxes:
        assert 0 <= box.x < box.x + box.width <= alone.width
        assert 0 <= box.y < box.y + box.height <= alone.height
