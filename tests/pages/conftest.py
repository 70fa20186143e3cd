"""The world that these tests share, and the virtual time that it runs in."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.abc import Clock, Instrument
from trio.testing import MockClock

from tests.http.world import World, open_world


def _in_virtual_time(
    test: Callable[[], Awaitable[Any]], *, clock: Clock | None = None, instruments: Sequence[Instrument] = ()
) -> Any:
    return trio.run(test, clock=clock or MockClock(autojump_threshold=0), instruments=instruments)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Run each asynchronous test of this folder on a clock that jumps when everybody waits.

    The fixture `autojump_clock` does the same only for tests that name it themselves.
    """
    for item in items:
        if item.path.parent == Path(__file__).parent and iscoroutinefunction(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.trio(run=_in_virtual_time))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A node with the default configuration."""
    async with open_world() as opened:
        yield opened
