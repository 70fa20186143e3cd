"""The world fixture, and the virtual time that it runs in."""

from collections.abc import AsyncIterator

import pytest

from tests.api.world import World, open_world
from tests.virtual_time import mark_virtual

pytest_itemcollected = mark_virtual


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A node with the default configuration."""
    async with open_world() as opened:
        yield opened
