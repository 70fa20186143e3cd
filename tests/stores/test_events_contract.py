"""The contract of the event store, over Postgres, over sharded tables, and in memory."""

from functools import partial
from typing import Any

import pytest

from actors.bookings.records import OPEN, BookingStatus, CampaignStatus, Side
from actors.events.messages import NEVER, FilteredRow, Kind, Window
from actors.events.store import EventStore
from actors.times import DAY_MS, WEEK_MS
from actors.values import BatchId, Filtered
from tests.fakes import together
from tests.stores.books import NOW, Books, booking, campaign, slot, sponsor, week
from tests.stores.conftest import Stores
from tests.stores.tallies import Tally, counted, keys_of, row, rows

DAY = 20_000


@pytest.fixture
def stores(event_stores: Stores) -> Stores:
    return event_stores


@pytest.fixture
def tally(stores: Stores) -> Tally:
    return Tally(stores)


@pytest.fixture
def store(stores: Stores) -> EventStore:
    return stores.events


# Recording.


async def test_new_keys_are_added_and_told(tally: Tally) -> None:
    some = rows(range(9))
    assert set(await tally.record(DAY, some)) == keys_of(some)
    assert await tally.keys() == {DAY: {each.key: ("bok_1", Kind.IMPRESSION) for each in some}}
    assert await tally.counts() == {("bok_1", DAY): (9, 0)}


async def test_a_key_that_is_there_is_not_added(tally: Tally) -> None:
    await tally.record(DAY, rows(range(5)))
    assert set(await tally.record(DAY, rows(range(3, 8)))) == keys_of(rows(range(5, 8)))
    assert list(await tally.record(DAY, rows(range(8)))) == []
    assert await tally.counts() == {("bok_1", DAY): (8, 0)}


async def test_a_key_counts_on_each_day_by_itself(tally: Tally) -> None:
    for day in (DAY, DAY + 1):
        assert set(await tally.record(day, rows([1]))) == keys_of(rows([1]))
    assert await tally.counts() == {("bok_1", DAY): (1, 0), ("bok_1", DAY + 1): (1, 0)}


async def test_a_batch_of_many_bookings_and_kinds_is_counted_by_booking_and_kind(tally: Tally) -> None:
    some = sorted(rows(range(3), 1) + rows(range(2), 2, Kind.CLICK) + rows(range(4), 1, Kind.CLICK) + rows([1], 10))
    await tally.record(DAY, some)
    assert await tally.counts() == {("bok_1", DAY): (3, 4), ("bok_2", DAY): (0, 2), ("bok_10", DAY): (1, 0)}
    await tally.record(DAY, sorted([row(0, 2), row(1, 2, Kind.CLICK), row(7, 2, Kind.CLICK)]))
    assert (await tally.counts())["bok_2", DAY] == (1, 3)


async def test_an_empty_batch_adds_nothing(tally: Tally) -> None:
    assert list(await tally.record(DAY, [])) == []
    assert await tally.counts() == {}


async def test_a_batch_of_two_thousand(tally: Tally) -> None:
    some = sorted(each for booking in range(20) for each in rows(range(100), booking))
    assert set(await tally.record(DAY, some)) == keys_of(some)
    assert list(await tally.record(DAY, some)) == []
    assert await tally.counts() == {(f"bok_{booking}", DAY): (100, 0) for booking in range(20)}


async def test_a_committed_batch_is_not_written_again_and_returns_what_it_added(tally: Tally) -> None:
    await tally.record(DAY, rows([1]))
    batch_id = tally.next_batch_id()
    for _ in range(3):
        assert set(await tally.record(DAY, rows([1, 2, 3]), batch_id)) == keys_of(rows([2, 3]))
    assert await tally.counts() == {("bok_1", DAY): (3, 0)}


async def test_another_attempt_of_a_committed_batch_that_lacks_a_row_returns_what_the_first_one_added(
    tally: Tally,
) -> None:
    """Between two attempts a deduper may learn that another batch has offered a key, too."""
    await tally.record(DAY, rows([1]))
    batch_id = tally.next_batch_id()
    await tally.record(DAY, rows([1, 2, 3, 4]), batch_id)
    assert set(await tally.record(DAY, rows([3, 4]), batch_id)) == keys_of(rows([2, 3, 4]))
    assert await tally.counts() == {("bok_1", DAY): (4, 0)}


async def test_each_owner_has_batch_ids_of_its_own(tally: Tally, stores: Stores) -> None:
    other = Tally(stores, "other/events")
    await tally.record(DAY, rows([1]))
    assert set(await other.record(DAY, rows([1, 2]))) == keys_of(rows([2]))


async def test_a_batch_that_arrives_after_a_later_one_is_not_written(stores: Stores, tally: Tally) -> None:
    """An abandoned attempt may reach the database after later batches."""
    [early] = rows([1])
    other = early._replace(key=early.key[:1] + bytes(15))
    late = tally.abandoned([other])
    await tally.record(DAY, [early], BatchId(tally.owner, 7))
    await stores.events.record(late, DAY, [other])
    assert counted(await tally.keys()) == await tally.counts() == {("bok_1", DAY): (1, 0)}


