"""Plots by day: their shapes, their axes, their labels, and what they say in words and in a table."""

import random
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader

import service.web.pages.parts.charts as charts
from actors.clock import DAY_MS
from actors.times import week_of
from service.web.pages.parts.chart_words import MAX_DAYS, Counts, Day, Rate, label
from service.web.pages.parts.charts import (
    Chart,
    Drawing,
    axes_of,
    by_day,
    compact,
    gauge_of,
    room_for,
    spark_of,
    step_of,
)
from service.web.pages.parts.words import short
from tests.web.markup import faults_of

FIRST = 20_775
"""18 November 2026, as a day since the epoch."""


Shown = Sequence[int | None]


def at(day: int) -> int:
    return (FIRST + day) * DAY_MS


def plotted(shown: Shown, clicked: Shown | None = None, **options: Any) -> Chart:
    """The plot of consecutive days, the last of which is today if `now_ms` does not say otherwise."""
    days = [at(index) for index in range(len(shown))]
    options = {"now_ms": at(len(shown) - 1) + 1} | options
    if clicked is not None:
        rates = [None if not one or other is None else other / one for one, other in zip(shown, clicked, strict=True)]
        options |= {"also": [Counts("Clicks", clicked, "click", "No clicks")], "rate": Rate("Click rate", rates)}
    return by_day(days, Counts("Times shown", shown, "time shown", "Not shown"), **options)


def wide(chart: Chart) -> Drawing:
    assert chart.wide is not None
    return chart.wide


def by_chance(seed: int) -> tuple[Chart, list[int | None], int]:
    """A plot of 2 to 400 days: the chart, the counts of its days, and the number of the day that is today."""
    chance = random.Random(seed)
    length, most = chance.choice([2, 3, 7, 14, 30, 31, 59, 91, 400]), 10 ** chance.randint(0, 12)
    shown = [None if chance.random() < 0.1 else chance.choice([0, 1, chance.randint(0, most)]) for _ in range(length)]
    clicked = [None if count is None else chance.randint(0, count) for count in shown]
    today = chance.choice([length - 1, length + 5, length // 2])
    chart = plotted(
        shown, chance.choice([clicked, None]), now_ms=at(today) + 7, width=chance.choice([700, charts.FULL])
    )
    return chart, shown, today


SEEDS = range(40)


# Axes.


@pytest.mark.parametrize(
    ("most", "steps", "whole", "expected"),
    [
        *((1, 3, True, 1), (3, 3, True, 1), (7, 3, True, 5), (9, 4, True, 5), (90, 4, True, 25), (1_229, 3, True, 500)),
        *((4_000, 4, True, 1_000), (0.3, 3, False, 0.1), (2.41, 3, False, 1), (1, 4, False, 0.25)),
    ],
)
def test_a_step_is_the_smallest_round_one_that_suffices(most: float, steps: int, whole: bool, expected: float) -> None:
    assert step_of(most, steps, whole=whole) == pytest.approx(expected)


def test_both_axes_begin_at_zero_hold_the_largest_values_and_share_their_few_steps() -> None:
    chance = random.Random(7)
    for _ in range(500):
        most, rate = chance.randint(1, 10 ** chance.randint(1, 15)), chance.random() * 10 ** chance.randint(-2, 2)
        axes = axes_of([Day(1, (most,), rate, (), ""), Day(2, (0,), None, (), "")], Rate("Click rate", []))
        assert len(axes.words) in ({4, 5} if most > 2 else {most + 1})
        assert axes.words[0] == ("0", "0 %")
        assert axes.most >= most * charts.NEARLY
        assert axes.most_rate >= rate * charts.NEARLY
        assert axes.most <= 10 * max(most, 1)
        lefts = [float(left.replace(",", "")) for left, _ in axes.words if left[-1].isdigit()]
        assert all(one < other and other.is_integer() for one, other in pairwise(lefts))
        assert len({left for left, _ in axes.words}) == len({right for _, right in axes.words}) == len(axes.words)


def test_an_axis_wastes_little_room() -> None:
    known = [Day(1, (1_229,), None, (), ""), Day(2, (600,), None, (), "")]
    assert [left for left, _ in axes_of(known, None).words] == ["0", "500", "1,000", "1,500"]
    rates = [Day(1, (1_229,), 2.41, (), ""), Day(2, (600,), 1.3, (), "")]
    assert [right for _, right in axes_of(rates, Rate("Click rate", [])).words] == ["0 %", "1 %", "2 %", "3 %"]


def test_a_rate_that_is_always_zero_has_an_axis_of_whole_numbers() -> None:
    axes = axes_of([Day(1, (3,), 0.0, (), ""), Day(2, (3,), 0.0, (), "")], Rate("Click rate", []))
    assert axes.most_rate in {1, 1.5}


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (950, "950"), (1_500, "1.5k"), (20_000, "20k"), (3e6, "3M"), (4e9, "4B"), (5e12, "5T")],
)
def test_round_counts_need_little_room(count: float, words: str) -> None:
    assert compact(count) == words


