"""Sparks and gauges: turns counts into the shapes that the macros `spark` and `gauge` of `charts.html` draw. Pure.

{% from "charts.html" import gauge, spark %}   {{ spark(counts, "Times shown") }} {{ gauge(14, 20) }}
"""

from collections.abc import Sequence
from typing import NamedTuple

from service.web.pages.words import counted

WIDTH, HEIGHT, TALLEST, FLATTEST = 100.0, 30.0, 28.0, 1.5
"""Measures of a spark, which the stylesheet stretches to its place."""

FILLED = 0.76
"""The share of a day's room that its bar fills."""

WARM, SPENT = 80, 100
"""Percentages from which on a gauge says that it is time to act, and that nothing is left."""


class Bar(NamedTuple):
    """A day of a spark. A day without a count yet has the class `rest`."""

    x: float
    y: float
    width: float
    height: float
    rest: bool


class Spark(NamedTuple):
    """The bars of a run; `words` are the same for visitors who cannot see them."""

    bars: tuple[Bar, ...]
    words: str


class Gauge(NamedTuple):
    """The filled part in percent, the tone (`warm`, `bad` or nothing), and both numbers in words."""

    percent: float
    tone: str
    words: str


def spark_of(counts: Sequence[int | None], label: str) -> Spark:
    """The days of a run in order; None is a day to come. A measured 0 is an empty place."""
    measured = [count for count in counts if count is not None]
    most, room = max(measured, default=0) or 1, WIDTH / max(len(counts), 1)
    bars = []
    for index, count in enumerate(counts):
        if count == 0:
            continue
        height = FLATTEST if count is None else max(FLATTEST, TALLEST * count / most)
        x, width = room * (index + (1 - FILLED) / 2), room * FILLED
        bars.append(Bar(round(x, 2), round(HEIGHT - height, 2), round(width, 2), round(height, 2), count is None))
    days = counted(len(measured), "day")
    numbers = f"{sum(measured):,} in {days}, at most {max(measured):,} a day" if measured else "no numbers yet"
    return Spark(tuple(bars), f"{label} by day: {numbers}")


def gauge_of(used: int, limit: int) -> Gauge:
    """The used share of a limit. A little is never drawn as nothing, and not quite all never as all."""
    words = f"{used:,} of {limit:,}"
    if used >= limit:
        return Gauge(100.0, "bad", words)
    part = used * 100 / limit
    return Gauge(round(min(max(part, 1.0), 99.0), 1) if used else 0.0, "warm" if part >= WARM else "", words)
