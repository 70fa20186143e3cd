"""A database of the first layout goes on with it until the day of the switch: counts stay exact, and an event of a day is
recorded once, whichever version of the program and whichever layout it meets."""

from collections.abc import AsyncIterator

import pytest
import trio

from actors.events.messages import Kind
from storage.connection.pool import Connection, Database, open_database
from storage.connection.statements import statements
from storage.connection.target import Target
from storage.schema import migrate, migrations
from tests.conftest import Server
from tests.stores.conftest import stores_over
from tests.stores.tallies import Tally, counted, keys_of, row, rows

SWITCH = 13
"""The number of the migration."""

TODAY = "select extract(epoch from now())::bigint / 86400"
PREVIOUS = statements("events").record_before_switch
"""The statement with which a node of the previous version records events."""


@pytest.fixture
async def used(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Database]:
    """A database of the previous version that is in use."""
    name, folder = "used_before_the_switch", tmp_path_factory.mktemp("migrations")
    for migration in migrations()[: SWITCH - 1]:
        (folder / f"{migration.version:04d}_{migration.name}.sql").write_text(migration.text, encoding="utf-8")
    await trio.to_thread.run_sync(postgres_server.run, f"drop database if exists {name}", f"create database {name}")
    async with open_database(postgres_server.named(name)) as database:
        await migrate(database, folder)
        await database.read(lambda c: c.execute("insert into tenants (id, tier) values ('ten_1', 'claimed')"))
        yield database
    await trio.to_thread.run_sync(postgres_server.run, f"drop database {name} with (force)")


async def today_of(database: Database) -> int:
    return int(await database.fetchval(TODAY))


async def previous(database: Database, day: int, number: int, seq: int) -> bool:
    """Record one impression of the first booking as a node of the previous version does. Whether it was new."""
    [one] = rows([number])

    async def work(connection: Connection) -> bool:
        await connection.execute(f"create table if not exists events_{day} partition of events for values in ({day})")
        found = await connection.fetchrow(PREVIOUS, "old/events", seq, day, [one.booking_id], [one.key], [b"\0"])
        return found["added"] is not None

    return await database.transact(work)


async def test_a_fresh_database_has_only_the_new_layout(database_target: Target) -> None:
    async with open_database(database_target) as database:
        assert await database.fetchval("select since from event_switch") == 0
        tally = Tally(stores_over(database))
        await tally.record(20_000, rows([1]))
        assert await database.fetchval("select count(*) from event_keys") == 1


async def test_events_of_the_day_of_an_upgrade_are_compared_with_those_before_it(used: Database) -> None:
    today = await today_of(used)
    assert await previous(used, today, 1, 1)
    assert await migrate(used) == [f"{each.version:04d}_{each.name}" for each in migrations()[SWITCH - 1 :]]
    tally = Tally(stores_over(used))
    assert set(await tally.record(today, rows([1, 2]))) == keys_of(rows([2]))
    assert not await previous(used, today, 2, 2), "a node of the previous version that still runs"
    assert await previous(used, today, 3, 3)
    assert set(await tally.record(today, rows([3, 4]))) == keys_of(rows([4]))
    keys = await tally.keys()
    assert keys[today].keys() == keys_of(rows([1, 2, 3, 4]))
    assert await tally.counts() == counted(keys)


async def test_days_from_the_switch_on_are_only_in_the_new_layout(used: Database) -> None:
    today = await today_of(used)
    for ahead in range(8):
        await previous(used, today + ahead, ahead, ahead + 1) if ahead == 0 else await _partition(used, today + ahead)
    await migrate(used)
    since = int(await used.fetchval("select since from event_switch"))
    assert since in (today + 2, today + 3)
    tally = Tally(stores_over(used))
    await tally.stores.events.prepare(range(today, today + 8))
    assert await tally.days() == list(range(today, today + 8)), "each once"
    await tally.record(since, [*rows([1]), row(2, 1, Kind.CLICK)])
    await tally.record(since - 1, rows([1]))
    assert await tally.counts() == {("bok_1", today): (1, 0), ("bok_1", since - 1): (1, 0), ("bok_1", since): (1, 1)}
    with pytest.raises(Exception, match=r"no partition of relation|events_until_switch"):
        await previous(used, since, 9, 99)


async def _partition(database: Database, day: int) -> None:
    await database.read(lambda c: c.execute(f"create table events_{day} partition of events for values in ({day})"))


async def test_old_days_of_both_layouts_are_dropped(used: Database) -> None:
    today = await today_of(used)
    await previous(used, today, 1, 1)
    await migrate(used)
    tally = Tally(stores_over(used))
    await tally.record(today + 3, rows([1]))
    assert list(await tally.stores.events.drop_before(today + 4)) == [today, today + 3]
    assert await tally.days() == []
    assert await tally.counts() == {("bok_1", today): (1, 0), ("bok_1", today + 3): (1, 0)}


async def test_the_counts_of_a_booking_are_of_both_layouts(used: Database) -> None:
    today = await today_of(used)
    await previous(used, today, 1, 1)
    await migrate(used)
    tally = Tally(stores_over(used))
    await tally.record(today, rows([2]))
    await tally.record(today + 3, rows([1, 2, 3]))
    delivered = await used.fetch(statements("sponsorship").delivered, "bok_1")
    assert [(each["day"], each["impressions"]) for each in delivered] == [(today, 2), (today + 3, 3)]
    [total] = await used.fetch(statements("ledger").delivered, ["bok_1"])
    assert (total["impressions"], total["clicks"]) == (5, 0)
