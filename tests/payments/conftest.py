"""Tests of pages and of the webhook run in virtual time. The others use real servers."""

import pytest

from tests.virtual_time import mark_virtual

VIRTUAL = ("test_money", "test_pages", "test_webhook")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.stem in VIRTUAL:
        mark_virtual(item)
