"""Plots by day, or by week if they are long: shapes of inline SVG, which the macro `plot` of `charts.html` draws. Pure.

    chart = by_day(days, Counts("Times shown", shown, "time shown", "Not shown"), now_ms=now_ms,
                   also=[Counts("Clicks", clicked, "click", "No clicks")], rate=Rate("Click rate", rates))
    {% from "charts.html" import plot %}   {{ plot(chart) }}

Bars are drawn for the first series only; the others are in the hover titles and in the table. A day without a measured count
(None, missing between two days, or after today) is named in a sentence and not drawn. A measured 0 is a 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10, prod
from typing import NamedTuple

from actors.times import day_of
from service.web.pages.parts import chart_words
from service.web.pages.parts.chart_words import Counts, Day, Rate, Scale, scaled
from service.web.pages.parts.words import counted

FULL, NARROW = 1_104, 326
"""Widths of a plot in pixels: in a panel as wide as the page, and on a phone."""

HEIGHT, HEIGHT_WITH_A_RATE = 220, 260
TOP, BELOW = 30, 26
"""Room above the highest grid line, for the titles of the axes, and below the base, for the days."""

CHARACTER = 6.7
"""Width of a character of 12 px, estimated generously."""

GAP, EDGE, BETWEEN = 8, 12, 14
"""The distance of a number from the plot, the margin left of the longest number, and the least distance of two days, which
leaves room for words of 16 px where a small window shrinks the wide drawing."""

FILLED, WIDEST, FLATTEST = 0.68, 34.0, 1.5
"""The share of a day's room that its bar fills, and a bar's maximum width and minimum height, so that a 1 can be seen."""

DOTTED = 12.0
"""The least room of a day in which its point of the line has a dot; a point without neighbours always has one."""

STEPS = (3, 4)
"""Steps of an axis. Both axes have the same number, so that they share the grid lines."""

ROUND = (1, 2, 2.5, 5, 10)
"""A step is one of these times a power of ten."""

LABEL_STEPS = (1, 2, 5, 7, 14, 30)
"""Bars from one label to the next. Longer plots use multiples of 30."""

EXACT = 100_000
"""An axis up to here has whole numbers; a longer one has them in short form."""

NEARLY = 1 - 1e-12
"""Factor for quotients, so that a rounding error of a float adds no step."""

SPARK_WIDTH, SPARK_HEIGHT, SPARK_TALLEST, SPARK_FLATTEST = 100.0, 30.0, 28.0, 1.5
"""Measures of a spark, which the stylesheet stretches to its place."""

SPARK_FILLED = 0.76
"""The share of a day's room that its bar fills."""

WARM, SPENT = 80, 100
"""Percentages from which on a gauge says that it is time to act, and that nothing is left."""


class Grid(NamedTuple):
    """A horizontal line with its values on the left and the right axis. The first one is the base."""

    y: float
    left: str
    right: str


class Column(NamedTuple):
    """The room of a measured day, its bar and its hover title. The bar of a 0 has no height."""

    x: float
    width: float
    bar_x: float
    bar_width: float
    y: float
    height: float
    words: str
    today: bool

    @property
    def stroke(self) -> str:
        """The bar in a path whose strokes are as wide as it is, from the base upwards. Empty for a 0."""
        middle, base = self.bar_x + self.bar_width / 2, self.y + self.height
        return f"M{middle:.5g} {base:g}V{self.y:g}" if self.height else ""


class Mark(NamedTuple):
    """The label of a day, centred at x."""

    x: float
    words: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The shapes of a plot at one width, in pixels. `strokes` are the unbroken parts of the line, for polylines."""

    width: int
    height: int
    left: int
    right: int
    grid: tuple[Grid, ...]
    columns: tuple[Column, ...]
    labels: tuple[Mark, ...]
    strokes: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot, drawn `wide` and `narrow`, or not at all without two days that have a count. `words` say what is
    not drawn, `summary` is for visitors who cannot see the plot, and `rows` are the numbers, the newest day first."""

    title: str
    bar_title: str
    rate_title: str
    summary: str
    words: str
    wide: Drawing | None
    narrow: Drawing | None
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Axes(NamedTuple):
    """The highest values of both axes, and the words of each grid line on the left and on the right."""

    most: float
    most_rate: float
    words: tuple[tuple[str, str], ...]


