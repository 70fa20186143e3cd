"""The words of a plot by day: the numbers of its days, and the days that it does not draw. Pure.

Days are numbers since the epoch; `now_ms` is the time of the page."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from actors import dates
from actors.times import DAY_MS, day_of
from service.web.pages import words

MOST_GAPS = 3
"""More gaps between the days are summed up instead of listed."""


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
        ratio = rate.ratios[index] if rate else None
        rates = [words.rate(ratio, rate.none)] if rate else []
        when = "Today" if day == today else words.short(day * DAY_MS, now_ms).words
        told = [each.words(count) for each, count in zip(series, counts, strict=True)]
        yield Day(
            number=day,
            counts=counts,
            percent=None if ratio is None else ratio * words.PERCENT,
            cells=(when, *map(words.number, counts), *rates),
            words=f"{when}: {', '.join([*told, *(each.lower() for each in rates)])}",
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
    if len(gaps) > MOST_GAPS:
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
