"""A node on a distributed database: refused if distribution is impossible; once distributed, a database stays so."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trio

from actors.clock import SystemClock, day_of
from storage.connection.target import Target
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Settings, command, complaint, run, serving
from tests.stores.distributed import stand_in

SERVE = ("serve", "--bind", "127.0.0.1:0")
DEMO = "demo-booking-left-top-now"
SHARDS = 5
DELIVERED = f"""select sum(impressions)::int as impressions, sum(clicks)::int as clicks
from deliveries where booking_id = '{DEMO}'"""
TURNS = "select count(distinct owner)::int as owners, count(*)::int as places, max(seq)::int as last from event_journal"


@pytest.fixture
def database(external: PostgresServer) -> str:
    return external.fresh_database()


@pytest.fixture
def settings(external: PostgresServer, database: str) -> Settings:
    return {"database.url": external.url(database), "server.secret": SECRET, "database.distributed": "true"}


def visit(number: int, kind: str = "impression") -> dict[str, str]:
    return {"bookingId": DEMO, "kind": kind, "visitorId": f"00000000-0000-4000-8000-{number:012d}"}


def test_a_database_without_the_extension_is_refused_with_a_line_and_2(settings: Settings, data_dir: Path) -> None:
    line = complaint(run(*SERVE, "--data-dir", data_dir, settings=settings))
    assert "has no Citus extension, which database.distributed needs" in line


def test_a_node_counts_events_on_shards_and_never_again_without_them(
    external: PostgresServer, database: str, settings: Settings, data_dir: Path
) -> None:
    trio.run(stand_in, Target(url=external.url(database)), SHARDS)
    with serving(data_dir, settings) as service:
        [before] = external.ask(DELIVERED, database=database)
        batch = {"events": [visit(number) for number in range(20)]}
        assert service.post("/api/v1/sponsors/events/batch", batch).status_code == 200
        assert service.post("/api/v1/sponsors/events", visit(1)).json() == {"recorded": False}
        assert service.post("/api/v1/sponsors/events", visit(1, "click")).json() == {"recorded": True}
        [after] = external.ask(DELIVERED, database=database)
        assert (after["impressions"] - before["impressions"], after["clicks"] - before["clicks"]) == (20, 1)
        assert dict(*external.ask(TURNS, database=database)) == {"owners": 2, "places": 2, "last": 2}
    refused = complaint(run(*SERVE, "--data-dir", data_dir, settings={**settings, "database.distributed": "false"}))
    assert "the database is distributed and cannot be changed back: set database.distributed to true" in refused


def test_a_database_in_use_is_distributed_and_its_earlier_days_are_moved_beside_the_service(
    external: PostgresServer, database: str, settings: Settings, data_dir: Path
) -> None:
    alone = {**settings, "database.distributed": "false"}
    day = day_of(SystemClock().now_ms()) - 10
    date = f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day):%Y-%m-%d}"
    with serving(data_dir, alone) as service:
        assert service.post("/api/v1/sponsors/events", visit(1)).json() == {"recorded": True}
        refused = complaint(run("distribute", "--data-dir", data_dir, settings=alone))
        assert "the database is not distributed: set database.distributed to true" in refused
    external.ask(
        f"create table event_keys_{day} partition of event_keys for values in ({day})",
        f"insert into event_keys select {day}, 1, n / 256, false, int2send(n::int2) from generate_series(0, 299) as n",
        f"analyze event_keys_{day}",
        database=database,
    )
    trio.run(stand_in, Target(url=external.url(database)), SHARDS)
    pausing = complaint(run("distribute", "--pause", "--data-dir", data_dir, settings=settings))
    assert "the database lacks migration 10001_event_places: run 'migrate'" in pausing
    with serving(data_dir, settings) as service:
        assert service.post("/api/v1/sponsors/events", visit(1)).json() == {"recorded": False}
        assert service.post("/api/v1/sponsors/events", visit(2)).json() == {"recorded": True}
        first, second = service.command("distribute", "--status").splitlines()[:2]
        assert first == f"{date}: 0 of about 300 keys moved"
        assert second.endswith(": waits until its events have arrived")
        assert "paused: 'distribute' goes on from here" in service.command("distribute", "--pause")
        assert service.command("distribute", "--status").splitlines()[-1] == "paused: 'distribute' goes on from here"
        moved = service.command("distribute", "--keys-per-second", "1000000").splitlines()
        assert moved[0] == f"{date}: done"
        assert not [line for line in moved if "keys moved" in line or "paused" in line]
        [row] = external.ask(f"select count(*)::int as keys from event_keys where day = {day}", database=database)
        assert row["keys"] == 300
        status = ("distribute", "--status", "--keys-per-second", "7")
        refused = complaint(run(*status, "--data-dir", data_dir, settings=settings))
        assert "--status changes nothing: leave --keys-per-second out" in refused
        [row] = external.ask("select keys_per_second from event_pace", database=database)
        assert row["keys_per_second"] == 1_000_000
        wrong = complaint(run("distribute", "--keys-per-second", "none", settings=settings))
        assert "argument --keys-per-second: 'none' is not a number" in wrong


def test_operators_see_the_workers(external: PostgresServer, database: str, settings: Settings, data_dir: Path) -> None:
    trio.run(stand_in, Target(url=external.url(database)), SHARDS)
    with serving(data_dir, settings) as service:
        lines = service.command("doctor").splitlines()
        workers = [line for line in lines if "worker" in line]
        assert len(workers) == 2
        assert sum(int(line.split(" holds ")[1].split(" of 256 places")[0]) for line in workers) == 256
        external.ask(
            "update citus_stand_in.pg_dist_node set nodename = '/nowhere' where groupid = 1",
            f"alter database {database} set synchronous_commit = off",
            database=database,
        )
        found = run("doctor", "--data-dir", data_dir, settings={**settings, "database.allow_unsafe": "true"})
    assert found.returncode == 2
    assert "PROBLEM: worker /nowhere:" in found.stdout
    assert "cannot be used, so the events of its" in found.stdout
    assert "has synchronous_commit=off: a confirmed event can be lost in a crash" in found.stdout
    crowded = run("doctor", "--data-dir", data_dir, settings={**settings, "server.workers": "64"})
    assert re.search(
        r"PROBLEM: worker \S+ allows \d+ connections, but server.workers = 64 nodes open up to 5", crowded.stdout
    )
    backup = complaint(run("backup", data_dir / "file", "--data-dir", data_dir, settings=settings))
    assert "the database is distributed: back up each server by the means of Postgres" in backup


def test_a_restore_without_its_distribution_is_one_line(
    external: PostgresServer, database: str, settings: Settings, data_dir: Path
) -> None:
    trio.run(stand_in, Target(url=external.url(database)), SHARDS)
    command("migrate", "--data-dir", data_dir, settings=settings)
    external.ask("truncate citus_stand_in.pg_dist_partition, citus_stand_in.pg_dist_placement", database=database)
    for words in (("doctor",), SERVE):
        line = complaint(run(*words, "--data-dir", data_dir, settings=settings))
        assert "it was restored from a dump, which does not hold the distribution" in line
