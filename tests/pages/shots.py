"""Pictures of every page, and contact sheets of them: `python -m tests.pages.shots FOLDER [PATTERN]`, or `make shots`.

`PATTERN` is that of file names (`sponsor-*`), or several with commas, and chooses looks of `tests/browser/looks.py`.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from playwright.sync_api import FloatRect, Page, ViewportSize

from tests.browser.looks import Look
from tests.browser.people import DESKTOP, PHONE
from tests.pages.stage import EVERY, Stage, chosen, open_stage, touch

LONGEST = 6_000
"""Height of a picture in pixels; the rest of a long page repeats the same parts."""


@dataclass(frozen=True, slots=True)
class Form:
    """A window to look through. `cell` is the size of a page on a contact sheet, and `across` the cells of a line."""

    window: ViewportSize
    scheme: Literal["light", "dark"]
    across: int
    cell: tuple[int, int]

    @property
    def name(self) -> str:
        return f"{self.window['width']}-{self.scheme}"


FORMS = (
    Form(DESKTOP, "light", 4, (400, 520)),
    Form(DESKTOP, "dark", 4, (400, 520)),
    Form(PHONE, "light", 6, (260, 640)),
)
ON_A_SHEET = 12
GAP = 12


def sheet_of(names: Sequence[str], form: Form) -> str:
    """A page of HTML that shows the tops of pictures with their names."""
    width, height = form.cell
    cells = "".join(
        f'<figure><figcaption>{escape(name)}</figcaption><div><img src="{escape(name)}-{form.name}.png"></div></figure>'
        for name in names
    )
    style = (
        f"body{{margin:{GAP}px;background:#777;font:15px sans-serif;color:#fff}}"
        f"main{{display:grid;grid-template-columns:repeat({form.across},{width}px);gap:{GAP}px}}"
        f"figure{{margin:0}}div{{height:{height}px;overflow:hidden}}img{{width:100%;display:block}}"
    )
    return f"<!doctype html><title>{form.name}</title><style>{style}</style><main>{cells}</main>"


def take(stage: Stage, look: Look, folder: Path) -> None:
    """Save a picture of a page in each form."""
    person = stage.looker(look)
    page = person.page
    person.opens(stage.address(look))
    if look.pressed:
        person.presses(look.pressed)
    for form in FORMS:
        page.set_viewport_size(form.window)
        page.emulate_media(color_scheme=form.scheme)
        finger = touch(page) if form.window is PHONE else None
        if finger:
            # A picture of more than the window would be taken without the finger.
            page.set_viewport_size({"width": form.window["width"], "height": min(height_of(page), LONGEST)})
        save(page, folder / f"{look.name}-{form.name}.png")
        if finger:
            finger.detach()


def height_of(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight"))


def save(page: Page, path: Path) -> None:
    """Save a picture of the whole page, and of more than its width if it scrolls sideways."""
    width, height = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": min(height, LONGEST)}
    page.screenshot(path=path, full_page=True, clip=clip, caret="initial")


def compose(stage: Stage, names: Sequence[str], folder: Path) -> list[Path]:
    """Save contact sheets of the pictures in the folder. Returns their paths."""
    sheets = []
    html = folder / "sheet.html"
    for form in FORMS:
        page = stage.browser.new_page(viewport={"width": form.across * (form.cell[0] + GAP) + GAP, "height": 800})
        for begin in range(0, len(names), ON_A_SHEET):
            html.write_text(sheet_of(names[begin : begin + ON_A_SHEET], form), encoding="utf-8")
            page.goto(html.as_uri())
            sheets.append(folder / f"sheet-{form.name}-{begin // ON_A_SHEET + 1}.png")
            page.screenshot(path=sheets[-1], full_page=True)
        page.close()
    html.unlink()
    return sheets


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pages.shots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="?", default=EVERY)
    options = parser.parse_args(arguments)
    looks = chosen(options.only)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open_stage() as stage:
        for look in looks:
            take(stage, look, folder)
        sheets = compose(stage, [look.name for look in looks], folder)
    sys.stdout.write("".join(f"{sheet}\n" for sheet in sheets))


if __name__ == "__main__":
    main(sys.argv[1:])