# Shapes.


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_touches_another_and_every_shape_is_in_its_place(seed: int) -> None:
    chart, _, _ = by_chance(seed)
    for drawn in (chart.wide, chart.narrow):
        if drawn is None:
            continue
        base, top = drawn.grid[0].y, drawn.grid[-1].y
        for one, other in pairwise(drawn.labels):
            assert other.x - one.x >= (room_for(one.words) + room_for(other.words)) / 2 * 16 / 12, (
                "words of 16 px touch"
            )
        for mark in drawn.labels:
            assert room_for(mark.words) / 2 - 0.1 <= mark.x <= drawn.width - room_for(mark.words) / 2 + 0.1
        for line in drawn.grid:
            assert room_for(line.left) <= drawn.left - charts.GAP
            assert drawn.right + charts.GAP + room_for(line.right) <= drawn.width
        assert room_for(chart.bar_title) + room_for(chart.rate_title) + charts.GAP < drawn.width
        for column in drawn.columns:
            assert drawn.left - 0.2 <= column.x <= column.bar_x
            assert column.bar_x + column.bar_width <= column.x + column.width + 0.2 <= drawn.right + 0.4
            assert top <= column.y <= base
            assert column.y + column.height == pytest.approx(base)
        for before, after in pairwise(drawn.columns):
            assert before.bar_x + before.bar_width <= after.bar_x
        for x, y in [*drawn.dots, *points_of(drawn)]:
            assert drawn.left <= x <= drawn.right
            assert top - 0.1 <= y <= base


