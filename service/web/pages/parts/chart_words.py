"""The words of a plot by day: the numbers of its days, and the days that it does not draw. Pure.

Days are numbers since the epoch; `now_ms` is the time of the page."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from actors.shared import dates
from actors.times import DAY_MS, day_of, week_of
from service.web.pages.parts import words

MAX_GAPS = 3
"""More gaps between the days are summed up instead of listed."""

MAX_DAYS = 62
"""A longer plot is drawn by week: on a phone its days would be bars of a few pixels, and their hover titles and table rows
would outweigh the rest of a page, which is never compressed for one person."""


class Counts(NamedTuple):
    """A count for each day, or None for a day that was not measured. `one` is the label of a single one, in lower case, and
    `zero` begins the sentence that says that all counts are 0."""

    label: str
    counts: Sequence[int | None]
    one: str
    zero: str

    def words(self, count: int) -> str:
        """`1 click`, `1,234 clicks`."""
        return words.counted(count, self.one, self.label.lower())


class Rate(NamedTuple):
    """A ratio for each day, or None where there is none, which `none` says. It is shown in percent."""

    label: str
    ratios: Sequence[float | None]
    none: str = "No rate"


class Day(NamedTuple):
    """A measured day: its counts, its rate in percent, the cells of its row in the table, and its hover title."""

    number: int
    counts: tuple[int, ...]
    percent: float | None
    cells: tuple[str, ...]
    words: str


def measured(days: Sequence[int], series: Sequence[Counts], rate: Rate | None, now_ms: int) -> Iterator[Day]:
    """The days up to today for which the first series has a count."""
    today = day_of(now_ms)
    for index, day in enumerate(days):
        if day > today or series[0].counts[index] is None:
            continue
        counts = tuple(each.counts[index] or 0 for each in series)
        when = "Today" if day == today else words.short(day * DAY_MS, now_ms).words
        yield _day(day, when, counts, series, rate, rate.ratios[index] if rate else None)


def _day(
    number: int, when: str, counts: tuple[int, ...], series: Sequence[Counts], rate: Rate | None, ratio: float | None
) -> Day:
    """A measured day or week with its texts."""
    rates = [words.rate(ratio, rate.none)] if rate else []
    texts = [each.words(count) for each, count in zip(series, counts, strict=True)]
    return Day(
        number=number,
        counts=counts,
        percent=None if ratio is None else ratio * words.PERCENT,
        cells=(when, *map(words.number, counts), *rates),
        words=f"{when}: {', '.join([*texts, *(each.lower() for each in rates)])}",
    )


def label(day: int) -> str:
    """A day below the plot, which needs no year: `9 Nov`."""
    return words.short(day * DAY_MS, day * DAY_MS).words


def title(known: Sequence[Day], bars: Counts, rate: Rate | None, now_ms: int, of: str = "day") -> str:
    """`Times shown and click rate by day, 9 to 25 November`."""
    when = f", {_days(known[0].number, known[-1].number, now_ms)}" if known else ""
    return f"{bars.label}{f' and {rate.label.lower()}' if rate else ''} by {of}{when}"


def instead(known: Sequence[Day], bars: Counts, now_ms: int) -> str:
    """The sentence that stands where the plot of these days would."""
    if not known:
        return "There are no numbers yet."
    if len(known) == 1:
        return f"{known[0].words}. The chart begins with the second day."
    counted = [day for day in known if day.counts[0]]
    if counted:
        return f"{counted[0].words}. {bars.zero} on the other days."
    return f"{bars.zero} from {_days(known[0].number, known[-1].number, now_ms)}."


def not_drawn(known: Sequence[Day], first: int, last: int, now_ms: int) -> Iterator[str]:
    """The days from `first` to `last` that have no count, in sentences."""
    today = day_of(now_ms)
    if first < known[0].number:
        yield f"The numbers begin on {_days(known[0].number, known[0].number, now_ms)}."
    ends = (*(day.number for day in known), min(last, today) + 1)
    gaps = [(one + 1, other - 1) for one, other in pairwise(ends) if other > one + 1]
    if len(gaps) > MAX_GAPS:
        yield f"There are no numbers for {sum(end - start + 1 for start, end in gaps)} of these days."
    elif gaps:
        yield f"There are no numbers for {', '.join(_days(*gap, now_ms) for gap in gaps)}."
    if last > today:
        to_come = _days(today + 1, last, now_ms)
        yield f"{to_come} is still to come." if last == today + 1 else f"The days from {to_come} are still to come."


def summary(known: Sequence[Day], series: Sequence[Counts], now_ms: int) -> str:
    """The sums and the highest bar, for visitors who cannot see the plot."""
    sums = [each.words(sum(day.counts[place] for day in known)) for place, each in enumerate(series)]
    top = max(known, key=lambda day: day.counts[0])
    most = f"{series[0].words(top.counts[0])}, on {_days(top.number, top.number, now_ms)}"
    return f"{', '.join(sums)} in {len(known)} days. The most on one day: {most}."


def _days(first: int, last: int, now_ms: int) -> str:
    return dates.days(first * DAY_MS, (last + 1) * DAY_MS, now_ms)


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
    if not known or known[-1].number - known[0].number < MAX_DAYS:
        return known, Scale(1, day_of(now_ms), "today", "day")
    return tuple(_weeks(known, series, rate, now_ms)), Scale(7, _monday(day_of(now_ms)), "this week", "week")


def _monday(day: int) -> int:
    return day_of(week_of(day * DAY_MS))


def _weeks(known: Sequence[Day], series: Sequence[Counts], rate: Rate | None, now_ms: int) -> Iterator[Day]:
    """The measured weeks. The first and the last one may be shorter than seven days."""
    for monday, group in groupby(known, key=lambda day: _monday(day.number)):
        days = list(group)
        counts = tuple(sum(day.counts[place] for day in days) for place in range(len(series)))
        first, last = max(monday, known[0].number), min(monday + 6, known[-1].number)
        when = dates.days(first * DAY_MS, (last + 1) * DAY_MS, now_ms, short=True)
        yield _day(monday, when, counts, series, rate, _ratio(days))


def _ratio(days: Sequence[Day]) -> float | None:
    """The ratio of all days together: their rates, weighted by the count that they are a rate of."""
    weighted = [(day.percent, day.counts[0]) for day in days if day.percent is not None]
    total = sum(count for _, count in weighted)
    return sum(percent * count for percent, count in weighted) / total / words.PERCENT if total else None