async def test_recorded_events_show_in_the_booking_at_once(stores: Stores, tally: Tally) -> None:
    books = Books(stores)
    await books.tenants(1)
    await books.lay_out(sponsor(1), campaign(1), slot(), booking(1, status=BookingStatus.PAID), booking(2), weeks=False)
    await tally.record(DAY, sorted(rows(range(4), 1) + rows(range(2), 1, Kind.CLICK) + rows([1], 2)))
    await tally.record(DAY + 1, rows(range(3), 1))
    shown = {
        view.booking.id: (view.impressions, view.clicks) for view in await stores.sponsorship.bookings(None, None, 9)
    }
    assert shown == {"bok_1": (7, 2), "bok_2": (1, 0)}
    one = await stores.sponsorship.booking("ten_1", "bok_1")
    assert one is not None
    assert (one.impressions, one.clicks) == (7, 2)


# Partitions.


async def test_a_day_without_a_partition_gets_one_with_its_first_event(tally: Tally) -> None:
    assert await tally.days() == []
    await tally.record(DAY + 3, rows([1]))
    assert await tally.days() == [DAY + 3]


async def test_partitions_are_made_ahead_and_making_them_again_changes_nothing(store: EventStore, tally: Tally) -> None:
    await tally.record(DAY + 1, rows([1]))
    for _ in range(2):
        await store.prepare(range(DAY, DAY + 4))
        assert await tally.days() == [DAY, DAY + 1, DAY + 2, DAY + 3]
    await store.prepare([DAY + 9, DAY + 2, DAY + 9])
    await store.prepare([])
    assert await tally.days() == [DAY, DAY + 1, DAY + 2, DAY + 3, DAY + 9]
    assert list(await tally.record(DAY + 1, rows([1]))) == []


async def test_old_days_are_dropped_the_oldest_first_and_their_counts_stay(store: EventStore, tally: Tally) -> None:
    for day in (DAY + 2, DAY, DAY + 1):
        await tally.record(day, rows([day]))
    assert list(await store.drop_before(DAY)) == []
    assert list(await store.drop_before(DAY + 2)) == [DAY, DAY + 1]
    assert list(await store.drop_before(DAY + 2)) == []
    assert await tally.days() == [DAY + 2]
    assert await tally.counts() == {("bok_1", day): (1, 0) for day in (DAY, DAY + 1, DAY + 2)}
    assert list(await tally.record(DAY + 2, rows([DAY + 2]))) == []


async def test_a_day_that_was_dropped_gets_a_new_partition_and_counts_on(store: EventStore, tally: Tally) -> None:
    await tally.record(DAY, rows([1, 2]))
    await store.drop_before(DAY + 1)
    assert await tally.days() == []
    assert set(await tally.record(DAY, rows([2, 3]))) == keys_of(rows([2, 3]))
    assert await tally.days() == [DAY]
    assert await tally.counts() == {("bok_1", DAY): (4, 0)}
    await store.drop_before(DAY + 1)
    await store.prepare([DAY])
    assert await tally.days() == [DAY]


async def test_a_committed_batch_is_not_written_again_after_its_day_was_dropped(
    store: EventStore, tally: Tally
) -> None:
    batch_id = tally.next_batch_id()
    await tally.record(DAY, rows([1]), batch_id)
    await store.drop_before(DAY + 1)
    assert set(await tally.record(DAY, rows([1]), batch_id)) == keys_of(rows([1]))
    assert await tally.counts() == {("bok_1", DAY): (1, 0)}


async def test_days_may_be_made_and_dropped_by_many_at_once(stores: Stores, store: EventStore, tally: Tally) -> None:
    nodes = [Tally(stores, f"{number}/events") for number in range(4)]
    for made in range(1, 4):
        makers = [partial(store.prepare, range(DAY, DAY + 8))] * 4
        results = await together(*makers, *(partial(node.record, DAY + 7, rows([1])) for node in nodes))
        assert sorted(map(len, results[4:])) == [0, 0, 0, 1]
        assert await tally.days() == list(range(DAY, DAY + 8))
        dropped = await together(*[partial(store.drop_before, DAY + 8)] * 4)
        assert sorted(day for days in dropped for day in days) == list(range(DAY, DAY + 8)), "each once, by either node"
        assert await tally.days() == []
        assert await tally.counts() == {("bok_1", DAY + 7): (made, 0)}


# Windows.


async def a_world(books: Books) -> None:
    await books.tenants(1)
    await books.lay_out(sponsor(1), campaign(1), slot("left-1"), slot("right-1", side=Side.RIGHT))


async def test_only_a_paid_booking_has_a_window(stores: Stores, store: EventStore) -> None:
    books, statuses = Books(stores), dict(enumerate(BookingStatus, 1))
    await a_world(books)
    await books.lay_out(
        *(booking(number, status=each, week_start_ms=week(number)) for number, each in statuses.items())
    )
    [paid] = [number for number, each in statuses.items() if each is BookingStatus.PAID]
    await _gives_a_window(stores, store, list(statuses), paid)


