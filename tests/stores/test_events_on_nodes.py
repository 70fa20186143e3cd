"""Nodes that record in one Postgres at once: each key once, exact counts, no deadlock, and partitions during writes."""

import asyncio
import random
from functools import partial
from typing import Any

import pytest
import trio

from actors.events.messages import Kind
from actors.values import BatchId, Contended
from storage.connection.pool import Connection, Database, PoolLimits, open_database
from storage.connection.target import Target
from storage.events.store import PostgresEvents
from tests.fakes import together
from tests.stores.conftest import stores_over
from tests.stores.tallies import Tally, counted, keys_of, row, rows
from tests.stores.test_ledger_on_two_nodes import while_held

DAY = 20_000
SECONDS = 60.0
COUNTING = f"insert into event_counts select 1, {DAY}, 1, 0, place from generate_series(0, 255) as place"
"""While this is uncommitted, a batch of the first booking can insert its keys but not count them."""


def nodes(database: Database, count: int = 2) -> list[Tally]:
    """Nodes, each with its own store. They share a pool, but each transaction has its own connection."""
    return [Tally(stores_over(database), f"node{place}/events") for place in range(count)]


async def numbered(database: Database) -> None:
    """Give the first booking its number."""
    await database.read(lambda c: c.execute("insert into event_bookings (id) values ('bok_1')"))


async def deadlocks(database: Database) -> int:
    """The number of deadlocks that the server has resolved in this database."""

    async def work(connection: Connection) -> int:
        await connection.execute("select pg_stat_force_next_flush()")
        await connection.execute("select pg_stat_clear_snapshot()")
        found = "select deadlocks from pg_stat_database where datname = current_database()"
        return int(await connection.fetchval(found))

    return await database.read(work)


# Batches.


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("apart", [0, 1_000])
async def test_nodes_that_record_for_the_same_bookings_at_once_record_each_key_once(
    database: Database, count: int, apart: int
) -> None:
    """Batches share many keys of many bookings, or only the bookings."""
    tallies = nodes(database, count)
    await tallies[0].stores.events.prepare([DAY])
    said: list[bytes] = []
    contended: list[str] = []

    async def node(place: int) -> None:
        chance = random.Random(place)
        for _ in range(30):
            numbers = [apart * place + chance.randrange(60) for _ in range(200)]
            some = sorted({row(number, chance.randrange(20), chance.choice([*Kind])) for number in numbers})
            batch_id = tallies[place].next_batch_id()
            while True:
                try:
                    said.extend(await tallies[place].stores.events.record(batch_id, DAY, some))
                    break
                except Contended as error:
                    contended.append(str(error))

    with trio.fail_after(SECONDS):
        async with trio.open_nursery() as nursery:
            for place in range(count):
                nursery.start_soon(node, place)
    keys = await tallies[0].keys()
    assert len(said) == len(set(said))
    assert set(said) == keys[DAY].keys()
    assert await tallies[0].counts() == counted(keys)
    assert contended == []
    assert await deadlocks(database) == 0


async def test_a_key_that_another_node_is_recording_is_waited_for_and_is_a_duplicate(database: Database) -> None:
    one, two = nodes(database)
    await one.stores.events.prepare([DAY])
    await numbered(database)
    first, second = await while_held(
        database, COUNTING, partial(one.record, DAY, rows([1, 2])), partial(two.record, DAY, rows([2, 3])), undo=True
    )
    assert set(first) == keys_of(rows([1, 2]))
    assert set(second) == keys_of(rows([3]))
    assert await one.counts() == {("bok_1", DAY): (3, 0)}


async def test_a_key_whose_node_fails_is_recorded_by_the_one_that_waited(database: Database) -> None:
    [two] = nodes(database, 1)
    await two.stores.events.prepare([DAY])
    await numbered(database)
    [held] = rows([2])
    insert = f"insert into event_keys values ({DAY}, 1, {held.key[0]}, false, '\\x{held.key.hex()}')"
    [second] = await while_held(database, insert, partial(two.record, DAY, rows([2, 3])), undo=True)
    assert set(second) == keys_of(rows([2, 3]))


