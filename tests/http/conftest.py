"""The world that these tests share."""

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

from tests.http.world import World, open_world


@pytest.fixture
async def world(autojump_clock: MockClock) -> AsyncIterator[World]:
    """A node with the default configuration."""
    async with open_world() as opened:
        yield opened
