"""Promise 7: states follow their tables: here those of bookings, campaigns and submissions. Pure."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tests.judge import keys, logins
from tests.judge.finding import Verdict, first, is_whole, with_past
from tests.judge.records import Booking, History, Operation
from tests.judge.tables import CAMPAIGN_MOVES, REACHABLE, REQUESTS, SUBMISSION_MOVES
from tests.judge.weeks import OPEN, seen_bookings


def check(history: History) -> Verdict:
    verdict = Verdict()
    for id, seen in seen_bookings(history).items():
        _booking(id, seen.states, history.header.clock_ms, verdict)
    _stay(history, verdict)
    whole = is_whole(history)
    if whole and history.header.fresh:
        _causes(history, verdict)
    _campaigns(history, verdict, whole=whole)
    keys.check(history, verdict)
    logins.check(history, verdict)
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


DELETES = frozenset({"deleteAccount", "confirmAccountDeletion", "page"})
OWN = frozenset({"createBooking", "startBooking", "listBookings", "openCheckout", "cancelBooking"})
"""Operations that show bookings of the caller's own account."""


def _stay(history: History, verdict: Verdict) -> None:
    """A booking is found by the caller who made it, until a request may have deleted an account."""
    shown: dict[tuple[str | None, str], Operation] = {}
    deletes = (each for each in history.operations if each.kind in DELETES and (each.good or each.doubtful))
    deleted = min((each.began for each in deletes), default=inf)
    for operation in sorted(history.operations, key=lambda each: each.ended):
        for booking in operation.said.bookings if operation.kind in OWN else ():
            shown.setdefault((operation.asked.caller, booking.id), operation)
        if operation.kind == "getBooking" and operation.status == 404:
            verdict.judged += 1
            earlier = shown.get((operation.asked.caller, operation.asked.id or ""))
            if earlier is not None and earlier.ended < operation.began and operation.ended < deleted:
                verdict.breaks(f"booking {operation.asked.id} is not there any more", earlier, operation)


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
    "paid": frozenset({"openCheckout"}),
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
        made = any(operation.kind in ("createBooking", "startBooking") for operation, _ in seen.states)
        for operation, booking in seen.states:
            if booking.status in CAUSES and (made or booking.status != "paid"):
                began = min(earliest.get((booking.status, each), inf) for each in (id, ""))
                if began > operation.ended:
                    verdict.breaks(f"booking {id} is {booking.status}, but nobody had asked for that", operation)
                    break


# Campaigns and submissions.


class Made(NamedTuple):
    """A request that may have moved a campaign. `ended` is infinite if it may take effect at any moment."""

    began: float
    ended: float
    operation: Operation


def moves_of(operation: Operation) -> tuple[str, ...]:
    """The moves that a request may make; none if it was refused or is no move."""
    if not (operation.good or operation.doubtful):
        return ()
    reviews = operation.kind in ("reviewCampaign", "reviewSubmission")
    name = operation.asked.decision if reviews else operation.kind
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
        reviews = [each for each, _ in states if each.kind == "reviewSubmission"]
        if len(reviews) > 1:
            verdict.breaks(f"{id} was decided {len(reviews)} times", *reviews[:2])
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
    tables = SUBMISSION_MOVES if operation.kind == "reviewSubmission" else CAMPAIGN_MOVES
    targets = {table[move] for table in tables.values() for move in moves if move in table}
    if targets and status not in targets:
        verdict.breaks(f"{id} is {status} after {operation.kind}, which leads to {_or(targets)}", operation)


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
                f"{id} was {newest[1]} and later {status}, and no request between leads there",
                newest[0],
                operation,
            )


def _after(state: str, moves: Iterable[str]) -> set[str]:
    """The states that these moves lead to, in any order and number."""
    reached, left, allowed = {state}, [state], set(moves)
    while left:
        state = left.pop()
        table = (*CAMPAIGN_MOVES.get(state, {}).items(), *SUBMISSION_MOVES.get(state, {}).items())
        found = {after for move, after in table if move in allowed} - reached
        reached |= found
        left += found
    return reached


def _or(words: Iterable[str]) -> str:
    return " or ".join(sorted(words))
