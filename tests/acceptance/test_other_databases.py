"""Databases as operators have them: behind PgBouncer, with a role that has no rights, on a standby."""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from storage.embedded.children import run as run_as
from storage.embedded.directories import make_directory
from tests.acceptance.postgres import BINARIES, PASSWORD, PostgresServer, free_port, ordinary_postgres, started
from tests.acceptance.processes import SECRET, as_user, complaint, run, serving, until

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")

pytestmark = pytest.mark.skipif(not (BINARIES / "postgres").exists(), reason=f"there is no Postgres 15 in {BINARIES}")
needs_pgbouncer = pytest.mark.skipif(PGBOUNCER is None, reason="needs pgbouncer")
LIVE = """select id from bookings
where status = 'paid' and extract(epoch from now()) * 1000 - week_start_ms between 0 and weeks * 604800000::bigint limit 1"""
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(playground: Path) -> Iterator[PostgresServer]:
    with ordinary_postgres(playground / "postgres") as server:
        yield server


def fresh(server: PostgresServer, rights: str = "owner catalog") -> str:
    """A new database. Returns its name."""
    name = f"shop_{next(_numbers)}"
    server.ask(f"create database {name} {rights}", database="postgres")
    return name


def url_of(database: str, *ports: int) -> str:
    return f"postgresql://catalog:{PASSWORD}@{','.join(f'127.0.0.1:{port}' for port in ports)}/{database}"


@contextmanager
def pooled(server: PostgresServer, place: Path, mode: str) -> Iterator[int]:
    """PgBouncer in front of a server, with the settings of its package but for `pool_mode`. Yields its port."""
    port = free_port()
    make_directory(place, 0o711)
    (place / "users").write_text(f'"catalog" "{PASSWORD}"\n')
    (place / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = plain\nauth_file = {place}/users\npool_mode = {mode}\nlogfile = {place}/log\n"
    )
    for path in (place, *place.iterdir()):
        shutil.chown(path, server.account.uid, server.account.gid)
    user = as_user(server.account.uid if os.geteuid() == 0 else None)
    with subprocess.Popen([str(PGBOUNCER), "-q", str(place / "pgbouncer.ini")], **user) as process:
        try:
            log = place / "log"
            until(lambda: log.exists() and "listening on" in log.read_text(), what="PgBouncer")
            yield port
        finally:
            process.terminate()


@needs_pgbouncer
def test_the_service_works_behind_pgbouncer_in_session_mode(
    server: PostgresServer, data_dir: Path, tmp_path: Path
) -> None:
    with pooled(server, data_dir.with_name("session"), "session") as port:
        settings = {"database.url": url_of(fresh(server), port), "server.secret": SECRET}
        with serving(data_dir, settings) as service:
            key = service.mint()["apiKey"]
            assert service.usage(key)["status"] == "anonymous"
            assert service.get("/api/v1/usecases?q=mail", key).status_code == 200
            [limits] = server.ask(
                "select count(*) from pg_stat_activity where application_name = 'catalog' and state is not null",
                database="postgres",
            )
            assert limits["count"] > 1
            assert "PROBLEM" not in service.command("doctor")


@needs_pgbouncer
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_that_shares_connections_is_refused_in_one_line(
    server: PostgresServer, data_dir: Path, mode: str
) -> None:
    with pooled(server, data_dir.with_name(mode), mode) as port:
        settings = {"database.url": url_of(fresh(server), port), "server.secret": SECRET}
        for command in ("serve", "doctor"):
            words = complaint(run(command, "--data-dir", data_dir, settings=settings))
            assert "cannot be used: it is behind a pooler" in words
            assert words.endswith("set pool_mode = session")


def test_a_role_without_rights_gets_the_statement_that_grants_them(server: PostgresServer, data_dir: Path) -> None:
    name = fresh(server, "")
    settings = {"database.url": url_of(name, server.port), "server.secret": SECRET}
    words = complaint(run("serve", "--data-dir", data_dir, settings=settings))
    remedy = "grant usage, create on schema public to catalog"
    assert f"run '{remedy}' there as the owner of the database (docs/installing.md)" in words
    server.ask(remedy, database=name)
    with serving(data_dir, settings) as service:
        assert service.is_ready()
        server.ask("alter table event_counts owner to boss", database=name)
        done = run("doctor", "--data-dir", data_dir, settings=settings)
        assert done.returncode == 2
        assert (
            "PROBLEM: the role catalog lacks rights on the table event_counts: delete, insert, select, update"
            in done.stdout
        )
        [booking] = server.ask(LIVE, database=name)
        body = {"bookingId": booking["id"], "kind": "click", "visitorId": "7f1a5b1e-53f0-4a68-9c1f-6f2b7a6d8c11"}
        assert service.post("/api/v1/sponsors/events", body).status_code == 503
        until(lambda: service.status("/readyz") == 503, 2.0)
        words = service.get("/readyz").text
        assert "the database accepts no writes: the role of the service lacks a right; doctor lists it" in words


def test_doctor_looks_at_a_standby_and_a_service_finds_the_primary_beside_it(
    server: PostgresServer, data_dir: Path
) -> None:
    name = fresh(server)
    primary = {"database.url": url_of(name, server.port), "server.secret": SECRET}
    assert run("migrate", "--data-dir", data_dir, settings=primary).returncode == 0
    server.ask("alter role catalog set default_transaction_isolation = 'serializable'", database=name)
    with standby_of(server, data_dir.with_name("standby")) as standby:
        alone = {**primary, "database.url": url_of(name, standby.port)}
        done = run("doctor", "--data-dir", data_dir, settings=alone)
        assert "note: this host is a standby" in done.stdout
        assert "Traceback" not in done.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        words = complaint(run("serve", "--data-dir", data_dir, settings=alone))
        assert "is a standby, which accepts no writes: let database.url name the primary, or all hosts" in words
        both = {**primary, "database.url": url_of(name, standby.port, server.port)}
        with serving(data_dir, both) as service:
            assert service.is_ready()


@contextmanager
def standby_of(server: PostgresServer, place: Path) -> Iterator[PostgresServer]:
    """A hot standby."""
    make_directory(place, 0o711)
    shutil.chown(place, server.account.uid, server.account.gid)
    options = ["-h", str(server.sockets), "-p", str(server.port), "-U", "boss", "--checkpoint=fast", "--no-sync"]
    copy: list[str | Path] = [BINARIES / "pg_basebackup", "-D", place / "cluster", "-R", *options]
    trio.run(run_as, copy, server.account)
    sockets, port = place / "run", free_port()
    make_directory(sockets, 0o700)
    shutil.chown(sockets, server.account.uid, server.account.gid)
    shared = ("listen_addresses=127.0.0.1", f"port={port}")
    standby = PostgresServer(server.binaries, server.account, place / "cluster", sockets, *shared)
    standby.role, standby.port = "boss", port
    (place / "cluster" / "postmaster.pid").unlink(missing_ok=True)
    with started(standby):
        yield standby
