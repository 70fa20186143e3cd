"""Behaviour of Trio, trio-asyncio and asyncpg on which the service relies. An upgrade that changes it fails here."""

import pytest
import trio
import trio.testing

from storage.connection.asyncio_bridge import trio_asyncio
from storage.connection.pool import Connection, Database


async def test_leaving_a_memory_channel_by_a_plain_with_keeps_the_error(autojump_clock: trio.testing.MockClock) -> None:
    """`async with` on a channel is a checkpoint, so a cancellation can replace the error. `with` is not."""
    send, receive = trio.open_memory_channel[int](0)

    def leave_cancelled() -> None:
        with trio.CancelScope() as scope, send, receive:  # noqa: ASYNC100 - that nothing is awaited is the point
            scope.cancel()
            raise KeyError

    with pytest.raises(KeyError):
        leave_cancelled()


async def test_a_reschedule_wakes_a_parked_task_with_no_value(autojump_clock: trio.testing.MockClock) -> None:
    woken = []

    async def sleeper(task_status: trio.TaskStatus[trio.lowlevel.Task]) -> None:
        task_status.started(trio.lowlevel.current_task())
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)
        woken.append(True)

    async with trio.open_nursery() as nursery:
        task = await nursery.start(sleeper)
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.reschedule(task)
    assert woken == [True]


async def test_a_shielded_scope_outlives_the_cancellation_around_it(autojump_clock: trio.testing.MockClock) -> None:
    done = []
    with trio.CancelScope() as outer:
        outer.cancel()
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
            done.append(trio.current_time())
    assert len(done) == 1


async def test_an_asyncio_error_that_nobody_awaits_reaches_the_loops_handler() -> None:
    """trio-asyncio's own handler would end the process."""
    heard = []
    async with trio_asyncio.open_loop() as loop:
        loop.set_exception_handler(lambda loop, context: heard.append(context["exception"]))
        loop.call_soon(_fail)
        with trio.fail_after(5):
            while not heard:
                await trio.lowlevel.checkpoint()
    assert [type(error) for error in heard] == [KeyError]


def _fail() -> None:
    raise KeyError


async def test_a_cancelled_caller_leaves_its_transaction_whole(database: Database) -> None:
    """Cancellation does not roll back: the call into asyncio is shielded, so the transaction completes and commits."""

    async def slow(connection: Connection) -> None:
        await connection.execute("insert into journal (owner, seq) select 'cancelled', 1 from pg_sleep(0.2)")

    with trio.move_on_after(0.05) as scope:
        await database.transact(slow)
    assert not scope.cancelled_caught, "the crossing was not shielded"
    assert await database.read(lambda c: c.fetchval("select seq from journal where owner = 'cancelled'")) == 1


async def test_a_unix_socket_connection_of_asyncpg_tells_when_it_is_closed(database: Database) -> None:
    """The pool discards closed connections by `is_closed`, which must be right after the server has ended one."""

    async def pid(connection: Connection) -> int:
        return int(await connection.fetchval("select pg_backend_pid()"))

    victim = await database.read(pid)
    other = Database(database.target, database.limits, database._reads)
    await other.read(lambda c: c.fetchval("select pg_terminate_backend($1, 2000)", victim))
    with trio.fail_after(5):
        while not database._idle[-1].is_closed():
            await trio.lowlevel.checkpoint()
    assert await database.read(pid) != victim
    other._terminate_all()
