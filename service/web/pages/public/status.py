"""Whether the node that answers is ready, and was in the last 24 hours. The page works without the database, too."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from service.web.pages.parts.page import Page, PageRequest, Template
from service.web.pages.parts.words import counted

HOUR_WIDTH, GAP = 30, 4


class Bar(NamedTuple):
    """An hour: where its bar stands, its tone (`good`, `bad` or `none`), and its state in words."""

    x: int
    start_ms: int
    tone: str
    words: str


async def status(request: PageRequest) -> Template:
    day = (await request.ask("readReadiness")).or_raise()
    bars = [_bar(hour, place) for place, hour in enumerate(day["hours"])]
    values = {**day, "bars": bars, "width": len(bars) * HOUR_WIDTH - GAP, "bar_width": HOUR_WIDTH - GAP}
    return Template("status.html", values)


def _bar(hour: Mapping[str, Any], place: int) -> Bar:
    checked, unready = hour["checked"], hour["unready"]
    if not checked:
        tone, words = "rest", "Not checked"
    elif unready:
        tone, words = "bad", f"Not ready in {counted(unready, 'minute')} of {checked} that were checked"
    else:
        tone, words = "good", f"Ready in all {counted(checked, 'minute')} that were checked"
    return Bar(place * HOUR_WIDTH, hour["startMs"], tone, words)


PAGES = (Page("/status", status, indexed=True),)
