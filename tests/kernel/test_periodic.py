"""Background tasks that repeat, in virtual time: pauses, waking, outages, restarts and closing."""

import logging
from collections.abc import Sequence

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors.kernel.periodic import PeriodicTask, shared_pause
from actors.kernel.statistics import State
from actors.kernel.supervision import running
from actors.values import CallFailed, Contended, Overloaded, Stopped, StorageUnavailable
from tests.fakes import Script, Step

AWAY = StorageUnavailable("away")


class Rounds(PeriodicTask):
    """Records when each round begins. `script` says what happens in each round."""

    name = "rounds"

    def __init__(self, script: Sequence[Step] = (), *, pause: float | None = None, ready: int = 0) -> None:
        super().__init__(10.0, retry_seconds=2.0)
        self.begun: list[float] = []
        self.finished: list[float] = []
        self._script = Script(script)
        self._pause_after = pause
        self._ready = ready

    async def _round(self) -> float | None:
        self.begun.append(trio.current_time())
        await self._script()
        return self._pause_after

    async def _finish(self) -> None:
        self.finished.append(trio.current_time())

    def _is_ready(self) -> bool:
        return len(self.begun) >= self._ready

    def _meanwhile(self) -> str:
        return "with what it has"


def test_a_task_that_has_not_begun_says_so() -> None:
    assert repr(Rounds()) == "<Rounds new>"


async def test_it_works_at_once_and_after_each_pause_and_finishes_once() -> None:
    task = Rounds()
    async with running([task]):
        await trio.sleep(25)
        assert task.state is State.RUNNING
        assert repr(task) == "<Rounds running>"
    assert task.begun == [0, 10, 20]
    assert task.finished == [25]
    ended: State = task.state
    assert ended is State.STOPPED


async def test_a_round_may_ask_for_another_pause() -> None:
    task = Rounds(pause=3.0)
    async with running([task]):
        await trio.sleep(7)
    assert task.begun == [0, 3, 6]


async def test_waking_ends_the_pause_and_during_a_round_skips_the_next() -> None:
    task = Rounds([0.0, 5.0])
    async with running([task]):
        await trio.sleep(4)
        task.wake()
        await trio.sleep(1)
        task.wake()
        await trio.sleep(15)
    assert task.begun == [0, 4, 9, 19]


async def test_an_outage_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    task = Rounds([None, AWAY, Contended(), None, AWAY])
    with caplog.at_level(logging.INFO, "tests.kernel"):
        async with running([task]):
            await trio.sleep(11)
            assert repr(task) == "<Rounds running failing>"
            await trio.sleep(19)
    assert repr(task) == "<Rounds stopped>"
    assert task.begun == [0, 10, 12, 14, 24, 26]
    failed = "the background task rounds failed, retrying in 2 s (with what it has): away"
    ended = "the background task rounds recovered"
    assert caplog.messages == [failed, ended, failed, ended]
    assert [record.exc_info for record in caplog.records] == [None] * 4


async def test_a_retry_comes_no_later_than_the_next_round_would() -> None:
    class Hasty(Rounds):
        def __init__(self) -> None:
            super().__init__([AWAY])
            PeriodicTask.__init__(self, 1.0, retry_seconds=5.0)

    task = Hasty()
    async with running([task]):
        await trio.sleep(1.5)
    assert task.begun == [0, 1]


@pytest.mark.parametrize("error", [RuntimeError("a bug"), Overloaded()])
async def test_an_error_that_is_not_tolerated_restarts_it(error: Exception) -> None:
    task = Rounds([error, error])
    async with running([task]):
        await trio.sleep(5)
        assert task._restarts == 2
    assert task.begun == [0, 0, 0]


async def test_an_error_that_is_not_tolerated_leaves_it_failed() -> None:
    task = Rounds([RuntimeError("a bug")])
    with pytest.raises(RuntimeError, match="a bug"):
        await task.run()
    assert task.state is State.FAILED


async def test_an_error_that_is_tolerated_but_unexpected_has_its_traceback_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = Rounds([RuntimeError("a bug")])
    task.tolerated = (Exception,)
    async with running([task]):
        await trio.sleep(5)
    [record] = caplog.records
    assert record.getMessage().endswith(": it met a bug")
    assert record.exc_info is not None
    assert task.begun == [0, 2]


async def test_an_outage_of_a_task_that_cannot_help_itself_meanwhile_is_logged_without_a_remark(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Helpless(Rounds):
        _meanwhile = PeriodicTask._meanwhile

    async with running([Helpless([AWAY])]):
        await trio.sleep(1)
    assert caplog.messages == ["the background task rounds failed, retrying in 2 s: away"]


async def test_a_round_that_meets_a_stopped_actor_is_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    task = Rounds([Stopped()])
    task.tolerated = (CallFailed,)
    async with running([task]):
        await trio.sleep(1)
    assert task.begun == [0]
    assert [record.getMessage() for record in caplog.records if record.name == __name__] == []


async def test_the_process_starts_on_once_the_task_is_ready() -> None:
    task = Rounds(ready=3)
    async with running([task]):
        assert (trio.current_time(), task.begun) == (20, [0, 10, 20])


async def test_a_task_that_is_closed_before_it_is_ready_holds_nothing_up() -> None:
    task = Rounds(ready=3)
    task.abandon()
    async with trio.open_nursery() as nursery:
        await nursery.start(task.run)
    assert (task.begun, task.finished) == ([], [0])
    assert task.state is State.STOPPED


async def test_closing_waits_for_the_round_that_is_under_way() -> None:
    task = Rounds([3.0])
    async with running([task]):
        await trio.sleep(1)
    assert (task.begun, task.finished) == ([0], [3])


@pytest.mark.parametrize(
    ("script", "asked_at", "done_at", "begun"),
    [
        ((), 5, 5, [0, 5]),
        ((3.0, 1.0), 2, 4, [0, 3]),
        ((0.0, 2.0), 1, 3, [0, 1]),
        ((0.0, AWAY), 1, 1, [0, 1]),
    ],
    ids=["in a pause", "in a round, which does not count", "a long round", "a round that fails"],
)
async def test_catching_up_waits_for_a_round_that_began_after_it(
    script: Sequence[Step], asked_at: float, done_at: float, begun: Sequence[float]
) -> None:
    task = Rounds(script)
    async with running([task]):
        await trio.sleep(asked_at)
        await task.catch_up()
        assert (trio.current_time(), task.begun) == (done_at, begun)


async def test_catching_up_ends_with_the_task() -> None:
    task = Rounds([5.0])
    async with running([task]):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task.catch_up)
            await wait_all_tasks_blocked()
            task.close()
        assert trio.current_time() == 0


@pytest.mark.parametrize("began", [0.0, 0.3, 1.9, 1.9999, 2.0])
async def test_tasks_that_share_their_pause_wake_together_whenever_they_began(began: float) -> None:
    await trio.sleep(began)
    first = shared_pause(2.0)
    assert 0.01 < first <= 2.02
    await trio.sleep(first)
    assert trio.current_time() % 2.0 == pytest.approx(0.0)
    assert shared_pause(2.0) == pytest.approx(2.0), "not a second time at once"
    assert shared_pause(0.5) == pytest.approx(0.5), "a faster one wakes with it, too"
