"""The pool: every error is one of three, every wait is bounded, and an unknown outcome is reported as one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trio

from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable, WritesRefused
from storage.connection.asyncio_border import STATEMENTS
from storage.connection.listener import Listener
from storage.connection.pool import Connection, Database, PoolLimits, open_database
from storage.connection.target import Target
from storage.rows.journal import record_batch
from tests.slow import repeats
from tests.storage.proxy import Proxy, Weather, proxied

SMALL = PoolLimits(
    connections=2,
    waiters=1,
    wait_seconds=20.0,
    connect_seconds=20.0,
    lock_seconds=10.0,
    statement_seconds=20.0,
    command_seconds=30.0,
    listen_check_seconds=0.05,
    listen_pause_seconds=0.05,
)
"""Long limits, so that a busy machine does not fail a test. Each test shortens the limit that it is about."""
HASTY = replace(
    SMALL, wait_seconds=1.0, connect_seconds=1.0, lock_seconds=0.6, statement_seconds=0.8, command_seconds=1.0
)
"""For a silent network, where every wait lasts until its limit."""
BOUND_SECONDS = 30.0
OLD_STATEMENTS = 12
CLOSED_NOTHING = "'NoneType' object has no attribute 'close_statement'"


@pytest.fixture
async def proxy(database_target: Target) -> AsyncIterator[Proxy]:
    if database_target.host is None:
        pytest.skip("the proxy stands before a unix socket")
    async with proxied(database_target) as made:
        yield made


async def note(connection: Connection) -> None:
    await connection.execute("insert into journal (owner, seq) values ('note', 1)")


async def notes(database: Database) -> int:
    return int(await database.read(lambda c: c.fetchval("select count(*) from journal where owner = 'note'")))


async def test_a_transaction_is_committed_whole(database: Database) -> None:
    await database.transact(note)
    assert await notes(database) == 1


async def test_a_cancelled_caller_starts_no_transaction(database: Database) -> None:
    before = database.statistics().transactions
    with trio.CancelScope() as scope:
        scope.cancel()
        await database.transact(lambda connection: connection.execute("select 1"))
    assert scope.cancelled_caught
    assert database.statistics().transactions == before


async def test_an_error_in_the_middle_leaves_nothing(database: Database) -> None:
    async def broken(connection: Connection) -> None:
        await note(connection)
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await database.transact(broken)
    assert await notes(database) == 0


@pytest.mark.parametrize(("weather", "written"), [(Weather.CUT_AFTER_COMMIT, 1), (Weather.CUT_BEFORE_COMMIT, 0)])
async def test_a_commit_that_loses_its_connection_is_unknown(proxy: Proxy, weather: Weather, written: int) -> None:
    async with open_database(proxy.target) as database:
        proxy.weather = weather
        with pytest.raises(OutcomeUnknown):
            await database.transact(note)
        proxy.weather = Weather.FAIR
        assert await notes(database) == written


@pytest.mark.parametrize("weather", [Weather.CUT_AFTER_COMMIT, Weather.CUT_BEFORE_COMMIT])
async def test_a_batch_of_unknown_outcome_that_runs_again_is_kept_exactly_once(proxy: Proxy, weather: Weather) -> None:
    batch_id = BatchId("node/actor", 1)

    async def batch(connection: Connection) -> None:
        if await record_batch(connection, batch_id):
            await note(connection)

    async with open_database(proxy.target) as database:
        proxy.weather = weather
        with pytest.raises(OutcomeUnknown):
            await database.transact(batch)
        proxy.weather = Weather.FAIR
        await database.transact(batch)
        await database.transact(batch)
        assert await notes(database) == 1


async def test_a_connection_that_breaks_before_the_commit_is_plainly_unavailable(proxy: Proxy) -> None:
    async with open_database(proxy.target) as database:

        async def cut(connection: Connection) -> None:
            await note(connection)
            proxy.weather = Weather.CUT_BEFORE_COMMIT
            await connection.execute("commit")

        with pytest.raises(StorageUnavailable):
            await database.transact(cut)


@repeats("tests/storage/test_lost_connections.py, with a fake server")
async def test_a_silent_network_is_given_up_in_bounded_time_and_healed_from(proxy: Proxy) -> None:
    async with open_database(proxy.target, HASTY) as database:
        await database.transact(note)
        proxy.weather = Weather.SILENT
        with trio.fail_after(BOUND_SECONDS):
            for _ in range(3):
                with pytest.raises((StorageUnavailable, OutcomeUnknown)):
                    await database.transact(note)
        proxy.weather = Weather.FAIR
        await proxy.cut_all()
        assert await notes(database) == 1


async def test_a_long_statement_is_cancelled_by_the_server(database_target: Target) -> None:
    async with open_database(database_target, replace(SMALL, lock_seconds=0.1, statement_seconds=0.2)) as database:
        with pytest.raises(StorageUnavailable, match="statement timeout"):
            await database.read(lambda c: c.execute("select pg_sleep(60)"))


async def test_a_long_transaction_loses_its_connection(database_target: Target) -> None:
    limits = replace(SMALL, statement_seconds=60.0, command_seconds=61.0)
    async with open_database(database_target, limits) as database:
        with trio.fail_after(BOUND_SECONDS), pytest.raises(StorageUnavailable):
            await database.transact(lambda c: c.execute("select pg_sleep(60)"), seconds=0.2)
        await database.ping()


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("set local role pg_read_all_data", "the role of the service lacks a right; doctor lists it"),
        ("set transaction read only", "it is read-only"),
        ("do $$ begin raise 'kein Platz' using errcode = '53100'; end $$", "its disk is full"),
        ("do $$ begin raise 'Ein-/Ausgabefehler' using errcode = '58030'; end $$", "its disk fails"),
    ],
    ids=["rights", "read-only", "disk full", "disk broken"],
)
async def test_a_write_that_the_server_refuses_is_the_problem_of_the_next_ping(
    database: Database, before: str, why: str
) -> None:
    async def write(connection: Connection) -> None:
        await connection.execute(before)
        await note(connection)

    await database.ping()
    with pytest.raises(StorageUnavailable):
        await database.transact(write)
    with pytest.raises(WritesRefused) as refused:
        await database.ping()
    assert str(refused.value) == why
    await database.transact(note)
    with pytest.raises(WritesRefused):
        await database.ping()  # although another write has succeeded


async def test_two_transactions_that_collide_are_contended(database: Database) -> None:
    await database.transact(note)
    with pytest.raises(Contended):
        await database.transact(note)


async def test_a_lock_that_is_not_had_in_time_is_contended(database_target: Target) -> None:
    async with open_database(database_target, replace(SMALL, lock_seconds=0.1)) as database:
        locked, done = trio.Event(), asyncio.Event()
        await database.transact(note)

        async def update(connection: Connection) -> None:
            await connection.execute("update journal set seq = seq + 1 where owner = 'note'")

        async def hold(connection: Connection) -> None:
            await update(connection)
            locked.set()
            await done.wait()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(database.transact, hold)
            await locked.wait()
            try:
                with pytest.raises(Contended):
                    await database.transact(update)
            finally:
                done.set()


async def test_more_waiters_than_the_bound_are_refused_at_once(database_target: Target) -> None:
    async with open_database(database_target, SMALL) as database:
        done, refused = asyncio.Event(), []

        async def hold(connection: Connection) -> None:
            await done.wait()

        async def one() -> None:
            try:
                await database.read(hold)
            except StorageUnavailable as error:
                refused.append(str(error))

        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(one)
            await until(lambda: len(refused) == 3)
            done.set()
        assert refused == ["the queue for a connection is full (1 waiting)"] * 3
        assert database.statistics().refused == 3


async def test_a_database_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    async with open_database(Target(host=str(tmp_path), user="catalog", database="catalog"), SMALL) as database:
        with pytest.raises(StorageUnavailable):
            await database.ping()


@pytest.mark.parametrize(
    ("url", "attempts"),
    [
        ("postgresql://u@a/db", [{}]),
        ("postgresql:///db?host=/run/a", [{}]),
        ("postgresql://u@a,b/db", [("a", None, "primary"), ("b", None, "primary")]),
        ("postgresql://u@a:1,[::1]:2/db", [("a", 1, "primary"), ("::1", 2, "primary")]),
        ("postgresql://u@%2Frun%2Fpg,b:2/db", [("/run/pg", None, "primary"), ("b", 2, "primary")]),
        ("postgresql:///db?host=a,b&port=1,2", [("a", 1, "primary"), ("b", 2, "primary")]),
        ("postgresql://a,b/db?target_session_attrs=any", [("a", None, "any"), ("b", None, "any")]),
        (
            "postgresql://a,b/db?target_session_attrs=prefer-standby",
            [("a", None, "standby"), ("b", None, "standby"), ("a", None, "any"), ("b", None, "any")],
        ),
        # The driver reads, or refuses, what is unusual.
        ("postgresql://a:1,b:2/db?port=3", [{"target_session_attrs": "primary"}]),
        ("postgresql://a,,b/db", [{"target_session_attrs": "primary"}]),
        ("postgresql://a:x,b/db", [{"target_session_attrs": "primary"}]),
    ],
)
def test_each_host_of_a_url_is_an_attempt_of_its_own(url: str, attempts: list[Any]) -> None:
    made = [{name: value for name, value in each.items() if name != "dsn"} for each in Target(url).attempts()]
    if isinstance(attempts[0], dict):
        assert made == attempts
    else:
        assert [(each["host"], each.get("port"), each["target_session_attrs"]) for each in made] == attempts


@repeats("each host of a url is an attempt of its own")
async def test_a_host_that_swallows_packets_leaves_time_for_the_next(database_target: Target) -> None:
    if database_target.host is None:
        pytest.skip("the test knows the socket of the embedded Postgres")
    place, user = quote(database_target.host, safe=""), database_target.user
    limits = replace(SMALL, connect_seconds=1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dead = f"127.0.0.1:{silent.getsockname()[1]}"
        port = database_target.port or 5432
        for hosts, seconds in (
            (f"{dead},{place}:{port}", 0.5),
            (f"{place}:{port},{dead}", 0.0),
            (f"{dead},{dead}", 1.0),
        ):
            began = trio.current_time()
            url = f"postgresql://{user}@{hosts}/{database_target.database}"
            async with open_database(Target(url), limits) as database:
                if place in hosts:
                    await database.ping()
                else:
                    with pytest.raises(StorageUnavailable, match="does not answer within 1 s"):
                        await database.ping()
            assert seconds <= trio.current_time() - began < seconds + 0.5


async def test_a_read_only_database_does_not_answer_a_ping(database: Database) -> None:
    name = await database.read(lambda c: c.fetchval("select current_database()"))
    await database.read(lambda c: c.execute(f"alter database {name} set default_transaction_read_only = on"))
    async with open_database(database.target) as fresh:
        with pytest.raises(StorageUnavailable, match="read-only"):
            await fresh.ping()
        with pytest.raises(StorageUnavailable):
            await fresh.transact(note)


async def test_notifications_arrive_and_a_lost_connection_is_reported_as_a_gap(database_target: Target) -> None:
    heard: list[str] = []
    gaps: list[int] = []
    limits = replace(SMALL, listen_check_seconds=2 * BOUND_SECONDS)  # an ended connection is noticed at once
    async with open_database(database_target, limits) as database, trio.open_nursery() as nursery:
        nursery.start_soon(Listener(database).listen, "catalog", heard.append, lambda: gaps.append(1))
        await until(lambda: len(gaps) == 1)
        await database.read(lambda c: c.execute("select pg_notify('catalog', 'one')"))
        await until(lambda: heard == ["one"])
        await database.read(
            lambda c: c.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        )
        await until(lambda: len(gaps) == 2)
        await database.read(lambda c: c.execute("select pg_notify('catalog', 'two')"))
        await until(lambda: heard == ["one", "two"])
        nursery.cancel_scope.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition that another task fulfils."""
    with trio.fail_after(BOUND_SECONDS):
        while not holds():
            await trio.lowlevel.checkpoint()


