"""Runs the recorder in virtual time."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.virtual_time import mark_virtual


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    mark_virtual(items, Path(__file__).parent)
