"""Start, stop, restart, and the exceptions that the body of the context sees."""

import logging
import os
import signal
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
import trio

from storage.embedded.children import EmbeddedError
from storage.embedded.server import EmbeddedLimits, State, running_postgres
from tests.embedded.helpers import fetch, postmasters_of, until, until_restarted
from tests.slow import smoke


async def test_a_fresh_cluster_keeps_its_promises_and_listens_on_no_port(new_dir: Path) -> None:
    async with running_postgres(new_dir) as postgres:
        shown = {
            name: await fetch(postgres.endpoint, f"SHOW {name}")
            for name in ("data_checksums", "fsync", "synchronous_commit", "full_page_writes", "listen_addresses")
        }
        assert await fetch(postgres.endpoint, "SELECT current_user || '/' || current_database()") == "catalog/catalog"
    assert shown == {
        "data_checksums": "on",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "listen_addresses": "",
    }


async def test_the_text_search_lower_cases_and_does_not_take_quotes_for_letters(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        words = await fetch(postgres.endpoint, "SELECT to_tsvector('english', 'Zürich CAFÉ “Straße”—ГОРОД')::text")
    assert words == "'café':2 'straße':3 'zürich':1 'город':4"


@smoke
async def test_a_second_start_keeps_the_data(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        await fetch(postgres.endpoint, "CREATE TABLE kept_by_a_stop AS SELECT 42 AS n")
    async with running_postgres(data_dir) as postgres:
        assert await fetch(postgres.endpoint, "SELECT n FROM kept_by_a_stop") == 42


@smoke
async def test_leaving_stops_the_server_and_its_repr_says_so(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        pid = postgres.statistics().pid
        assert postmasters_of(data_dir) == {pid}
        assert repr(postgres) == f"<Postgres running pid={pid} restarts=0 in {data_dir}/postgres>"
    assert postmasters_of(data_dir) == set()
    assert repr(postgres) == f"<Postgres stopped pid=None restarts=0 in {data_dir}/postgres>"
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


async def test_an_exception_of_the_body_comes_out_as_it_is(data_dir: Path) -> None:
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        async with running_postgres(data_dir):
            raise error
    assert caught.value is error
    assert postmasters_of(data_dir) == set()


async def test_a_group_of_the_body_is_not_wrapped_once_more(data_dir: Path) -> None:
    with pytest.RaisesGroup(KeyError):
        async with running_postgres(data_dir), trio.open_nursery():
            raise KeyError("mine")


async def test_a_cancelled_body_still_gets_an_orderly_stop(data_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "storage.embedded.server")
    with trio.CancelScope() as scope:
        async with running_postgres(data_dir):
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert "database system is shut down" in caplog.messages
    assert postmasters_of(data_dir) == set()


async def test_a_start_that_is_cancelled_leaves_no_process(new_dir: Path) -> None:
    with trio.move_on_after(0.1):
        async with running_postgres(new_dir):
            pass
    assert postmasters_of(new_dir) == set()
    async with running_postgres(new_dir) as postgres:
        assert await fetch(postgres.endpoint, "SELECT 1") == 1


@smoke
async def test_a_killed_postmaster_is_restarted_with_its_data(data_dir: Path) -> None:
    async with running_postgres(data_dir) as postgres:
        await fetch(postgres.endpoint, "CREATE TABLE kept_by_a_kill AS SELECT 42 AS n")
        killed = postgres.statistics().pid
        assert killed
        os.kill(killed, signal.SIGKILL)
        await until_restarted(postgres, 1)
        assert await fetch(postgres.endpoint, "SELECT n FROM kept_by_a_kill") == 42
        assert postmasters_of(data_dir) == {postgres.statistics().pid} != {killed}


async def test_a_restart_waits_for_a_backend_that_outlives_its_postmaster(
    data_dir: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "storage.embedded.server")
    gate = place / "gate"
    closed = f"(pg_stat_file('{gate}', true)).size IS NULL AND clock_timestamp() < now() + interval '60 s'"
    waiting = "backends of a killed Postgres still run"

    def warnings_logged() -> int:
        return sum(waiting in message for message in caplog.messages)

    async with running_postgres(data_dir) as postgres, trio.open_nursery() as nursery:

        async def compute() -> None:
            with suppress(OSError, asyncpg.PostgresConnectionError):  # it may end without an answer
                await fetch(
                    postgres.endpoint, f"DO $$ BEGIN RAISE WARNING 'busy'; WHILE {closed} LOOP END LOOP; END $$"
                )

        nursery.start_soon(compute)
        await until(lambda: "busy" in caplog.messages)
        pid = postgres.statistics().pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        await until(warnings_logged)
        assert postgres.statistics().restarts == 1
        assert postgres.statistics().state is State.RESTARTING
        gate.touch()
        await until_restarted(postgres, 1)
        assert await fetch(postgres.endpoint, "SELECT 1") == 1
    assert warnings_logged() == 1


async def test_too_many_deaths_end_the_body_with_one_error(data_dir: Path) -> None:
    postgres = None

    async def kill_it_three_times() -> None:
        nonlocal postgres
        async with running_postgres(data_dir, EmbeddedLimits(restarts=2)) as postgres:
            for restarts in range(3):
                await until_restarted(postgres, restarts)
                pid = postgres.statistics().pid
                assert pid
                os.kill(pid, signal.SIGKILL)
            await trio.sleep_forever()

    with pytest.raises(EmbeddedError, match="Postgres died 3 times within 60 s"):
        await kill_it_three_times()
    assert postgres
    assert postgres.statistics().state is State.FAILED
    await until(lambda: not postmasters_of(data_dir))  # its last forked child may outlive it briefly


async def test_a_flood_of_log_lines_neither_blocks_nor_fills_the_memory(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "storage.embedded.server")
    flood = "DO $$ BEGIN FOR i IN 1..100 LOOP RAISE WARNING '%', repeat('x', 20000); END LOOP; END $$"
    async with running_postgres(data_dir) as postgres:
        await fetch(postgres.endpoint, flood)
    lines = [message for message in caplog.messages if message.startswith("xxx")]
    assert len(lines) == 100
    assert max(map(len, lines)) < 2_000


async def test_failed_statements_are_logged_without_the_values_of_rows(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A duplicate row is expected: another node may have inserted it first.
    caplog.set_level(logging.DEBUG, "storage.embedded.server")
    async with running_postgres(data_dir) as postgres:
        await fetch(postgres.endpoint, "CREATE TABLE person (email text PRIMARY KEY)")
        await fetch(postgres.endpoint, "INSERT INTO person VALUES ('ann@example.org')")
        with pytest.raises(Exception, match="duplicate key"):
            await fetch(postgres.endpoint, "INSERT INTO person VALUES ('ann@example.org')")
    levels = {record.getMessage(): record.levelno for record in caplog.records}
    assert levels['duplicate key value violates unique constraint "person_pkey"'] == logging.DEBUG
    assert "ann@example.org" not in caplog.text


@smoke
async def test_settings_may_tune_but_never_weaken_a_promise(data_dir: Path) -> None:
    async with running_postgres(data_dir, settings={"max_connections": "20", "FSYNC": "off"}) as postgres:
        assert await fetch(postgres.endpoint, "SHOW max_connections") == "20"
        assert await fetch(postgres.endpoint, "SHOW fsync") == "on"
    with pytest.raises(EmbeddedError, match="'fsync' is fixed"):
        async with running_postgres(data_dir, settings={"fsync": "off"}):
            pass


async def test_a_setting_that_postgres_refuses_is_reported_with_its_message(data_dir: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"Postgres does not start: .*unrecognized configuration parameter"):
        async with running_postgres(data_dir, settings={"no_such_setting": "1"}):
            pass
