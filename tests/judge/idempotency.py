"""Promise 2: an idempotency key has one outcome. Pure.

A key counts for an account and an operation. It is compared by caller, or by account if an answer tells whose the caller is.
"""

from collections import defaultdict

from tests.judge.accounts import Accounts
from tests.judge.finding import Verdict, is_whole
from tests.judge.records import History, Operation

BOOKS = frozenset({"createBooking", "startBooking"})
CREATES = BOOKS | {"createCampaign"}
"""A repeated request returns the same thing as it is now."""
SHOWS = frozenset({"createAccountKey", "createScopedKey", "rotateAccountKey", "rotateScopedKey"})
"""A repeated request is refused, because a key is shown once."""


def check(history: History) -> Verdict:
    verdict, accounts = Verdict(), Accounts(history)
    uses: defaultdict[tuple[str, str], list[Operation]] = defaultdict(list)
    for operation in history.operations:
        if operation.asked.key is None:
            continue
        if operation.kind not in CREATES and operation.kind not in SHOWS:
            verdict.unjudged[f"answers to {operation.kind} do not show what was created"] += 1
            continue
        verdict.judged += 1
        uses[operation.kind, operation.asked.key].append(operation)
    all_sent = history.header.fresh and is_whole(history)
    owners: dict[tuple[str, str], tuple[str, Operation]] = {}
    for (kind, key), operations in uses.items():
        scopes: defaultdict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            if operation.good:
                scopes[accounts.owner(operation.asked.caller)].append(operation)
        for good in scopes.values():
            _one_outcome(kind, key, good, owners, verdict)
        if all_sent:
            _conflicts(key, operations, verdict)
    return verdict


def outcome_of(operation: Operation) -> str | None:
    """The id of what was created, if the answer tells it."""
    answer = operation.said
    if operation.kind in BOOKS:
        return answer.bookings[0].id if answer.bookings else None
    if operation.kind in SHOWS:
        return answer.keys[0].caller if answer.keys else None
    return answer.campaigns[0].id if answer.campaigns else None


def _one_outcome(
    kind: str, key: str, good: list[Operation], owners: dict[tuple[str, str], tuple[str, Operation]], verdict: Verdict
) -> None:
    first = good[0]
    outcome, body = outcome_of(first), _body_of(first)
    for operation in good if kind in BOOKS else ():
        if (asked := _asked_and_shown(operation)) is not None and asked[0] != asked[1]:
            verdict.breaks(f"the idempotency key {key} of {kind} has a booking of what was not asked for", operation)
    for operation in good[1:]:
        if outcome_of(operation) != outcome:
            verdict.breaks(f"the idempotency key {key} of {kind} has two outcomes", first, operation)
        elif kind in SHOWS:
            verdict.breaks(f"the idempotency key {key} of {kind} was answered twice", first, operation)
        elif _body_of(operation) != body:
            words = f"the idempotency key {key} of {kind} was answered with the same outcome for two bodies"
            verdict.breaks(words, first, operation)
    if outcome is not None:
        other, owner = owners.setdefault((kind, outcome), (key, first))
        if other != key:
            verdict.breaks(f"the idempotency keys {other} and {key} of {kind} have one outcome", owner, first)


def _body_of(operation: Operation) -> object:
    """Values of the body that the service compares as they are. Texts have a normal form, so two bodies may be one."""
    asked = operation.asked
    return (asked.campaign, asked.slot, asked.week) if operation.kind in BOOKS else None


def _asked_and_shown(operation: Operation) -> tuple[object, object] | None:
    """The slot and the week that a request names, and those of the booking; with the campaign, if it names one."""
    asked, answer = operation.asked, operation.said
    if not answer.bookings or None in (asked.slot, asked.week, answer.bookings[0].slot):
        return None
    shown = answer.bookings[0]
    campaign = answer.campaigns[0].id if answer.campaigns and asked.campaign is not None else asked.campaign
    return (asked.slot, asked.week, asked.campaign), (shown.slot, shown.week, campaign)


def _conflicts(key: str, operations: list[Operation], verdict: Verdict) -> None:
    """A conflict needs a request with this key that may have taken effect before, with another body if bodies decide."""
    first: dict[object, Operation] = {}
    for operation in sorted(operations, key=lambda each: each.began):
        if operation.good or operation.doubtful:
            first.setdefault(operation.asked.body, operation)
    # The first requests of two bodies: one of them has another body than the refused request.
    earliest = list(first.items())[:2]
    for operation in operations:
        if operation.said.code != "idempotency_conflict":
            continue
        body = operation.asked.body
        others = (each for other, each in earliest if operation.kind in SHOWS or other != body)
        if not any(each.began <= operation.ended for each in others):
            words = (
                f"the idempotency key {key} of {operation.kind} was refused as used for another body, but it was not"
            )
            verdict.breaks(words, operation)
