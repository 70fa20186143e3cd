"""Promise 7: the states of a booking, a campaign and a key follow their tables. Pure."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tests.judge.accounts import Accounts
from tests.judge.charges import is_charged
from tests.judge.finding import Verdict, first, is_whole, time_of, with_past
from tests.judge.records import Booking, History, Operation
from tests.judge.tables import CAMPAIGN_MOVES, REACHABLE, REQUESTS
from tests.judge.weeks import OPEN, seen_bookings


def check(history: History) -> Verdict:
    verdict = Verdict()
    for id, seen in seen_bookings(history).items():
        _booking(id, seen.states, history.header.clock_ms, verdict)
    whole = is_whole(history)
    if whole and history.header.fresh:
        _causes(history, verdict)
    _campaigns(history, verdict, whole=whole)
    _keys(history, verdict)
    return verdict


# Bookings.


def _booking(id: str, states: Sequence[tuple[Operation, Booking]], clock_ms: float, verdict: Verdict) -> None:
    """Compare each state with the newest answer of each other state that was certainly before it."""
    newest: dict[str, Operation] = {}
    holds: dict[int, float] = {}
    for (operation, booking), past in with_past(states, first):
        for earlier, shown in past:
            if shown.status not in newest or earlier.began > newest[shown.status].began:
                newest[shown.status] = earlier
            if shown.held is not None:
                holds.setdefault(shown.held, earlier.ended)
        verdict.judged += 1
        for status, earlier in newest.items():
            if booking.status in REACHABLE.get(status, frozenset()):
                continue
            if status == "expired" and _by_a_clock(earlier, booking, holds, clock_ms):
                continue
            verdict.breaks(f"booking {id} was {status} and later {booking.status}", earlier, operation)


def _by_a_clock(expired: Operation, later: Booking, holds: Mapping[int, float], clock_ms: float) -> bool:
    """Whether a node whose clock is ahead may have shown a booking as expired that others still had: at the end of the
    hold that the later answer shows, or of one before it, which a checkout has made longer since. `holds` are the ends of
    holds, with the time at which each was first known."""
    if later.status not in OPEN or later.held is None:
        return not holds or expired.began - clock_ms <= max(holds)
    if expired.began - clock_ms <= later.held <= expired.ended + clock_ms:
        return True
    if holds.get(later.held, inf) < expired.began:
        return False
    before = [each for each in holds if each < later.held]
    return not before or expired.began - clock_ms <= max(before)


CAUSES: Mapping[str, frozenset[str]] = {
    "checkout": frozenset({"openCheckout"}),
    "cancelled": frozenset({"cancelBooking", "deleteAccount", "confirmAccountDeletion"}),
}
"""Operations without which a booking is not in a state. Those of accounts name no booking."""


def _causes(history: History, verdict: Verdict) -> None:
    earliest: dict[tuple[str, str], float] = {}
    for operation in history.operations:
        for status, kinds in CAUSES.items():
            if operation.kind in kinds and (operation.good or operation.doubtful):
                id = operation.asked.id if operation.kind in ("openCheckout", "cancelBooking") else None
                place = (status, id or "")
                earliest[place] = min(operation.began, earliest.get(place, inf))
    for id, seen in seen_bookings(history).items():
        if any(booking.demo for _, booking in seen.states):
            continue
        for operation, booking in seen.states:
            if booking.status in CAUSES:
                began = min(earliest.get((booking.status, each), inf) for each in (id, ""))
                if began > operation.ended:
                    verdict.breaks(f"booking {id} is {booking.status}, but nobody had asked for that", operation)
                    break


# Campaigns.


class Made(NamedTuple):
    """A request that may have moved a campaign. `ended` is infinite if it may take effect at any moment."""

    began: float
    ended: float
    operation: Operation


def moves_of(operation: Operation) -> tuple[str, ...]:
    """The moves that a request may make; none if it was refused or is no move."""
    if not (operation.good or operation.doubtful):
        return ()
    name = operation.asked.decision if operation.kind == "reviewCampaign" else operation.kind
    return REQUESTS.get(name or "", ())


def _campaigns(history: History, verdict: Verdict, *, whole: bool) -> None:
    shown: defaultdict[str, list[tuple[Operation, str]]] = defaultdict(list)
    made: defaultdict[str, list[Made]] = defaultdict(list)
    for operation in history.operations:
        for campaign in operation.said.campaigns:
            shown[campaign.id].append((operation, campaign.status))
        if moves_of(operation) and operation.asked.id is not None:
            ended = inf if operation.doubtful else operation.ended
            made[operation.asked.id].append(Made(operation.began, ended, operation))
    for id, states in shown.items():
        verdict.judged += len(states)
        for operation, status in states:
            _answered(id, operation, status, verdict)
        if whole:
            _moved(id, states, made[id], verdict)
        else:
            verdict.unjudged["what moved a campaign is known only in a whole history"] += len(states)


def _answered(id: str, operation: Operation, status: str, verdict: Verdict) -> None:
    """A move is answered with a state that it leads to."""
    moves = moves_of(operation) if operation.asked.id == id else ()
    targets = {table[move] for table in CAMPAIGN_MOVES.values() for move in moves if move in table}
    if targets and status not in targets:
        verdict.breaks(f"campaign {id} is {status} after {operation.kind}, which leads to {_or(targets)}", operation)


def _moved(id: str, states: list[tuple[Operation, str]], made: list[Made], verdict: Verdict) -> None:
    """A state follows from the newest one before it by moves that requests may have made between."""
    made.sort(key=lambda each: each.began)
    kinds: defaultdict[tuple[str, ...], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for move in made:
        began, latest = kinds[moves_of(move.operation)]
        began.append(move.began)
        latest.append(max(move.ended, latest[-1] if latest else -inf))
    newest: tuple[Operation, str] | None = None
    for (operation, status), past in with_past(states, first):
        for each in past:
            if newest is None or each[0].began >= newest[0].began:
                newest = each
        if newest is None or newest[1] == status:
            continue
        moves = {
            name
            for names, (began, latest) in kinds.items()
            if (before := bisect_right(began, operation.ended)) and latest[before - 1] >= newest[0].began
            for name in names
        }
        if status not in _after(newest[1], moves):
            verdict.breaks(
                f"campaign {id} was {newest[1]} and later {status}, and no request between leads there",
                newest[0],
                operation,
            )


def _after(state: str, moves: Iterable[str]) -> set[str]:
    """The states that these moves lead to, in any order and number."""
    reached, left, allowed = {state}, [state], set(moves)
    while left:
        found = {after for move, after in CAMPAIGN_MOVES.get(left.pop(), {}).items() if move in allowed} - reached
        reached |= found
        left += found
    return reached


def _or(words: Iterable[str]) -> str:
    return " or ".join(sorted(words))


# Keys.


def _keys(history: History, verdict: Verdict) -> None:
    """A key that was revoked, replaced or at its end works no more once every node knows it, and an anonymous key that was
    claimed is never anonymous again."""
    accounts, grace = Accounts(history), max(history.header.visible_ms, 2 * history.header.clock_ms)
    dead = _deaths(history, accounts, whole=is_whole(history))
    claimed: dict[str, Operation] = {}
    refused: dict[str, Operation] = {}
    for operation in sorted(history.operations, key=lambda each: each.ended):
        caller, answer = operation.asked.caller, operation.said
        if caller is None:
            continue
        if answer.code == "invalid_api_key":
            refused.setdefault(caller, operation)
        if answer.usage is not None and operation.kind == "getUsage" and answer.usage.status != "anonymous":
            claimed.setdefault(caller, operation)
    for operation in history.operations:
        caller = operation.asked.caller
        works = is_charged(operation) or (operation.kind == "getUsage" and operation.good)
        if caller is None or not works:
            continue
        verdict.judged += 1
        moment, why, proof = dead.get(caller, (inf, "", operation))
        if operation.began > moment + grace:
            verdict.breaks(f"the key of {caller} {why} at {time_of(moment)}, and worked later", proof, operation)
        elif caller in refused and operation.began > refused[caller].ended + grace:
            verdict.breaks(f"the key of {caller} was refused as ended, and worked later", refused[caller], operation)
        usage = operation.said.usage
        anonymous = usage is not None and usage.status == "anonymous" and caller in claimed
        if anonymous and operation.began > claimed[caller].ended + grace:
            verdict.breaks(f"the key of {caller} was claimed and is anonymous again", claimed[caller], operation)


Death = tuple[float, str, Operation]


def _deaths(history: History, accounts: Accounts, *, whole: bool) -> dict[str, Death]:
    """When each key certainly ended, why, and the operation that tells it. A page may claim a key, or move its end."""
    dead: dict[str, Death] = {}
    moved = {each.asked.id for each in history.operations if each.kind in ("editAccountKey", "editScopedKey")}

    def ends(caller: str | None, moment: float, why: str, operation: Operation) -> None:
        if caller is not None and moment < dead.get(caller, (inf,))[0]:
            dead[caller] = (moment, why, operation)

    for operation in history.operations:
        for id in operation.said.revoked:
            ends(accounts.by_id.get(id), operation.ended, "was revoked", operation)
        for key in operation.said.keys:
            if key.old_ends is not None and key.replaces is not None:
                ends(accounts.by_id.get(key.replaces), max(key.old_ends, operation.ended), "was replaced", operation)
            lasts = not whole or key.caller in accounts.claimed or key.id in moved - {None}
            if key.ends is not None and not lasts:
                ends(key.caller, key.ends, "ended", operation)
    return dead
