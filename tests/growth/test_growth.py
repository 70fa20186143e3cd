"""No request reads a table that grows as a whole: by Postgres's own counts, on a fiftieth of a large service."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from urllib.parse import urlencode

import pytest

from actors.clock import SystemClock
from service.api.operations import OPERATIONS
from service.catalogctl.main import GROUPS
from storage.connection.pool import Database
from storage.connection.target import Target
from tests.growth.bounds import BOUNDED, excess
from tests.growth.changes import CHANGES, People
from tests.growth.filling import ADMIN, Size, fill
from tests.growth.node import Node, open_node
from tests.growth.reads import names_of, reads

SIZE = Size(2_000, 6_000, 10_000, 11_200)


@pytest.fixture
async def node(database_target: Target, database: Database, tmp_path: Path) -> AsyncIterator[Node]:
    await fill(database, SIZE, 1, SystemClock().now_ms())
    # Postgres reads a small table as a whole where it would use an index of a large one. Told not to, it does so only where
    # no index can be used.
    for method in ("seqscan", "hashjoin", "mergejoin"):
        setting = f"alter database {database_target.database} set enable_{method} = off"
        await database.read(methodcaller("execute", setting))
    url = f"postgresql://{database_target.user}@/{database_target.database}?host={database_target.host}"
    async with open_node(url, tmp_path) as opened:
        yield opened


async def test_no_request_reads_a_table_as_a_whole(node: Node) -> None:
    names, found = await names_of(node, SIZE), []
    asked = list(reads(names, node.services.clock.now_ms()))
    for read in asked:
        if read.browser and read.person == ADMIN:
            # All pages of administrators show counts that are read at most every 5 s: the machine's speed would say by which.
            node.services.counts.forget()
            await node.services.counts.read()
        before = await node.statistics()
        answer = await node.ask("GET", read.target, read.person, browser=read.browser)
        assert answer.status in (200, 303) or read.name in ANSWERS, f"{read.name}: {answer.status} {answer.body!r}"
        if much := excess(read.name, (await node.statistics()).since(before)):
            found.append(f"{read.name} reads {much}")
        if read.has_pages and (cursor := answer.json.get("cursor") or answer.json.get("nextCursor")):
            following = f"{read.target}?{urlencode({'cursor': cursor})}"
            asked.append(replace(read, name=f"{read.name}, second page", target=following, has_pages=False))
    assert not found, "\n".join(found)


ANSWERS = {"getPendingSignIn of 0": 401, "isReady of 0": 503, "page /dev/clock of 0": 404}
"""Answers that are no success: nobody waits for a passkey, not all tasks of the node run, and its clock cannot be moved."""


async def test_no_change_reads_a_table_as_a_whole(node: Node) -> None:
    people, found = People(node, SIZE), []
    for name, (change, person) in CHANGES.items():
        before = await node.statistics()
        answer = await change(people, person)
        assert answer.status == 200, f"{name}: {answer.status} {answer.body!r}"
        if much := excess(name, (await node.statistics()).since(before)):
            found.append(f"{name} reads {much}")
    assert not found, "\n".join(found)


async def test_a_table_that_grows_has_rows_to_read(node: Node) -> None:
    """A table that nobody declares bounded is filled, so that reading it shows."""
    rows = await node.database.fetch(
        "select relname, reltuples::int as rows from pg_class where relkind = 'r' and not relispartition"
        " and relnamespace = 'public'::regnamespace"
    )
    few = {row["relname"] for row in rows if row["rows"] < SIZE.accounts / 20 and row["relname"] not in BOUNDED}
    assert few == set()


def test_each_command_that_reads_asks_an_operation_that_is_measured() -> None:
    measured = {f"GET {operation.path}" for operation in OPERATIONS if operation.method == "GET"}
    rows = [row for _, commands in GROUPS.values() for row in commands if row.call.startswith("GET ")]
    assert len(rows) > 20
    for row in rows:
        called = re.sub(r"\{\w+\}", "{}", row.call.replace("GET ", "GET /api/v1/", 1))
        assert called in {re.sub(r"\{\w+\}", "{}", each) for each in measured}, row.call
