"""The oracle: what must be true of every history, whatever went wrong in it.

Both directions are checked. Nothing is granted beyond a rule, and nothing is refused that a rule allows. An unknown
outcome counts as done for one check and as not done for the other. The rules come from `docs/adr/` and the numbers of
the world; none of the deciding code is used.
"""

from collections.abc import Callable, Iterator
from types import ModuleType

from tests.simulation.oracle import (
    access,
    answers,
    authorizations,
    events,
    filtered,
    key_cache,
    keys,
    mail,
    money,
    people,
    quota,
    renewals,
    running,
    shares,
    shelf,
    sites,
    submissions,
    units,
    visibility,
)
from tests.simulation.oracle.case import Case, checks_of

Check = Callable[[Case], Iterator[str]]


def judging(*modules: ModuleType) -> Check:
    """Combine the checks of modules, with each violation under the name of its check."""

    def judge(case: Case) -> Iterator[str]:
        for check in (each for module in modules for each in checks_of(module, "case")):
            for violation in check(case):
                yield f"{check.__name__}: {violation}"

    return judge


judge_keys = judging(quota, keys, renewals, key_cache, running)
"""For every world."""
judge_mail = judging(mail)
judge_people = judging(people, authorizations)
"""For worlds of people. `visits`, `logins` and `authorizations` check each of their transactions."""
judge_submissions = judging(submissions)
"""For worlds of submissions, each of whose transactions is judged at its commit, too."""
judge_catalog = judging(shelf)
"""For worlds that edit the catalog. `shelf` checks each transaction and each read, too."""
judge_sponsorship = judging(answers, shares, money, access)


def judge_site(case: Case) -> Iterator[str]:
    """For worlds of websites, which find rows by their events. `counts` checks each of their transactions."""
    rows = events.rows_of(case)
    for check in (
        each for module in (events, units, filtered, visibility, sites) for each in checks_of(module, "case", "rows")
    ):
        for violation in check(case, rows):
            yield f"{check.__name__}: {violation}"