async def test_a_network_that_falls_silent_at_listen_does_not_keep_the_listener(proxy: Proxy) -> None:
    async with open_database(proxy.target, HASTY) as database:
        proxy.weather = Weather.SILENT_AT_LISTEN
        with trio.fail_after(BOUND_SECONDS), trio.move_on_after(0.1):
            await Listener(database).listen("catalog", lambda topic: None, lambda: None)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:sec/ret@127.0.0.1:1/catalog",
        "postgresql://me:secret@127.0.0.1:abc/catalog",
        "postgresql://me:secret@[::1/catalog",
    ],
)
async def test_an_invalid_url_is_reported_without_its_password(url: str) -> None:
    async with open_database(Target(url=url), SMALL) as database:
        with pytest.raises(StorageUnavailable) as refused:
            await database.ping()
    assert "sec" not in str(refused.value)


async def test_a_role_without_the_right_to_make_tables_is_unavailable(database: Database) -> None:
    await database.read(lambda c: c.execute("create role powerless"))
    with pytest.raises(StorageUnavailable, match="permission denied"):
        await database.transact(lambda c: c.execute("set local role powerless; create table public.own ()"))
    await database.read(lambda c: c.execute("drop role powerless"))


@repeats("tests/storage/test_lost_connections.py, with a fake server")
async def test_one_silent_connection_discards_the_idle_ones(proxy: Proxy) -> None:
    """Otherwise each of them would cost a timeout, one after the other."""
    async with open_database(proxy.target, replace(HASTY, connections=4)) as database:
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(database.read, lambda connection: connection.fetchval("select pg_sleep(0.2)"))
        assert database.statistics().open == 4
        proxy.weather = Weather.SILENT
        with pytest.raises(StorageUnavailable):
            await database.read(lambda connection: connection.fetchval("select 1"))
        assert database.statistics().open == 0
        proxy.weather = Weather.FAIR
        assert await database.read(lambda connection: connection.fetchval("select 1")) == 1


