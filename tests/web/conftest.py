"""The fixtures of these tests; they run in virtual time."""

from collections.abc import AsyncIterator

import pytest

from tests.api.world import World, open_world
from tests.virtual_time import mark_virtual

pytest_itemcollected = mark_virtual


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A node with the default configuration."""
    async with open_world(CAMPAIGNS__PENDING_PER_ACCOUNT=100) as opened:
        yield opened
