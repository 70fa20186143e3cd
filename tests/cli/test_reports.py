"""The commands that report change nothing, on any database: they neither migrate it nor write to it."""

import os
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

from service.cli.doctor import check_room, places_of
from service.cli.main import main
from service.cli.table import COMMANDS
from service.config.loading import load
from storage.connection.pool import Connection, open_database
from storage.connection.target import Target
from storage.schema import migrations
from tests.conftest import Server
from tests.slow import repeats

REPORTS = {
    "doctor": [],
    "list-accounts": [],
    "list-slots": [],
    "export-account": ["nobody@example.com"],
    "openapi": [],
    "completion": ["bash"],
    "distribute": ["--status"],
}
NEWEST = migrations()[-1]
REPORTED = {
    "doctor": "ok: the database answers",
    "list-accounts": "",
    "list-slots": "ID",
    "export-account": "there is no account",
}


class Commands:
    """Runs commands on one database, as a role that owns nothing in it and may read and write all."""

    def __init__(self, server: Server, target: Target, role: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._server = server
        self._capsys = capsys
        self.role = role
        self.database = target
        self.name = target.database

    async def on_database(self, *statements: str) -> None:
        async with open_database(self.database) as database:
            for statement in statements:
                await database.transact(
                    partial(_execute, f"set transaction read write; set local role {self.database.user}; {statement}")
                )

    def sql(self, *statements: str) -> None:
        """Run statements in the database as its owner."""
        trio.run(self.on_database, *statements)

    def printed(self, name: str, *arguments: str) -> str:
        main([name, *arguments])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        return captured.out + captured.err


async def _execute(statement: str, connection: Connection) -> None:
    await connection.execute(statement)


@pytest.fixture
def commands(
    postgres_server: Server,
    database_target: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    own_logging: None,
) -> Iterator[Commands]:
    if database_target.host is None:
        pytest.skip("it makes a role on the run's own server")
    role = f"plain_{os.getpid()}"
    made = Commands(postgres_server, database_target, role, capsys)
    owner = database_target.user
    postgres_server.run(f"create role {role}", f"alter role {owner} in database {made.name} set role = {role}")
    url = f"postgresql://{owner}@/{made.name}?host={database_target.host}"
    monkeypatch.setenv("CATALOG__DATABASE__URL", url)
    monkeypatch.setenv("CATALOG__DATABASE__ALLOW_UNSAFE", "true")
    monkeypatch.setenv("CATALOG__SERVER__DATA_DIR", str(tmp_path))
    made.sql(
        f"grant all on all tables in schema public to {role}",
        f"grant all on schema public to {role}",
        f"do $$ begin execute (select string_agg('alter table ' || oid::regclass || ' owner to {role}', ';') "
        "from pg_class where relkind = 'p' and relnamespace = 'public'::regnamespace); end $$",
    )
    try:
        yield made
    finally:
        made.sql(f"reassign owned by {role} to {owner}", f"drop owned by {role}")
        postgres_server.run(f"drop role {role}")


def test_each_command_is_known_to_report_or_to_change() -> None:
    changing = {
        "serve migrate import-catalog seed-demo issue-key revoke-key sign-in-link set-tier grant-admin revoke-admin "
        "remove-passkeys suspend-account unsuspend-account delete-account set-billing-mode create-slot edit-slot "
        "retire-slot backup restore"
    }
    assert {*REPORTS, *" ".join(changing).split()} == set(COMMANDS)


def test_reports_work_on_a_database_that_accepts_no_writes(commands: Commands) -> None:
    commands.sql(f"alter database {commands.name} set default_transaction_read_only = on")
    for name, words in REPORTED.items():
        assert words in commands.printed(name, *REPORTS[name]), name
    assert f"PROBLEM: the database is read-only for the role {commands.role}" in commands.printed("doctor")
    assert "is read-only for the role" in commands.printed("migrate")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"delete from schema_migrations where version = {NEWEST.version}", f"lacks migration {NEWEST}: run 'migrate'"),
        (
            "drop schema public cascade; create schema public; grant all on schema public to public",
            "has no tables of the",
        ),
    ],
    ids=["of an older release", "empty"],
)
def test_reports_migrate_no_database(commands: Commands, change: str, told: str) -> None:
    commands.sql(*change.split("; "))
    for name in REPORTED:
        assert told in commands.printed(name, *REPORTS[name]), name


EVENTS = ("revoke insert, update on event_counts from {role}", "lacks rights on the table event_counts: insert, update")
OTHERS = [
    ("revoke select on nodes from {role}", "lacks rights on the table nodes: select"),
    ("revoke execute on function record_events from public", "lacks rights on the function record_events: execute"),
    ("alter table event_keys owner to {owner}", "lacks rights on the table event_keys: delete, insert, ownership"),
    ("revoke create on schema public from public, {role}", "run 'grant usage, create on schema public to {role}'"),
    ("revoke all on schema public from public, {role}", "run 'grant usage, create on schema public to {role}'"),
    ("revoke select on schema_migrations from {role}", "the role of the service lacks a right"),
]


@pytest.mark.parametrize(
    ("change", "told"),
    [EVENTS, *(pytest.param(*each, marks=repeats("the first case asks by the same statement")) for each in OTHERS)],
)
def test_doctor_names_each_right_that_is_missing(commands: Commands, change: str, told: str) -> None:
    names = {"role": commands.role, "owner": commands.database.user}
    commands.sql(change.format(**names))
    assert told.format(**names) in commands.printed("doctor")


def test_doctor_names_each_file_system_that_is_almost_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"full": (tmp_path, 1 << 60), "roomy": (tmp_path, 1), "not made yet": (tmp_path / "nothing", 1)}
    [problem] = check_room(places)
    assert re.fullmatch(rf"{tmp_path} \(full\) has \d+ MiB free: make room, at least {1 << 40} MiB", problem)
    assert re.fullmatch(rf"ok: {tmp_path} \(roomy\) has \d+ MiB free\n", capsys.readouterr().out)
    own = places_of(load(None, {}), tmp_path)
    assert [path for path, _ in own.values()] == [tmp_path, Path(tempfile.gettempdir()), Path("/dev/shm")]
    elsewhere = places_of(load(None, {"CATALOG__DATABASE__URL": "postgresql://db/catalog"}), tmp_path)
    assert Path("/dev/shm") not in [path for path, _ in elsewhere.values()]
