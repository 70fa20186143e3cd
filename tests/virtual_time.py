"""Runs the tests of a folder on a clock that jumps when all tasks wait. The fixture `autojump_clock` does so only for
tests that request it."""

from collections.abc import Awaitable, Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

import pytest
import trio
from trio.abc import Clock, Instrument
from trio.testing import MockClock


def _in_virtual_time(
    test: Callable[[], Awaitable[Any]], *, clock: Clock | None = None, instruments: Sequence[Instrument] = ()
) -> Any:
    return trio.run(test, clock=clock or MockClock(autojump_threshold=0), instruments=instruments)


def mark_virtual(item: pytest.Item) -> None:
    """Run an asynchronous test in virtual time, unless it requests a clock. A `conftest.py` that has this function as its
    `pytest_itemcollected` marks the tests of its folder."""
    if iscoroutinefunction(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.trio(run=_in_virtual_time))
