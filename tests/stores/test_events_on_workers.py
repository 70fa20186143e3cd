"""The event store over workers: a batch is one commit on each, places move between them, and a failure of one affects no
other."""

import random
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
import trio

from actors.clock import SystemClock, day_of
from actors.events.actor import EventDeduper
from actors.events.filtered import FilteredCounts
from actors.events.messages import Event, Kind
from actors.events.router import EventOutcome, EventRouter
from actors.events.state import VisitorHasher
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from storage.connection.pool import Database, open_database
from storage.connection.target import Target
from storage.events.distributed_store import SQL, DistributedEvents, ask_workers
from tests.fakes import together
from tests.storage.proxy import Weather, proxied
from tests.stores.conftest import stores_over_workers
from tests.stores.distributed import address_of, distributed_events
from tests.stores.tallies import Tally, counted, keys_of, rows
from tests.stores.test_events_on_nodes import deadlocks

DAY = 20_000
SECONDS = 60.0
SECRET = b"a secret of the server, 32 bytes"
MOVE = "select move_shards(1, 2)"
SOME = rows(range(40))
NO_CHECK = """
create or replace function require_local_places(at_place smallint, of_keys bytea[]) returns void language sql as ''
"""


async def a_tally(database: Database, owner: str = "one/events") -> Tally:
    """A node's store, with the day's partition."""
    tally = Tally(await stores_over_workers(database), owner)
    await tally.stores.events.prepare([DAY])
    return tally


def store_of(tally: Tally) -> DistributedEvents:
    assert isinstance(tally.stores.events, DistributedEvents)
    return tally.stores.events


def keys_on(tally: Tally, worker: int) -> set[bytes]:
    """Those of `SOME` that are on a worker."""
    return {row.key for row in SOME if store_of(tally).places.of[row.key[0]] == worker}


async def stored(tally: Tally) -> set[bytes]:
    """All keys, whose counts are right."""
    keys = await tally.keys()
    assert await tally.counts() == counted(keys)
    return {key for some in keys.values() for key in some}


async def change(database: Database, statement: str) -> None:
    await database.read(lambda connection: connection.execute(statement))


async def lead(database: Database, worker: int, target: Target) -> None:
    """Let nodes that read the map from now on reach a worker at another address."""
    host, port = address_of(target)
    moved = "update citus_stand_in.pg_dist_node set nodename = $2, nodeport = $3 where groupid = $1"
    await database.read(lambda connection: connection.execute(moved, worker, host, port))


# One commit on each worker.


async def test_a_booking_spreads_over_all_workers(divided: Target) -> None:
    async with open_database(divided) as database:
        tally = await a_tally(database)
        assert set(await tally.record(DAY, SOME)) == keys_of(SOME)
        assert keys_on(tally, 1)
        assert keys_on(tally, 2)
        journals = await database.fetch("select place, seq from event_journal")
        assert sorted(store_of(tally).places.of[row["place"]] for row in journals) == [1, 2]
        assert {row["seq"] for row in journals} == {1}
        assert await stored(tally) == keys_of(SOME)


async def test_the_coordinator_has_no_part_in_a_batch_of_known_bookings(divided: Target) -> None:
    async with proxied(divided) as coordinator, open_database(coordinator.target) as database:
        tally = await a_tally(database)
        await tally.record(DAY, SOME[:20])
        coordinator.weather = Weather.HELD
        with trio.fail_after(SECONDS):
            assert set(await tally.record(DAY, SOME)) == keys_of(SOME[20:])
        coordinator.weather = Weather.FAIR
        assert await stored(tally) == keys_of(SOME)


async def test_a_worker_that_is_away_keeps_back_its_own_part_and_a_retry_adds_it(divided: Target) -> None:
    async with proxied(divided) as worker, open_database(divided) as database:
        await lead(database, 1, worker.target)
        tally = await a_tally(database)
        batch_id = tally.next_batch_id()
        behind, worker.behind = worker.behind, "nowhere"
        with pytest.raises(StorageUnavailable):
            await tally.record(DAY, SOME, batch_id)
        assert await stored(tally) == keys_on(tally, 2)
        worker.behind = behind
        for _ in range(2):
            assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME)
            assert await stored(tally) == keys_of(SOME)


