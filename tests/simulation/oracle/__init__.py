"""The oracle: what must be true of every history, whatever went wrong in it.

Both directions are checked. Nothing is granted beyond a rule, and nothing is refused that a rule allows. An unknown
outcome counts as done for one check and as not done for the other. The rules come from `docs/adr/` and the numbers of
the world; none of the deciding code is used.
"""

from collections.abc import Callable, Iterator

from tests.simulation.oracle import (
    access,
    answers,
    events,
    key_cache,
    keys,
    mail,
    money,
    people,
    quota,
    renewals,
    running,
    sites,
    visibility,
)
from tests.simulation.oracle.case import Case

Check = Callable[[Case], Iterator[str]]


def judging(*checks: Check) -> Check:
    """Combine checks, with each violation under the name of its check."""

    def judge(case: Case) -> Iterator[str]:
        for check in checks:
            for violation in check(case):
                yield f"{check.__name__}: {violation}"

    return judge


judge_keys = judging(*quota.CHECKS, *keys.CHECKS, *renewals.CHECKS, *key_cache.CHECKS, *running.CHECKS)
"""For every world."""
judge_mail = judging(*mail.CHECKS)
judge_people = judging(*people.CHECKS)
"""For worlds of people. `visits` and `logins` check each of their transactions."""
judge_sponsorship = judging(*answers.CHECKS, *money.CHECKS, *access.CHECKS)
"""For worlds of people. `visits` and `logins` check each of their transactions."""


def judge_site(case: Case) -> Iterator[str]:
    """For worlds of websites, which find rows by their events. `counts` checks each of their transactions."""
    rows = events.rows_of(case)
    for check in (*events.CHECKS, *visibility.CHECKS, *sites.CHECKS):
        for violation in check(case, rows):
            yield f"{check.__name__}: {violation}"
