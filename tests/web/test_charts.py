"""Plots by day: their shapes, their axes, and their descriptions."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

import service.web.pages.charts as charts
from actors.clock import DAY_MS
from service.web.pages.charts import Chart, Line, Series, by_day, compact, ticks
from service.web.pages.words import short_day

FIRST = 20_775 * DAY_MS
DAYS = [FIRST + index * DAY_MS for index in range(5)]


@pytest.mark.parametrize(
    ("most", "whole", "expected"),
    [
        (0, True, (0, 1)),
        (1, True, (0, 1)),
        (3, True, (0, 1, 2, 3)),
        (7, True, (0, 2, 4, 6, 8)),
        (100, True, (0, 50, 100)),
        (101, True, (0, 50, 100, 150)),
        (4_000, True, (0, 1_000, 2_000, 3_000, 4_000)),
        (0.3, False, (0, 0.1, 0.2, 0.3)),
        (2.5, False, (0, 1, 2, 3)),
        (0.0, False, (0, 0.5, 1)),
        (0.005, False, (0, 0.002, 0.004, 0.006)),
    ],
)
def test_a_grid_has_round_values_up_to_the_largest(most: float, whole: bool, expected: tuple[float, ...]) -> None:
    assert ticks(most, whole=whole) == expected


def test_every_grid_holds_the_largest_value_with_few_lines() -> None:
    chance = random.Random(7)
    for most in [*range(200), *(chance.randrange(10 ** chance.randint(1, 15)) for _ in range(2_000))]:
        grid = ticks(most, whole=True)
        assert grid[0] == 0
        assert grid[-1] >= most
        assert 2 <= len(grid) <= 6, most
        assert all(one < other and one == int(one) for one, other in pairwise(grid))


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0"), (950, "950"), (1_500, "1.5k"), (20_000, "20k"), (3_000_000, "3M"), (4e9, "4B")]
)
def test_round_counts_need_little_room(count: float, words: str) -> None:
    assert compact(count) == words


def test_bars_stand_on_the_base_in_the_ratio_of_their_counts_and_zero_has_none() -> None:
    chart = by_day("Requests", DAYS, [Series("Requests", [0, 10, 20, 40, 0])])
    assert [bar.words for bar in chart.bars] == [
        "19 Nov 2026: 10 requests",
        "20 Nov 2026: 20 requests",
        "21 Nov 2026: 40 requests",
    ]
    small, middle, large = chart.bars
    assert middle.height == pytest.approx(2 * small.height, abs=0.02)
    assert large.height == pytest.approx(4 * small.height, abs=0.02)
    for bar in chart.bars:
        assert bar.y + bar.height == pytest.approx(chart.base)
        assert chart.left <= bar.x < bar.x + bar.width <= chart.right
    assert chart.legend == (("one", "Requests"),)


def test_the_smallest_count_can_be_seen_beside_the_largest() -> None:
    chart = by_day("Requests", DAYS[:2], [Series("Requests", [1, 1_000_000])])
    assert chart.bars[0].height == charts.FLATTEST


def test_two_series_stand_side_by_side() -> None:
    chart = by_day("Delivery", DAYS[:1], [Series("Impressions", [10]), Series("Clicks", [5])])
    one, two = chart.bars
    assert (one.tone, two.tone) == ("one", "two")
    assert one.x + one.width == pytest.approx(two.x)
    assert chart.legend == (("one", "Impressions"), ("two", "Clicks"))


def test_a_line_is_broken_where_a_day_has_no_value_and_has_an_axis_of_its_own() -> None:
    line = Line("Click-through rate", [1.0, 2.0, None, 4.0, None], " %")
    chart = by_day("Delivery", DAYS, [Series("Impressions", [9, 9, 0, 9, 0])], line)
    assert [len(stroke.split()) for stroke in chart.strokes] == [2], "one point alone is no stroke"
    assert [point.words for point in chart.points] == [
        "18 Nov 2026: click-through rate 1 %",
        "19 Nov 2026: click-through rate 2 %",
        "21 Nov 2026: click-through rate 4 %",
    ]
    assert [mark.words for mark in chart.line_values] == ["0 %", "1 %", "2 %", "3 %", "4 %"]
    assert chart.points[-1].y == chart.line_values[-1].at
    assert chart.rows[2] == ("20 Nov 2026", "0", "none")


def test_a_line_without_any_value_draws_nothing() -> None:
    chart = by_day("Delivery", DAYS[:2], [Series("Impressions", [0, 0])], Line("Rate", [None, None], " %"))
    assert (chart.strokes, chart.points, chart.bars) == ((), (), ())


@pytest.mark.parametrize("count", [1, 2, 6, 7, 30, 90])
def test_at_most_so_many_days_are_named_and_the_last_is(count: int) -> None:
    days = [FIRST + index * DAY_MS for index in range(count)]
    chart = by_day("Requests", days, [Series("Requests", [1] * count)])
    assert len(chart.days) <= charts.LABELS
    last = chart.bars[-1]
    assert chart.days[-1].at == pytest.approx(last.x + last.width / 2, abs=0.02)
    assert chart.days[-1].words == short(days[-1])


def short(day: int) -> str:
    return short_day(day).removesuffix(" 2026").removesuffix(" 2027")


def test_the_numbers_are_told_in_words_and_as_a_table() -> None:
    chart = by_day("Requests", DAYS[:3], [Series("Requests", [7, 1_234, 0]), Series("Clicks", [0, 0, 0])])
    assert chart.summary == (
        "18 Nov 2026 to 20 Nov 2026. Requests: 1,241 in total, at most 1,234 a day, on 19 Nov 2026. Clicks: none."
    )
    assert chart.head == ("Day", "Requests", "Clicks")
    assert chart.rows[1] == ("19 Nov 2026", "1,234", "0")


def rendered(chart: Chart) -> str:
    folder = Path(charts.__file__).parent.parent / "templates"
    made = Environment(loader=FileSystemLoader(folder), autoescape=True)
    return made.from_string('{% from "charts.html" import plot %}{{ plot(chart, "x") }}').render(chart=chart)


def test_a_plot_has_a_name_and_a_description_and_no_styles() -> None:
    html = rendered(by_day("Requests", DAYS, [Series("Requests", [1, 2, 3, 4, 5])], Line("Rate", [1.0] * 5, " %")))
    assert 'role="img" aria-labelledby="x-title x-summary"' in html
    assert '<title id="x-title">Requests</title>' in html
    assert '<desc id="x-summary">18 Nov 2026 to 22 Nov 2026.' in html
    assert html.count("<rect") == 5
    assert html.count('<polyline class="line"') == 1
    assert " style=" not in html
    assert "<caption>Requests</caption>" in html


def test_whatever_a_label_says_is_text() -> None:
    html = rendered(by_day("</svg><script>", DAYS[:1], [Series("<b onload=x>", [1])], Line("<i>", [1.0], "<u>")))
    for hostile in ("<script", "<b ", "<i>", "<u>"):
        assert hostile not in html
