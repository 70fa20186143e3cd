"""Which planted bugs the judge finds from answers alone, each in the first seeds in which the oracle finds it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.judge.unseen import UNSEEN
from tests.simulation.recorder import FROM_ANSWERS
from tests.simulation.scenes import BUGS
from tests.simulation.world import run

SECONDS = 20.0
SEEDS = 8
"""Seeds that are tried with each bug, after that of `FOUND_BY`."""
SHOWN = 3
"""A bug that the oracle has found in so many seeds, and the judge in none of them, is one that it does not find."""

FOUND_BY = {
    "accepted-again-and-written-again": 2,
    "amount-not-compared": 5,
    "any-loss-ends-a-booking": 13,
    "anybody-ends-tokens": 1,
    "attempts-not-charged": 1,
    "attempts-per-node": 1,
    "authorization-code-without-end": 2,
    "closed-dispute-ends-the-others": 13,
    "closed-dispute-opened-again": 13,
    "code-for-any-client": 1,
    "day-of-codes-goes-back": 18,
    "day-of-quota-goes-back": 2,
    "declined-refund-forgets-weeks": 2,
    "declined-refund-not-mailed": 2,
    "declined-refund-without-weeks": 1,
    "disputed-amount-ignored": 2,
    "disputed-and-shown": 5,
    "doubt-divided-anew": 3,
    "each-document-taxed-alone": 5,
    "early-reports-forgotten": 11,
    "edited-and-no-more-approved": 2,
    "end-waits-for-nobody": 2,
    "event-handled-again": 4,
    "excess-not-credited": 15,
    "exposed-without-mail": 2,
    "failure-taken-for-that-of-a-later-refund": 27,
    "family-not-locked": 3,
    "filtered-lost-at-the-stop": 2,
    "filtered-on-the-day-of-the-write": 1,
    "foreign-session-pays": 1,
    "granted-keys-live-on": 3,
    "held-slot-moves": 18,
    "inquiry-taken-for-a-dispute": 18,
    "journal-place-used-again": 7,
    "key-of-the-booking-alone": 2,
    "key-of-unknown-secret": 2,
    "key-of-yesterday": 9,
    "key-that-is-over-stays": 1,
    "key-without-day": 9,
    "keys-of-a-day-unlimited": 6,
    "keys-of-yesterday-count": 1,
    "known-network-without-end": 1,
    "lane-answers-of-another": 4,
    "lane-steals-a-message": 2,
    "lane-trusts-uncommitted-keys": 8,
    "late-page-refused": 7,
    "leased-refund-leased-again": 16,
    "limit-counts-decided": 2,
    "limit-forgets-its-batch": 1,
    "links-of-the-batch-not-counted": 2,
    "lock-never-forgiven": 20,
    "loss-of-a-part-forgotten": 12,
    "loss-refunded-too": 18,
    "loss-taken-for-refund": 9,
    "lost-answer-taken-for-declined": 2,
    "lost-answer-taken-for-done": 2,
    "map-never-read-again": 2,
    "memory-without-end": 1,
    "month-begins-with-each-day": 2,
    "newer-edit-approved": 5,
    "old-messages-sent": 1,
    "older-outcome-counts": 5,
    "older-refresh-token-works": 1,
    "only-first-week-taken": 14,
    "order-of-all-ends-with-cents-left": 57,
    "overload-is-a-refusal": 20,
    "part-not-looked-for": 117,
    "part-taken-for-all": 3,
    "partitions-dropped-a-day-early": 2,
    "paused-for-ever": 3,
    "program-ends-alone": 13,
    "promise-not-of-the-day": 4,
    "proof-not-compared": 1,
    "recorded-answered-again": 3,
    "refund-counted-beside-its-total": 2,
    "refund-in-a-dispute": 11,
    "refund-in-wrong-window": 4,
    "refund-not-followed": 13,
    "refund-of-yesterday-lowers-today": 4,
    "refund-under-fresh-keys": 5,
    "refund-without-a-lease": 1,
    "refused-and-recorded-later": 18,
    "rejected-edit-shown": 2,
    "repeated-failure-is-final": 12,
    "request-counted-again": 2,
    "reservations-of-a-day-unlimited": 7,
    "reservations-of-yesterday-count": 7,
    "returned-part-stays-lost": 36,
    "session-cap-forgotten": 1,
    "session-ended-by-anybody": 3,
    "session-revived": 1,
    "settled-part-recorded-again": 38,
    "settled-taken-for-committed": 38,
    "share-of-days-not-sold": 2,
    "share-refunded-in-full": 2,
    "stale-look-up-cached": 2,
    "steps-of-old-snapshot": 1,
    "success-after-a-failure-counts": 2,
    "successor-lives-on": 1,
    "total-from-before-a-failure-counts": 2,
    "unseen-weeks-not-refunded": 2,
    "use-of-a-key-on-the-nodes-own-day": 2,
    "week-mailed-each-day": 5,
    "week-shown-until-the-next-change": 2,
    "week-sold-after-its-end": 1,
    "win-after-a-loss-ignored": 9,
    "windows-remembered": 2,
    "withdrawn-dispute-stays-open": 13,
    "won-weeks-taken-from-their-buyer": 1,
}
"""Seeds tried first for bugs that the first seeds do not show. This only saves time."""
ANSWERED_BY = {
    "declined-refund-forgets-weeks": 23,
    "failure-taken-for-that-of-a-later-refund": 38,
    "part-not-looked-for": 35,
    "settled-taken-for-committed": 12,
}
"""Seeds in which an answer shows bugs that are in no answer of the first seeds."""


class Found(NamedTuple):
    """The first seed in which the judge finds a bug, with what it says; and the seeds in which the oracle alone does. The
    readers of the scene join if it is not found without them."""

    seed: int | None
    told: str
    oracle: Sequence[int]
    readers: bool = False


def found(bug: str) -> Found:
    """Plant a bug until the judge finds it."""
    alone: list[int] = []
    for readers in (False, True):
        shown = 0
        for seed in dict.fromkeys((ANSWERED_BY.get(bug, 0), FOUND_BY.get(bug, 0), *range(SEEDS))):
            violations = run(seed, seconds=SECONDS, bug=bug, patient=True, readers=readers).violations
            judged = [each for each in violations if each.startswith(FROM_ANSWERS)]
            if judged:
                return Found(seed, judged[0], alone, readers)
            if violations:
                alone.append(seed)
                shown += 1
            if shown == SHOWN:
                break
    return Found(None, "", alone)


def from_answers(bugs: Sequence[str], out: Callable[[str], object]) -> bool:
    """Print a line for each bug, and how many the judge finds of those that an answer shows. Returns whether it finds all of
    these, and none of the others."""
    reasons = {bug: reason for reason, unseen in UNSEEN.items() for bug in unseen}
    seen, wrong = 0, 0
    for bug in bugs:
        each = found(bug)
        seen += each.seed is not None
        wrong += each.seed is not None and bug in reasons
        how = (
            f"not found in {list(each.oracle)}"
            if each.seed is None
            else f"seed {each.seed}{' with readers' * each.readers}: {each.told}"
        )
        out(f"{BUGS[bug].scene} {bug}: {how}{f' ({reasons[bug]})' if bug in reasons else ''}\n")
    visible = sum(bug not in reasons for bug in bugs)
    out(
        f"found from answers alone: {seen} of {visible} that an answer shows, of {len(bugs)} in all; {wrong} of the others\n"
    )
    return seen == visible and not wrong