async def test_a_transaction_whose_client_has_fallen_silent_keeps_its_locks_no_longer_than_a_statement(
    proxy: Proxy, database_target: Target
) -> None:
    async def lock(connection: Connection) -> None:
        await connection.execute("lock table journal in exclusive mode")

    async def fall_silent(connection: Connection) -> None:
        await lock(connection)
        proxy.weather = Weather.SILENT
        await connection.execute("select 1")

    patient = replace(SMALL, lock_seconds=3.0)
    async with open_database(proxy.target, HASTY) as silent, open_database(database_target, patient) as other:
        with pytest.raises(StorageUnavailable):
            await silent.transact(fall_silent)
        proxy.weather = Weather.FAIR
        await other.transact(lock)


@pytest.mark.parametrize(("in_commit", "expected"), [(False, StorageUnavailable), (True, OutcomeUnknown)])
async def test_a_driver_that_stumbles_over_its_broken_connection_has_lost_it(
    database: Database, in_commit: bool, expected: type[Exception]
) -> None:
    async def stumble(connection: Connection) -> None:
        connection.terminate()
        raise AttributeError("'NoneType' object has no attribute 'write'")

    with pytest.raises(expected):
        await (database.commit(stumble) if in_commit else database.transact(stumble))


async def test_wherever_a_connection_is_terminated_while_it_closes_old_statements_it_is_lost(
    database: Database,
) -> None:
    """Before a new statement, the driver closes the old ones that its cache has dropped. Terminated between two of them,
    as by a deadline, it calls a method of nothing. Each attempt terminates it one turn of the loop later."""
    stumbled: set[str] = set()

    def terminate(connection: Connection, turns: int) -> None:
        if turns:
            asyncio.get_running_loop().call_soon(terminate, connection, turns - 1)
        else:
            connection.terminate()

    async def close_old_statements(connection: Connection, turns: int) -> None:
        old = [await connection.prepare(f"select {number}") for number in range(OLD_STATEMENTS)]
        old.clear()
        terminate(connection, turns)
        try:
            await connection.fetchval("select 'new'")
            await connection.fetchval("select pg_sleep(10)")
        except BaseException as error:
            stumbled.add(str(error))
            raise

    for turns in range(1, 2_000):
        with pytest.raises(StorageUnavailable) as caught:
            await database.transact(partial(close_old_statements, turns=turns))
        assert "NoneType" not in str(caught.value)
        if CLOSED_NOTHING in stumbled:
            return
    pytest.fail(f"no attempt met {CLOSED_NOTHING!r}: {stumbled}")


