"""The switch between `make test`, which takes minutes, and `make thorough`, which extends some of its tests."""

import os

SLOW = bool(os.environ.get("CATALOG_TEST_SLOW"))
"""Whether to run 45 seeds of the simulation instead of 10, every planted bug instead of every tenth, all attacks instead of
the slow ones, screenshots of all pages, a fresh installation, and kills of three nodes."""
