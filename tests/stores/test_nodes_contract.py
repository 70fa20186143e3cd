"""The contract of the node store, over Postgres and in memory: heartbeats, leaving, and rows of dead nodes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import trio

from actors.nodes.messages import LiveNode, NodeInfo
from actors.nodes.state import GONE_ROWS, GONE_SECONDS, MAX_NODES
from actors.nodes.store import NodeStore
from storage.connection.pool import Connection, Database, open_database
from storage.connection.target import Target
from storage.postgres.nodes import SQL, PostgresNodes
from tests.doubles.nodes import MemoryNodes
from tests.doubles.tables import Memory
from tests.fakes import together

LIVE_SECONDS = 10.0


def node(number: int) -> NodeInfo:
    return NodeInfo(f"n{number}", f"host-{number}", number, "1.0.0", f"http://192.0.2.{number}:8080", 1_000 + number)


@dataclass(frozen=True, slots=True)
class Case:
    """A store, and a way to age its rows."""

    store: NodeStore
    below: Memory | Database

    async def heartbeat(self, number: int) -> list[str]:
        return sorted(each.node.id for each in await self.store.heartbeat(node(number), LIVE_SECONDS))

    async def live(self) -> list[str]:
        return sorted(each.node.id for each in await self.store.live(LIVE_SECONDS))

    async def age(self, seconds: float, *numbers: int) -> None:
        """Move the last heartbeats of these nodes, or of all, into the past."""
        names = [f"n{number}" for number in numbers] or None
        if isinstance(self.below, Memory):
            rows = self.below.nodes
            for name in names or list(rows):
                rows[name] = rows[name][0], rows[name][1] - seconds
            return
        aged = "update nodes set beaten_at = beaten_at - make_interval(secs => $1) where $2::text[] is null or id = any ($2)"
        await self.below.read(lambda connection: connection.execute(aged, seconds, names))

    async def fill(self, count: int, age_seconds: float) -> None:
        """Insert rows of nodes, named `x...`, with a last heartbeat of that age."""
        if isinstance(self.below, Memory):
            for number in range(count):
                row = NodeInfo(f"x{number}", "host-0", 1, "1.0.0", "", 0)
                self.below.nodes[row.id] = row, trio.current_time() - age_seconds
            return
        filled = (
            "insert into nodes select 'x' || n, 'host-0', 1, '1.0.0', '', 0, now() - make_interval(secs => $2)"
            " from generate_series(0, $1 - 1) as n"
        )
        await self.below.read(lambda connection: connection.execute(filled, count, age_seconds))

    async def rows(self) -> int:
        if isinstance(self.below, Memory):
            return len(self.below.nodes)
        return int(await self.below.read(lambda connection: connection.fetchval("select count(*) from nodes")))


@pytest.fixture
async def case(where: Target | None) -> AsyncIterator[Case]:
    if where is None:
        memory = Memory()
        yield Case(MemoryNodes(memory), memory)
        return
    async with open_database(where) as database:
        yield Case(PostgresNodes(database), database)


async def test_a_beat_tells_of_itself_and_of_whoever_else_is_live(case: Case) -> None:
    assert await case.live() == []
    assert await case.heartbeat(1) == ["n1"]
    assert await case.heartbeat(2) == ["n1", "n2"]
    assert await case.heartbeat(1) == ["n1", "n2"]
    assert await case.live() == ["n1", "n2"]
    assert await case.rows() == 2


async def test_other_nodes_see_what_a_node_reports(case: Case) -> None:
    await case.heartbeat(1)
    await case.age(3.0)
    [other] = [each for each in await case.store.heartbeat(node(2), LIVE_SECONDS) if each.node.id == "n1"]
    assert other.node == node(1)
    assert 3.0 <= other.age_seconds < LIVE_SECONDS


async def test_a_node_hears_of_itself_as_of_now(case: Case) -> None:
    await case.heartbeat(1)
    await case.age(5.0)
    assert await case.store.heartbeat(node(1), LIVE_SECONDS) == [LiveNode(node(1), 0.0)]
    [kept] = await case.store.live(LIVE_SECONDS)
    assert kept.age_seconds < 5.0


async def test_a_node_without_a_beat_for_long_does_not_count_and_counts_again_when_it_beats(case: Case) -> None:
    await case.heartbeat(1)
    await case.heartbeat(2)
    await case.age(LIVE_SECONDS, 1)
    assert await case.heartbeat(2) == await case.live() == ["n2"]
    assert await case.heartbeat(1) == ["n1", "n2"]


async def test_a_beat_from_far_ahead_does_not_count(case: Case) -> None:
    """As after the database's clock was set back."""
    await case.heartbeat(1)
    await case.age(-2 * LIVE_SECONDS, 1)
    assert await case.heartbeat(2) == ["n2"]
    assert await case.live() == ["n2"]
    assert await case.heartbeat(1) == ["n1", "n2"]


