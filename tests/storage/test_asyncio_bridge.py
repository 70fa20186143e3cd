"""What trio-asyncio and the driver need of asyncio, on every supported Python."""

import asyncio

import trio
import trio.testing

from storage.connection.asyncio_bridge import trio_asyncio


async def _sleeping(loops: list[asyncio.AbstractEventLoop]) -> asyncio.AbstractEventLoop:
    """Use what refuses a loop that is not running: tasks, the current task and timeouts."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(5):
        await asyncio.create_task(asyncio.sleep(0.001))
    assert asyncio.current_task() is not None
    loops.append(loop)
    return loop


async def test_tasks_and_timeouts_of_asyncio_run_inside_trio(autojump_clock: trio.testing.MockClock) -> None:
    async with trio_asyncio.open_loop() as loop:
        assert await trio_asyncio.aio_as_trio(_sleeping)([]) is loop


async def test_two_loops_of_one_thread_do_not_take_each_others_place() -> None:
    """Each node of a test has a loop of its own."""
    mine: list[asyncio.AbstractEventLoop] = []
    opened: list[asyncio.AbstractEventLoop] = []

    async def use() -> None:
        async with trio_asyncio.open_loop() as loop:
            opened.append(loop)
            for _ in range(3):
                assert await trio_asyncio.aio_as_trio(_sleeping)(mine) is loop

    async with trio.open_nursery() as nursery:
        nursery.start_soon(use)
        nursery.start_soon(use)
    assert len(set(opened)) == 2
    assert sorted(map(id, mine)) == sorted(map(id, opened * 3))


async def test_a_callback_that_fails_leaves_no_loop_marked_as_running() -> None:
    async with trio_asyncio.open_loop() as loop:
        reported = trio.Event()
        loop.set_exception_handler(lambda _loop, context: reported.set())
        loop.call_soon(lambda: 1 / 0)
        await reported.wait()
    assert _running_in_c() is None


async def test_asyncio_runs_its_own_loops_in_other_threads_meanwhile() -> None:
    def run_plain() -> bool:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(_sleeping([])) is runner.get_loop()

    async with trio_asyncio.open_loop() as loop:
        assert await trio.to_thread.run_sync(run_plain)
        assert await trio_asyncio.aio_as_trio(_sleeping)([]) is loop


def _running_in_c() -> asyncio.AbstractEventLoop | None:
    """The loop that this thread runs by the word of asyncio's own C code, which trio-asyncio does not replace."""
    import _asyncio

    loop: asyncio.AbstractEventLoop | None = _asyncio._get_running_loop()
    return loop
