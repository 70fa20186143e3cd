"""Whether a plot is drawn by day or by week, and its weeks. Pure.

A week runs from Monday to Sunday, UTC. Days are numbers since the epoch; a week is numbered like its Monday.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from actors import dates
from actors.times import DAY_MS, day_of
from actors.weeks import week_of
from service.web.pages import words
from service.web.pages.chart_words import Counts, Day, Rate

MOST_DAYS = 62
"""A longer plot is drawn by week: on a phone its days would be bars of a few pixels, and their hover titles and table rows
would outweigh the rest of a page, which is never compressed for one person."""


class Scale(NamedTuple):
    """The distance from one bar to the next in days, the bar of today, its label, and what a bar stands for."""

    step: int
    now: int
    now_words: str
    name: str


def scaled(
    known: Sequence[Day], series: Sequence[Counts], rate: Rate | None, now_ms: int
) -> tuple[Sequence[Day], Scale]:
    """The measured days as they are drawn: themselves, or summed up by week."""
    if not known or known[-1].number - known[0].number < MOST_DAYS:
        return known, Scale(1, day_of(now_ms), "today", "day")
    return tuple(_weeks(known, series, rate, now_ms)), Scale(7, _monday(day_of(now_ms)), "this week", "week")


def _monday(day: int) -> int:
    return day_of(week_of(day * DAY_MS))


def _weeks(known: Sequence[Day], series: Sequence[Counts], rate: Rate | None, now_ms: int) -> Iterator[Day]:
    """The measured weeks. The first and the last one may be shorter than seven days."""
    for monday, group in groupby(known, key=lambda day: _monday(day.number)):
        days = list(group)
        counts = tuple(sum(day.counts[place] for day in days) for place in range(len(series)))
        percent = _percent(days) if rate else None
        first, last = max(monday, known[0].number), min(monday + 6, known[-1].number)
        when = dates.days(first * DAY_MS, (last + 1) * DAY_MS, now_ms, short=True)
        rates = [words.rate(None if percent is None else percent / words.PERCENT, rate.none)] if rate else []
        told = [each.words(count) for each, count in zip(series, counts, strict=True)]
        yield Day(
            number=monday,
            counts=counts,
            percent=percent,
            cells=(when, *map(words.number, counts), *rates),
            words=f"{when}: {', '.join([*told, *(each.lower() for each in rates)])}",
        )


def _percent(days: Sequence[Day]) -> float | None:
    """The rate of all days together: their rates, weighted by the count that they are a rate of."""
    weighted = [(day.percent, day.counts[0]) for day in days if day.percent is not None]
    total = sum(count for _, count in weighted)
    return sum(percent * count for percent, count in weighted) / total if total else None
