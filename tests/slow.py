"""What `make test` leaves to `make thorough`, so that it takes about two minutes: nothing that is not shown in part."""

import os

import pytest

SLOW = bool(os.environ.get("CATALOG_TEST_SLOW"))
"""45 seeds of the simulation instead of 5, every planted bug instead of every tenth, more generated requests, all attacks
instead of the slow ones, every page as everybody who may see it, at night, and with a picture, the installation anew, and
kills of three nodes."""


def repeats(other: str) -> pytest.MarkDecorator:
    """Leave a test to `make thorough`. `other` is where the default suite shows the same."""
    return pytest.mark.skipif(not SLOW, reason=f"make thorough; by default {other}")
