"""The contract of counting by website, over Postgres, over sharded tables, and in memory."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest

from actors.bookings.records import BookingStatus
from actors.events.messages import Kind, Row, SiteDelivered
from actors.events.sightings import LIFE_MS, MAX_SIGHTINGS, STAYS_MS, Sighting, newer
from actors.events.sites import MAX_SITES, SiteStore
from actors.values import Contended
from service.seed.demo import demo_data
from storage.connection.pool import open_database
from storage.connection.target import Target
from storage.postgres.demo import PostgresDemo
from storage.postgres.sites import PostgresSites
from tests.doubles.demo import MemoryDemo
from tests.doubles.sites import MemorySites
from tests.doubles.tables import Memory
from tests.fakes import together
from tests.memory_sums import SiteTable, sums_by_site
from tests.stores.books import NOW, Books, booking, campaign, slot, sponsor, week
from tests.stores.conftest import Stores, beside
from tests.stores.tallies import Tally, keys_of, row
from tests.stores.test_demo_and_events import replace

DAY = 20_000
SITES = """select booking_id, day, site, sum(impressions)::int as i, sum(clicks)::int as c from site_deliveries
group by booking_id, day, site"""
HOSTS = ("a.example.com", "b.example.com")


@pytest.fixture
def stores(event_stores: Stores) -> Stores:
    return event_stores


@pytest.fixture
def tally(stores: Stores) -> Tally:
    return Tally(stores)


@pytest.fixture
def sites(stores: Stores) -> SiteStore:
    return sites_of(stores)


def sites_of(stores: Stores) -> SiteStore:
    return beside(stores, MemorySites, PostgresSites)


def at(number: int, site: int, booking_id: int = 1, kind: Kind = Kind.IMPRESSION) -> Row:
    return row(number, booking_id, kind)._replace(site=site)


async def by_site(stores: Stores) -> SiteTable:
    """Impressions and clicks by booking, day and website."""
    below = stores.below
    if isinstance(below, Memory):
        return sums_by_site(below)
    found = await below.read(lambda c: c.fetch(SITES))
    return {(each["booking_id"], each["day"], each["site"]): (each["i"], each["c"]) for each in found}


async def sums_match(tally: Tally) -> bool:
    """Whether the websites of each booking and day add up to its counts."""
    sums: dict[tuple[str, int], Counter[str]] = {}
    for (booking_id, day, _), (impressions, clicks) in (await by_site(tally.stores)).items():
        sums.setdefault((booking_id, day), Counter()).update(impressions=impressions, clicks=clicks)
    return {place: (each["impressions"], each["clicks"]) for place, each in sums.items()} == await tally.counts()


async def test_a_batch_is_counted_by_website_with_its_keys(tally: Tally, sites: SiteStore) -> None:
    await sites.admit(HOSTS, MAX_SITES)
    numbers = await sites.sites()
    one, two = numbers[HOSTS[0]], numbers[HOSTS[1]]
    some = [at(1, one), at(2, one), at(3, two), at(4, 0), at(5, two, kind=Kind.CLICK), at(6, two, 2)]
    assert set(await tally.record(DAY, sorted(some))) == keys_of(some)
    assert await by_site(tally.stores) == {
        ("bok_1", DAY, "a.example.com"): (2, 0),
        ("bok_1", DAY, "b.example.com"): (1, 1),
        ("bok_1", DAY, "other"): (1, 0),
        ("bok_2", DAY, "b.example.com"): (1, 0),
    }
    assert await sums_match(tally)


async def test_duplicates_count_for_no_website_whoever_sends_them(tally: Tally, sites: SiteStore) -> None:
    await sites.admit(HOSTS, MAX_SITES)
    one, two = (await sites.sites()).values()
    await tally.record(DAY, sorted([at(1, one), at(2, one)]))
    # Some keys are known, so the store takes its careful way, and stays on it for a while.
    await tally.record(DAY, sorted([at(1, two), at(2, two), at(3, two)]))
    await tally.record(DAY, sorted([at(3, one), at(4, one, kind=Kind.CLICK)]))
    await tally.record(DAY, sorted([at(1, two), at(2, two)]))
    assert await by_site(tally.stores) == {
        ("bok_1", DAY, "a.example.com"): (2, 1),
        ("bok_1", DAY, "b.example.com"): (1, 0),
    }
    assert await sums_match(tally)


async def test_a_batch_that_is_tried_again_counts_once_by_website(tally: Tally) -> None:
    for some in ([at(1, 0), at(2, 0)], [at(2, 0), at(3, 0)]):
        batch_id = tally.next_batch_id()
        first = await tally.record(DAY, some, batch_id)
        assert set(await tally.record(DAY, some, batch_id)) == set(first)
    assert await by_site(tally.stores) == {("bok_1", DAY, "other"): (3, 0)}
    assert await sums_match(tally)


async def test_without_websites_nothing_is_counted_by_website(tally: Tally) -> None:
    await tally.record(DAY, [row(1)])
    assert await by_site(tally.stores) == {}


async def test_two_owners_at_once_add_up(stores: Stores) -> None:
    tallies = [Tally(stores, owner=f"{name}/events") for name in ("one", "two", "three")]
    batches = [sorted(at(number, number % 3) for number in range(start, start + 40)) for start in (0, 20, 40)]
    await together(*(partial(each.record, DAY, some) for each, some in zip(tallies, batches, strict=True)))
    assert await tallies[0].counts() == {("bok_1", DAY): (80, 0)}
    assert await sums_match(tallies[0])


# Places.


async def test_websites_get_numbers_until_all_places_are_taken_and_keep_them(sites: SiteStore) -> None:
    assert await sites.admit(["a.example.com", "b.example.com"], 3)
    before = dict(await sites.sites())
    assert not await sites.admit(["b.example.com", "c.example.com", "d.example.com"], 3)
    assert not await sites.admit(["e.example.com"], 3)
    after = await sites.sites()
    assert sorted(after) == ["a.example.com", "b.example.com", "c.example.com"]
    assert {host: after[host] for host in before} == before
    assert len(set(after.values())) == 3
    assert 0 not in after.values()


async def test_named_websites_take_no_place_from_others(sites: SiteStore) -> None:
    await sites.admit(["a.example.com", "b.example.com"], 2)
    for _ in range(2):
        await sites.name(["a.example.com", "n.example.com", "m.example.com"])
    assert await sites.admit(["c.example.com"], 3)
    assert not await sites.admit(["d.example.com", "e.example.com"], 3)
    assert len(await sites.sites()) == 6


async def test_what_websites_have_delivered_is_told_by_booking_and_for_days_without_samples(
    stores: Stores, tally: Tally, sites: SiteStore
) -> None:
    books = Books(stores)
    await books.tenants(1)
    await books.lay_out(
        sponsor(),
        campaign(),
        slot(),
        booking(1, status=BookingStatus.PAID),
        booking(2, demo=True, week_start_ms=week(2)),
    )
    await sites.admit(HOSTS, MAX_SITES)
    one, two = (await sites.sites()).values()
    await tally.record(DAY, sorted([at(1, one), at(2, two), at(3, two), at(4, 0, 2)]))
    await tally.record(DAY + 1, sorted([at(1, one, kind=Kind.CLICK), at(5, two)]))
    await tally.record(DAY + 9, [at(9, two)])

    def told(*rows: tuple[str, int, int]) -> Sequence[SiteDelivered]:
        return [SiteDelivered(*each) for each in rows]

    assert await sites.of_booking("bok_1") == told(("b.example.com", 4, 0), ("a.example.com", 1, 1))
    assert await sites.of_booking("bok_2") == told(("other", 1, 0))
    assert await sites.of_booking("bok_3") == []
    assert await sites.between(DAY, DAY + 1) == told(("b.example.com", 3, 0), ("a.example.com", 1, 1))
    assert await sites.between(DAY + 2, DAY + 8) == []


async def test_the_counts_of_a_demo_go_with_it(stores: Stores, tally: Tally) -> None:
    below = stores.below
    demo = MemoryDemo(below) if isinstance(below, Memory) else PostgresDemo(below)
    await replace(demo, demo_data(NOW), 1)
    shown = min(each.id for each in demo_data(NOW).bookings)
    await tally.record(DAY, [at(1, 0)._replace(booking_id=shown)])
    assert len(await by_site(stores)) == 1
    await replace(demo, None, 2)
    assert await by_site(stores) == {}


async def test_many_nodes_at_once_give_no_more_places_than_there_are(database_target: Target) -> None:
    async with open_database(database_target) as database:
        stores = [PostgresSites(database), PostgresSites(database)]

        async def admit(number: int) -> None:
            for _ in range(20):
                try:
                    await stores[number % 2].admit([f"s{number}-{n}.example.com" for n in range(20)], MAX_SITES)
                    return
                except Contended:
                    pass
            raise AssertionError("always contended")

        await together(*(partial(admit, number) for number in range(20)))
        assert len(await stores[0].sites()) == MAX_SITES


OUTCOMES = ("recorded", "duplicate", "inactive")


async def test_the_sighting_to_show_is_kept_whatever_the_order(sites: SiteStore) -> None:
    seen = [
        Sighting("a.example", Kind.CLICK, outcome, at_ms)
        for outcome in OUTCOMES
        for at_ms in (1, STAYS_MS, STAYS_MS + 1, 3 * STAYS_MS)
    ]
    for before in seen:
        for after in seen:
            if before.seen_ms != after.seen_ms:
                host = f"{before.outcome}-{before.seen_ms}-{after.outcome}-{after.seen_ms}.example"
                pair = [dataclasses.replace(each, host=host) for each in (before, after)]
                for each in pair:
                    await sites.sight([each], 4 * STAYS_MS)
                assert await sites.sighting(host, 4 * STAYS_MS) == newer(*pair)


async def test_websites_are_forgotten_after_a_day_and_beyond_the_most(sites: SiteStore) -> None:
    many = [
        Sighting(f"{number:05}.example", Kind.IMPRESSION, "crawler", number) for number in range(1, MAX_SIGHTINGS + 3)
    ]
    await sites.sight(many, 1)
    assert await sites.sighting("00002.example", 1) is None
    assert await sites.sighting("00003.example", 1) == many[2]
    later = LIFE_MS + 10
    assert await sites.sighting("00010.example", later) is None
    await sites.sight([Sighting("new.example", Kind.IMPRESSION, "recorded", later)], later)
    assert await sites.sighting("00010.example", 1) is None
    assert await sites.sighting("00011.example", 1) == many[10]
