"""Inspects a page: axe-core faults, horizontal overflow, and screenshots."""

from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import FloatRect, Page

PICTURES = Path(__file__).resolve().parents[2] / "build/screenshots"
LONGEST_PICTURE = 3_000
"""Height of a screenshot in pixels; the rest of a long page repeats the same parts."""

SEVERE = ("serious", "critical")
"""The impacts of axe-core that keep some people from using a page."""

EVERYTHING: dict[str, Any] = {"resultTypes": ["violations"]}
CONTRAST: dict[str, Any] = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}

_STICKING_OUT = """() => {
  const root = document.documentElement;
  const cut = [...document.querySelectorAll(".table, .weeks-panel")]
    .filter((each) => each.checkVisibility() && getComputedStyle(each).overflowX === "hidden")
    .map((each) => `cut off, and does not slide: ${each.ariaLabel}`);
  if (root.scrollWidth <= root.clientWidth) return cut;
  return [...document.body.querySelectorAll("*")]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > root.clientWidth + 1)
    .filter((each) => !each.parentElement.closest(".scroll, pre"))
    .slice(0, 5)
    .map((each) => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`)
    .concat(`${root.scrollWidth} wide in ${root.clientWidth}`, cut);
}"""


_OUT_OF_SIGHT = """async () => {
  const root = document.documentElement;
  const current = [...document.querySelectorAll(":is(.tabs, .chips) [aria-current]")].filter((it) => it.checkVisibility());
  await Promise.all(current.flatMap((it) => it.getAnimations()).map((it) => it.finished));
  await new Promise(requestAnimationFrame);
  return current
    .filter((it) => it.getBoundingClientRect().left < 0 || it.getBoundingClientRect().right > root.clientWidth + 1)
    .map((it) => `current ${it.textContent.trim()} is out of sight`);
}"""


def violations(page: Page, options: dict[str, Any] = EVERYTHING) -> list[str]:
    """The serious and critical faults of axe-core, with their elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("async (options) => (await axe.run(document, options)).violations", options)
    return [
        f"{each['id']} ({each['impact']}) {node['target']}: {node['failureSummary']}"
        for each in found
        if each["impact"] in SEVERE
        for node in each["nodes"]
    ]


def sticking_out(page: Page) -> list[str]:
    """The elements that make the page scroll sideways, and tables whose box hides what is wider."""
    found: list[str] = page.evaluate(_STICKING_OUT)
    return found


def out_of_sight(page: Page) -> list[str]:
    """The current tabs and filters to which one has to slide first."""
    found: list[str] = page.evaluate(_OUT_OF_SIGHT)
    return found


def picture(page: Page, *names: str) -> None:
    """Save a screenshot of the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    width, height = page.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
    clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": min(height, LONGEST_PICTURE)}
    path = PICTURES / f"{'-'.join(names)}.jpg"
    page.screenshot(path=path, type="jpeg", quality=60, full_page=True, clip=clip, caret="initial")