def by_day(
    days: Sequence[int],
    bars: Counts,
    *,
    now_ms: int,
    until_ms: int | None = None,
    also: Sequence[Counts] = (),
    rate: Rate | None = None,
    width: int = FULL,
) -> Chart:
    """A plot of `bars`. `days` are the starts of days in epoch milliseconds, in order; each series has a value for each.
    If the period goes on until `until_ms`, a sentence says that the days from tomorrow to then are still to come."""
    assert all(len(each.counts) == len(days) for each in (bars, *also)), "each series has a value for each day"
    assert rate is None or len(rate.ratios) == len(days), "the rate has a value for each day"
    series, numbers = (bars, *also), [day_of(day) for day in days]
    known = tuple(chart_words.measured(numbers, series, rate, now_ms))
    has_table = len(known) > 1 and any(any(day.counts) for day in known)
    drawn, scale = scaled(known, series, rate, now_ms)
    rated = rate if any(day.percent for day in known) else None
    axes = axes_of(drawn, rated) if sum(day.counts[0] > 0 for day in known) > 1 else None
    last = max(numbers[-1:] + ([] if until_ms is None else [day_of(until_ms - 1)]), default=scale.now)
    sentences = [] if axes else [chart_words.instead(known, bars, now_ms)]
    if known:
        sentences += chart_words.not_drawn(known, numbers[0], last, now_ms)
    height = HEIGHT_WITH_A_RATE if rated else HEIGHT
    return Chart(
        title=chart_words.title(known, bars, rated, now_ms, scale.name),
        bar_title=f"{bars.label} a {scale.name}",
        rate_title=rated.label if rated else "",
        summary=chart_words.summary(known, series, now_ms) if axes else "",
        words=" ".join(sentences),
        wide=_drawing(drawn, axes, scale, width, height) if axes else None,
        narrow=_drawing(drawn, axes, scale, NARROW, HEIGHT) if axes else None,
        head=(scale.name.capitalize(), *(each.label for each in series), *([rate.label] if rate else [])),
        rows=tuple(day.cells for day in reversed(drawn)) if has_table else (),
    )


def axes_of(known: Sequence[Day], rate: Rate | None) -> Axes:
    """Axes from 0 to at least the largest values, with as little room above them as round steps allow."""
    most = max(day.counts[0] for day in known)
    most_rate = max(day.percent or 0 for day in known)

    def sizes(steps: int) -> tuple[float, float]:
        return step_of(most, steps, whole=True), step_of(most_rate or 1, steps)

    choice = (most,) if most < min(STEPS) else STEPS
    steps = min(choice, key=lambda steps: prod(steps * size for size in sizes(steps)[: 2 if rate else 1]))
    counts, rates = ([size * index for index in range(steps + 1)] for size in sizes(steps))
    words = "{:,.0f}".format if counts[-1] < EXACT else compact
    units = [f"{value:g} %" if rate else "" for value in rates]
    return Axes(counts[-1], rates[-1], tuple(zip(map(words, counts), units, strict=True)))


def step_of(most: float, steps: int, *, whole: bool = False) -> float:
    """The smallest round step of which so many reach `most`, which is more than 0."""
    least = max(1.0, most / steps) if whole else most / steps
    power: float = 10.0 ** floor(log10(least))
    sizes = (size * power for size in ROUND)
    return next(size for size in sizes if size >= least * NEARLY and not (whole and size % 1))


def compact(count: float) -> str:
    """A round count in short form: `950`, `1.5k`, `20k`, `3M`."""
    for unit, word in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:g}{word}"
    return f"{count:g}"


def room_for(words: str) -> float:
    """The estimated width of a text."""
    return len(words) * CHARACTER


