"""Promise 7: a key ends at once on the node that ended it, with the keys that it became by rotating itself, and no later than
its rotation asked. Pure; `states` judges the rest of a key's life."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.judge.accounts import Accounts
from tests.judge.charges import is_charged
from tests.judge.finding import Verdict, time_of
from tests.judge.records import History, Operation


class End(NamedTuple):
    """From when on a key does not work, on one node or, without that, on any; why, and the operation that tells it."""

    caller: str
    node: str | None
    moment: float
    why: str
    proof: Operation


def check(history: History, verdict: Verdict) -> Verdict:
    """Adds to the verdict of the states."""
    first: dict[tuple[str, str | None], End] = {}
    for end in _ends(history, verdict):
        first[end.caller, end.node] = min(first.get((end.caller, end.node), end), end, key=lambda each: each.moment)
    for operation in history.operations:
        caller = operation.asked.caller
        if caller is None or not (is_charged(operation) or (operation.kind == "getUsage" and operation.good)):
            continue
        for node in (operation.node, None):
            found = first.get((caller, node))
            if found is not None and operation.began > found.moment:
                where = "everywhere" if node is None else "on its node"
                words = (
                    f"the key of {caller} {found.why} and ended {where} at {time_of(found.moment)}, and worked later"
                )
                verdict.breaks(words, found.proof, operation)
                break
    return verdict


def _ends(history: History, verdict: Verdict) -> Iterator[End]:
    accounts, clock, visible = Accounts(history), history.header.clock_ms, history.header.visible_ms
    became: defaultdict[str, list[tuple[str, Operation]]] = defaultdict(list)
    for operation in history.operations:
        grace = operation.asked.grace
        for key in operation.said.keys:
            old = accounts.by_id.get(key.replaces or "")
            if key.old_ends is None or old is None:
                continue
            if old == operation.asked.caller:
                became[old].append((key.caller, operation))
            if grace is not None and key.old_ends > operation.ended + 1_000 * grace + clock:
                words = f"the key of {old} was to work for {grace} s after its rotation, and ends at {time_of(key.old_ends)}"
                verdict.breaks(words, operation)
            over = key.old_ends + clock
            yield End(old, operation.node, max(over, operation.ended), "was replaced", operation)
            yield End(old, None, max(over, operation.ended + visible), "was replaced", operation)
    for operation in history.operations:
        gone = [caller for id in operation.said.revoked if (caller := accounts.by_id.get(id))]
        yield from (End(each, operation.node, operation.ended, "was revoked", operation) for each in gone)
        while gone:
            successors = [caller for caller, made in became[gone.pop()] if made.ended < operation.began]
            gone += successors
            for each in successors:
                why = "became of one that was revoked"
                yield End(each, None, operation.ended + visible, why, operation)
