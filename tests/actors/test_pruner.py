"""The pruner in virtual time: when and how much it deletes, and how it copes with an unavailable store."""

import logging

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors.clock import DAY_MS
from actors.kernel.pruner import Pruner, PrunerLimits, Pruning
from actors.kernel.supervision import running
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.fakes import TrioClock

NOON = 20_000 * DAY_MS + DAY_MS // 2
LIMITS = PrunerLimits(sweep_seconds=100.0, rows=10, batches=3, pause_seconds=0.0)


class Heap:
    """A number of old rows. Records each call, and fails where a test says so."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows
        self.calls: list[tuple[float, int, int]] = []
        self.fails: list[Exception] = []

    async def delete(self, before_ms: int, limit: int) -> int:
        await trio.lowlevel.checkpoint()
        self.calls.append((trio.current_time(), before_ms, limit))
        if self.fails:
            raise self.fails.pop(0)
        gone = min(limit, self.rows)
        self.rows -= gone
        return gone

    def pruning(self, what: str = "rows", keep_ms: int = DAY_MS) -> Pruning:
        return Pruning(what, keep_ms, self.delete)


async def test_it_sweeps_at_once_and_at_every_interval() -> None:
    heap = Heap()
    async with running([Pruner([heap.pruning()], TrioClock(NOON), LIMITS)]):
        await trio.sleep(250)
    assert heap.calls == [(float(at), NOON + at * 1_000 - DAY_MS, 10) for at in (0, 100, 200)]


async def test_a_sweep_goes_on_until_all_is_gone_or_it_was_enough() -> None:
    few, many = Heap(25), Heap(1_000)
    prunings = [many.pruning("many"), few.pruning("few")]
    async with running([Pruner(prunings, TrioClock(NOON), LIMITS)]):
        await wait_all_tasks_blocked()
        assert (many.rows, few.rows) == (970, 0)
        assert [limit for _, _, limit in few.calls] == [10, 10, 10]
        await trio.sleep(150)
        assert many.rows == 940
        assert len(few.calls) == 4


@pytest.mark.parametrize("error", [StorageUnavailable("away"), Contended("met"), OutcomeUnknown()])
async def test_what_cannot_be_deleted_now_is_later_and_hinders_nothing_else(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    broken, other = Heap(5), Heap(5)
    broken.fails = [error]
    with caplog.at_level(logging.INFO, "actors.kernel.pruner"):
        async with running([Pruner([broken.pruning("forms"), other.pruning()], TrioClock(NOON), LIMITS)]):
            await wait_all_tasks_blocked()
            assert (broken.rows, other.rows) == (5, 0)
            await trio.sleep(150)
    assert broken.rows == 0
    why = str(error) or "OutcomeUnknown"
    assert f"forms not pruned, retrying at the next sweep: {why}" in caplog.messages
    assert "pruned 5 forms" in caplog.messages
    assert [record.levelname for record in caplog.records if "forms" in record.message] == ["WARNING", "INFO"]


async def test_the_log_has_the_sum_of_all_batches(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "actors.kernel.pruner"):
        async with running([Pruner([Heap(25).pruning()], TrioClock(NOON), LIMITS)]):
            await wait_all_tasks_blocked()
    assert [record.getMessage() for record in caplog.records] == ["pruned 25 rows"]


async def test_the_least_limits_will_do() -> None:
    heap = Heap(2)
    least = PrunerLimits(sweep_seconds=0.5, rows=1, batches=1, pause_seconds=0.0)
    async with running([Pruner([heap.pruning()], TrioClock(NOON), least)]):
        await trio.sleep(0.6)
    assert [at for at, _, _ in heap.calls] == [0, 0.5]


@pytest.mark.parametrize("wrong", [{"sweep_seconds": 0.0}, {"rows": 0}, {"batches": 0}])
def test_limits_of_nothing_are_a_mistake(wrong: dict[str, float]) -> None:
    with pytest.raises(AssertionError):
        PrunerLimits(**wrong)  # type: ignore[arg-type]


async def test_a_close_is_heard_between_two_batches(caplog: pytest.LogCaptureFixture) -> None:
    heap = Heap(1_000)

    async def delete(before_ms: int, limit: int) -> int:
        pruner.close()
        return await heap.delete(before_ms, limit)

    pruner = Pruner([Pruning("rows", 0, delete)], TrioClock(NOON), PrunerLimits(rows=1, batches=1_000))
    with caplog.at_level(logging.INFO, "actors.kernel.pruner"):
        async with running([pruner]):
            await trio.sleep(10_000)
    assert len(heap.calls) == 1
    assert caplog.messages == ["pruned 1 rows"], "what went is told also when there is no time for more"
