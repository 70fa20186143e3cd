"""The cost of a report: the share of each booking's days of what was paid for it and not refunded, by currency."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from actors.bookings.records import Mode
from actors.bookings.reports import Cost, DayCounted, Days, MoneyOf, Run, costs_of, counted_runs, totals_of


def run(booking_id: str, first: int, last: int, net_cents: int, currency: str = "usd", mode: Mode = Mode.LIVE) -> Run:
    of = booking_id, "cmp_1", "Ad", "left-1", "Left", first, last
    return Run(*of, currency=currency, net_cents=net_cents, mode=mode)


@given(
    first=st.integers(0, 20), length=st.integers(1, 400), net=st.integers(0, 10**9), cuts=st.sets(st.integers(0, 450))
)
def test_the_costs_of_adjoining_days_add_up_to_what_was_paid(first: int, length: int, net: int, cuts: set[int]) -> None:
    bought = run("b", first, first + length - 1, net)
    edges = sorted({0, 500, *cuts})
    parts = [Days(since, until - 1) for since, until in pairwise(edges)]
    assert sum(bought.cost_cents(each, today=500) for each in parts) == net


def test_a_report_costs_the_days_up_to_today_and_each_currency_has_its_own() -> None:
    runs = [run("a", 10, 16, 700), run("b", 12, 12, 50), run("c", 10, 16, 70, "eur"), run("d", 30, 36, 9_000)]
    counted = [DayCounted("a", 11, 1_000, 4), DayCounted("c", 17, 5, 0)]
    for days, today, costs in (
        (Days(10, 20), 40, [Cost("eur", 70, 5, 0), Cost("usd", 750, 1_000, 4)]),
        (Days(10, 20), 11, [Cost("eur", 20, 5, 0), Cost("usd", 200, 1_000, 4)]),
        (Days(0, 9), 40, []),
    ):
        within = [each for each in counted if each.day in days]
        found, _ = counted_runs(runs, within, days, today)
        assert costs_of(runs, found, days, today) == costs


def test_payments_in_test_mode_count_only_where_there_are_no_live_ones() -> None:
    tried = run("t", 10, 16, 700, mode=Mode.TEST)
    live, within = run("l", 17, 23, 70, "eur"), Days(10, 23)
    counted = [DayCounted("t", 11, 1_000, 4), DayCounted("l", 18, 5, 1)]
    for runs, days, costs in (
        ([tried, live], within, [Cost("eur", 70, 5, 1)]),
        ([tried], within, [Cost("usd", 700, 1_000, 4)]),
        ([tried, live], Days(10, 16), [Cost("usd", 700, 1_000, 4)]),
    ):
        found, _ = counted_runs(runs, [each for each in counted if each.day in days], days, 40)
        assert costs_of(runs, found, days, 40) == costs
    money = [
        MoneyOf("usd", 9, 1, 5, Mode.TEST),
        MoneyOf("eur", 7, 0, 6, Mode.LIVE),
        MoneyOf("eur", 8, 0, None, Mode.LIVE),
    ]
    totals = totals_of(money, 1, 1)
    assert (totals.bookings, totals.since_ms, list(totals.spent), totals.spent["eur"].paid_cents) == (3, 5, ["eur"], 7)
    assert list(totals_of(money[::2], 1, 1).spent) == ["usd"]
