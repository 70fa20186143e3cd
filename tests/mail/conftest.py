"""Tests of the sender run in virtual time. Those of SMTP use real servers."""

import pytest

from tests.virtual_time import mark_virtual


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.stem == "test_sender":
        mark_virtual(item)