@dataclass(frozen=True, slots=True)
class _Frame:
    """The places of days and values in a drawing. Bars are `step` days apart."""

    width: int
    left: int
    right: int
    base: int
    first: int
    last: int
    step: int

    @property
    def room(self) -> float:
        return (self.right - self.left) / ((self.last - self.first) // self.step + 1)

    def x(self, day: int) -> float:
        """The middle of a day or week."""
        return round(self.left + self.room * ((day - self.first) // self.step + 0.5), 1)

    def y(self, part: float) -> float:
        """The height of a part of the axis."""
        return round(self.base - (self.base - TOP) * part, 1)


def _drawing(known: Sequence[Day], axes: Axes, scale: Scale, width: int, height: int) -> Drawing:
    left = max(ceil(room_for(words)) for words, _ in axes.words) + EDGE
    right = width - GAP - max(ceil(room_for(words)) for _, words in axes.words)
    frame = _Frame(width, left, right, height - BELOW, known[0].number, known[-1].number, scale.step)
    steps = len(axes.words) - 1
    strokes, dots = _line(frame, known, axes.most_rate)
    return Drawing(
        width=width,
        height=height,
        left=left,
        right=right,
        grid=tuple(Grid(frame.y(index / steps), *words) for index, words in enumerate(axes.words)),
        columns=tuple(_column(frame, day, axes.most, scale.now) for day in known),
        labels=_labels(frame, scale),
        strokes=strokes,
        dots=dots,
    )


def _column(frame: _Frame, day: Day, most: float, now: int) -> Column:
    x, bar = frame.x(day.number), min(frame.room * FILLED, WIDEST)
    y = min(frame.y(day.counts[0] / most), frame.base - FLATTEST) if day.counts[0] else frame.base
    return Column(
        x=round(x - frame.room / 2, 1),
        width=round(frame.room, 1),
        bar_x=round(x - bar / 2, 1),
        bar_width=round(bar, 1),
        y=y,
        height=round(frame.base - y, 1),
        words=day.words,
        today=day.number == now,
    )


def _labels(frame: _Frame, scale: Scale) -> tuple[Mark, ...]:
    """The last bar and every n-th before it, so that none touch. A label at the edge stays inside."""
    days = range(frame.last, frame.first - 1, -frame.step)
    for step in (*LABEL_STEPS, *range(2 * LABEL_STEPS[-1], len(days) + LABEL_STEPS[-1], LABEL_STEPS[-1])):
        marks = [_label(frame, day, scale) for day in days[::step]]
        if all(
            later.x - earlier.x >= (room_for(later.words) + room_for(earlier.words)) / 2 + BETWEEN
            for later, earlier in pairwise(marks)
        ):
            return tuple(reversed(marks))
    raise AssertionError("one label alone touches no other")


def _label(frame: _Frame, day: int, scale: Scale) -> Mark:
    words = scale.now_words if day == scale.now else chart_words.label(day)
    half = room_for(words) / 2
    return Mark(round(min(max(frame.x(day), half), frame.width - half), 1), words)


def _line(frame: _Frame, known: Sequence[Day], most: float) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    """The strokes between days that follow each other and have a rate, and the dots."""
    runs: list[list[tuple[float, float]]] = []
    before = None
    for day in known:
        if day.percent is None:
            continue
        if before is None or day.number > before + frame.step:
            runs.append([])
        runs[-1].append((frame.x(day.number), frame.y(day.percent / most)))
        before = day.number
    strokes = tuple(" ".join(f"{x:g},{y:g}" for x, y in run) for run in runs if len(run) > 1)
    dotted = frame.room >= DOTTED
    return strokes, tuple(point for run in runs if dotted or len(run) == 1 for point in run)


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


def spark_of(counts: Sequence[int | None], label: str, words: str = "") -> Spark:
    """The days of a run in order; None is a day to come. A measured 0 is an empty place. `words` replace those of days."""
    measured = [count for count in counts if count is not None]
    most, room = max(measured, default=0) or 1, SPARK_WIDTH / max(len(counts), 1)
    bars = []
    for index, count in enumerate(counts):
        if count == 0:
            continue
        height = SPARK_FLATTEST if count is None else max(SPARK_FLATTEST, SPARK_TALLEST * count / most)
        x, width = room * (index + (1 - SPARK_FILLED) / 2), room * SPARK_FILLED
        bars.append(Bar(round(x, 2), round(SPARK_HEIGHT - height, 2), round(width, 2), round(height, 2), count is None))
    days = counted(len(measured), "day")
    numbers = f"{sum(measured):,} in {days}, at most {max(measured):,} a day" if measured else "no numbers yet"
    return Spark(tuple(bars), words or f"{label} by day: {numbers}")


def gauge_of(used: int, limit: int) -> Gauge:
    """The used share of a limit. A little is never drawn as nothing, and not quite all never as all."""
    words = f"{used:,} of {limit:,}"
    if used >= limit:
        return Gauge(100.0, "bad", words)
    part = used * 100 / limit
    return Gauge(round(min(max(part, 1.0), 99.0), 1) if used else 0.0, "warm" if part >= WARM else "", words)


def delivery_chart(rows: Sequence[tuple[int, int, int]], now_ms: int, until_ms: int | None = None) -> Chart:
    """Times shown and click rate by day, with the clicks in words. `rows` are at least one day's start, times shown and
    clicks, in order."""
    days, shown, clicks = zip(*rows, strict=True)
    return by_day(
        days,
        Counts("Times shown", shown, "time shown", "Not shown"),
        now_ms=now_ms,
        until_ms=until_ms,
        also=[Counts("Clicks", clicks, "click", "No clicks")],
        rate=Rate("Click rate", [one / other if other else None for one, other in zip(clicks, shown, strict=True)]),
    )
