"""Plots by day: from counts to the shapes of an inline SVG, which the macro `plot` of `charts.html` draws. Pure.

    chart = by_day("Delivery by day", days, [Series("Impressions", shown), Series("Clicks", clicked)],
                   Line("Click-through rate", rates, unit=" %"))
    {% from "charts.html" import plot %}   {{ plot(chart, "delivery") }}

Knows neither colours nor HTML: the stylesheet colours the classes `one`, `two` and `line`, light and dark, and the macro
writes all texts as texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from service.web.pages.words import short_day

WIDTH, HEIGHT = 640.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 40.0, 16.0, 40.0
RIGHT_OF_A_LINE = 80.0
"""The margin that holds the axis of a line."""

TICKS = 4
"""About how many lines the grid has beside the one at zero."""

LABELS = 6
"""How many days are named at most below the plot."""

FILLED, WIDEST = 0.8, 44.0
"""How much of a day's room its bars take, and at most, in units of the plot."""

FLATTEST = 1.5
"""The height of the smallest count that is not zero: it can be seen beside any other."""

NEARLY = 1 - 1e-12
"""What a quotient is multiplied by, so that the last digit of a float does not add a line to the grid."""

TONES = ("one", "two")


@dataclass(frozen=True, slots=True)
class Series:
    """One count for each day, 0 or more. `label` names it in the legend, the table and the tooltips."""

    label: str
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Line:
    """One value for each day on an axis of its own, 0 or more; None where there is nothing to say. `unit` follows numbers."""

    label: str
    values: Sequence[float | None]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A count of one day, in units of the plot; `words` are its tooltip."""

    tone: str
    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A text at a place: a value beside a line of the grid (`at` is its y), or a day below the plot (`at` is its x)."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Point:
    """A value of the line; `words` are its tooltip."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """All that the macro draws. `strokes` are the unbroken parts of the line as `points` of polylines; `legend` has (tone,
    label); `head` and `rows` are the same numbers as a table."""

    title: str
    summary: str
    width: float
    height: float
    left: float
    right: float
    base: float
    bars: tuple[Bar, ...]
    values: tuple[Mark, ...]
    line_values: tuple[Mark, ...]
    days: tuple[Mark, ...]
    strokes: tuple[str, ...]
    points: tuple[Point, ...]
    legend: tuple[tuple[str, str], ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def by_day(title: str, days: Sequence[int], series: Sequence[Series], line: Line | None = None) -> Chart:
    """Bars for one or two series, and a line over them. `days` are the starts of consecutive days in epoch milliseconds,
    the oldest first, at least one; each series and the line have a value for each of them."""
    assert days, "a plot has a day"
    assert 1 <= len(series) <= len(TONES), "a plot has one series or two"
    assert all(len(one.counts) == len(days) for one in series), "a count for each day"
    assert line is None or len(line.values) == len(days), "a value for each day"
    plot = _Plot(days, right=WIDTH - (RIGHT if line is None else RIGHT_OF_A_LINE))
    grid = ticks(max(max(one.counts) for one in series), whole=True)
    line_grid = () if line is None else ticks(max((value for value in line.values if value is not None), default=0.0))
    points = () if line is None else tuple(plot.points(line, line_grid[-1]))
    return Chart(
        title=title,
        summary=_summary(days, series),
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=plot.right,
        base=plot.y(0, 1),
        bars=tuple(plot.bars(series, grid[-1])),
        values=tuple(Mark(plot.y(value, grid[-1]), compact(value)) for value in grid),
        line_values=tuple(
            Mark(plot.y(value, line_grid[-1]), f"{value:g}{line.unit}") for value in line_grid if line is not None
        ),
        days=tuple(plot.labels()),
        strokes=tuple(_strokes(points)),
        points=tuple(point for point in points if point is not None),
        legend=(
            *((tone, one.label) for tone, one in zip(TONES, series, strict=False)),
            *(() if line is None else (("line", line.label),)),
        ),
        head=("Day", *(one.label for one in series), *(() if line is None else (line.label,))),
        rows=tuple(_rows(days, series, line)),
    )


class _Plot:
    """Where days and values lie."""

    def __init__(self, days: Sequence[int], right: float) -> None:
        self.right = right
        self._days = days
        self._room = (right - LEFT) / len(days)

    def y(self, value: float, top: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top, 2)

    def middle(self, index: int) -> float:
        return LEFT + self._room * (index + 0.5)

    def bars(self, series: Sequence[Series], top: float) -> Iterator[Bar]:
        both = min(self._room * FILLED, WIDEST)
        width = both / len(series)
        for index, day in enumerate(self._days):
            for place, one in enumerate(series):
                count = one.counts[index]
                if count:
                    y = min(self.y(count, top), self.y(0, top) - FLATTEST)
                    x = self.middle(index) - both / 2 + width * place
                    words = f"{short_day(day)}: {count:,} {one.label.lower()}"
                    height = round(self.y(0, top) - y, 2)
                    yield Bar(TONES[place], round(x, 2), y, round(width, 2), height, words)

    def points(self, line: Line, top: float) -> Iterator[Point | None]:
        for index, (day, value) in enumerate(zip(self._days, line.values, strict=True)):
            if value is None:
                yield None
            else:
                words = f"{short_day(day)}: {line.label.lower()} {value:.3g}{line.unit}"
                yield Point(round(self.middle(index), 2), self.y(value, top), words)

    def labels(self) -> Iterator[Mark]:
        """Every so many days, so that the last one is named."""
        step = ceil(len(self._days) / LABELS)
        for index in range((len(self._days) - 1) % step, len(self._days), step):
            yield Mark(round(self.middle(index), 2), short_day(self._days[index]).rpartition(" ")[0])


def ticks(most: float, *, whole: bool = False) -> tuple[float, ...]:
    """Values for a grid from 0 to `most` or a little beyond, in steps of 1, 2 or 5 times a power of ten; where `whole`, in
    steps of 1 at least."""
    most = most or 1
    rough = most / TICKS
    power: float = 10 ** floor(log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * NEARLY)
    step = max(1.0, step) if whole else step
    return tuple(round(step * index, 6) for index in range(ceil(most / step * NEARLY) + 1))


def compact(count: float) -> str:
    """A round count in little room: `950`, `1.5k`, `20k`, `3M`."""
    for unit, word in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if count >= unit:
            return f"{count / unit:g}{word}"
    return f"{count:g}"


def _strokes(points: Sequence[Point | None]) -> Iterator[str]:
    """The line goes no further than its values: a day without one breaks it."""
    part: list[str] = []
    for point in (*points, None):
        if point is not None:
            part.append(f"{point.x:g},{point.y:g}")
            continue
        if len(part) > 1:
            yield " ".join(part)
        part = []


def _rows(days: Sequence[int], series: Sequence[Series], line: Line | None) -> Iterator[tuple[str, ...]]:
    for index, day in enumerate(days):
        cells = [short_day(day), *(f"{one.counts[index]:,}" for one in series)]
        if line is not None:
            value = line.values[index]
            cells.append("none" if value is None else f"{value:.3g}{line.unit}")
        yield tuple(cells)


def _summary(days: Sequence[int], series: Sequence[Series]) -> str:
    """What somebody who does not see the plot would be told of it."""
    words = [f"{short_day(days[0])} to {short_day(days[-1])}."]
    for one in series:
        most = max(one.counts)
        if most:
            when = short_day(days[one.counts.index(most)])
            words.append(f"{one.label}: {sum(one.counts):,} in total, at most {most:,} a day, on {when}.")
        else:
            words.append(f"{one.label}: none.")
    return " ".join(words)
