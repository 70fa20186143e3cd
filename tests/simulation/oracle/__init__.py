"""The oracle: what has to be true of every history, whatever went wrong in it.

Both directions are held. Nothing is granted beyond a rule, and nothing is refused that a rule allows: where an outcome is
unknown it counts as done for the one and as not done for the other. It knows the rules by `docs/decisions.md` and by
the numbers of the world, and uses none of the deciding code.
"""

from typing import TYPE_CHECKING

from tests.simulation.oracle import access, answers, directory, events, keys, money, quota, running, shown
from tests.simulation.oracle.case import case_of

if TYPE_CHECKING:
    from tests.simulation.world import World

CHECKS = (*quota.CHECKS, *keys.CHECKS, *directory.CHECKS, *running.CHECKS)
SELLING = (*answers.CHECKS, *money.CHECKS, *access.CHECKS)
"""For worlds of sponsors; what holds for each of their commits stands in `commits`."""

SHOWING = (*events.CHECKS, *shown.CHECKS)
"""For worlds of websites, which know the rows by their events; what holds for each of their commits stands in `counts`."""


def judge(world: "World") -> list[str]:
    """Every violation that the history of a finished world shows."""
    case = case_of(world)
    checks = (*CHECKS, *SELLING) if world.sells else CHECKS
    found = [f"{check.__name__}: {violation}" for check in checks for violation in check(case)]
    if world.shows:
        rows = events.rows_of(case)
        found += [f"{look.__name__}: {violation}" for look in SHOWING for violation in look(case, rows)]
    return found
