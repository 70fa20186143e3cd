"""Both servers, for tests that show the same under each."""

import pytest

from tests.slow import repeats

HERE = "test_stopping serves with Hypercorn"
ENGINES = ("own", pytest.param("hypercorn", marks=repeats(HERE)))
"""Parameters of a fixture or a test. By default, Hypercorn is left to the tests that `HERE` names."""