async def test_after_a_goodbye_a_node_is_gone_at_once(case: Case) -> None:
    await case.heartbeat(1)
    await case.heartbeat(2)
    await case.store.leave("n1")
    assert await case.heartbeat(2) == ["n2"]
    await case.store.leave("n1")
    await case.store.leave("nobody")
    assert await case.rows() == 1


async def test_rows_of_nodes_long_gone_are_deleted_some_with_each_beat(case: Case) -> None:
    await case.heartbeat(2)
    await case.age(GONE_SECONDS - 60.0)
    await case.fill(GONE_ROWS + 5, GONE_SECONDS + 10.0)
    assert await case.heartbeat(1) == ["n1"]
    assert await case.rows() == 1 + 1 + 5
    await case.heartbeat(1)
    assert await case.rows() == 1 + 1


async def test_a_node_that_was_away_for_long_keeps_its_row(case: Case) -> None:
    await case.heartbeat(1)
    await case.age(2 * GONE_SECONDS)
    assert await case.heartbeat(1) == ["n1"]
    assert await case.live() == ["n1"]


async def test_no_more_than_so_many_nodes_are_read(case: Case) -> None:
    await case.fill(MAX_NODES + 20, 1.0)
    for seen in (await case.store.heartbeat(node(1), LIVE_SECONDS), await case.store.live(LIVE_SECONDS)):
        assert len(seen) == MAX_NODES
        assert "n1" in {each.node.id for each in seen}


async def test_many_nodes_that_beat_at_once_all_count(case: Case) -> None:
    await case.fill(GONE_ROWS, GONE_SECONDS + 10.0)
    beats = [lambda number=number: case.heartbeat(number) for number in range(1, 7)]
    for _ in range(5):
        for heard in await together(*beats):
            assert isinstance(heard, list), heard
    assert await case.live() == [f"n{number}" for number in range(1, 7)]


# Only over Postgres.


async def test_a_beat_waits_for_no_lock_of_a_row(database: Database) -> None:
    """A hanging earlier heartbeat may hold this node's row, and another node's pruning the row of a dead node."""
    store = PostgresNodes(database)
    await store.heartbeat(node(1), LIVE_SECONDS)
    await store.heartbeat(node(2), LIVE_SECONDS)
    held, done = trio.Event(), trio.Event()
    seen: list[LiveNode] = []

    async def hold(connection: Connection) -> None:
        await connection.execute("select from nodes for update")
        held.set()
        while not done.is_set():
            await connection.execute("select pg_sleep(0.01)")

    async def heartbeat() -> None:
        await held.wait()
        seen.extend(await store.heartbeat(node(1), LIVE_SECONDS))
        done.set()

    with trio.fail_after(30):
        await together(lambda: database.transact(hold), heartbeat)
    assert sorted(each.node.id for each in seen) == ["n1", "n2"]


async def test_a_beat_is_one_statement_of_one_round_trip(database: Database) -> None:
    store = PostgresNodes(database)
    await store.heartbeat(node(1), LIVE_SECONDS)
    before = database.statistics().transactions
    await store.heartbeat(node(1), LIVE_SECONDS)
    assert database.statistics().transactions == before + 1


async def test_beats_and_prunes_read_no_table_as_a_whole(database: Database) -> None:
    filled = """
    insert into nodes select 'x' || n, 'host-0', 1, '1.0.0', '', 0, now() - make_interval(secs => n)
    from generate_series(1, 20000) as n; analyze nodes; set plan_cache_mode = force_generic_plan
    """

    async def plans(connection: Connection) -> str:
        await connection.execute(filled)
        types = "text, text, integer, text, text, bigint, float8, float8, bigint, bigint"
        await connection.execute(
            f"prepare beating ({types}) as {SQL.heartbeat}; prepare living (float8, bigint) as {SQL.live}"
        )
        beating = "explain execute beating ('n1', '', 1, '', '', 0, 10, 3600, 100, 255)"
        rows = [*await connection.fetch(beating), *await connection.fetch("explain execute living (10, 256)")]
        return "\n".join(row[0] for row in rows)

    assert "Seq Scan" not in await database.transact(plans)
