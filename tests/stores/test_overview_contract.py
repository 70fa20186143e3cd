"""What a sponsor's overview and the revenue are made of, over both stores: however many bookings there are, few are read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actors.bookings.records import Booking, BookingStatus, BookingView, Mode
from actors.bookings.reports import BookingTotals, CurrencySpent, Days, counted_runs, days_of
from actors.bookings.store import BookingFilter, MonthRevenue, SponsorshipStore
from actors.times import DAY_MS, WEEK_MS
from actors.values import Account
from storage.connection.pool import Database
from tests.stores.books import NOW, Books, a_world, booking, week
from tests.stores.conftest import Stores

PAID: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW, "paid_cents": 5_000}


@pytest.fixture
async def books(stores: Stores) -> Books:
    made = Books(stores)
    await a_world(made)
    return made


@pytest.fixture
def reads(stores: Stores) -> SponsorshipStore:
    return stores.sponsorship


def ids(views: Iterable[BookingView]) -> list[str]:
    return [view.booking.id for view in views]


LIVES: Sequence[tuple[Booking, str]] = (
    (booking(1, week_start_ms=week(-1), weeks=3, **PAID), "present"),
    (booking(2, week_start_ms=week(0), **PAID), "present"),
    (booking(3, week_start_ms=week(-52), weeks=52, **PAID), "past"),
    (booking(4, week_start_ms=week(-51), weeks=52, **PAID), "present"),
    (booking(5, week_start_ms=week(1), hold_ms=NOW + 1), "present"),
    (booking(6, week_start_ms=week(1), hold_ms=NOW), ""),
    (booking(7, week_start_ms=week(5), **PAID | {"status": BookingStatus.REFUNDED}), "past"),
    (booking(8, week_start_ms=week(-3), **PAID), "past"),
    (booking(9, week_start_ms=week(6), status=BookingStatus.CANCELLED), ""),
    (booking(10, 2, week_start_ms=week(0), **PAID), ""),
)
"""Bookings, and which list of the first sponsor has them."""


async def test_present_bookings_come_first_week_first_and_past_ones_last_week_first(
    books: Books, reads: SponsorshipStore
) -> None:
    await books.lay_out(*(row for row, _ in LIVES), weeks=False)
    rows = sorted((row for row, listed in LIVES if listed == "present"), key=lambda row: row.week_start_ms)
    assert ids(await reads.present_bookings("ten_1", NOW, 10)) == [row.id for row in rows]
    assert ids(await reads.present_bookings("ten_1", NOW, 2)) == [row.id for row in rows[:2]]
    rows = sorted((row for row, listed in LIVES if listed == "past"), key=lambda row: -row.week_start_ms)
    assert ids(await reads.past_bookings("ten_1", NOW, 10)) == [row.id for row in rows]
    assert ids(await reads.past_bookings("ten_1", NOW, 1)) == [rows[0].id]


async def test_totals_are_over_the_newest_bookings(books: Books, reads: SponsorshipStore) -> None:
    rows = [
        booking(1, **PAID | {"paid_ms": NOW - 9}, created_ms=NOW - 3),
        booking(2, **PAID | {"paid_ms": NOW + 5}, created_ms=NOW - 2, refunded_cents=700),
        booking(3, **PAID, created_ms=NOW - 1, currency="eur"),
        booking(4, created_ms=NOW),
        booking(5, 2, **PAID, created_ms=NOW),
    ]
    await books.lay_out(*rows, weeks=False)
    for row in rows:
        await books.deliver(row.id, 20_000, 100, 3)
    spent = {"eur": CurrencySpent(5_000, 0, 0), "usd": CurrencySpent(10_000, 700, 1)}
    assert await reads.totals("ten_1", 10) == BookingTotals(4, NOW - 9, 400, 12, spent)
    assert await reads.totals("ten_1", 1) == BookingTotals(1, None, 100, 3, {})
    assert await reads.totals("ten_3", 10) == BookingTotals(0, None, 0, 0, {})
    assert [await reads.count_bookings("ten_1", most) for most in (10, 4, 2)] == [4, 4, 2]
    live = booking(6, **PAID, created_ms=NOW + 1, mode=Mode.LIVE)
    await books.lay_out(live, weeks=False)
    assert (await reads.totals("ten_1", 10)).spent == {"usd": CurrencySpent(5_000, 0, 0)}, "test payments do not count"


async def test_the_figures_of_a_report_are_the_sums_of_its_rows(books: Books, reads: SponsorshipStore) -> None:
    # As bought on a Monday, or in the middle of the first week.
    rows = [replace(row, created_ms=row.week_start_ms - index % 2 * WEEK_MS) for index, (row, _) in enumerate(LIVES)]
    rows += [booking(11, week_start_ms=week(0), **PAID, created_ms=week(0) + 3 * DAY_MS + 1)]
    rows[-1] = replace(rows[-1], paid_cents=700, refunded_cents=200, paid_currency="eur", mode=Mode.LIVE)
    await books.lay_out(*rows, weeks=False)
    first = week(0) // DAY_MS
    for number, row in enumerate(rows):
        for day in (row.week_end_ms // DAY_MS, first + number % 7, first + 9):
            await books.deliver(row.id, day, 10 + number, number)
    whole = Days(first - 400, first + 400)
    for days, today in ((Days(first, first + 6), first + 3), (whole, first + 400), (Days(first + 7, first + 9), first)):
        found = await reads.deliveries("ten_1", days, None, 100)
        by_booking = {each.booking.id: list(days_of(each, today * DAY_MS, days)) for each in found}
        runs = await reads.runs("ten_1", days, 100)
        assert [run.booking_id for run in runs] == list(by_booking)
        money = [(each.booking.money_currency, each.booking.left_cents, each.booking.mode) for each in found]
        assert [(run.currency, run.net_cents, run.mode) for run in runs] == money
        sums, by_day = counted_runs(runs, await reads.counted(list(by_booking), days), days, today)
        assert {run.booking_id: run[5:9] for run in sums} == {
            name: (
                shown[0].day,
                shown[-1].day,
                sum(each.impressions for each in shown),
                sum(each.clicks for each in shown),
            )
            for name, shown in by_booking.items()
            if shown
        }
        assert {each.day for each in by_day} == {each.day for shown in by_booking.values() for each in shown}
        assert sum(each.impressions for each in by_day) == sum(run.impressions for run in sums)
    assert len(await reads.runs("ten_1", whole, 3)) == 3


async def test_a_week_is_covered_by_bookings_of_up_to_a_year(books: Books, reads: SponsorshipStore) -> None:
    await books.lay_out(*(row for row, _ in LIVES), weeks=False)
    for start in (0, -1, 1, -52, 60):
        covering = {row.id for row, _ in LIVES if row.week_start_ms <= week(start) < row.week_end_ms}
        found = await reads.filtered_bookings(BookingFilter(week_ms=week(start)), NOW, None, 20)
        assert set(ids(found)) == covering, start


async def test_the_revenue_follows_each_change_of_a_booking(books: Books, reads: SponsorshipStore) -> None:
    """Also one that deletes it, or moves its payment to another month."""
    january, february, march = (int(datetime(2026, month, 1, tzinfo=UTC).timestamp()) * 1_000 for month in (1, 2, 3))

    async def sums() -> list[tuple[str, int, int, int]]:
        rows: Sequence[MonthRevenue] = await reads.revenue(january, march)
        return [(row.month, row.payments, row.paid_cents, row.refunded_cents) for row in rows]

    open_, paid = booking(1), booking(1, **PAID | {"paid_ms": january})
    for row, expected in (
        (open_, []),
        (paid, [("2026-01", 1, 5_000, 0)]),
        (replace(paid, refunded_cents=200), [("2026-01", 1, 5_000, 200)]),
        (replace(paid, refunded_cents=9_000, excess_cents=4_000), [("2026-01", 1, 5_000, 9_000)]),
        (replace(paid, paid_ms=february, paid_cents=None), [("2026-02", 1, 5_000, 0)]),
    ):
        await books.lay_out(row, weeks=False)
        assert await sums() == expected, row


async def test_an_export_of_counts_goes_on_over_many_bookings(books: Books, stores: Stores) -> None:
    """Few bookings of many have counts, and a page may end between two days of one."""
    rows = [booking(number, **PAID) for number in range(450)]
    await books.lay_out(*rows, weeks=False)
    counted = sorted(f"bok_{number}" for number in (3, 44, 310, 311, 449))
    for booking_id in counted:
        for day in (20_000, 20_001, 20_002):
            await books.deliver(booking_id, day, 5, 1)
    await books.deliver("bok_of_another", 20_000, 5, 1)
    places, after = [], ""
    while page := await stores.accounts.export(Account("person1@example.com", "ten_1", NOW), "delivery_days", after, 2):
        places += [each.place for each in page]
        after = places[-1]
    assert places == [f"{booking_id} {day:010}" for booking_id in counted for day in (20_000, 20_001, 20_002)]


async def test_a_deleted_booking_leaves_the_revenue(database: Database) -> None:
    january = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000
    made = f"""
    insert into tenants (id, tier) values ('ten_1', 'claimed');
    insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon)
    values ('left', 'Left', 'left', 1, 1, true, 1, false);
    insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms)
    values ('cmp_1', 'ten_1', '', '', '', '', '', '', 'draft', 1);
    insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency,
        status, mode, created_ms, hold_ms, refunded_cents, paid_ms, paid_cents)
    select 'bok_' || n, 'ten_1', 'cmp_1', 'left', 'Left', n, 1, 10, 'usd', 'paid', 'test', 1, n, 0, {january}, 10
    from generate_series(1, 3) as n
    """
    await database.transact(lambda connection: connection.execute(made))
    sums = "select payments, paid_cents from revenue_months"
    assert [tuple(row.values()) for row in await database.fetch(sums)] == [(3, 30)]
    await database.transact(lambda connection: connection.execute("delete from bookings where id = 'bok_2'"))
    assert [tuple(row.values()) for row in await database.fetch(sums)] == [(2, 20)]
