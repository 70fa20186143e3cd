"""Promise 8: the feed of an account has an event for each state that answers show of a booking which it made. Pure;
`prefixes` judges how a feed grows."""

from collections import defaultdict
from typing import NamedTuple

from tests.judge.accounts import Accounts
from tests.judge.finding import Verdict
from tests.judge.idempotency import BOOKS
from tests.judge.prefixes import KEPT_MS
from tests.judge.records import History, Operation

TOLD = ("reserved", "paid", "cancelled", "refunded")
"""States of bookings with an event. A hold that is over may show as expired before its event."""


class Walk(NamedTuple):
    """Pages of a feed that a client read from the first one on."""

    begun: Operation
    events: set[str]
    cursor: str | None


def check(history: History, verdict: Verdict) -> Verdict:
    """Adds to the verdict of the prefixes."""
    accounts = Accounts(history)
    owners: dict[str, tuple[str, float]] = {}
    for operation in history.operations:
        tenants = accounts.tenants.get(operation.asked.caller or "", set())
        if operation.kind in BOOKS and len(tenants) == 1:
            owners.update((each.id, (next(iter(tenants)), operation.began)) for each in operation.said.bookings)
    expected: defaultdict[str, dict[str, tuple[Operation, float]]] = defaultdict(dict)
    walks: dict[tuple[str, str], Walk] = {}
    for operation in sorted(history.operations, key=lambda each: each.ended):
        for booking in operation.said.bookings:
            account, made = owners.get(booking.id, ("", 0.0))
            for status in (each for each in TOLD if account and each in ("reserved", booking.status)):
                expected[account].setdefault(f"booking.{status} {booking.id}", (operation, made))
        if (
            operation.kind == "listWebhookEvents"
            and operation.said.cursor is not None
            and operation.asked.query is None
        ):
            account = accounts.owner(operation.asked.caller)
            walk = _walked(operation, walks.pop((operation.client, account), None))
            if walk is not None and operation.said.more:
                walks[operation.client, account] = walk
            elif walk is not None and "" in walk.events:
                verdict.unjudged["an older recorder does not tell what the events of a feed are"] += 1
            elif walk is not None:
                verdict.judged += 1
                _complete(account, walk, operation, expected[account], verdict)
    return verdict


def _walked(page: Operation, walk: Walk | None) -> Walk | None:
    """The pages until this one, if it is the first or follows the last."""
    if page.asked.cursor is None:
        walk = Walk(page, set(), None)
    elif walk is None or page.asked.cursor != walk.cursor:
        return None
    events = {each.digest.rpartition(" ")[0] for each in page.said.records}
    return Walk(walk.begun, walk.events | events, page.said.cursor)


def _complete(
    account: str, walk: Walk, last: Operation, expected: dict[str, tuple[Operation, float]], verdict: Verdict
) -> None:
    for event, (shown, made) in expected.items():
        kept = made > walk.begun.began - KEPT_MS
        if kept and shown.ended < walk.begun.began and event not in walk.events:
            verdict.breaks(f"the feed of {account} has no event {event}", shown, last)
            return
