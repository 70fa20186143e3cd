"""Events of demo bookings, next to the counts that a demo contains, and the effect of replacing the demo on both."""

import random
from functools import partial

import pytest
import trio

from actors.bookings.demo import DemoData
from actors.bookings.messages import Origin
from actors.bookings.store import DemoStore
from actors.clock import day_of
from actors.events.messages import FilteredRow, Kind, Row
from actors.values import NOT_FILTERED, Agent, Filtered
from service.seed.demo import demo_data
from storage.connection.pool import Database
from storage.postgres.demo import PostgresDemo
from tests.doubles.demo import MemoryDemo
from tests.fakes import kinds, together
from tests.stores.books import NOW
from tests.stores.conftest import Stores, beside, stores_over
from tests.stores.tallies import Counts, Tally, keys_of, row
from tests.stores.test_events_on_nodes import deadlocks, nodes
from tests.stores.test_ledger_on_two_nodes import while_held

TODAY = day_of(NOW)
DATA = demo_data(NOW)
SHOWN = sorted(booking.id for booking in DATA.bookings)


@pytest.fixture
def stores(event_stores: Stores) -> Stores:
    return event_stores


@pytest.fixture
def tally(stores: Stores) -> Tally:
    return Tally(stores)


@pytest.fixture
def demo(stores: Stores) -> DemoStore:
    return beside(stores, MemoryDemo, PostgresDemo)


async def replace(demo: DemoStore, data: DemoData | None, number: int) -> None:
    await demo.replace_demo(data, Origin(Agent("cli", "operator"), "", f"aud_{number}"), NOW)


def of(booking_id: str, number: int, kind: Kind = Kind.IMPRESSION) -> Row:
    return row(number, kind=kind)._replace(booking_id=booking_id)


def figures(data: DemoData = DATA) -> Counts:
    return {(each.booking_id, each.day): (each.impressions, each.clicks) for each in data.days}


async def test_events_add_to_the_figures_of_a_demo_and_go_with_them_when_it_is_replaced(
    demo: DemoStore, tally: Tally
) -> None:
    await replace(demo, DATA, 1)
    with_figures = next(each.booking_id for each in DATA.days if each.day == TODAY)
    without = next(booking_id for booking_id in SHOWN if (booking_id, TODAY) not in figures())
    some = sorted([of(with_figures, 1), of(with_figures, 2), of(without, 3), of(without, 4, Kind.CLICK)])
    await tally.record(TODAY, some)
    impressions, clicks = figures()[with_figures, TODAY]
    counts = await tally.counts()
    assert (counts[with_figures, TODAY], counts[without, TODAY]) == ((impressions + 2, clicks), (1, 1))
    await replace(demo, DATA, 2)
    assert await tally.counts() == figures()


async def test_what_was_filtered_of_a_demo_is_told_and_goes_with_it(
    demo: DemoStore, stores: Stores, tally: Tally
) -> None:
    await replace(demo, DATA, 1)
    some = [FilteredRow(each, TODAY, Filtered(duplicate=1)) for each in SHOWN]
    for number in (2, 3):
        await stores.events.add_filtered(tally.next_batch_id(), some)
        filtered = {each.filtered for shown in SHOWN for each in await stores.sponsorship.delivered(shown)}
        assert filtered == {NOT_FILTERED, Filtered(duplicate=1)}
        await replace(demo, DATA, number)
        left = {each.filtered for shown in SHOWN for each in await stores.sponsorship.delivered(shown)}
        assert left == {NOT_FILTERED}


async def test_a_visitor_counted_today_is_not_counted_again_after_the_demo_was_replaced(
    demo: DemoStore, tally: Tally
) -> None:
    """Nodes answer from the keys they remember, so keys must stay until their day is dropped."""
    await replace(demo, DATA, 1)
    some = sorted([of(SHOWN[0], 1), of(SHOWN[1], 2)])
    await tally.record(TODAY, some)
    await replace(demo, None, 2)
    assert (await tally.keys())[TODAY].keys() == keys_of(some)
    await replace(demo, DATA, 3)
    assert list(await tally.record(TODAY, some)) == []
    assert await tally.counts() == figures()


async def test_an_event_that_is_counted_after_its_demo_went_adds_nothing_to_the_next_demo(
    demo: DemoStore, tally: Tally
) -> None:
    """A node may not know yet that the booking is gone."""
    await replace(demo, DATA, 1)
    await replace(demo, None, 2)
    await tally.record(TODAY + 1, [of(SHOWN[0], 1)])
    assert await tally.counts() == {(SHOWN[0], TODAY + 1): (1, 0)}
    await replace(demo, DATA, 3)
    assert await tally.counts() == figures()


async def test_real_counts_stay_when_a_demo_is_replaced(demo: DemoStore, tally: Tally) -> None:
    await replace(demo, DATA, 1)
    await tally.record(TODAY, [row(1, 7)])
    await replace(demo, DATA, 2)
    await replace(demo, None, 3)
    assert await tally.counts() == {("bok_7", TODAY): (1, 0)}


async def test_events_that_are_counted_while_a_demo_is_replaced_neither_deadlock_nor_run_again(
    database: Database,
) -> None:
    tallies, demo = nodes(database, 3), PostgresDemo(database)
    await replace(demo, DATA, 0)
    await tallies[0].stores.events.prepare([TODAY])
    said = 0

    async def node(place: int) -> None:
        nonlocal said
        chance = random.Random(place)
        for _ in range(25):
            some = sorted({of(chance.choice(SHOWN), chance.randrange(10_000)) for _ in range(40)})
            added = await tallies[place].stores.events.record(tallies[place].next_batch_id(), TODAY, some)
            said += len(added)
            filtered = [FilteredRow(each, TODAY, Filtered(duplicate=1)) for each in SHOWN]
            await tallies[place].stores.events.add_filtered(tallies[place].next_batch_id(), filtered)

    async def seeder() -> None:
        for number in range(1, 6):
            await replace(demo, DATA, number)

    with trio.fail_after(60):
        results = await together(*(partial(node, place) for place in range(3)), seeder)
    assert results == [None] * 4
    assert database.statistics().contended == 0
    assert await deadlocks(database) == 0
    counts = await Tally(stores_over(database)).counts()
    assert counts.keys() >= figures().keys()
    assert sum(impressions for impressions, _ in counts.values()) <= said + sum(i for i, _ in figures().values())


async def test_counting_waits_for_a_replacement_before_it_has_counted_anything(database: Database) -> None:
    """Otherwise it could lock a row that the demo is about to write, and wait for one that the demo has deleted."""
    [tally], demo = nodes(database, 1), PostgresDemo(database)
    await replace(demo, DATA, 1)
    first, other = sorted(each.booking_id for each in DATA.days if each.day == TODAY)[:2]
    await tally.stores.events.prepare([TODAY])
    await database.read(lambda c: c.execute("select remove_event_counts($1)", [first]))
    # By then the replacement has deleted the old counts and not yet written the new ones.
    hold = "lock table campaigns in share row exclusive mode"
    some = [of(first, 1), of(other, 2)]
    results = await while_held(database, hold, partial(replace, demo, DATA, 2), partial(tally.record, TODAY, some))
    assert kinds(results) == [type(None), list]
    assert database.statistics().contended == 0
    counts = figures()
    for booking_id in (first, other):
        impressions, clicks = counts[booking_id, TODAY]
        counts[booking_id, TODAY] = (impressions + 1, clicks)
    assert await tally.counts() == counts
