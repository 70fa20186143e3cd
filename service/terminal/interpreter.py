"""Refuses a Python that cannot run a program, in one line. This file must parse with Python 3.6."""

import sys

OLDEST = (3, 11)
BEYOND = (3, 15)
"""The service needs a Python from `OLDEST` on and before `BEYOND`. `requires-python` in pyproject.toml says the same."""

USAGE = 2


def require(program: str, *, newest: bool) -> None:
    """Exit with code 2 unless this Python can run `program`. Without `newest`, every Python from `OLDEST` on can."""
    version = sys.version_info[:2]
    if version >= OLDEST and (version < BEYOND or not newest):
        return
    needed = "Python %d.%d or newer" % OLDEST
    if newest:
        *others, last = ["3.%d" % minor for minor in range(OLDEST[1], BEYOND[1])]
        needed = "Python %s or %s" % (", ".join(others), last)
    sys.stderr.write("%s: needs %s, and this is Python %s\n" % (program, needed, sys.version.split()[0]))
    sys.exit(USAGE)