async def test_an_attempt_that_still_hangs_and_its_rerun_are_kept_once(database: Database) -> None:
    """The node has lost the first attempt's connection, but the server has not: its commit may come at any time."""
    one = Tally(stores_over(database))
    await one.stores.events.prepare([DAY])
    await numbered(database)
    batch_id = one.next_batch_id()
    attempts = [partial(one.stores.events.record, batch_id, DAY, rows([1, 2])) for _ in range(2)]
    results = await while_held(database, COUNTING, *attempts, undo=True)
    assert [set(result) for result in results] == [keys_of(rows([1, 2]))] * 2
    assert await one.counts() == {("bok_1", DAY): (2, 0)}


async def test_counting_waits_for_nobody_who_reads_the_counts(database: Database) -> None:
    one = Tally(stores_over(database))
    await one.record(DAY, rows([1]))
    read = f"select * from deliveries where day = {DAY}; select * from event_keys"

    async def record(connection: Connection) -> Any:
        await connection.execute(read)
        recorded.set()
        await done.wait()

    recorded, done = trio.Event(), asyncio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.transact, record)
        await recorded.wait()
        try:
            with trio.fail_after(SECONDS):
                await one.record(DAY, rows([2]))
        finally:
            done.set()


# Partitions.


async def test_a_day_that_another_node_has_dropped_gets_a_new_partition(database: Database) -> None:
    one, two = nodes(database)
    await one.record(DAY, rows([1]))
    await two.stores.events.drop_before(DAY + 1)
    batch_id = one.next_batch_id()
    with pytest.raises(Contended, match=f"another node has dropped the partition of day {DAY}"):
        await one.stores.events.record(batch_id, DAY, rows([1]))
    assert set(await one.record(DAY, rows([1]), batch_id)) == keys_of(rows([1]))
    assert await one.counts() == {("bok_1", DAY): (2, 0)}


async def test_another_broken_check_is_a_bug_and_comes_out(database: Database) -> None:
    store = PostgresEvents(database)
    await database.read(lambda c: c.execute("alter table event_counts add constraint few check (impressions < 2)"))
    with pytest.raises(Exception, match="few"):
        await store.record(BatchId("one/events", 1), DAY, rows([1, 2]))
    assert await Tally(stores_over(database)).keys() == {DAY: {}}


async def test_making_a_day_waits_for_nobody_who_writes_to_another(database: Database) -> None:
    one = Tally(stores_over(database))
    await one.record(DAY, rows([1]))

    async def write(connection: Connection) -> None:
        [other] = rows([2])
        await connection.execute("insert into event_keys values ($1, 1, $2, false, $3)", DAY, other.key[0], other.key)
        written.set()
        await done.wait()

    written, done = trio.Event(), asyncio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.transact, write)
        await written.wait()
        try:
            with trio.fail_after(SECONDS):
                await one.record(DAY + 1, rows([1]))
        finally:
            done.set()
    assert await one.days() == [DAY, DAY + 1]


async def test_a_day_that_a_backup_reads_is_dropped_later_and_events_wait_but_for_a_moment(
    database_target: Target,
) -> None:
    patient = PoolLimits(lock_seconds=SECONDS - 2, statement_seconds=SECONDS - 1, command_seconds=SECONDS)
    async with open_database(database_target, patient) as database:
        one, two = nodes(database)
        for day in (DAY - 50, DAY - 49, DAY):
            await one.record(day, rows([1]))
        done, reading = asyncio.Event(), trio.Event()

        async def backup(connection: Connection) -> None:
            await connection.execute(f"lock table event_keys_{DAY - 49} in access share mode")
            reading.set()
            await done.wait()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(database.transact, backup)
            await reading.wait()
            try:
                with trio.fail_after(SECONDS / 2):
                    dropped, recorded = await together(
                        partial(one.stores.events.drop_before, DAY), partial(two.record, DAY, rows([2]))
                    )
            finally:
                done.set()
        assert isinstance(dropped, Contended)
        assert set(recorded) == keys_of(rows([2]))
        assert await one.days() == [DAY - 49, DAY], "the day before was dropped"
        assert list(await two.stores.events.drop_before(DAY)) == [DAY - 49]