@pytest.mark.parametrize("weather", [Weather.CUT_BEFORE_COMMIT, Weather.CUT_AFTER_COMMIT])
@pytest.mark.parametrize("known", [False, True])
async def test_a_part_whose_connection_breaks_in_its_commit_is_settled(
    divided: Target, weather: Weather, known: bool
) -> None:
    async with proxied(divided) as proxy, open_database(divided) as database:
        await lead(database, 1, proxy.target)
        tally = await a_tally(database)
        before = [min(row for row in SOME if row.key in keys_on(tally, 1))] if known else []
        for _ in range(2):
            await tally.record(DAY, before)
        batch_id = tally.next_batch_id()
        proxy.weather = weather
        with pytest.raises(OutcomeUnknown):
            await tally.record(DAY, SOME, batch_id)
        proxy.weather = Weather.FAIR
        committed = keys_on(tally, 1) if weather is Weather.CUT_AFTER_COMMIT else keys_of(before)
        assert await stored(tally) == keys_on(tally, 2) | committed
        for _ in range(2):
            assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME) - keys_of(before)
            assert await stored(tally) == keys_of(SOME)


@pytest.mark.parametrize("moment", ["write", "commit"])
@pytest.mark.parametrize(
    "words",
    [
        "failure on connection marked as essential: 127.0.0.1:5602",
        "could not find the source shard to move",
        "the coordinator is not added to the metadata",
    ],
)
async def test_an_error_of_the_engine_without_a_sqlstate_keeps_back_a_part_which_is_settled_later(
    divided: Target, moment: str, words: str
) -> None:
    async with open_database(replace(divided, distributed=True)) as database:
        tally = await a_tally(database)
        await tally.record(DAY, SOME[:5])
        batch_id = tally.next_batch_id()
        await change(database, f"insert into citus_stand_in.failing values (1, '{moment}', '{words}')")
        for _ in range(2):
            with pytest.raises((OutcomeUnknown, StorageUnavailable), match=words):
                await store_of(tally).record(batch_id, DAY, SOME)
        await change(database, "delete from citus_stand_in.failing")
        assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME[5:])
        assert await stored(tally) == keys_of(SOME)


# Places that move.


async def test_places_that_moved_are_refused_where_they_were_and_recorded_where_they_are(divided: Target) -> None:
    async with open_database(divided) as database:
        tally = await a_tally(database)
        await tally.record(DAY, SOME[:20])
        await change(database, MOVE)
        batch_id = tally.next_batch_id()
        with pytest.raises(Contended, match="the places of a batch are no longer on worker 1"):
            await store_of(tally).record(batch_id, DAY, SOME)
        assert await tally.record(DAY, SOME, batch_id)
        assert set(store_of(tally).places.of) == {2}
        assert await stored(tally) == keys_of(SOME)


async def test_without_its_check_a_batch_would_be_written_where_its_places_were(divided: Target) -> None:
    """The fault of an outdated map, which the stand-in reports at the commit. Citus would lose the batch."""
    async with open_database(divided) as database:
        tally = await a_tally(database)
        await change(database, NO_CHECK)
        await change(database, MOVE)
        with pytest.raises(Exception, match="a transaction on worker 1 writes to worker 2"):
            await tally.record(DAY, SOME)


async def test_a_move_that_begins_under_a_batch_waits_for_it(divided: Target) -> None:
    async with open_database(divided) as database:
        tally = await a_tally(database)
        nodes = [Tally(await stores_over_workers(database), f"{number}/events") for number in range(3)]

        async def send(node: Tally, first: int) -> None:
            for number in range(first, 300, 3):
                await node.record(DAY, rows([number, number + 1]))

        async def move() -> None:
            for _ in range(5):
                await change(database, MOVE)
                await change(database, "select move_shards(2, 1)")

        results = await together(*(partial(send, node, first) for first, node in enumerate(nodes)), move)
        assert results == [None] * 4
        assert await stored(tally) == keys_of(rows(range(301)))


