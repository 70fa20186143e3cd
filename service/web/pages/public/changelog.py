"""The changes of the API by day, from the file that also developers of the service read."""

from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

from actors.times import DAY_MS
from service.api.operations import OPERATIONS
from service.web.pages.parts.page import Page, PageRequest, Template

FILE = Path(__file__).parents[2] / "api_changes.md"
BREAKING = "Breaking: "


class Day(NamedTuple):
    """The changes of a day, whose start is `start_ms`: those that may break a program, and the others."""

    start_ms: int
    breaking: Sequence[str]
    others: Sequence[str]


def days_of(text: str) -> list[Day]:
    """The days of a file: a heading `## 2026-11-29`, and a line for each change that begins with `- `. Words before the first
    day are for readers of the file. Raises ValueError for any other line."""
    _, *sections = text.split("\n## ")
    return [_day(section.splitlines()) for section in sections]


def _day(lines: Sequence[str]) -> Day:
    start_ms = (date.fromisoformat(lines[0]) - date(1970, 1, 1)).days * DAY_MS
    changes = [line.removeprefix("- ") for line in lines[1:] if line]
    if not changes or len(changes) != sum(line.startswith("- ") for line in lines):
        raise ValueError(f"every line of {lines[0]} begins with a hyphen")
    breaking = [each.removeprefix(BREAKING) for each in changes if each.startswith(BREAKING)]
    return Day(start_ms, breaking, [each for each in changes if not each.startswith(BREAKING)])


@cache
def _changes() -> Sequence[Day]:
    return days_of(FILE.read_text(encoding="utf-8"))


async def changelog(_: PageRequest) -> Template:
    pages = {f"{each.method} {each.path}": f"/docs/{each.name}" for each in OPERATIONS}
    return Template("changelog.html", {"days": _changes(), "pages": pages})


PAGES = (Page("/changelog", changelog, indexed=True),)
