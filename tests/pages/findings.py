"""The faults of a page, judged from its measures. Pure: knows no browser.

The measures come from `probe.js`, axe-core, the debugger of Chromium, and Lighthouse.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

MOST_BYTES = 60_000
"""Bytes that the first view of a page transfers, with its headers and without a cache."""

BAR_PX = 56
"""Height of the navigation, without the line below it."""

TITLE_PX = 200
"""Distance of the main heading from the top of the page on a phone."""

PHONE_PX = 600
"""The widest window of a phone."""

LEAST_PX = 44
"""Size of what a finger hits. Links inside sentences are exempt, as in WCAG 2.5.8."""

LEAST_SCORE = 95
"""Points that Lighthouse gives to a page in each category, of 100."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page as it was looked at. `width` is in pixels; `scheme` is `light`, `dark`, `large text`, `forced` (colours of the
    system) or `print`."""

    page: str
    width: int
    scheme: str = "light"


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that one element breaks."""

    place: Place
    rule: str
    element: str
    detail: str


def unsure(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The texts whose contrast axe-core could not tell, such as single letters, charts, and what something lies over."""
    return [node for rule in results["incomplete"] if rule["id"] == "color-contrast" for node in rule["nodes"]]


def of_axe(place: Place, results: Mapping[str, Any], colours: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """The violations of all impacts. `colours` are those of the texts that it was `unsure` of, which are judged here."""
    for rule in results["violations"]:
        for node in rule["nodes"]:
            yield Finding(place, f"axe {rule['id']} ({node['impact']})", _target(node), _reason(node))
    for node, seen in zip(unsure(results), colours, strict=True):
        if wrong := of_colours(seen):
            yield Finding(place, "contrast", _target(node), wrong)


def of_colours(seen: Mapping[str, Any]) -> str:
    """The fault of the contrast of a text (WCAG AA), or an empty text."""
    if seen["picture"]:
        return "a picture lies behind it"
    back: Sequence[float] = (255, 255, 255)
    for colour in reversed(seen["backs"]):
        back = over(colour, back)
    *front, alpha = seen["front"]
    ratio = contrast(over((*front, alpha * seen["opacity"]), back), back)
    least = 3.0 if seen["large"] else 4.5
    return f"its contrast is {ratio:.2f}, less than {least:g}" if ratio < least else ""


def over(colour: Sequence[float], back: Sequence[float]) -> Sequence[float]:
    """A colour with an alpha over an opaque one. All parts are from 0 to 255."""
    *parts, alpha = colour
    return [part * alpha / 255 + behind * (1 - alpha / 255) for part, behind in zip(parts, back, strict=True)]


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """The ratio of two opaque colours, from 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Sequence[float]) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (each / 255 for each in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _target(node: Mapping[str, Any]) -> str:
    return " ".join(str(part) for part in node["target"])


def _reason(node: Mapping[str, Any]) -> str:
    """The first sentence of the reasons of axe-core."""
    checks = [*node["any"], *node["all"], *node["none"]]
    return str(checks[0]["message"]) if checks else ""


def of_geometry(place: Place, measured: Mapping[str, Any]) -> Iterator[Finding]:
    """Elements that are too wide, too high, too low on the page or too small to hit."""
    yield from of_sideways(place, measured["wide"])
    if measured["page"] > measured["width"]:
        yield Finding(place, "sideways", "html", f"the page is {measured['page']} px wide")
    for element, wide in measured["tables"]:
        yield Finding(place, "table", element, f"it is {wide:g} px wide")
    if measured["bar"] is None:
        yield Finding(place, "navigation", "body > header", "there is none")
    elif measured["bar"] > BAR_PX:
        yield Finding(place, "navigation", "body > header", f"it is {measured['bar']:g} px high, more than {BAR_PX}")
    if measured["title"] is None:
        yield Finding(place, "heading", "h1", "there is none")
    elif measured["title"] > TITLE_PX and place.width <= PHONE_PX:
        yield Finding(place, "heading", "h1", f"it begins at {measured['title']:g} px, below {TITLE_PX}")
    yield from of_targets(place, measured["small"])


def of_menus(place: Place, measured: Mapping[str, Any]) -> Iterator[Finding]:
    """The same of menus, once they are open."""
    yield from of_sideways(place, measured["wide"])
    yield from of_targets(place, measured["small"])


def of_sideways(place: Place, wide: Iterable[tuple[str, float]]) -> Iterator[Finding]:
    """Elements that stick out of the page at the right."""
    for element, right in wide:
        yield Finding(place, "sideways", element, f"it ends at {right:g} px")


def of_targets(place: Place, small: Iterable[tuple[str, float, float]]) -> Iterator[Finding]:
    """Targets that a finger may miss."""
    for element, wide, high in small:
        yield Finding(place, "target", element, f"a finger has {wide:g} by {high:g} px, less than {LEAST_PX}")


def of_scheme(place: Place, lost: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """What does not show on paper, or in colours of the system."""
    for element, detail in lost:
        yield Finding(place, place.scheme, element, detail)


def of_load(place: Place, transferred: int, shifted: Mapping[str, Any]) -> Iterator[Finding]:
    """The bytes of a first view beyond the limit, and the parts that move while it loads."""
    if transferred > MOST_BYTES:
        yield Finding(place, "transfer", "first view", f"{transferred:,} bytes, more than {MOST_BYTES:,}")
    if shifted["sum"] > 0:
        yield Finding(place, "layout shift", ", ".join(shifted["parts"]), f"{shifted['sum']:.4f}")


def of_lighthouse(place: Place, report: Mapping[str, Any]) -> Iterator[Finding]:
    """The categories with too few points, each with the audits that cost them."""
    if "error" in report:
        yield Finding(place, "lighthouse", "page", str(report["error"]))
        return
    for name, category in report["categories"].items():
        score = category["score"]
        if score is None:
            yield Finding(place, f"lighthouse {name}", "page", "it has no score")
        elif round(score * 100) < LEAST_SCORE:
            lost = ", ".join(category["lost"]) or "no audit says why"
            yield Finding(place, f"lighthouse {name}", "page", f"{round(score * 100)} points of {LEAST_SCORE}: {lost}")


def lines(findings: Iterable[Finding]) -> Iterator[str]:
    """A line for each rule that an element of a page breaks, with all widths and schemes in which it does so alike."""

    def key(finding: Finding) -> tuple[str, str, str, str]:
        return finding.place.page, finding.rule, finding.element, finding.detail

    for (page, rule, element, detail), same in groupby(sorted(findings, key=key), key):
        places = [finding.place for finding in same]
        widths = "/".join(map(str, sorted({place.width for place in places})))
        schemes = "/".join(sorted({place.scheme for place in places}, reverse=True))
        yield f"{page} {widths} {schemes}: {rule}: {element}: {detail}"