async def test_only_an_approved_campaign_gives_a_window(stores: Stores, store: EventStore) -> None:
    books, statuses = Books(stores), dict(enumerate(CampaignStatus, 1))
    await a_world(books)
    for number, status in statuses.items():
        shown = booking(number, status=BookingStatus.PAID, campaign_id=f"cmp_{number}", week_start_ms=week(number))
        await books.lay_out(campaign(number, status=status), shown)
    [approved] = [number for number, each in statuses.items() if each is CampaignStatus.APPROVED]
    await _gives_a_window(stores, store, list(statuses), approved)


async def _gives_a_window(stores: Stores, store: EventStore, bookings: list[int], number: int) -> None:
    """Of these bookings, the one with this number has a window and is a placement, and no other."""
    windows = dict.fromkeys((f"bok_{each}" for each in bookings), NEVER)
    windows[f"bok_{number}"] = Window(week(number), week(number + 1))
    assert await store.windows(list(windows)) == windows
    placements = (await stores.sponsorship.overview(week(0))).placements
    assert [each.booking_id for each in placements] == [f"bok_{number}"]


async def test_a_booking_that_lost_its_weeks_has_no_window(stores: Stores, store: EventStore) -> None:
    books = Books(stores)
    await a_world(books)
    paid = booking(1, status=BookingStatus.PAID, weeks=2)
    await books.lay_out(paid, weeks=False)
    await books.lay_out(booking(2, status=OPEN[0], week_start_ms=week(9)))
    assert await store.windows(["bok_1"]) == {"bok_1": NEVER}


async def test_a_window_is_as_long_as_the_booking_also_in_the_past_and_for_a_demo(
    stores: Stores, store: EventStore
) -> None:
    books = Books(stores)
    await a_world(books)
    long = booking(1, status=BookingStatus.PAID, slot_id="right-1", weeks=3, week_start_ms=week(-9), demo=True)
    await books.lay_out(long)
    assert await store.windows(["bok_1"]) == {"bok_1": Window(week(-9), week(-9) + 3 * WEEK_MS)}


async def test_bookings_that_nobody_made_are_left_out(stores: Stores, store: EventStore) -> None:
    books = Books(stores)
    await a_world(books)
    await books.lay_out(
        booking(2, status=BookingStatus.PAID), booking(1, status=BookingStatus.PAID, week_start_ms=week(4))
    )
    assert await store.windows(["unknown", "bok_2", "bok_1", "bok_2"]) == {
        "bok_1": Window(week(4), week(5)),
        "bok_2": Window(week(1), week(2)),
    }
    assert await store.windows(["unknown"]) == {}
    assert await store.windows([]) == {}


# What was filtered.


async def test_what_was_filtered_of_paid_bookings_adds_up_on_the_days_that_can_have_counts(stores: Stores) -> None:
    books, monday = Books(stores), week(1) // DAY_MS
    await a_world(books)
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW}
    await books.lay_out(
        booking(1, week_start_ms=week(1), weeks=2, **paid),
        booking(2, week_start_ms=week(3)),
        booking(3, week_start_ms=week(4), status=BookingStatus.REFUNDED, paid_ms=NOW),
        weeks=False,
    )
    days = [monday - 1, monday, monday + 14, monday + 15]
    some = Filtered(1, 2, 3, 4, 5_000_000_000)
    for _ in range(2):
        await books.filter(
            *(("bok_1", day, some) for day in days),
            ("bok_2", monday + 14, some),
            ("bok_3", monday + 21, some),
            ("bok_of_nobody", monday, some),
        )
    twice = some.plus(some)
    assert await _filtered(stores, 1) == {monday: twice, monday + 14: twice}
    assert (await _filtered(stores, 2), await _filtered(stores, 3)) == ({}, {monday + 21: twice})


async def test_a_batch_of_what_was_filtered_counts_once(stores: Stores) -> None:
    books, monday = Books(stores), week(1) // DAY_MS
    await a_world(books)
    await books.lay_out(booking(1, week_start_ms=week(1), status=BookingStatus.PAID, paid_ms=NOW))
    for seq, of in ((1, "one"), (1, "one"), (2, "one"), (1, "two"), (2, "one")):
        row = FilteredRow("bok_1", monday, Filtered(crawler=seq))
        await stores.events.add_filtered(BatchId(f"{of}/filtered", seq), [row])
    assert await _filtered(stores, 1) == {monday: Filtered(crawler=4)}


async def _filtered(stores: Stores, number: int) -> dict[int, Filtered]:
    """What was filtered of a booking by day."""
    days = await stores.sponsorship.delivered(f"bok_{number}")
    assert [(day.impressions, day.clicks) for day in days] == [(0, 0)] * len(days)
    return {day.day: day.filtered for day in days}
