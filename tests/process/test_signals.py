"""Signal handling: the test process sends signals to itself."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from service.running.signals import abandon_start, handle_signals


@dataclass(slots=True)
class Heeded:
    """The signals received."""

    stop: trio.Event = field(default_factory=trio.Event)
    hangups: int = 0
    aborts: int = 0
    retirements: int = 0

    def hang_up(self) -> None:
        self.hangups += 1

    def abort(self) -> None:
        self.aborts += 1

    def retire(self) -> None:
        self.retirements += 1


@asynccontextmanager
async def heeding(terminal: int = 0, *, worker: bool = False) -> AsyncIterator[Heeded]:
    heeded = Heeded()
    async with trio.open_nursery() as nursery:
        handlers = (heeded.hang_up, heeded.abort, heeded.retire if worker else None)
        await nursery.start(partial(handle_signals, heeded.stop, *handlers, terminal=terminal))
        yield heeded
        nursery.cancel_scope.cancel()


async def send(number: signal.Signals) -> None:
    signal.raise_signal(number)
    await wait_all_tasks_blocked()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_stops_and_the_second_cuts(first: signal.Signals, second: signal.Signals) -> None:
    with pytest.RaisesGroup(KeyboardInterrupt):
        async with heeding() as heeded:
            await send(first)
            assert heeded.stop.is_set()
            assert not heeded.aborts
            await send(second)
            raise AssertionError("it was not cut")
    assert heeded.aborts == 1


async def test_each_hangup_is_handled_and_stops_nothing() -> None:
    async with heeding() as heeded:
        for _ in range(3):
            await send(signal.SIGHUP)
        assert heeded.hangups == 3
        assert not heeded.stop.is_set()


async def test_a_worker_whose_successor_is_ready_stops_and_a_stop_meanwhile_does_not_cut_it_twice() -> None:
    async with heeding(worker=True) as heeded:
        for _ in range(2):
            await send(signal.SIGUSR1)
        assert heeded.stop.is_set()
        assert (heeded.retirements, heeded.aborts) == (2, 0)


async def test_a_worker_that_a_process_supervisor_signals_too_aborts_nothing() -> None:
    """Only its parent makes it abort, by another signal."""
    with pytest.RaisesGroup(KeyboardInterrupt):
        async with heeding(worker=True) as heeded:
            for _ in range(3):
                await send(signal.SIGTERM)
            assert heeded.stop.is_set()
            assert not heeded.aborts
            await send(signal.SIGINT)
            raise AssertionError("it was not cut")
    assert heeded.aborts == 1


async def test_a_signal_for_workers_stops_no_other_process(caplog: pytest.LogCaptureFixture) -> None:
    async with heeding() as heeded:
        await send(signal.SIGUSR1)
        assert not heeded.stop.is_set()
    assert caplog.messages == ["SIGUSR1 does nothing here"]


@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_stop_cancels_a_start_and_nothing_that_has_begun(has_begun: bool) -> None:
    stop, begun, ended = trio.Event(), trio.Event(), False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(abandon_start, stop, begun, nursery.cancel_scope)
        if has_begun:
            begun.set()
        stop.set()
        await wait_all_tasks_blocked()
        await trio.lowlevel.checkpoint()
        ended = True
    assert ended == has_begun


async def test_a_hangup_of_the_terminal_stops_in_order_and_does_not_cut() -> None:
    master, terminal = os.openpty()
    try:
        async with heeding(terminal) as heeded:
            await send(signal.SIGHUP)
            assert heeded.hangups == 1, "the terminal is still there"
            os.close(master)
            for _ in range(2):
                await send(signal.SIGHUP)
            assert heeded.stop.is_set()
            assert (heeded.hangups, heeded.aborts) == (1, 0)
    finally:
        os.close(terminal)
