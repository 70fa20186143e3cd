"""The switch between `make test`, about two minutes, and `make thorough`, which extends some of its tests."""

import os

import pytest

SLOW = bool(os.environ.get("CATALOG_TEST_SLOW"))
"""Whether to run every planted bug of the simulation instead of every tenth, more generated examples,
all attacks instead of the slow ones, walks through the pages on every device, pictures of mails, a fresh
installation, Caddy beside nginx, and kills of three nodes."""


def repeats(other: str) -> pytest.MarkDecorator:
    """Leave a test to `make thorough`. `other` names the place where the default suite shows the same."""
    return pytest.mark.skipif(not SLOW, reason=f"make thorough; by default {other}")


def shortened(number: int) -> int:
    """Return the number of generated examples: all in `make thorough`, and a third by default."""
    return number if SLOW else number // 3
