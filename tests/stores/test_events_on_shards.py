"""Dedupers over a sharded store: each transaction touches one shard, and a failure of one shard affects no other."""

import asyncio
import random
from collections.abc import Sequence
from functools import partial

import pytest
import trio

from actors.actor import ActorLimits
from actors.clock import SystemClock, day_of
from actors.events.actor import EventDeduper
from actors.events.messages import Event, Kind
from actors.events.router import EventOutcome, EventRouter
from actors.events.state import EventRules, VisitorHasher
from actors.supervision import running
from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable
from storage.pool import Connection, Database, PoolLimits, Target, open_database
from storage.postgres.sharded import ShardedEvents
from tests.fakes import together
from tests.storage.proxy import Weather, proxied
from tests.stores.conftest import stores_over_shards
from tests.stores.sharded import distributed, sharded_events
from tests.stores.tallies import Tally, counted, keys_of, rows
from tests.stores.test_events_on_nodes import COUNTING, deadlocks

DAY = 20_000
SECONDS = 60.0
SECRET = b"a secret of the server, 32 bytes"


def a_desk(store: ShardedEvents, *, node: str = "one") -> EventRouter:
    """The dedupers of a node, one per shard, as the service makes them."""
    clock, seals, rules, limits = SystemClock(), VisitorHasher(SECRET), EventRules(), ActorLimits(batch=300)
    dedupers = [
        EventDeduper(store, clock, seals, rules, node=node, limits=limits, shard=shard, remember=50)
        for shard in range(len(store.shards))
    ]
    return EventRouter(dedupers, store.shards.place_of)


def seen(booking: int, visitor: int) -> Event:
    return Event(f"bok_{booking}", Kind.IMPRESSION, f"visitor {visitor}")


# One shard fails.


async def set_away(database: Database, shards: Sequence[int]) -> None:
    await database.read(lambda c: c.execute("truncate citus_stand_in.away"))
    await database.read(
        lambda c: c.executemany("insert into citus_stand_in.away values ($1)", [(each,) for each in shards])
    )


async def test_a_shard_that_is_away_refuses_its_own_callers_and_a_retry_counts_once(divided: Target) -> None:
    async with open_database(divided) as database:
        store = await sharded_events(database)
        desk = a_desk(store)
        events = [seen(booking, visitor) for booking in range(12) for visitor in range(3)]
        [away, *others] = sorted({store.shards.shard_of(event.booking_id).id for event in events})
        assert others
        said: dict[Event, EventOutcome | type[Exception]] = {}

        async def sender(event: Event) -> None:
            try:
                said[event] = await desk.record(event)
            except StorageUnavailable:
                said[event] = StorageUnavailable

        async with running(desk.dedupers):
            await set_away(database, [away])
            await together(*(partial(sender, event) for event in events))
            refused = {event for event in events if store.shards.shard_of(event.booking_id).id == away}
            assert said == {
                event: StorageUnavailable if event in refused else EventOutcome.RECORDED for event in events
            }
            with pytest.raises(StorageUnavailable, match="connection to the remote node"):
                await desk.record_all(events)
            await set_away(database, [])
            again = dict(zip(events, await desk.record_all(events), strict=True))
            assert again == {
                event: EventOutcome.RECORDED if event in refused else EventOutcome.DUPLICATE for event in events
            }
        tally = Tally(await stores_over_shards(database))
        assert sum(map(len, (await tally.keys()).values())) == len(events)
        assert await tally.counts() == counted(await tally.keys())


async def test_a_retried_batch_over_several_shards_writes_only_the_missing_parts(divided: Target) -> None:
    async with open_database(divided) as database:
        store = await sharded_events(database)
        tally = Tally(await stores_over_shards(database))
        some = sorted(each for booking in range(12) for each in rows(range(3), booking))
        places = sorted({store.shards.place_of(each.booking_id) for each in some})
        await set_away(database, [store.shards.shards[places[-1]].id])
        batch_id = tally.next_batch_id()
        with pytest.raises(StorageUnavailable):
            await store.record(batch_id, DAY, some)
        before = {key for keys in (await tally.keys()).values() for key in keys}
        assert before == keys_of(each for each in some if store.shards.place_of(each.booking_id) != places[-1])
        await set_away(database, [])
        for _ in range(2):
            assert set(await store.record(batch_id, DAY, some)) == keys_of(some)
        assert await tally.counts() == {(f"bok_{booking}", DAY): (3, 0) for booking in range(12)}


@pytest.mark.parametrize("weather", [Weather.CUT_BEFORE_COMMIT, Weather.CUT_AFTER_COMMIT])
async def test_a_batch_whose_connection_breaks_in_a_commit_is_settled_shard_by_shard(
    divided: Target, weather: Weather
) -> None:
    some = sorted(each for booking in range(6) for each in rows(range(3), booking))
    async with proxied(divided) as proxy, open_database(proxy.target) as database:
        tally = Tally(await stores_over_shards(database))
        store = tally.stores.events
        await store.prepare([DAY])
        batch_id = tally.next_batch_id()
        proxy.weather = weather
        with pytest.raises(OutcomeUnknown):
            await store.record(batch_id, DAY, some)
        proxy.weather = Weather.FAIR
        kept = sum(map(len, (await tally.keys()).values()))
        assert (0 < kept < len(some)) == (weather is Weather.CUT_AFTER_COMMIT), "the first shard's part, or none"
        for _ in range(2):
            assert set(await store.record(batch_id, DAY, some)) == keys_of(some)
        assert list(await store.record(tally.next_batch_id(), DAY, some)) == []
        assert await tally.counts() == {(f"bok_{booking}", DAY): (3, 0) for booking in range(6)}


