"""Pictures of every page, and contact sheets of them: `python -m tests.pages.shots FOLDER [PATTERN]`, or `make shots`.

`PATTERN` is that of file names (`sponsor-*`), or several with commas, and chooses looks of `tests/browser/test_pages.py`.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from tests.browser.test_pages import LOOKS, Look
from tests.pages.stage import Stage, open_stage

LONGEST = 6_000
"""Height of a picture in pixels; the rest of a long page repeats the same parts."""


@dataclass(frozen=True, slots=True)
class Form:
    """A window to look through. `cell` is the size of a page on a contact sheet, and `across` the cells of a line."""

    width: int
    height: int
    scheme: Literal["light", "dark"]
    across: int
    cell: tuple[int, int]

    @property
    def name(self) -> str:
        return f"{self.width}-{self.scheme}"


FORMS = (
    Form(1280, 800, "light", 4, (400, 520)),
    Form(1280, 800, "dark", 4, (400, 520)),
    Form(390, 844, "light", 6, (260, 640)),
)
ON_A_SHEET = 12


def chosen(looks: Iterable[Look], patterns: str) -> list[Look]:
    """The looks whose name matches one of the patterns."""
    each = [pattern.strip() for pattern in patterns.split(",")]
    return [look for look in looks if any(fnmatchcase(look.name, pattern) for pattern in each)]


def sheet_of(names: Sequence[str], form: Form) -> str:
    """A page of HTML that shows the tops of pictures with their names."""
    width, height = form.cell
    cells = "".join(
        f'<figure><figcaption>{escape(name)}</figcaption><div><img src="{escape(name)}-{form.name}.png"></div></figure>'
        for name in names
    )
    style = (
        "body{margin:12px;background:#777;font:15px sans-serif;color:#fff}"
        f"main{{display:grid;grid-template-columns:repeat({form.across},{width}px);gap:12px}}"
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
        page.set_viewport_size({"width": form.width, "height": form.height})
        page.emulate_media(color_scheme=form.scheme)
        stage.touch(person, touching=form.width < 600)
        save(page, folder / f"{look.name}-{form.name}.png")


def save(page: Page, path: Path) -> None:
    """Save a picture of the whole page, and of more than its width if it scrolls sideways."""
    width, height = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, LONGEST)}
    page.screenshot(path=path, full_page=True, clip=clip, caret="initial")  # type: ignore[arg-type]


def compose(stage: Stage, names: Sequence[str], folder: Path) -> list[Path]:
    """Save contact sheets of the pictures in the folder. Returns their paths."""
    sheets = []
    for form in FORMS:
        page = stage.browser.new_page(viewport={"width": form.across * (form.cell[0] + 12) + 12, "height": 800})
        for number, part in enumerate((names[i : i + ON_A_SHEET] for i in range(0, len(names), ON_A_SHEET)), 1):
            html = folder / "sheet.html"
            html.write_text(sheet_of(part, form), encoding="utf-8")
            page.goto(html.as_uri())
            sheets.append(folder / f"sheet-{form.name}-{number}.png")
            page.screenshot(path=sheets[-1], full_page=True)
            html.unlink()
        page.close()
    return sheets


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pages.shots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="?", default="*")
    options = parser.parse_args(arguments)
    looks = chosen(LOOKS, options.only)
    if not looks:
        sys.exit(f"No look of tests/browser/test_pages.py has a name like {options.only}.")
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open_stage() as stage:
        for look in looks:
            take(stage, look, folder)
        sheets = compose(stage, [look.name for look in looks], folder)
    sys.stdout.write("".join(f"{sheet}\n" for sheet in sheets))


if __name__ == "__main__":
    main(sys.argv[1:])
