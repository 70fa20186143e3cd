"""The parts of pages in all their variants, for those who write pages. Only this machine can see it, as the outbox."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.clock import DAY_MS
from actors.shared.dates import SHORT, date
from actors.times import WEEK_MS, day_of, week_of
from service.web.pages.parts.chart_words import Counts, Rate
from service.web.pages.parts.charts import Chart, by_day
from service.web.pages.parts.page import Page, PageRequest, Template, nothing_here
from service.web.pages.parts.paging import Paging
from service.web.pages.sponsor.calendar import WEEKS, Run

TONES = ("", "good", "warm", "bad", "cool")
LONG_WORD = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
LONG_TEXT = f"{LONG_WORD} and a title that goes on for longer than anybody would write one, so that it has to wrap"
RIGHT_TO_LEFT = "قالب روبوت للفواتير"
MARKUP = "<b>Bold</b> & \"quoted\" 'twice'"
"""Typed text that looks like HTML has to be shown as it was typed."""

TEXTS: Mapping[str, str] = {
    "A long word": LONG_WORD,
    "A long title": LONG_TEXT,
    "From right to left": RIGHT_TO_LEFT,
    "Like HTML": MARKUP,
    "Nothing": "",
}
IMPRESSIONS = (120, 180, 95, None, 240, 310, 205, 0, 260, 330, 290, 150)
CLICKS = (2, 4, 1, None, 6, 9, 3, 0, 5, 8, 7, 2)
ERRORS: Mapping[str, str] = {
    "wrong-field": "Write an address such as tools.example.com.",
    "wrong-area": "This has 61 characters. Shorten it by 6.",
    "wrong-choice": "Choose one of them.",
    "wrong-tick": "Tick this to go on.",
    "wrong-group": "Choose at least one.",
}
LABELS = {
    "wrong-field": "Website",
    "wrong-area": "Headline",
    "wrong-choice": "Place",
    "wrong-tick": "Terms",
    "wrong-group": "Events",
}


async def components(request: PageRequest) -> Template:
    if not request.outbox_open:
        raise nothing_here()
    values: dict[str, Any] = {
        "tones": TONES,
        "texts": TEXTS,
        "long_word": LONG_WORD,
        "long_text": LONG_TEXT,
        "right_to_left": RIGHT_TO_LEFT,
        "markup": MARKUP,
        "charts": _charts(request.now_ms),
        **_calendar(request.now_ms),
        "gauges": ((0, 100), (40, 100), (80, 100), (100, 100), (7, 0)),
        "pagings": _pagings(),
        "wrong": ERRORS,
        "wrong_links": [(id, LABELS[id], words) for id, words in ERRORS.items()],
    }
    return Template("dev_components.html", values)


def _charts(now_ms: int) -> Sequence[Chart]:
    """A plot with a line and a gap, one without a line, and those that have too little to draw."""
    today = day_of(now_ms)
    days = [day * DAY_MS for day in range(today - len(IMPRESSIONS) + 1, today + 1)]
    shown, clicked = (
        Counts("Times shown", IMPRESSIONS, "time shown", "Not shown"),
        Counts("Clicks", CLICKS, "click", "No clicks"),
    )
    ratios = [None if not one or two is None else two / one for one, two in zip(IMPRESSIONS, CLICKS, strict=True)]
    none = Counts("Times shown", (0,) * len(IMPRESSIONS), "time shown", "Not shown")
    return (
        by_day(days, shown, now_ms=now_ms, also=[clicked], rate=Rate("Click rate", ratios)),
        by_day(days, clicked, now_ms=now_ms),
        by_day(days, none, now_ms=now_ms),
        by_day(days[-1:], Counts("Clicks", (3,), "click", "No clicks"), now_ms=now_ms),
    )


def _calendar(now_ms: int) -> Mapping[str, Any]:
    """A slot whose weeks have all states, and one with a long name that is free in every week."""
    first_ms = week_of(now_ms)
    starts = [first_ms + each * WEEK_MS for each in range(WEEKS)]
    days = [date(each, each, SHORT) for each in starts]
    slot = {
        "name": "Left column, week",
        "description": "",
        "weekPriceCents": 9_900,
        "durationWeeks": 1,
        "packageKind": "website",
    }
    long = slot | {"name": LONG_TEXT, "description": RIGHT_TO_LEFT, "durationWeeks": 2, "packageKind": "bundle"}
    here = "/dev/components#weeks"
    states = [
        Run("$17.86", days[0], "free", "5 days left", here, "this week"),
        Run("Yours", days[1], "yours", "Running", here, days[1]),
        Run("Held", days[2], "held", "until 10:03", here, days[2]),
        Run("Taken", days[3], small=f"until {days[6]}", weeks=3),
        *(Run("$99", day, "free", "", here, day) for day in days[6:]),
    ]
    free = [Run("$198", day, "free", "", here, day) for day in days]
    return {
        "weeks": [
            {"start": start, "day": day, "under": "" if place else "this week"}
            for place, (start, day) in enumerate(zip(starts, days, strict=True))
        ],
        "rows": [{"slot": slot, "runs": states}, {"slot": long | {"offerEndsAt": starts[2]}, "runs": free}],
    }


def _pagings() -> Sequence[Paging]:
    """The first, a middle and the last page, and one whose place is not known."""
    here = "/dev/components"
    return (
        Paging(1, 12, 73, next=here),
        Paging(13, 24, 73, previous=here, next=here, start=here),
        Paging(73, 73, 73, previous=here, start=here),
        Paging(0, 0, next=here, start=here),
    )


PAGES = (Page("/dev/components", components),)