@pytest.mark.parametrize("weather", [Weather.CUT_BEFORE_COMMIT, Weather.CUT_AFTER_COMMIT])
async def test_a_part_in_doubt_whose_places_moved_is_settled_before_it_is_split_anew(
    divided: Target, weather: Weather
) -> None:
    async with proxied(divided) as proxy, open_database(divided) as database:
        await lead(database, 1, proxy.target)
        tally = await a_tally(database)
        batch_id = tally.next_batch_id()
        proxy.weather = weather
        with pytest.raises(OutcomeUnknown):
            await tally.record(DAY, SOME, batch_id)
        proxy.weather = Weather.FAIR
        await change(database, MOVE)
        for _ in range(2):
            assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME)
            assert await stored(tally) == keys_of(SOME)


async def test_a_part_is_settled_once_also_if_the_outcome_of_that_stays_unknown(divided: Target) -> None:
    """The id of the part is then in the journal, and no attempt of it has committed."""
    async with proxied(divided) as first, proxied(divided) as second, open_database(divided) as database:
        await lead(database, 1, first.target)
        await lead(database, 2, second.target)
        tally = await a_tally(database)
        batch_id = tally.next_batch_id()
        first.weather = Weather.CUT_BEFORE_COMMIT
        with pytest.raises(OutcomeUnknown):
            await tally.record(DAY, SOME, batch_id)
        await change(database, MOVE)
        first.weather = Weather.FAIR
        second.weather = Weather.CUT_AFTER_COMMIT
        with pytest.raises(OutcomeUnknown):
            await tally.record(DAY, SOME, batch_id)
        second.weather = Weather.FAIR
        for _ in range(2):
            with suppress(OutcomeUnknown):
                assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME)
        assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME)
        assert await stored(tally) == keys_of(SOME)


async def test_an_attempt_that_arrives_after_its_batch_was_split_anew_writes_nothing(divided: Target) -> None:
    """The empty batch that settles a part takes its id, also where the first attempt still waits for a lock."""
    async with open_database(divided) as database:
        tally = await a_tally(database)
        batch_id = tally.abandoned(SOME)
        [early] = [
            part for part in store_of(tally).batches.plan(batch_id, SOME).parts if part.rows[0].key in keys_on(tally, 1)
        ]
        await change(database, MOVE)
        assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME)
        attempt: list[object] = [early.place, tally.owner, batch_id.seq, DAY, [], [], []]
        assert await database.fetchval(SQL.record_new, *attempt) is False
        assert await stored(tally) == keys_of(SOME)


async def test_a_worker_that_left_the_cluster_is_refused(divided: Target) -> None:
    """It has neither tables nor functions any more: here it is a database without them."""
    async with open_database(divided) as database:
        tally = await a_tally(database)
        await change(database, MOVE)
        await change(
            database, "drop function record_new_events(smallint, text, bigint, int, int[], boolean[], bytea[])"
        )
        with pytest.raises(Contended, match="no longer on worker"):
            await store_of(tally).record(tally.next_batch_id(), DAY, SOME)


async def test_an_outdated_map_stays_while_the_coordinator_is_away_and_nothing_is_written_wrongly(
    divided: Target,
) -> None:
    async with proxied(divided) as coordinator, open_database(coordinator.target) as database:
        tally = await a_tally(database)
        await tally.record(DAY, SOME[:20])
        await change(database, MOVE)
        behind, coordinator.behind = coordinator.behind, "nowhere"
        await coordinator.cut_all()
        batch_id = tally.next_batch_id()
        for _ in range(2):
            with pytest.raises(Contended):
                await store_of(tally).record(batch_id, DAY, SOME)
        coordinator.behind = behind
        assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME[20:])
        assert await stored(tally) == keys_of(SOME)


async def test_a_batch_that_has_no_free_place_is_refused_whole_and_goes_on_later(divided: Target) -> None:
    async with open_database(divided) as database:
        tally = await a_tally(database)
        store, batch_id = store_of(tally), tally.next_batch_id()
        plan = store.batches.plan(batch_id, SOME)
        used, plan.used = plan.used, set(range(256))
        await change(database, MOVE)
        with pytest.raises(StorageUnavailable, match="moved too often"):
            await store.record(batch_id, DAY, SOME)
        plan.used = used
        assert set(await tally.record(DAY, SOME, batch_id)) == keys_of(SOME)
        assert await stored(tally) == keys_of(SOME)


