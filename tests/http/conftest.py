"""These tests run in virtual time."""

import pytest

from tests.http import memory_server
from tests.virtual_time import mark_virtual

pytest_itemcollected = mark_virtual


@pytest.fixture(params=["own", "hypercorn"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve under this engine."""
    monkeypatch.setattr(memory_server, "ENGINE", request.param)
