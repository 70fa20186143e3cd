"""The oracle: what has to be true of every history, whatever went wrong in it.

Both directions are held. Nothing is granted beyond a rule, and nothing is refused that a rule allows: where an outcome is
unknown it counts as done for the one and as not done for the other. It knows the rules by `docs/adr/` and by
the numbers of the world, and uses none of the deciding code.
"""

from collections.abc import Callable, Iterator

from tests.simulation.oracle import access, answers, directory, events, keys, mail, money, people, quota, running, shown
from tests.simulation.oracle.case import Case

Check = Callable[[Case], Iterator[str]]


def judging(*checks: Check) -> Check:
    """All of them, each violation under the name of its check."""

    def judge(case: Case) -> Iterator[str]:
        for check in checks:
            for violation in check(case):
                yield f"{check.__name__}: {violation}"

    return judge


judge_keys = judging(*quota.CHECKS, *keys.CHECKS, *directory.CHECKS, *running.CHECKS)
"""For every world."""
judge_mail = judging(*mail.CHECKS)
judge_people = judging(*people.CHECKS)
"""For worlds of people; what holds for each of their transactions stands in `visits` and `logins`."""
judge_office = judging(*answers.CHECKS, *money.CHECKS, *access.CHECKS)
"""For worlds of sponsors; what holds for each of their commits stands in `commits`."""


def judge_site(case: Case) -> Iterator[str]:
    """For worlds of websites, which know the rows by their events; what holds for each of their commits is in `counts`."""
    rows = events.rows_of(case)
    for check in (*events.CHECKS, *shown.CHECKS):
        for violation in check(case, rows):
            yield f"{check.__name__}: {violation}"
