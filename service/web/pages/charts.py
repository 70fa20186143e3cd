"""Plots by day: turns counts into the shapes of an inline SVG, which the macro `plot` of `charts.html` draws. Pure.

    chart = by_day("Delivery by day", days, [Series("Impressions", shown), Series("Clicks", clicked)],
                   Line("Click-through rate", rates, unit=" %"))
    {% from "charts.html" import plot %}   {{ plot(chart, "delivery") }}

The stylesheet colours the classes `one`, `two` and `line`; the macro escapes all texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple

from service.web.pages.words import short_day

WIDTH, HEIGHT = 640.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 66.0, 40.0, 16.0, 40.0
RIGHT_OF_A_LINE = 80.0
"""The right margin if a line has its axis there."""

TICKS = 4
"""Approximate number of grid lines above zero."""

LABELS = 6
"""Maximum number of day labels below the plot."""

FILLED, WIDEST = 0.8, 44.0
"""The share of a day's room that its bars fill, and their maximum width."""

FLATTEST = 1.5
"""The minimum height of a bar, so that a small count stays visible beside a large one."""

NEARLY = 1 - 1e-12
"""Factor for quotients, so that a rounding error of a float adds no grid line."""

TONES = ("one", "two")


class Series(NamedTuple):
    """One count per day, 0 or more. `label` names it in the legend, the table and the tooltips."""

    label: str
    counts: Sequence[int]


class Line(NamedTuple):
    """One value per day on an axis of its own: 0 or more, or None for a day without a value. `unit` follows the numbers."""

    label: str
    values: Sequence[float | None]
    unit: str = ""


class Bar(NamedTuple):
    """A count of one day; `words` are its tooltip."""

    tone: str
    x: float
    y: float
    width: float
    height: float
    words: str


class Mark(NamedTuple):
    """A text: a value beside a grid line at y, or a day below the plot at x."""

    at: float
    words: str


class Point(NamedTuple):
    """A value of the line; `words` are its tooltip."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The shapes that the macro draws, in units of the plot. `strokes` are the unbroken parts of the line, as `points` of
    polylines; `legend` holds (tone, label); `head` and `rows` are the same numbers as a table."""

    title: str
    summary: str
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
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT


def by_day(title: str, days: Sequence[int], series: Sequence[Series], line: Line | None = None) -> Chart:
    """Bars for one or two series, and a line over them. `days` are the starts of consecutive days in epoch milliseconds,
    the oldest first and at least one. Each series and the line have one value per day."""
    assert days, "a plot has at least one day"
    assert 1 <= len(series) <= len(TONES), "a plot has one or two series"
    assert all(len(one.counts) == len(days) for one in series), "each series has a count per day"
    assert line is None or len(line.values) == len(days), "the line has a value per day"
    lines = () if line is None else (line,)
    plot = _Plot(days, right=WIDTH - (RIGHT_OF_A_LINE if lines else RIGHT))
    grid = ticks(max(max(one.counts) for one in series), whole=True)
    line_grid = ticks(max((value for one in lines for value in one.values if value is not None), default=0.0))
    points = tuple(point for one in lines for point in plot.points(one, line_grid[-1]))
    return Chart(
        title=title,
        summary=_summary(days, series),
        right=plot.right,
        base=plot.y(0, 1),
        bars=tuple(plot.bars(series, grid[-1])),
        values=tuple(Mark(plot.y(value, grid[-1]), compact(value)) for value in grid),
        line_values=tuple(
            Mark(plot.y(value, line_grid[-1]), f"{value:g}{one.unit}") for one in lines for value in line_grid
        ),
        days=tuple(plot.labels()),
        strokes=tuple(_strokes(points)),
        points=tuple(point for point in points if point is not None),
        legend=(
            *((tone, one.label) for tone, one in zip(TONES, series, strict=False)),
            *(("line", one.label) for one in lines),
        ),
        head=("Day", *(one.label for one in (*series, *lines))),
        rows=tuple(_rows(days, series, line)),
    )


class _Plot:
    """The places of days and values."""

    def __init__(self, days: Sequence[int], right: float) -> None:
        self.right = right
        self._days = days
        self._room = (right - LEFT) / len(days)

    def y(self, value: float, top: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top, 2)

    def middle(self, index: int) -> float:
        return LEFT + self._room * (index + 0.5)

    def bars(self, series: Sequence[Series], top: float) -> Iterator[Bar]:
        both, base = min(self._room * FILLED, WIDEST), self.y(0, top)
        width = both / len(series)
        for index, day in enumerate(self._days):
            for place, one in enumerate(series):
                count = one.counts[index]
                if count:
                    x, y = self.middle(index) - both / 2 + width * place, min(self.y(count, top), base - FLATTEST)
                    words = f"{short_day(day)}: {count:,} {one.label.lower()}"
                    yield Bar(TONES[place], round(x, 2), y, round(width, 2), round(base - y, 2), words)

    def points(self, line: Line, top: float) -> Iterator[Point | None]:
        for index, (day, value) in enumerate(zip(self._days, line.values, strict=True)):
            if value is None:
                yield None
            else:
                words = f"{short_day(day)}: {line.label.lower()} {value:.3g}{line.unit}"
                yield Point(round(self.middle(index), 2), self.y(value, top), words)

    def labels(self) -> Iterator[Mark]:
        """Every n-th day, counted back from the last one."""
        step = ceil(len(self._days) / LABELS)
        for index in range((len(self._days) - 1) % step, len(self._days), step):
            yield Mark(round(self.middle(index), 2), short_day(self._days[index]).rpartition(" ")[0])


def ticks(most: float, *, whole: bool = False) -> tuple[float, ...]:
    """Grid values from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten; whole steps if `whole`."""
    most = most or 1
    rough = most / TICKS
    power: float = 10 ** floor(log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough * NEARLY)
    step = max(1.0, step) if whole else step
    return tuple(round(step * index, 6) for index in range(ceil(most / step * NEARLY) + 1))


def compact(count: float) -> str:
    """A round count in short form: `950`, `1.5k`, `20k`, `3M`."""
    for unit, word in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if count >= unit:
            return f"{count / unit:g}{word}"
    return f"{count:g}"


def _strokes(points: Sequence[Point | None]) -> Iterator[str]:
    """The parts of the line between days without a value."""
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
    """A description for visitors who cannot see the plot."""
    words = [f"{short_day(days[0])} to {short_day(days[-1])}."]
    for one in series:
        most = max(one.counts)
        when = short_day(days[one.counts.index(most)])
        numbers = f"{sum(one.counts):,} in total, at most {most:,} a day, on {when}" if most else "none"
        words.append(f"{one.label}: {numbers}.")
    return " ".join(words)