# Sections.


async def test_a_worker_that_hangs_refuses_its_own_events_and_the_others_are_recorded(divided: Target) -> None:
    async with proxied(divided) as worker, open_database(divided) as database:
        await lead(database, 1, worker.target)
        store = await distributed_events(database)
        hurried = ActorLimits(answer_seconds=0.5)
        hasher, clock = VisitorHasher(SECRET), SystemClock()
        today = day_of(clock.now_ms())
        await store.prepare([today, today + 1])
        dedupers = [
            EventDeduper(store, clock, hasher, node="one", limits=hurried, section=section)
            for section in range(store.count)
        ]
        desk = EventRouter(dedupers, FilteredCounts(store, clock, node="one"), store)
        many = [Event(f"bok_{number % 5}", Kind.IMPRESSION, f"visitor {number}") for number in range(40)]
        more = [Event("bok_1", Kind.CLICK, f"visitor {number}") for number in range(40)]
        with trio.fail_after(SECONDS):
            async with running(dedupers):
                assert await desk.record_all(many) == [EventOutcome.RECORDED] * len(many)
                worker.weather = Weather.HELD
                outcomes = await desk.record_all(more)
                worker.weather = Weather.FAIR
                keys = dedupers[0].keyed(more).keys
                assert outcomes == [
                    EventOutcome.UNAVAILABLE if store.places.of[key[0]] == 1 else EventOutcome.RECORDED for key in keys
                ]
                assert len(set(outcomes)) == 2


# What operators see.


async def test_workers_are_asked_by_the_way_that_events_take(divided: Target) -> None:
    async with proxied(divided) as worker, open_database(divided) as database:
        await lead(database, 1, worker.target)
        store = await distributed_events(database)
        well = await ask_workers(store)
        assert [(each.number, each.problems()) for each in well] == [(1, []), (2, [])]
        assert [each.places for each in well] == [len(store.places.places_of(worker)) for worker in (1, 2)]
        behind, worker.behind = worker.behind, "nowhere"
        await worker.cut_all()
        away, other = await ask_workers(store)
        assert [away.error != "", away.places, other] == [True, well[0].places, well[1]]
        worker.behind = behind
        assert await ask_workers(store) == well
        await change(database, "revoke execute on function record_events from public")
        await change(database, "drop function record_new_events")
        assert [each.lacks for each in await ask_workers(store)] == ["record_new_events"] * 2


# Many at once.


async def test_dedupers_of_three_nodes_say_true_once_and_meet_in_no_deadlock(divided: Target) -> None:
    async with open_database(divided) as database:
        hasher, clock, limits = VisitorHasher(SECRET), SystemClock(), ActorLimits(batch=300)
        desks = []
        for node in range(3):
            store = await distributed_events(database)
            deduper = EventDeduper(store, clock, hasher, node=str(node), limits=limits, remember=50)
            desks.append(EventRouter([deduper], FilteredCounts(store, clock, node=str(node))))
        today = day_of(clock.now_ms())
        fates: list[tuple[Event, EventOutcome]] = []

        async def visitor(place: int) -> None:
            chance = random.Random(place)
            for _ in range(5):
                some = [
                    Event(f"bok_{chance.randrange(12)}", Kind.IMPRESSION, f"visitor {chance.randrange(150)}")
                    for _ in range(chance.choice([1, 1, 40]))
                ]
                fates.extend(zip(some, await desks[place % 3].record_all(some), strict=True))

        with trio.fail_after(SECONDS):
            async with running([deduper for desk in desks for deduper in desk.dedupers]):
                await together(*(partial(visitor, place) for place in range(40)))
        tally = Tally(await stores_over_workers(database))
        recorded = [event for event, fate in fates if fate is EventOutcome.RECORDED]
        if day_of(clock.now_ms()) == today:
            assert len(recorded) == len(set(recorded))
        assert {event for event, _ in fates} == set(recorded)
        assert len(await stored(tally)) == len(recorded)
        assert await deadlocks(database) == 0
