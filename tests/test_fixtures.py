"""Tests get a database as fresh as a copy of the template, and a worker reports all that failed."""

from typing import Literal, TypeAlias

import pytest
import trio

from storage.connection.pool import Database, open_database
from storage.connection.target import Target
from storage.events.store import PostgresEvents
from tests.conftest import Server, informative

TABLES = (
    "select oid::regclass::text as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
)
Rows: TypeAlias = dict[str, list[str]]


async def _rows(database: Database) -> Rows:
    """Every row and sequence of a database."""
    names = [row["name"] for row in await database.fetch(TABLES)]
    rows = {name: await database.fetch(f"select t::text as row from {name} as t order by 1") for name in names}
    rows["sequences"] = await database.fetch(
        "select s::text as row from pg_sequences as s where schemaname = 'public' order by 1"
    )
    return {name: [row["row"] for row in each] for name, each in rows.items()}


def _run(target: Target, *statements: str) -> Rows:
    """Return the rows of a database before it is used with these statements, and for a day of events."""

    async def use() -> Rows:
        async with open_database(target) as database:
            before = await _rows(database)
            for statement in statements:
                await database.fetch(statement)
            await PostgresEvents(database).prepare([30_000])
            return before

    return trio.run(use)


USED = (
    "insert into tenants (id, tier) values ('ten_used', 'claimed')",
    "update catalog_revision set revision = revision + 1",
    "truncate review_digest",
    "select nextval('event_sites_number_seq')",
)


def test_a_database_that_is_used_again_has_the_rows_of_a_fresh_one(postgres_server: Server) -> None:
    with postgres_server.copy() as copied:
        fresh = _run(copied)
    for _ in range(2):
        with postgres_server.fresh() as target:
            assert _run(target, *USED) == fresh


@pytest.mark.parametrize(
    "change",
    [
        "create table more ()",
        "drop table outbox",
        "alter table outbox add more text",
        "alter table audit disable trigger all",
        "insert into tenants (id, tier) select n, 'claimed' from generate_series(1, 9999) as n",
    ],
)
def test_a_database_with_another_schema_or_many_rows_is_dropped(postgres_server: Server, change: str) -> None:
    with postgres_server.fresh() as target:
        _run(target, change)
    with postgres_server.fresh() as later:
        assert later != target


Outcome: TypeAlias = Literal["passed", "failed", "skipped"]


def _report(when: Literal["setup", "call", "teardown"], outcome: Outcome) -> pytest.TestReport:
    return pytest.TestReport("test", ("file", 1, "test"), {}, outcome, None, when, duration=1.0)


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        (("passed", "passed", "passed"), ["call passed 3.0"]),
        (("passed", "failed", "passed"), ["call failed 3.0"]),
        (("passed", "passed", "failed"), ["call passed 3.0", "teardown failed 1.0"]),
        (("failed", None, "passed"), ["setup failed 1.0"]),
        (("skipped", None, "failed"), ["setup skipped 1.0", "teardown failed 1.0"]),
    ],
)
def test_a_worker_reports_each_call_and_all_that_did_not_pass(
    outcomes: tuple[Outcome | None, ...], told: list[str]
) -> None:
    whens: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    reports = [_report(when, outcome) for when, outcome in zip(whens, outcomes, strict=True) if outcome is not None]
    assert [f"{each.when} {each.outcome} {each.duration}" for each in informative(reports)] == told
