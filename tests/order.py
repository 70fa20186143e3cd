"""The order of the suite on several workers: which tests stay together, and which start first.

A worker takes one unit of tests after another: a file, unless a table says otherwise. The units of `LONG` start first, then
those with the most tests. Single tests come last, so that all workers end together. `make thorough ARGS=--durations=50` tells
which tests are long.
"""

ROOMS = ("tests/acceptance/", "tests/browser/")
"""Folders of tests with real processes. Tests of one folder never run in parallel."""

APART = (
    "tests/acceptance/test_mirrors.py",
    "tests/acceptance/test_own_domain.py",
    "tests/acceptance/test_renewal.py",
    "tests/acceptance/test_upgrade.py",
    "tests/browser/test_blocker.py",
    "tests/browser/test_engines.py",
)
"""Of those, the files that mostly wait for nodes of their own, and may run beside the others."""

LONG = (
    *ROOMS,
    "tests/api/test_schemathesis.py",
    "tests/simulation/test_simulation.py",
    *APART,
    "tests/retention/test_year.py",
)
"""The longest units, in the order in which they start."""

SINGLE = ("tests/simulation/test_planted_bugs.py",)
"""Files of long tests that share nothing. Each test is a unit."""


def unit_of(nodeid: str) -> str:
    """The name of the unit that a test belongs to."""
    file = nodeid.partition("::")[0]
    if file in SINGLE:
        return nodeid
    if file in APART:
        return file
    return next((room for room in ROOMS if file.startswith(room)), file)
