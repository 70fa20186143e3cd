"""A page of the catalog in small, drawn from the measures of the real one, with the place of an ad outlined. Pure.

The measures are those of `static/style.css` in CSS pixels; a test compares both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WINDOW, PHONE = 1280, 390
"""Widths of the windows that are drawn. From the first on, a page has rails."""

RAIL, RAIL_GAP, CARD_GAP, AD_GAP = 224, 32, 16, 12
MARGIN, PHONE_MARGIN = 24, 16
BAR = 55
CARD, PHONE_CARD, AD = 144, 124, 176
"""Usual heights."""

CARDS_BEFORE = 3
"""The cards before the first ad within a list."""

HEIGHT, LIST_TOP, PHONE_TOP = 900, 300, 330
BETWEEN = 90
"""Between both windows."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle. `kind` is `page`, `part`, or `place` for one that is outlined."""

    kind: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Miniature:
    """A wide window and a phone beside each other, and what a reader who does not see them hears."""

    boxes: tuple[Box, ...]
    words: str

    @property
    def width(self) -> int:
        return WINDOW + BETWEEN + PHONE

    @property
    def height(self) -> int:
        return HEIGHT


def miniature(ads: Mapping[str, int], sides: tuple[str, ...], at_once: int) -> Miniature:
    """The page with the places of ads on `sides` outlined. `ads` are as many as there are on each side now."""
    # A rail that is drawn for its place alone has one.
    shown = {side: min(max(ads.get(side, 0), int(side in sides)), at_once) for side in ("left", "right")}
    boxes = (*_window(shown, sides), *_phone(sum(shown.values())))
    where = f"on the {sides[0]}" if len(sides) == 1 else "on both sides"
    words = f"A list in a wide window, with the place of an ad outlined {where}, and on a phone, after the third card"
    return Miniature(boxes, words)


def _window(shown: Mapping[str, int], sides: tuple[str, ...]) -> Iterator[Box]:
    yield Box("page", 0, 0, WINDOW, HEIGHT)
    yield Box("part", 0, 0, WINDOW, BAR)
    yield Box("part", MARGIN, BAR + 50, 300, 40)
    yield Box("part", MARGIN, LIST_TOP - 130, WINDOW - 2 * MARGIN, 48)
    left, right = MARGIN, WINDOW - MARGIN
    for side, ads in shown.items():
        if not ads:
            continue
        x = left if side == "left" else right - RAIL
        kinds = ["place" if side in sides and not place else "part" for place in range(ads)]
        yield from (Box(kind, x, LIST_TOP + place * (AD + AD_GAP), RAIL, AD) for place, kind in enumerate(kinds))
        left, right = (left + RAIL + RAIL_GAP, right) if side == "left" else (left, right - RAIL - RAIL_GAP)
    card = (right - left - CARD_GAP) // 2
    for y in range(LIST_TOP, HEIGHT - CARD, CARD + CARD_GAP):
        yield Box("part", left, y, card, CARD)
        yield Box("part", left + card + CARD_GAP, y, card, CARD)


def _phone(ads: int) -> Iterator[Box]:
    """After the third card an ad, then another one after each second card."""
    x, width = WINDOW + BETWEEN, PHONE - 2 * PHONE_MARGIN
    yield Box("page", x, 0, PHONE, HEIGHT)
    yield Box("part", x, 0, PHONE, BAR)
    yield Box("part", x + PHONE_MARGIN, BAR + 30, 200, 34)
    heights = [("part", PHONE_CARD)] * CARDS_BEFORE + [("place", AD)] * min(ads, 1) + [("part", PHONE_CARD)]
    y = BAR + 100
    for kind, height in heights:
        if y + height > HEIGHT:
            return
        yield Box(kind, x + PHONE_MARGIN, y, width, height)
        y += height + CARD_GAP
