"""The world fixture, and the virtual time that it runs in."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.api.world import World, open_world
from tests.virtual_time import mark_virtual


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    mark_virtual(items, Path(__file__).parent)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A node with the default configuration."""
    async with open_world() as opened:
        yield opened