def points_of(drawn: Drawing) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for stroke in drawn.strokes for x, y in (each.split(",") for each in stroke.split())]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_measured_day_until_today_is_drawn_once_and_in_the_table(seed: int) -> None:
    chart, shown, today = by_chance(seed)
    known = [(index, count) for index, count in enumerate(shown) if count is not None and index <= today]
    if sum(bool(count) for _, count in known) < 2:
        assert (chart.wide, chart.narrow) == (None, None)
        assert chart.words
        return
    if chart.head[0] == "Week":
        assert known[-1][0] - known[0][0] >= MAX_DAYS
        weeks = {week_of(at(index)): 0 for index, _ in known}
        for index, count in known:
            weeks[week_of(at(index))] += count
        known, today = [((monday - at(0)) // DAY_MS, count) for monday, count in weeks.items()], monday_of(today)
    else:
        assert [row[0] for row in reversed(chart.rows)] == [
            "Today" if index == today else short(at(index), at(today)).words for index, _ in known
        ]
    assert [row[1] for row in reversed(chart.rows)] == [f"{count:,}" for _, count in known]
    for drawn in (chart.wide, chart.narrow):
        assert drawn is not None
        assert [bool(column.height) for column in drawn.columns] == [bool(count) for _, count in known]
        assert [column.today for column in drawn.columns] == [index == today for index, _ in known]
        assert all(
            f" {row[1]} " in column.words for row, column in zip(reversed(chart.rows), drawn.columns, strict=True)
        )


def monday_of(day: int) -> int:
    """The Monday of a day, which like the day counts from the first one."""
    return (week_of(at(day)) - at(0)) // DAY_MS


def test_a_long_plot_is_drawn_by_week() -> None:
    # 18 November 2026 is a Wednesday, and 19 January 2027 a Tuesday.
    days = [100] * MAX_DAYS
    assert plotted(days).head[0] == "Day"
    chart = plotted([*days, 40], [*[1] * MAX_DAYS, 40])
    assert chart.title == "Times shown and click rate by week, 18 November 2026 to 19 January 2027"
    assert (chart.head[0], chart.bar_title) == ("Week", "Times shown a week")
    assert chart.rows[0] == ("18 to 19 Jan", "140", "41", "29.29 %")
    assert chart.rows[1] == ("11 to 17 Jan", "700", "7", "1.00 %")
    assert chart.rows[-1] == ("18 to 22 Nov 2026", "500", "5", "1.00 %")
    assert "41 clicks, 29.29 %" in wide(chart).columns[-1].words
    assert [column.today for column in wide(chart).columns] == [*[False] * 9, True]
    assert (wide(chart).labels[0].words, wide(chart).labels[-1].words) == ("16 Nov", "this week")
    assert chart.words == "", "days are missing from no week"


def test_without_a_click_there_is_no_axis_of_rates() -> None:
    chart = plotted([5, 7], [0, 0])
    assert (chart.title, chart.rate_title) == ("Times shown by day, 18 to 19 November", "")
    assert not any(line.right for line in wide(chart).grid)
    assert chart.rows[0] == ("Today", "7", "0", "0.00 %")


def test_bars_stand_on_the_base_in_the_ratio_of_their_counts() -> None:
    small, middle, large, none = wide(plotted([10, 20, 40, 0])).columns
    assert middle.height == pytest.approx(2 * small.height, abs=0.2)
    assert large.height == pytest.approx(4 * small.height, abs=0.2)
    assert none.height == 0


def test_the_smallest_count_can_be_seen_beside_the_largest() -> None:
    assert wide(plotted([1, 1_000_000])).columns[0].height == charts.FLATTEST


def test_a_line_is_broken_where_a_day_has_no_rate_and_a_lonely_point_is_a_dot() -> None:
    drawn = wide(plotted([50, 50, 0, 50, None, 40], [1, 2, 0, 3, None, 1]))
    assert [len(stroke.split()) for stroke in drawn.strokes] == [2]
    assert len(drawn.dots) == 4
    long = plotted([100] * 50 + [0, 100, 0], [1] * 50 + [0, 1, 0]).narrow
    assert long is not None
    assert [len(stroke.split()) for stroke in long.strokes] == [50]
    assert len(long.dots) == 1, "the points of a long line have no dots"


# Labels.


@pytest.mark.parametrize(
    ("length", "in_wide", "in_narrow"), [(2, 1, 1), (7, 1, 2), (17, 1, 5), (30, 2, 7), (62, 5, 14)]
)
def test_so_many_days_have_a_label_that_none_touch_and_the_last_is_today(
    length: int, in_wide: int, in_narrow: int
) -> None:
    chart = plotted([100] * length)
    for drawn, step in ((chart.wide, in_wide), (chart.narrow, in_narrow)):
        assert drawn is not None
        expected = [label(FIRST + day) for day in range(length - 1, -1, -step)][::-1]
        assert [mark.words for mark in drawn.labels] == [*expected[:-1], "today"]


def test_a_label_at_either_edge_stays_inside() -> None:
    narrow = plotted([1] * 57).narrow
    assert narrow is not None
    first, last = narrow.labels[0], narrow.labels[-1]
    assert first.x - room_for(first.words) / 2 >= 0
    assert last.x + room_for(last.words) / 2 == pytest.approx(charts.NARROW, abs=0.1)


def test_a_plot_of_the_past_ends_with_its_last_day() -> None:
    drawn = wide(plotted([4, 5, 6], now_ms=at(9)))
    assert [mark.words for mark in drawn.labels] == ["18 Nov", "19 Nov", "20 Nov"]
    assert not any(column.today for column in drawn.columns)


# Words.


def test_the_numbers_are_told_in_words_and_as_a_table_with_the_newest_day_first() -> None:
    chart = plotted([1, 1_234, 0], [1, 25, 0])
    assert chart.title == "Times shown and click rate by day, 18 to 20 November"
    assert (chart.bar_title, chart.rate_title, chart.words) == ("Times shown a day", "Click rate", "")
    assert (
        chart.summary
        == "1,235 times shown, 26 clicks in 3 days. The most on one day: 1,234 times shown, on 19 November."
    )
    assert chart.head == ("Day", "Times shown", "Clicks", "Click rate")
    assert chart.rows == (
        ("Today", "0", "0", "No rate"),
        ("19 Nov", "1,234", "25", "2.03 %"),
        ("18 Nov", "1", "1", "100.00 %"),
    )
    assert [column.words for column in wide(chart).columns] == [
        "18 Nov: 1 time shown, 1 click, 100.00 %",
        "19 Nov: 1,234 times shown, 25 clicks, 2.03 %",
        "Today: 0 times shown, 0 clicks, no rate",
    ]


def test_a_date_of_another_year_has_its_year() -> None:
    chart = by_day([at(43), at(44)], Counts("Requests", [1, 2], "request", "No requests"), now_ms=at(44) + 5 * DAY_MS)
    assert chart.title == "Requests by day, 31 December 2026 to 1 January 2027"


@pytest.mark.parametrize(
    ("shown", "options", "words"),
    [
        ([], {"now_ms": at(0)}, "There are no numbers yet."),
        ([None, None], {}, "There are no numbers yet."),
        ([7], {}, "Today: 7 times shown. The chart begins with the second day."),
        ([0, 0, 0], {}, "Not shown from 18 to 20 November."),
        ([0, 1, 0], {}, "19 Nov: 1 time shown. Not shown on the other days."),
        ([None, None, 4, 5], {}, "The numbers begin on 20 November."),
        ([4, None, 5, None, None, 6], {}, "There are no numbers for 19 November, 21 to 22 November."),
        ([4, 5, None], {}, "There are no numbers for 20 November."),
        ([1, None] * 5 + [1], {}, "There are no numbers for 5 of these days."),
        ([4, 5], {"until_ms": at(3)}, "20 November is still to come."),
        ([4, 5], {"until_ms": at(60)}, "The days from 20 November 2026 to 16 January 2027 are still to come."),
        ([4, 5, 9, 9], {"now_ms": at(1)}, "The days from 20 to 21 November are still to come."),
        ([4, 5], {"until_ms": at(2)}, ""),
    ],
)
def test_days_without_numbers_are_told_and_not_drawn(shown: Shown, options: dict[str, Any], words: str) -> None:
    assert plotted(shown, **options).words == words


def test_a_missing_day_leaves_its_place_empty() -> None:
    days = [at(0), at(1), at(3)]
    chart = by_day(days, Counts("Requests", [5, 5, 5], "request", "No requests"), now_ms=at(3))
    one, two, four = (column.x for column in wide(chart).columns)
    assert four - two == pytest.approx(2 * (two - one), abs=0.2)
    assert chart.words == "There are no numbers for 20 November."


def test_clicks_without_a_view_have_a_table_and_no_plot() -> None:
    chart = plotted([0, 0], [0, 1])
    assert (chart.wide, chart.words) == (None, "Not shown from 18 to 19 November.")
    assert chart.rows[0] == ("Today", "0", "1", "No rate")
    assert plotted([0, 0], [0, 0]).rows == ()


# Sparks and gauges.


def test_a_spark_has_a_bar_for_each_day_with_a_count_and_a_line_for_each_to_come() -> None:
    chance = random.Random(3)
    for _ in range(100):
        run = [chance.choice([0, 1, chance.randint(0, 10_000)]) for _ in range(chance.randint(14, 91))]
        counts = [*run, *[None] * chance.randint(0, 9)]
        spark = spark_of(counts, "Times shown")
        assert len(spark.bars) == len([count for count in counts if count != 0])
        assert [bar.rest for bar in spark.bars].count(True) == counts.count(None)
        assert all(
            bar.x >= 0 and bar.x + bar.width <= 100 and bar.y + bar.height == pytest.approx(30) for bar in spark.bars
        )
        assert all(one.x + one.width < other.x for one, other in pairwise(spark.bars))
        assert max(bar.height for bar in spark.bars) <= 28
        assert spark.words == f"Times shown by day: {sum(run):,} in {len(run)} days, at most {max(run):,} a day"


def test_a_spark_says_that_there_is_nothing_yet() -> None:
    assert spark_of([None] * 7, "Times shown").words == "Times shown by day: no numbers yet"
    assert spark_of([], "Times shown").bars == ()
    assert spark_of([0], "Times shown").words == "Times shown by day: 0 in 1 day, at most 0 a day"


@pytest.mark.parametrize(
    ("used", "limit", "percent", "tone"),
    [
        (0, 20_000, 0, ""),
        (12, 20_000, 1, ""),
        (14, 20, 70, ""),
        (16, 20, 80, "warm"),
        (9_999, 10_000, 99, "warm"),
        (20, 20, 100, "bad"),
        (25, 20, 100, "bad"),
        (0, 0, 100, "bad"),
    ],
)
def test_a_gauge_is_warm_from_four_fifths_and_bad_when_nothing_is_left(
    used: int, limit: int, percent: float, tone: str
) -> None:
    gauge = gauge_of(used, limit)
    assert (gauge.percent, gauge.tone, gauge.words) == (percent, tone, f"{used:,} of {limit:,}")


# Markup.


def rendered(call: str, **values: object) -> str:
    folder = Path(charts.__file__).parents[2] / "templates"
    made = Environment(loader=FileSystemLoader(folder), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(spark_of=spark_of, gauge_of=gauge_of)
    return made.from_string('{% from "charts.html" import gauge, plot, spark %}' + call).render(values)


def test_a_plot_is_drawn_twice_with_a_name_and_a_description_and_without_styles() -> None:
    chart = plotted([3, 2, 4, 0, 5], [1, 1, 1, 0, 2])
    html = rendered("{{ plot(chart) }}", chart=chart)
    assert faults_of_part(html) == []
    assert html.count(f'role="img" aria-label="{chart.title}"') == 2
    assert re.findall(r'<svg class="([a-z-]+)" viewBox="0 0 (\d+) (\d+)"', html) == [
        ("wide-only", "1104", "260"),
        ("narrow", "326", "220"),
    ]
    assert html.count(f"<desc>{chart.summary}</desc>") == 2
    assert html.count("<title>") == 5, "the hover titles are in the wide drawing"
    assert [path.count("M") for path in re.findall(r'<path(?: class="now")? d="(.*?)"/>', html)] == [3, 1] * 2, (
        "bars, today's"
    )
    assert html.count('<polyline class="halo"') == html.count('<polyline class="rate"') == 2
    assert '<text class="of-bar" x="0" y="12">Times shown a day</text>' in html
    assert '<text class="of-line end" x="1104" y="12">Click rate</text>' in html
    assert '<text class="of-line end" x="326" y="12">Click rate</text>' in html
    assert '<details class="fold">' in html


def faults_of_part(html: str) -> list[str]:
    head = '<title>A page - Catalog</title><meta name="robots" content="noindex">'
    return faults_of(
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body><main><h1>A page</h1>{html}</main></body></html>'
    )


def test_a_plot_without_enough_days_is_a_sentence() -> None:
    html = rendered("{{ plot(chart) }}", chart=plotted([7]))
    assert "<svg" not in html
    assert "<details" not in html
    assert "Today: 7 times shown." in html


def test_sparks_and_gauges_have_their_numbers_as_names() -> None:
    html = rendered(
        "{{ spark(counts, 'Times shown') }}{{ gauge(1600, 2000) }}{{ gauge(1, 2, said=true) }}", counts=[1, 2, None]
    )
    assert faults_of_part(html) == []
    assert 'aria-label="Times shown by day: 3 in 2 days, at most 2 a day"' in html
    assert html.count('<rect class="rest"') == 1
    assert (
        '<svg class="gauge warm" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="1,600 of 2,000">'
        in html
    )
    assert '<svg class="gauge" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">' in html


def test_whatever_a_label_says_is_text() -> None:
    bars = Counts("</svg><script>", [1, 2], "<b onload=x>", "<p>")
    chart = by_day([at(0), at(1)], bars, now_ms=at(1), rate=Rate("<i>", [1.0, None], "<s>"))
    html = rendered("{{ plot(chart) }}{{ spark([1], '<em>') }}", chart=chart)
    for hostile in ("<script", "<b ", "<i>", "<s>", "<em>"):
        assert hostile not in html
