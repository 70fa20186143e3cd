"""What a start and `doctor` say about clocks that are off, and about the archive of a Postgres of one's own."""

import getpass
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from storage.embedded.children import server_account
from tests.acceptance.postgres import PostgresServer, ask, started
from tests.acceptance.processes import SECRET, Settings, complaint, run, serving, until

ROLE = "ordinary"
"""A role that is no superuser and owns its database."""

TABLES = "select from pg_class where relkind = 'r' and relnamespace::regnamespace::text !~ '^(pg_|information_)'"


def doctor(data_dir: Path, settings: Settings) -> tuple[int, list[str]]:
    """The exit code and the lines of `doctor`."""
    done = run("doctor", "--data-dir", data_dir, settings={"log.level": "warning", **settings})
    return done.returncode, done.stdout.splitlines()


# Clocks.


def database_ahead(server: PostgresServer, seconds: int) -> str:
    """A new, empty database whose clock is ahead by so much: its own `clock_timestamp()` comes before the server's."""
    name = f"ahead_{seconds}".replace("-", "minus_")
    server.ask(f"create database {name}", database="postgres")
    server.ask(
        "create schema skewed",
        "create function skewed.clock_timestamp() returns timestamptz language sql as "
        f"$$select pg_catalog.clock_timestamp() + interval '{seconds} s'$$",
        f"alter database {name} set search_path = public, skewed, pg_catalog",
        database=name,
    )
    return name


@pytest.mark.parametrize(("seconds", "words", "workers"), [(1_200, "1200 s ahead", 1), (-400, "400 s behind", 2)])
def test_clocks_that_are_minutes_apart_refuse_a_start_before_anything_is_written(
    seconds: int, words: str, workers: int, external: PostgresServer, playground: Path
) -> None:
    name, data_dir = database_ahead(external, seconds), playground / f"clocks-{workers}"
    settings: Settings = {
        "database.url": external.url(name),
        "server.secret": SECRET,
        "server.workers": workers,
    }
    line = complaint(run("serve", "--bind", "127.0.0.1:0", "--data-dir", data_dir, settings=settings))
    assert line.startswith("service: the clock of this machine says 2")
    assert ", and that of the database server says 2" in line
    assert line.endswith(f" UTC, {words}: let both follow NTP")
    assert external.ask(TABLES, database=name) == []
    assert not data_dir.exists()


def test_clocks_that_are_seconds_apart_are_a_warning_and_a_problem(external: PostgresServer, playground: Path) -> None:
    settings: Settings = {"database.url": external.url(database_ahead(external, 40)), "server.secret": SECRET}
    with serving(playground / "clocks", settings) as service:
        assert service.mint()
        [line] = [each for each in service.log().splitlines() if "the clock of this machine" in each]
        assert " warning service.running.foundation the clock of this machine says 2" in line
        assert line.endswith(", 40 s ahead: let both follow NTP")
    code, lines = doctor(playground / "clocks", settings)
    assert code == 2
    assert [each.partition(" says")[0] for each in lines if "PROBLEM" in each] == ["PROBLEM: the clock of this machine"]
    assert "ok: the clocks agree" not in lines


def test_a_heartbeat_of_the_future_shows_that_the_clock_of_the_embedded_postgres_was_wrong(data_dir: Path) -> None:
    columns, row = (
        "id, host, pid, version, url, started_ms, beaten_at",
        "'x', 'h', 1, '1', 'u', 0, now() + interval '2 hours'",
    )
    with serving(data_dir) as service:
        assert "the newest migration or heartbeat" not in service.log()
        ask(service.sockets, f"insert into nodes ({columns}) values ({row})")
    code, lines = doctor(data_dir, {})
    [problem] = [each for each in lines if each.startswith("PROBLEM")]
    assert code == 2
    assert problem.startswith("PROBLEM: the newest migration or heartbeat in the database is of 2")
    with serving(data_dir) as service:
        assert (
            f" warning service.running.foundation {problem.partition(' says')[0].removeprefix('PROBLEM: ')}"
            in service.log()
        )
        assert service.mint()


# The archive.


@pytest.fixture(scope="module")
def archiving(playground: Path, new_server: Callable[..., PostgresServer]) -> Iterator[PostgresServer]:
    """A server with archive_mode on and no command, and a database of an ordinary role."""
    server = new_server(playground / "archiving", "archive_mode=on", "wal_level=replica")
    with (server.directory / "pg_ident.conf").open("a") as admitted:
        admitted.writelines(
            f"service {user} {ROLE}\n" for user in {getpass.getuser(), server_account(None).name, "nobody"}
        )
    with started(server):
        server.ask(f"create role {ROLE} login", f"create database shop owner {ROLE}", database="postgres")
        yield server


@pytest.fixture
def settings(archiving: PostgresServer) -> Settings:
    return {"database.url": archiving.url("shop").replace("catalog@", f"{ROLE}@"), "server.secret": SECRET}


def archives(server: PostgresServer, command: str, counter: str) -> None:
    """Archive with this command, and wait until the counter of `pg_stat_archiver` has grown."""
    statement = f"select {counter} from pg_stat_archiver"
    [[before]] = server.ask(statement)
    server.configure(f"alter system set archive_command = '{command}'")
    server.ask("create table if not exists written ()", "drop table written", "select pg_switch_wal()")
    until(lambda: server.ask(statement)[0][0] > before, what=counter)


def about_archive(data_dir: Path, settings: Settings) -> tuple[int, str]:
    code, lines = doctor(data_dir, settings)
    [line] = [each for each in lines if "archive" in each]
    return code, line


def test_an_ordinary_role_learns_how_the_archive_does(
    archiving: PostgresServer, settings: Settings, playground: Path
) -> None:
    place = playground / "archived"
    with serving(place, settings) as service:
        assert service.mint()
    code, line = about_archive(place, settings)
    assert (code, line) == (
        0,
        "note: the database archives no write-ahead log (neither archive_command nor archive_library is set): without "
        "backups of another kind, losing its disk loses all; see docs/backups.md",
    )
    archives(archiving, "/bin/true", "archived_count")
    code, line = about_archive(place, settings)
    assert (code, line.partition(" last ")[0]) == (0, "ok: the database archives its write-ahead log,")
    archives(archiving, "/bin/false", "failed_count")
    code, line = about_archive(place, settings)
    assert code == 2
    assert line.startswith("PROBLEM: the database fails to archive 0000")
    assert "(last success: 0.0 h ago)" in line
    archives(archiving, "/bin/true", "archived_count")
    assert about_archive(place, settings)[0] == 0
    # Where a provider hides how the archive does, it is believed.
    archiving.ask("revoke select on pg_stat_archiver from public", database="shop")
    assert about_archive(place, settings) == (0, "ok: the database archives its write-ahead log")


def test_a_database_without_an_archive_is_noted(external: PostgresServer, playground: Path) -> None:
    settings: Settings = {"database.url": external.url(external.fresh_database()), "server.secret": SECRET}
    with serving(playground / "no-archive", settings) as service:
        assert "note: the database archives no write-ahead log (archive_mode is off): " in service.command("doctor")
