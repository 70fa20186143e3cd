"""Every planted bug is found, by the oracle or from answers alone."""

import pytest

from tests.judge.unseen import UNSEEN
from tests.simulation.from_answers import FOUND_BY, found
from tests.simulation.recorder import FROM_ANSWERS
from tests.simulation.scenes import BUGS
from tests.simulation.world import Report, run
from tests.slow import SLOW, repeats

SECONDS = 20.0
SEEDS_FOR_A_BUG = 100
"""Each in the scene that can show it."""
SOME_BUGS = sorted(BUGS)[:: 1 if SLOW else 40]
PROMISES_BROKEN = {
    "weeks-not-checked": "a slot's week",
    "campaign-id-not-derived": "an idempotency key",
    "cap-one-too-high": "charges stay within caps",
    "batch-ids-not-journaled": "remaining figures",
    "equal-events-all-recorded": "an event is recorded once a day",
    "events-not-counted": "counts",
    "sweeper-knows-better": "states",
    "old-version-stays": "the audit, the feed and the changes",
    "numbers-given-up": "invoices",
}
"""For each promise of the judge, a bug that breaks it."""


def _crashed(report: Report) -> bool:
    """Return whether an actor or a request failed without a simulated crash."""
    failures = report.counts.get("actor restarts", 0) + report.counts.get("requests that met a bug", 0)
    return report.trace.digest == "escaped" or failures > report.counts["fault crash"]


@pytest.mark.parametrize("bug", SOME_BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    for seed in dict.fromkeys((FOUND_BY.get(bug, 0), *range(SEEDS_FOR_A_BUG))):
        report = run(seed, seconds=SECONDS, bug=bug)
        if report.violations:
            assert not _crashed(report), f"{bug} raised, which shows nothing: {report.violations[0]}"
            return
    pytest.fail(f"{BUGS[bug].sentence} {SEEDS_FOR_A_BUG} seeds did not show it.")


@repeats("bugs that the oracle finds")
@pytest.mark.parametrize(("bug", "promise"), sorted(PROMISES_BROKEN.items()))
def test_a_bug_that_breaks_a_promise_is_found_from_answers_alone(bug: str, promise: str) -> None:
    each = found(bug)
    assert each.told.startswith(f"{FROM_ANSWERS}{promise}"), each


def test_each_bug_that_no_answer_shows_exists_and_has_one_reason() -> None:
    listed = [bug for bugs in UNSEEN.values() for bug in bugs]
    assert len(listed) == len({*listed})
    assert {*listed} <= {*BUGS} - {*PROMISES_BROKEN}
