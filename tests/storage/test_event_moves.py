"""Distributing a database that is in use: days before stay until they are moved, piece by piece, and no event is lost or
counted twice, whoever is killed meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import pytest
import trio

from actors.values import Contended, TransientStorageError
from storage.connection.pool import Connection, Database, open_database
from storage.connection.target import Target
from storage.events import moves as event_moves
from storage.events.moves import EventMoves, MoveError, Pace
from storage.schema import migrate
from tests.fakes import together
from tests.storage.proxy import Weather, proxied
from tests.stores.conftest import stores_over, stores_over_workers
from tests.stores.distributed import CITUS_URL, distributed_in_use, empty_on_citus, stand_in
from tests.stores.tallies import Tally, counted, keys_of, rows

SINCE = 20_010
OLD = range(SINCE - 3, SINCE)
MANY = rows(range(600))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_moves, "PIECE", 2)


async def distribute(target: Target) -> None:
    async with open_database(replace(target, distributed=True)) as database:
        await migrate(database, distributed=True)


async def fill(target: Target) -> None:
    """Record events of some days on one Postgres, and distribute it."""
    async with open_database(target) as database:
        tally = Tally(stores_over(database))
        for day in OLD:
            await tally.record(day, MANY)
    await distributed_in_use(target, SINCE)


@pytest.fixture
async def filled(database_target: Target) -> AsyncIterator[Database]:
    await fill(database_target)
    async with open_database(database_target) as database:
        yield database


async def kept(database: Database) -> dict[int, set[bytes]]:
    """The keys of each day, whose counts are right."""
    tally = Tally(await stores_over_workers(database))
    keys = await tally.keys()
    assert await tally.counts() == counted(keys)
    return {day: set(some) for day, some in keys.items()}


async def move(moves: EventMoves, day: int) -> int:
    """Move a day, whatever fails in passing. Returns the pieces."""
    pieces = 0
    while True:
        try:
            piece = await moves.move_piece(day)
        except TransientStorageError:
            continue
        pieces += 1
        if piece.is_last:
            return pieces


async def test_events_of_days_before_the_distribution_stay_with_the_keys_of_their_day(filled: Database) -> None:
    tally = Tally(await stores_over_workers(filled), "two/events")
    fresh = rows([1_000])
    for day in (SINCE - 1, SINCE):
        assert set(await tally.record(day, sorted(MANY[:50] + fresh))) == (
            keys_of(fresh) if day < SINCE else keys_of(MANY[:50] + fresh)
        )
    assert await kept(filled) == {
        SINCE - 3: keys_of(MANY),
        SINCE - 2: keys_of(MANY),
        SINCE - 1: keys_of(MANY + fresh),
        SINCE: keys_of(MANY[:50] + fresh),
    }
    assert await filled.fetchval("select count(*) from event_keys") == 51


async def test_a_node_that_is_not_restarted_yet_goes_on_with_those_days_and_no_other(filled: Database) -> None:
    before = Tally(stores_over(filled), "old/events")
    assert set(await before.record(SINCE - 1, rows([1, 1_000]))) == keys_of(rows([1_000]))
    with pytest.raises(Exception, match=r"a place of this batch is on another worker|no partition"):
        await before.record(SINCE, rows([1]))
    assert (await kept(filled))[SINCE - 1] == keys_of([*MANY, *rows([1_000])])


@pytest.mark.parametrize("engine", ["sharded", *(["citus"] if CITUS_URL else [])])
async def test_connections_that_were_open_before_the_distribution_go_on(database_target: Target, engine: str) -> None:
    """Their statements are prepared. Nodes have a day to restart: the days of the present day and the next stay."""
    async with AsyncExitStack() as stack:
        target = database_target
        if engine == "citus":
            target = replace(await stack.enter_async_context(empty_on_citus()), distributed=False)
        else:
            await stand_in(target)
        database = await stack.enter_async_context(open_database(target))
        await migrate(database)
        await database.read(lambda c: c.execute("insert into tenants (id, tier) values ('ten_used', 'claimed')"))
        before = Tally(stores_over(database), "old/events")
        today = await database.fetchval("select extract(epoch from now())::bigint / 86400")
        for number in range(20):
            await before.record(today, rows([number]))
        await trio.to_thread.run_sync(trio.run, distribute, target)
        for number in range(20):
            expected = keys_of(rows([number + 20]))
            assert set(await before.record(today, rows([number, number + 20]))) == expected
            await before.record(today + 1, rows([number]))
        assert {day: len(some) for day, some in (await kept(database)).items()} == {today: 40, today + 1: 20}


async def test_a_day_is_moved_in_pieces_and_leaves_the_coordinator(filled: Database) -> None:
    before, moves = await kept(filled), EventMoves(filled)
    assert [(each.day, each.moved) for each in await moves.days()] == [(day, 0) for day in OLD]
    for _ in range(100):
        await moves.move_piece(OLD[0])
    [day, *_] = await moves.days()
    assert 0 < day.moved <= day.keys
    assert await move(EventMoves(filled), OLD[0]) > 256, "by somebody else"
    assert [each.day for each in await moves.days()] == [*OLD[1:]]
    assert await kept(filled) == before
    assert await filled.fetchval("select count(*) from event_keys where day = $1::int", OLD[0]) == len(MANY)


@pytest.mark.parametrize("weather", [Weather.CUT_BEFORE_COMMIT, Weather.CUT_AFTER_COMMIT])
async def test_a_mover_whose_connection_breaks_in_any_commit_loses_nothing(
    database_target: Target, weather: Weather
) -> None:
    await fill(database_target)
    async with proxied(database_target) as proxy, open_database(proxy.target) as database:
        before, moves = await kept(database), EventMoves(database)
        done = False
        while not done:
            proxy.weather = weather
            with pytest.raises(TransientStorageError):
                await moves.move_piece(OLD[0])
            proxy.weather = Weather.FAIR
            done = (await moves.move_piece(OLD[0])).is_last
        assert await kept(database) == before


async def test_several_movers_of_one_day_take_turns(filled: Database) -> None:
    before = await kept(filled)
    results = await together(*(partial(move, EventMoves(filled), OLD[1]) for _ in range(3)))
    assert all(isinstance(each, int) for each in results), results
    assert await kept(filled) == before
    assert [each.day for each in await EventMoves(filled).days()] == [OLD[0], OLD[2]]


async def test_a_day_stays_if_the_workers_have_fewer_keys(filled: Database) -> None:
    moves = EventMoves(filled)
    await moves.move_piece(OLD[0])
    await filled.read(lambda c: c.execute("delete from event_keys"))
    with pytest.raises(
        MoveError, match=r"place \d+ of day 20007 has \d+ keys on the coordinator and \d+ on its worker"
    ):
        await move(moves, OLD[0])
    assert [each.day for each in await moves.days()] == [*OLD]


async def test_a_day_that_became_too_old_meanwhile_is_done(filled: Database) -> None:
    moves = EventMoves(filled)
    await moves.move_piece(OLD[0])
    tally = Tally(await stores_over_workers(filled))
    assert list(await tally.stores.events.drop_before(OLD[1])) == [OLD[0]]
    assert await move(moves, OLD[0]) == 1
    assert [each.day for each in await moves.days()] == [*OLD[1:]]
    assert await filled.fetchval("select count(*) from event_moves") == 0


async def test_the_pace_is_kept_for_whoever_moves(filled: Database) -> None:
    moves = EventMoves(filled)
    assert await moves.pace() == Pace(paused=False, keys_per_second=20_000)
    await moves.set_pace(paused=True)
    await moves.set_pace(keys_per_second=5)
    assert await EventMoves(filled).pace() == Pace(paused=True, keys_per_second=5)


async def test_a_day_that_a_backup_reads_is_dropped_later(filled: Database) -> None:
    moves = EventMoves(filled)
    await moves.move_piece(OLD[0])
    await filled.read(lambda c: c.execute("update event_moves set place = 256"))
    done, reading = asyncio.Event(), trio.Event()

    async def backup(connection: Connection) -> None:
        await connection.execute(f"lock table undistributed.event_keys_{OLD[0]} in access share mode")
        reading.set()
        await done.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(filled.transact, backup)
        await reading.wait()
        try:
            with pytest.raises(Contended):
                await moves.move_piece(OLD[0])
        finally:
            done.set()
    assert (await moves.move_piece(OLD[0])).is_last