async def test_a_connection_keeps_the_statements_that_it_used_last(database: Database) -> None:
    async def use_many(connection: Connection) -> list[str]:
        assert connection._config.max_cached_statement_lifetime == 0, "they would be dropped all at once"
        for number in range(2 * STATEMENTS):
            await connection.fetchval("select 'often'")
            await connection.fetchval(f"select {number}")
        return [row["statement"] for row in await connection.fetch("select statement from pg_prepared_statements")]

    prepared = await database.read(use_many)
    assert len(prepared) == STATEMENTS
    assert "select 'often'" in prepared


async def test_an_error_of_ours_on_a_sound_connection_stays_a_bug(database: Database) -> None:
    async def stumble(connection: Connection) -> None:
        raise AttributeError("a bug of this test")

    with pytest.raises(AttributeError):
        await database.transact(stumble)


async def test_a_reader_can_be_cancelled_at_once_and_the_connection_comes_back(database: Database) -> None:
    with trio.move_on_after(0.1) as scope:
        await database.read(lambda connection: connection.fetchval("select pg_sleep(1)"))
    assert scope.cancelled_caught
    assert database.statistics().busy == 1, "a running query is not interrupted"
    with trio.fail_after(BOUND_SECONDS):
        while database.statistics().busy:
            await trio.lowlevel.checkpoint()
    assert database.statistics().open == 1
    assert await database.read(lambda connection: connection.fetchval("select 1")) == 1


async def test_a_cancelled_reader_leaves_the_queue(database: Database) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(database.limits.connections):
            nursery.start_soon(database.read, lambda connection: connection.fetchval("select pg_sleep(0.5)"))
        while database.statistics().busy < database.limits.connections:
            await trio.lowlevel.checkpoint()
        with trio.move_on_after(0.1) as scope:
            await database.read(lambda connection: connection.fetchval("select 1"))
        assert scope.cancelled_caught
        with trio.fail_after(0.1):
            while database.statistics().waiting:
                await trio.lowlevel.checkpoint()
