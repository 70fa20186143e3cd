"""Background work that two nodes do at once: pruning skips rows that the other is deleting, and a hold or refund found by
both ends once. Messages, partitions, key uses and first administrators are tested with their stores."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pytest
import trio

from actors.bookings.messages import ExpireHold, Message, SettleRefund
from actors.bookings.records import BookingStatus
from actors.retention.store import Rows
from storage.connection.pool import Connection, Database
from storage.postgres.retention import SQL as RETENTION
from storage.postgres.retention import PostgresRetention
from storage.rows.statements import statements
from tests.fakes import together
from tests.stores.books import Books, a_world, booking, origin, week
from tests.stores.conftest import stores_over
from tests.stores.test_pruning_plans import FILLED as ROWS

MAIL = statements("mail")
SECONDS = 30

FILLED = f"""{ROWS.replace("8000", "30")};
insert into device_guesses (session_id, wrong, locked_until_ms) select 'ses_' || n, 1, 0 from generate_series(1, 30) as n
"""


@dataclass(frozen=True, slots=True)
class Other:
    """A node that has done its work and commits once it may."""

    done: trio.Event
    may_commit: trio.Event

    async def run(self, database: Database, work: Callable[[Connection], Awaitable[int]]) -> int:
        async def held(connection: Connection) -> int:
            result = await work(connection)
            self.done.set()
            while not self.may_commit.is_set():
                await connection.execute("select pg_sleep(0.01)")
            return result

        return await database.transact(held)


async def beside(
    database: Database, work: Callable[[Connection], Awaitable[int]], *calls: Callable[[], Awaitable[int]]
) -> list[int]:
    """The result of one node's `work`, then those of another's calls, made while the first had not committed."""
    other = Other(trio.Event(), trio.Event())

    async def meanwhile() -> list[int]:
        await other.done.wait()
        try:
            return [await call() for call in calls]
        finally:
            other.may_commit.set()

    with trio.fail_after(SECONDS):
        first, rest = await together(partial(other.run, database, work), meanwhile)
    assert isinstance(rest, list), rest
    return [first, *rest]


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        (RETENTION.sign_in_codes, "sign_in_codes"),
        (RETENTION.code_mail_counts, "letter_counts"),
        (RETENTION.sign_in_links, "sign_in_links"),
        (RETENTION.ended_sessions, "sessions"),
        (RETENTION.device_logins, "devices"),
        (MAIL.prune, "outbox"),
    ],
    ids=["sign-ins", "counts", "links", "sessions", "devices", "letters"],
)
async def test_two_nodes_that_prune_at_once_neither_wait_nor_delete_twice(
    database: Database, statement: str, table: str
) -> None:
    await database.transact(lambda connection: connection.execute(FILLED))

    async def prune(connection: Connection) -> int:
        return int(await connection.fetchval(statement, 21, 10))

    assert await beside(database, prune, *[partial(database.transact, prune)] * 2) == [10, 10, 0]
    assert await database.read(lambda connection: connection.fetchval(f"select count(*) from {table}")) == 10


NEWEST_MS = 2**45
"""Later than any row: the server's clock decides."""


async def test_nodes_prune_the_journal_at_once_without_waiting(database: Database) -> None:
    """A node skips rows that another one is deleting."""
    old = (
        "insert into journal select 'n' || n || '/keys', 1, now() - interval '2 days' from generate_series(1, 30) as n"
    )
    await database.read(lambda connection: connection.execute(old))

    async def prune(connection: Connection) -> int:
        await connection.fetchval(RETENTION.journal, NEWEST_MS, 100)
        return 1

    async def another() -> int:
        await PostgresRetention(database).prune(Rows.JOURNAL, NEWEST_MS, 100)
        return 2

    assert await beside(database, prune, another) == [1, 2]
    assert await database.read(lambda connection: connection.fetchval("select count(*) from journal")) == 0


@pytest.fixture
def nodes(database: Database) -> Sequence[Books]:
    return [Books(stores_over(database), f"node{place}/bookings") for place in range(2)]


async def at_once(nodes: Sequence[Books], now_ms: int, message: Callable[[int], Message]) -> None:
    """Each node sends the same message, with its own audit record."""
    calls = [partial(node.send, message(10 + place), now_ms=now_ms) for place, node in enumerate(nodes)]
    with trio.fail_after(SECONDS):
        for answers in await together(*calls):
            assert isinstance(answers, list), answers


async def audits(database: Database) -> list[str]:
    rows = await database.read(lambda connection: connection.fetch("select action from audit order by id"))
    return [row["action"] for row in rows]


async def test_a_hold_that_two_nodes_find_over_ends_once(nodes: Sequence[Books], database: Database) -> None:
    await a_world(nodes[0])
    await nodes[0].lay_out(booking(1))
    over_ms = booking(1).hold_ms
    found = [await node.stores.sponsorship.due_holds(over_ms, 10) for node in nodes]
    assert found == [["bok_1"], ["bok_1"]]
    await at_once(nodes, over_ms, lambda number: ExpireHold("bok_1", origin(number)))
    assert await audits(database) == ["booking.expired"]
    assert await nodes[0].weeks() == {}
    assert [await node.stores.sponsorship.due_holds(over_ms, 10) for node in nodes] == [[], []]


async def test_a_refund_that_two_nodes_find_due_is_settled_once(nodes: Sequence[Books], database: Database) -> None:
    await a_world(nodes[0])
    due = booking(
        1, status=BookingStatus.REFUNDING, paid_ms=week(0), paid_cents=5_000, payment_id="pay_1", refund_due_ms=week(0)
    )
    await nodes[0].lay_out(due)
    found = [await node.stores.sponsorship.due_refunds(week(0), 10) for node in nodes]
    assert [[each.id for each in one] for one in found] == [["bok_1"], ["bok_1"]]
    await at_once(nodes, week(0), lambda number: SettleRefund("bok_1", None, origin(number)))
    assert await audits(database) == ["booking.refunded"]
    assert [await node.stores.sponsorship.due_refunds(week(0), 10) for node in nodes] == [[], []]
