"""A unit of tests is a file, a folder with real processes, or a single test."""

import pytest

from tests.order import APART, LONG, SINGLE, unit_of
from tests.slow import ROOT


def test_the_tables_name_what_exists() -> None:
    assert [name for name in (*LONG, *SINGLE) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/api/test_some.py::test_one[a::b]", "tests/api/test_some.py"),
        ("tests/acceptance/test_some.py::test_one", "tests/acceptance/"),
        (f"{APART[0]}::test_one", APART[0]),
        (f"{SINGLE[0]}::test_one[a]", f"{SINGLE[0]}::test_one[a]"),
    ],
)
def test_a_test_belongs_to_one_unit(nodeid: str, unit: str) -> None:
    assert unit_of(nodeid) == unit
