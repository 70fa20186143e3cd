"""What a plot by day says in words: the numbers of its days, and the days that it does not draw. Pure.

Days are numbers since the epoch."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from actors.clock import DAY_MS, SECOND_MS

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
        return f"{count:,} {self.one if count == 1 else self.label.lower()}"


class Rate(NamedTuple):
    """A value for each day, 0 or more, or None where there is none, which `none` says."""

    label: str
    values: Sequence[float | None]
    unit: str = " %"
    none: str = "No rate"


class Day(NamedTuple):
    """A measured day: its counts, its rate, the cells of its row in the table, and its hover title."""

    number: int
    counts: tuple[int, ...]
    rate: float | None
    cells: tuple[str, ...]
    words: str


def date(day: int, today: int) -> str:
    """`9 Nov`, with the year where it is not this one."""
    when, now = (datetime.fromtimestamp(each * DAY_MS // SECOND_MS, UTC) for each in (day, today))
    return f"{when.day} {when:%b}" if when.year == now.year else f"{when.day} {when:%b %Y}"


def span(first: int, last: int, today: int) -> str:
    """`9 Nov to 25 Nov`, or the date of one day."""
    return date(first, today) if first == last else f"{date(first, today)} to {date(last, today)}"


def measured(days: Sequence[int], series: Sequence[Counts], rate: Rate | None, today: int) -> Iterator[Day]:
    """The days up to today for which the first series has a count."""
    for index, day in enumerate(days):
        if day > today or series[0].counts[index] is None:
            continue
        counts = tuple(each.counts[index] or 0 for each in series)
        value = rate.values[index] if rate else None
        rates = [rate.none if value is None else f"{value:.2f}{rate.unit}"] if rate else []
        when = "Today" if day == today else date(day, today)
        told = [
            *(each.words(count) for each, count in zip(series, counts, strict=True)),
            *(each.lower() for each in rates),
        ]
        yield Day(day, counts, value, (when, *(f"{count:,}" for count in counts), *rates), f"{when}: {', '.join(told)}")


def title(known: Sequence[Day], bars: Counts, rate: Rate | None, today: int) -> str:
    """`Times shown and click rate by day, 9 Nov to 25 Nov`."""
    when = f", {span(known[0].number, known[-1].number, today)}" if known else ""
    return f"{bars.label}{f' and {rate.label.lower()}' if rate else ''} by day{when}"


def instead(known: Sequence[Day], bars: Counts, today: int) -> str:
    """The sentence that stands where the plot of these days would."""
    if not known:
        return "There are no numbers yet."
    if len(known) == 1:
        return f"{known[0].words}. The chart begins with the second day."
    return f"{bars.zero} from {span(known[0].number, known[-1].number, today)}."


def not_drawn(known: Sequence[Day], first: int, last: int, today: int) -> Iterator[str]:
    """The days from `first` to `last` that have no count, in sentences."""
    if first < known[0].number:
        yield f"The numbers begin on {date(known[0].number, today)}."
    ends = (*(day.number for day in known), min(last, today) + 1)
    gaps = [(one + 1, other - 1) for one, other in pairwise(ends) if other > one + 1]
    if len(gaps) > MOST_GAPS:
        yield f"There are no numbers for {sum(end - start + 1 for start, end in gaps)} of these days."
    elif gaps:
        yield f"There are no numbers for {', '.join(span(*gap, today) for gap in gaps)}."
    if last > today:
        to_come = span(today + 1, last, today)
        yield f"{to_come} is still to come." if last == today + 1 else f"The days from {to_come} are still to come."


def summary(known: Sequence[Day], series: Sequence[Counts], today: int) -> str:
    """The sums and the highest bar, for visitors who cannot see the plot."""
    sums = [each.words(sum(day.counts[place] for day in known)) for place, each in enumerate(series)]
    top = max(known, key=lambda day: day.counts[0])
    most = f"{series[0].words(top.counts[0])}, on {date(top.number, today)}"
    return f"{', '.join(sums)} in {len(known)} days. The most on one day: {most}."
