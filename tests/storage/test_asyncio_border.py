"""The crossing from Trio to asyncio: a Trio task takes the steps of an asyncio-flavoured function."""

import asyncio
import socket
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.values import StorageUnavailable
from storage.connection.asyncio_border import connect, cross, open_loop


def never() -> None:
    raise AssertionError("nothing was overdue")


class Futures:
    """An asyncio-flavoured function that waits for one future after the other and returns their results."""

    def __init__(self, loop: Any, count: int) -> None:
        self.all = [loop.create_future() for _ in range(count)]

    async def run(self) -> list[Any]:
        return [await each for each in self.all]

    async def answer(self, *answers: object) -> None:
        """Set a result, or an error, each second."""
        for future, answer in zip(self.all, answers, strict=False):
            await trio.sleep(1)
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


async def test_a_function_runs_through_all_that_it_waits_for(autojump_clock: MockClock) -> None:
    async with open_loop() as loop, trio.open_nursery() as nursery:
        futures = Futures(loop, 3)
        nursery.start_soon(futures.answer, "a", "b", "c")
        assert await cross(futures.run, 10, never) == ["a", "b", "c"]
        assert trio.current_time() == 3


class Steps(trio.abc.Instrument):
    """The tasks that ran, once for each step."""

    def __init__(self) -> None:
        self.tasks: list[trio.lowlevel.Task] = []

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.tasks.append(task)


async def test_a_future_that_is_done_is_heard_of_without_a_turn_of_the_loop() -> None:
    steps = Steps()
    async with open_loop() as loop:
        futures = Futures(loop, 1)

        def finish() -> None:
            trio.lowlevel.add_instrument(steps)
            futures.all[0].set_result("a")

        await wait_all_tasks_blocked()
        loop.call_soon(finish)
        await cross(futures.run, 10, never)
        trio.lowlevel.remove_instrument(steps)
        assert steps.tasks == [trio.lowlevel.current_task()]


async def test_a_future_that_is_there_already_is_not_waited_for() -> None:
    async with open_loop() as loop:
        futures = Futures(loop, 1)
        futures.all[0].set_result("a")
        assert await cross(futures.run, 10, never) == ["a"]


async def test_an_error_comes_out_of_the_crossing(autojump_clock: MockClock) -> None:
    async with open_loop() as loop, trio.open_nursery() as nursery:
        futures = Futures(loop, 2)
        nursery.start_soon(futures.answer, "a", ConnectionError("gone"))
        with pytest.raises(ConnectionError, match="gone"):
            await cross(futures.run, 10, never)


async def test_other_tasks_run_while_a_function_only_yields() -> None:
    other = trio.Event()

    async def set_it() -> None:
        await trio.lowlevel.checkpoint()
        other.set()

    async def yields() -> bool:
        for _ in range(100):
            await asyncio.sleep(0)
        return other.is_set()

    async with open_loop(), trio.open_nursery() as nursery:
        nursery.start_soon(set_it)
        assert await cross(yields, 10, never)


async def test_two_functions_may_wait_for_one_future(autojump_clock: MockClock) -> None:
    answers: list[Any] = []
    async with open_loop() as loop, trio.open_nursery() as nursery:
        futures = Futures(loop, 1)

        async def one_more() -> None:
            answers.append(await cross(futures.run, 10, never))

        nursery.start_soon(one_more)
        nursery.start_soon(one_more)
        nursery.start_soon(futures.answer, "a")
    assert answers == [["a"], ["a"]]


async def test_a_function_that_waits_for_something_else_is_ended_with_its_clean_up() -> None:
    ended = []

    async def waits_for_trio() -> None:
        try:
            await trio.sleep(1)
        finally:
            ended.append(True)

    async with open_loop():
        with pytest.raises(AttributeError):
            await cross(waits_for_trio, 10, never)
        assert ended == [True]


async def test_an_error_at_the_deadline_is_logged_and_the_function_goes_on(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_loop() as loop, trio.open_nursery() as nursery:
        futures = Futures(loop, 2)
        nursery.start_soon(futures.answer, "a", "b")
        assert await cross(futures.run, 1.5, never) == ["a", "b"]
    assert "could not cancel what a statement waits for" in caplog.text


async def test_what_takes_too_long_is_let_fail_and_its_error_comes_out(autojump_clock: MockClock) -> None:
    called: list[float] = []
    async with open_loop() as loop:
        futures = Futures(loop, 1)

        def overdue() -> None:
            called.append(trio.current_time())
            futures.all[0].set_exception(ConnectionError("terminated"))

        with pytest.raises(ConnectionError, match="terminated"):
            await cross(futures.run, 5, overdue)
    assert called == [5]


async def test_each_further_wait_of_what_is_overdue_is_let_fail_at_once(autojump_clock: MockClock) -> None:
    called: list[float] = []
    async with open_loop() as loop:
        futures = Futures(loop, 3)

        def overdue() -> None:
            futures.all[len(called)].set_result(len(called))
            called.append(trio.current_time())

        assert await cross(futures.run, 5, overdue) == [0, 1, 2]
    assert called == [5, 5, 5]


async def test_a_cancelled_caller_waits_for_the_end(autojump_clock: MockClock) -> None:
    answers: list[Any] = []
    async with open_loop() as loop, trio.open_nursery() as nursery:
        futures = Futures(loop, 2)
        nursery.start_soon(futures.answer, "a", "b")
        with trio.move_on_after(0.5) as scope:
            answers.append(await cross(futures.run, 10, never))
            await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert trio.current_time() == 2
    assert answers == [["a", "b"]]


# Connecting.


async def reason_at(port: int, *, ssl: str = "prefer") -> str:
    """Why no connection to this port of the machine can be made."""
    arguments = {"host": "127.0.0.1", "port": port, "user": "ann", "database": "catalog", "ssl": ssl}
    async with open_loop():
        with pytest.raises(StorageUnavailable) as failed:
            await connect([arguments], 5.0, {}, application="test", place="there")
    return str(failed.value)


async def test_a_port_without_a_server_is_named_as_the_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        assert await reason_at(unused.getsockname()[1]) == "no server listens at there"


async def test_a_server_that_is_not_postgres_or_refuses_tls_is_named_as_the_reason() -> None:
    async def answers(stream: trio.SocketStream) -> None:
        await stream.receive_some(8)
        await stream.send_all(b"N")

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, answers, 0, host="127.0.0.1"))
        reason = await reason_at(listener.socket.getsockname()[1], ssl="require")
        nursery.cancel_scope.cancel()
    assert reason == "there is not a Postgres server, or refuses TLS"
