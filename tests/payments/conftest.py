"""Tests of pages and of the webhook run in virtual time. The others use real servers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.virtual_time import mark_virtual

VIRTUAL = ("test_money", "test_pages", "test_webhook")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    mark_virtual([item for item in items if item.path.stem in VIRTUAL], Path(__file__).parent)
