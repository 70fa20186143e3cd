"""A disk that hangs: calls are abandoned, and only one thread ever waits for it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from storage.backups.disk import Disk

PLACE = Path("/backups")


class HangingCall:
    """A call to a disk that answers once `answer` is set. Counts its threads."""

    def __init__(self) -> None:
        self.begun = 0
        self.answer = threading.Event()
        self.was_cancelled = False

    def __call__(self) -> str:
        self.begun += 1
        assert self.answer.wait(30.0)
        try:
            trio.from_thread.check_cancelled()
        except trio.Cancelled:
            self.was_cancelled = True
            raise
        return "answered"


@pytest.fixture
def hanging() -> Iterator[HangingCall]:
    call = HangingCall()
    yield call
    call.answer.set()


async def abandon(disk: Disk, call: HangingCall) -> None:
    """Begin a call, and cancel it while it hangs."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(disk.call, call)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def after(seconds: float, clock: MockClock) -> None:
    """Let so much time pass once every task waits. Threads take none."""
    await wait_all_tasks_blocked()
    clock.jump(seconds)


async def settled(disk: Disk) -> None:
    while disk.hangs:
        await trio.lowlevel.checkpoint()


async def test_a_call_returns_what_its_function_returns_and_raises_what_it_raises() -> None:
    disk = Disk(PLACE)
    assert await disk.call(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await disk.call(divmod, 1, 0)
    assert not disk.hangs


async def test_other_tasks_run_while_the_disk_hangs(hanging: HangingCall) -> None:
    disk = Disk(PLACE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(disk.call, hanging)
        await wait_all_tasks_blocked()
        assert disk.hangs
        hanging.answer.set()
    assert not disk.hangs


async def test_a_call_that_takes_too_long_fails_and_later_ones_are_refused_until_it_ends(
    hanging: HangingCall, mock_clock: MockClock
) -> None:
    disk = Disk(PLACE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(after, 60.0, mock_clock)
        with pytest.raises(TimeoutError, match=r"the disk did not answer within 60 s: .*/backups"):
            await disk.call(hanging, seconds=60.0)
    for _ in range(100):
        with pytest.raises(OSError, match=r"an earlier backup still waits for the disk: .*/backups"):
            await disk.call(hanging, seconds=60.0)
    hanging.answer.set()
    await settled(disk)
    assert hanging.begun == 1
    assert hanging.was_cancelled, "the thread learns that nobody waits for it"
    assert await disk.call(max, 1, 2) == 2


async def test_a_cleanup_waits_a_limited_time_for_a_call_that_hangs_and_begins_no_thread(
    hanging: HangingCall, mock_clock: MockClock
) -> None:
    disk, removed = Disk(PLACE, cleanup_seconds=2.0), threading.Event()
    await abandon(disk, hanging)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(after, 2.0, mock_clock)
        await disk.clean_up(removed.set)
    hanging.answer.set()
    await settled(disk)
    assert not removed.is_set()
    await disk.clean_up(removed.set)
    assert removed.is_set()


async def test_a_cleanup_runs_although_its_caller_is_cancelled() -> None:
    disk, removed = Disk(PLACE), threading.Event()
    with trio.CancelScope() as scope:
        scope.cancel()
        await disk.clean_up(removed.set)
    assert removed.is_set()


async def test_a_cleanup_that_hangs_is_abandoned(hanging: HangingCall, mock_clock: MockClock) -> None:
    disk = Disk(PLACE, cleanup_seconds=2.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(after, 2.0, mock_clock)
        await disk.clean_up(hanging)
    assert disk.hangs
    hanging.answer.set()
    await settled(disk)
