"""Webhooks with a large backlog, and on several nodes at once: leasing stays fast, and nobody waits for anybody for ever."""

import re

import pytest
import trio

from actors.values import Contended
from actors.webhooks.messages import DeliveryStatus, EventType
from storage.connection.pool import Connection, Database
from storage.postgres.webhooks import SQL, PostgresWebhooks
from tests.stores.webhooks import NOW, Post, refused, room, taken, told, webhook

BACKLOG = """
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, due_ms)
select 'dlv_' || n, 'whk_1', 'evt_' || n, 'bok_' || n % 90000, 'booking.paid', '{}', $1::bigint,
    case when n < 90000 then $1::bigint end
from generate_series($2::int, $2 + 24999) as n
"""
READY: list[object] = [NOW, [], [], True, 128]
STATEMENTS: dict[str, tuple[str, list[object]]] = {
    "ready": (SQL.ready, READY),
    "lease": (SQL.lease, [["whk_1"], [2], NOW, NOW + 60_000]),
    "refresh": (SQL.refresh, [["whk_1"]]),
    "follow": (SQL.follow, [[1, 2], NOW]),
    "next_due": (SQL.next_due, [NOW]),
    "backlog": (SQL.backlog, [1_000]),
    "log": (SQL.log, ["whk_1", None, 20]),
    "waiting_like": (SQL.waiting_like, [["dlv_1"], ["whk_1"]]),
    "add": (SQL.add, [["dlv_x"], ["whk_1"], ["evt_x"], ["bok_5"], ["booking.paid"], ["{}"], [NOW]]),
}
MAX_ROWS = 6_000
"""Bounds of what a statement reads: the backlog counts up to 1,000 deliveries, everything else reads a few."""


async def backlogged(database: Database) -> Post:
    """100,000 deliveries wait for one webhook of a receiver that is dead, and one for another."""
    post = Post(PostgresWebhooks(database), database)
    await post.open()
    await post.add(webhook(1), webhook(2, owner=2))

    for first in range(0, 100_000, 25_000):
        await database.transact(lambda connection, first=first: connection.execute(BACKLOG, NOW, first))  # type: ignore[misc]

    async def analyze(connection: Connection) -> None:
        await connection.execute(SQL.refresh, ["whk_1"])
        await connection.execute("analyze webhooks, webhook_deliveries")

    await database.transact(analyze)
    await post.publish(told(1, owner=2))
    return post


async def test_a_backlog_of_100_000_makes_no_statement_read_it(database: Database) -> None:
    await backlogged(database)

    async def read(connection: Connection) -> dict[str, int]:
        await connection.execute("set plan_cache_mode = force_generic_plan")
        found = {}
        for name, (statement, values) in STATEMENTS.items():
            await connection.execute("begin")
            explain: str = f"explain (analyze, timing off, summary off) {statement}"
            lines = "\n".join(row[0] for row in await connection.fetch(explain, *values))
            await connection.execute("rollback")
            counts = [float(rows) * int(loops) for rows, loops in re.findall(r"rows=(\d+\.?\d*) loops=(\d+)", lines)]
            counts += map(float, re.findall(r"Rows Removed by \w+(?: \w+)?: (\d+)", lines))
            found[name] = int(max(counts))
        return found

    counts = await database.read(read)
    assert {name: count for name, count in counts.items() if count > MAX_ROWS} == {}


async def test_the_other_receiver_is_served_beside_the_backlog(database: Database) -> None:
    post = await backlogged(database)
    lease = await post.lease()
    assert [task.webhook.id for task in lease.tasks].count("whk_2") == 1
    assert len(lease.tasks) == 3
    await post.settle(*(refused(task) if task.webhook.id == "whk_1" else taken(task) for task in lease.tasks))
    [probe] = (await post.lease(NOW + 3_600_000)).tasks
    assert probe.webhook.id == "whk_1"


async def test_a_webhook_with_a_backlog_is_turned_on_and_deleted_within_a_statement(database: Database) -> None:
    post = await backlogged(database)
    lease = await post.lease(of=room(1))
    await post.settle(refused(lease.tasks[0], answered=410))
    await post.enable(now_ms=NOW + 60_000)
    assert len((await post.lease(NOW + 60_000, of=room(1))).tasks) == 1
    await post.delete(1)
    assert await post.log(1) == []


async def test_nodes_that_tell_lease_and_settle_at_once_lose_and_repeat_nothing(database: Database) -> None:
    post = Post(PostgresWebhooks(database), database)
    await post.open()
    await post.add(*(webhook(n) for n in range(1, 4)))
    await post.add(webhook(4, owner=2, events=list(EventType)))
    told_of: list[str] = []
    got: list[tuple[str, str]] = []
    done = trio.Event()

    async def tell(first: int, owner: int) -> None:
        for number in range(first, first + 20):
            # As the ledger's actor does after a conflict.
            for _ in range(8):
                try:
                    await post.publish(
                        told(number, f"bok_{number % 3}", owner), told(number + 500, f"bok_{number % 2}", owner)
                    )
                    break
                except Contended:
                    continue
            told_of.extend((f"evt_{number}", f"evt_{number + 500}"))

    async def send() -> None:
        while True:
            told_all = done.is_set()
            tasks = (await post.lease()).tasks
            got.extend((task.webhook.id, task.delivery.event_id) for task in tasks)
            await post.settle(*map(taken, tasks))
            if told_all and not tasks:
                return

    with trio.fail_after(30):
        async with trio.open_nursery() as senders:
            for _ in range(3):
                senders.start_soon(send)
            async with trio.open_nursery() as tellers:
                for first, owner in ((1, 1), (101, 2), (201, 1)):
                    tellers.start_soon(tell, first, owner)
            done.set()
    assert len(got) == len(set(got))
    for number, owner in ((1, 1), (2, 1), (3, 1), (4, 2)):
        log = await post.log(number)
        assert {each.status for each in log} == {DeliveryStatus.DELIVERED}
        assert len(log) == (40 if owner == 2 else 80)
    assert len(told_of) == 120


@pytest.mark.parametrize("number", [1, 2])
async def test_the_events_of_a_booking_keep_their_order_on_two_nodes(database: Database, number: int) -> None:
    post = Post(PostgresWebhooks(database), database)
    await post.open()
    await post.add(webhook(1))
    order: list[int] = []

    async def send() -> None:
        while len(order) < 20:
            for task in (await post.lease(of=room(number))).tasks:
                order.append(int(task.delivery.event_id[4:]))
                await post.settle(taken(task))

    with trio.fail_after(30):
        await post.publish(*(told(n) for n in range(20)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(send)
    assert order == list(range(20))
