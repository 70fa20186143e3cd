"""These tests run in virtual time."""

from collections.abc import Awaitable, Callable, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.abc import Clock, Instrument
from trio.testing import MockClock

from tests.http import memory_server


def _in_virtual_time(
    test: Callable[[], Awaitable[Any]], *, clock: Clock | None = None, instruments: Sequence[Instrument] = ()
) -> Any:
    return trio.run(test, clock=clock or MockClock(autojump_threshold=0), instruments=instruments)


@pytest.fixture(params=["own", "hypercorn"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve under this engine."""
    monkeypatch.setattr(memory_server, "ENGINE", request.param)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Run each asynchronous test of this folder on a clock that jumps when all tasks wait."""
    for item in items:
        if item.path.parent == Path(__file__).parent and iscoroutinefunction(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.trio(run=_in_virtual_time))
