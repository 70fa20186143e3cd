"""Trio as a deterministic simulator: seeded scheduler, virtual time, a hash of everything scheduled.

Only this file touches Trio's private names; `test_simulation` checks them against the pinned Trio. It knows nothing of
the simulated service.
"""

import faulthandler
import gc
import hashlib
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import trio
import trio.testing
from trio._core import _run as scheduler

T = TypeVar("T")

Alarm = Callable[[], int]
"""Called between two steps. Returns the number of steps until its next call. Its exceptions would be swallowed."""

WATCHDOG_SECONDS = 120
"""Seconds of the processor after which a run that does not end prints its stacks and exits."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Identifies a run: equal digests mean equal schedules, step for step."""

    digest: str
    steps: int
    virtual_seconds: float
    lines: tuple[str, ...] = ()


class Tracer(trio.abc.Instrument):
    """Hashes (virtual time, birth number, name) of each task that takes a step, and calls `alarm` before some steps."""

    def __init__(self, *, keep: bool = False, alarm: Alarm | None = None) -> None:
        self._hash = hashlib.sha256()
        self._steps = 0
        self._time = 0.0
        self._first: int | None = None
        self._keep = keep
        self._lines: list[str] = []
        self._alarm = alarm
        self._alarm_step = 1

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        if self._first is None:
            self._first = task._counter  # counts over the whole process; the run's own numbers start here

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._time = trio.current_time()
        line = f"{self._time!r} {task._counter - (self._first or 0)} {task.name}"
        self._hash.update(line.encode())
        self._steps += 1
        if self._keep:
            self._lines.append(line)
        if self._steps == self._alarm_step and self._alarm is not None:
            self._alarm_step += self._alarm()

    def trace(self) -> Trace:
        return Trace(self._hash.hexdigest()[:32], self._steps, self._time, tuple(self._lines))


def simulate(
    seed: int, main: Callable[[], Awaitable[T]], *, keep: bool = False, alarm: Alarm | None = None
) -> tuple[T, Trace]:
    """Run `main` under the schedule of `seed`, in virtual time from 0.

    `alarm` is first called before the first step.
    """
    tracer = Tracer(keep=keep, alarm=alarm)
    with deterministic(seed):
        result = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0), instruments=[tracer])
    return result, tracer.trace()


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """Seed Trio's scheduler, stop the collector, silence the log and set the watchdog; restore everything on exit."""
    allowed, state = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r.getstate()
    collecting, silenced = gc.isenabled(), logging.root.manager.disable
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]
    scheduler._r.seed(f"{seed}-schedule")
    gc.disable()
    logging.disable(logging.CRITICAL)
    assert sys.__stderr__ is not None
    faulthandler.register(signal.SIGVTALRM, sys.__stderr__, chain=True)
    signal.setitimer(signal.ITIMER_VIRTUAL, WATCHDOG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        faulthandler.unregister(signal.SIGVTALRM)
        logging.disable(silenced)
        if collecting:
            gc.enable()
        scheduler._r.setstate(state)
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = allowed  # type: ignore[misc]