async def test_a_worker_that_hangs_holds_up_its_own_events_and_no_others(database_target: Target) -> None:
    await distributed(database_target, 8)
    limits = PoolLimits(connections=8, wait_seconds=0.3, lock_seconds=SECONDS, statement_seconds=61, command_seconds=62)
    async with open_database(database_target, limits) as database:
        store = await sharded_events(database)
        today = day_of(SystemClock().now_ms())
        await store.prepare([today, today + 1])
        desk = a_desk(store)
        events = [seen(booking, visitor) for booking in range(40) for visitor in range(2)]
        hanging = store.shards.shards[0].worker
        stuck = [event for event in events if store.shards.shard_of(event.booking_id).worker == hanging]
        others = [event for event in events if event not in stuck]
        assert len({store.shards.place_of(event.booking_id) for event in stuck}) == 4
        done, held, stuck_now = asyncio.Event(), trio.Event(), trio.Event()

        async def hang(connection: Connection) -> None:
            for day in (today, today + 1):
                rows = [(event.booking_id, day) for event in stuck]
                await connection.executemany("insert into delivery_days values ($1, $2) on conflict do nothing", rows)
            held.set()
            while await connection.fetchval("select count(distinct pid) from pg_locks where not granted") < 2:
                pass
            stuck_now.set()
            await done.wait()
            raise Contended("undone")

        async with running(desk.dedupers), trio.open_nursery() as nursery:
            nursery.start_soon(together, partial(database.transact, hang))
            await held.wait()
            nursery.start_soon(together, *(partial(desk.record, event) for event in stuck))
            try:
                with trio.fail_after(SECONDS):
                    await stuck_now.wait()
                    assert await desk.record_all(others) == [EventOutcome.RECORDED] * len(others)
            finally:
                done.set()


# Many at once.


async def test_more_shards_than_connections_wait_for_one_another_and_none_is_refused(database_target: Target) -> None:
    await distributed(database_target, 32)
    narrow = PoolLimits(connections=4, waiters=2, wait_seconds=SECONDS)
    async with open_database(database_target, narrow) as database:
        store = await sharded_events(database)
        await store.prepare([day_of(SystemClock().now_ms())])
        desk = a_desk(store)
        events = [seen(booking, 1) for booking in range(200)]
        assert len({store.shards.place_of(event.booking_id) for event in events}) == 32
        async with running(desk.dedupers):
            assert await desk.record_all(events) == [EventOutcome.RECORDED] * len(events)
        assert database.statistics().refused == 0
        assert database.statistics().open <= 2, "events get only half of the pool"


async def test_events_that_find_no_transaction_free_are_refused_after_the_pools_time(divided: Target) -> None:
    async with open_database(divided, PoolLimits(connections=3, wait_seconds=0.1)) as database:
        store = await sharded_events(database)
        await store.prepare([DAY])
        held, refused = trio.Event(), asyncio.Event()

        async def hold(connection: Connection) -> None:
            await connection.execute(COUNTING)
            held.set()
            await refused.wait()

        async def record(owner: str) -> set[bytes]:
            await held.wait()
            try:
                return set(await store.record(BatchId(owner, 1), DAY, rows([1])))
            except StorageUnavailable:
                refused.set()
                raise

        with trio.fail_after(SECONDS):
            _, *results = await together(
                partial(database.transact, hold), partial(record, "one/events"), partial(record, "two/events")
            )
        [error] = [result for result in results if isinstance(result, StorageUnavailable)]
        assert str(error) == "no connection for events became free within 0.1 s"
        assert keys_of(rows([1])) in results


async def test_dedupers_of_three_nodes_say_true_once_and_meet_in_no_deadlock(divided: Target) -> None:
    """The stand-in for Citus fails any transaction that spans two shards."""
    async with open_database(divided) as database:
        desks = [a_desk(await sharded_events(database), node=str(number)) for number in range(3)]
        today = day_of(SystemClock().now_ms())
        fates: list[tuple[Event, EventOutcome]] = []

        async def visitor(place: int) -> None:
            chance = random.Random(place)
            for _ in range(5):
                some = [seen(chance.randrange(12), chance.randrange(150)) for _ in range(chance.choice([1, 1, 40]))]
                fates.extend(zip(some, await desks[place % 3].record_all(some), strict=True))

        with trio.fail_after(SECONDS):
            async with running([deduper for desk in desks for deduper in desk.dedupers]):
                await together(*(partial(visitor, place) for place in range(40)))
        tally = Tally(await stores_over_shards(database))
        keys = await tally.keys()
        recorded = [event for event, fate in fates if fate is EventOutcome.RECORDED]
        if day_of(SystemClock().now_ms()) == today:
            assert len(recorded) == len(set(recorded))
        assert {event for event, _ in fates} == set(recorded)
        assert sum(map(len, keys.values())) == len(recorded)
        assert await tally.counts() == counted(keys)
        assert await deadlocks(database) == 0


async def test_a_transaction_that_wrote_to_two_shards_would_be_caught(divided: Target) -> None:
    """The guarantee on which the tests above rely."""
    async with open_database(divided) as database:
        await (await sharded_events(database)).prepare([DAY])
        both = f"insert into events values ('bok_1', {DAY}, 'one', 0), ('bok_2', {DAY}, 'two', 0)"
        with pytest.raises(Exception, match="a transaction writes to shard"):
            await database.read(lambda c: c.execute(both))
