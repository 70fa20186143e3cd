"""Promise 1: a week of a slot has one owner at a time. Pure.

A booking holds its weeks at the moment of an answer that shows it as reserved, in checkout or paid. Between two such answers
it held them all the time, if nothing can have ended the hold between. In a whole history it held them after the last one,
too, until something may have ended that.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from tests.judge.finding import WEEK_MS, Verdict, first, is_whole, time_of, with_past
from tests.judge.records import Booking, History, Operation

OPEN = frozenset({"reserved", "checkout"})
HELD = OPEN | {"paid"}
"""States in which a booking certainly has its weeks. One that is refunding may have lost them before it was paid."""

ENDS_ALL = frozenset({"deleteAccount", "confirmAccountDeletion", "refundAccount", "page"})
ENDS_ONE = frozenset({"cancelBooking", "refundBooking", "stripeWebhook"})
"""Operations that may end a hold: of bookings that they do not name, and of the one that they name. An event of the
processor that names no booking may be about any."""


class Held(NamedTuple):
    """A time in which a booking certainly held its weeks; of a `point`, some moment in it."""

    start: float
    end: float
    booking: str
    point: bool
    proof: tuple[Operation, ...]


@dataclass(slots=True)
class Ends:
    """When operations began that may end the hold of a booking, or of any, and the latest end of those that began before."""

    found: list[tuple[float, float]] = field(default_factory=list)
    latest: list[float] = field(default_factory=list)

    def add(self, operation: Operation) -> None:
        self.found.append((operation.began, inf if operation.doubtful else operation.ended))

    def sort(self) -> None:
        self.found.sort()
        for _, ended in self.found:
            self.latest.append(max(ended, self.latest[-1] if self.latest else -inf))

    def after(self, operation: Operation) -> float:
        """The earliest moment at or after an operation's beginning at which a hold may have been ended."""
        at = bisect_right(self.found, (operation.began, inf))
        if at and self.latest[at - 1] >= operation.began:
            return operation.began
        return self.found[at][0] if at < len(self.found) else inf


@dataclass(slots=True)
class Seen:
    """What answers showed of a booking: its place, and each state with its operation."""

    slot: str | None = None
    week: int = 0
    end: int = 0
    states: list[tuple[Operation, Booking]] = field(default_factory=list)

    def note(self, operation: Operation, booking: Booking) -> None:
        self.states.append((operation, booking))
        if booking.slot is not None and booking.week is not None and booking.end is not None:
            self.slot, self.week, self.end = booking.slot, booking.week, booking.end


def check(history: History) -> Verdict:
    verdict = Verdict()
    places: defaultdict[tuple[str, int], list[Held]] = defaultdict(list)
    bookings, ends = seen_bookings(history), _ends(history) if is_whole(history) else None
    opened = {each.asked.id for each in history.operations if each.kind == "openCheckout" and each.doubtful}
    for id, seen in bookings.items():
        if seen.slot is None:
            verdict.unjudged["no answer tells the slot of the booking"] += len(seen.states)
            continue
        _one_place(id, seen.states, verdict)
        _one_end(id, seen.states, history.header.clock_ms, verdict)
        held = list(_held(id, seen, ends, history.header.clock_ms, opened=id in opened))
        verdict.judged += len(seen.states)
        for week in range(seen.week, seen.end, WEEK_MS):
            places[seen.slot, week] += held
    for (slot, week), held in places.items():
        _one_owner(f"the week of {time_of(week)[:10]} of slot {slot}", held, verdict)
    return verdict


def seen_bookings(history: History) -> Mapping[str, Seen]:
    """What answers showed of each booking, in no order."""
    bookings: defaultdict[str, Seen] = defaultdict(Seen)
    for operation in history.operations:
        for booking in operation.said.bookings:
            bookings[booking.id].note(operation, booking)
    return bookings


def _ends(history: History) -> Mapping[str, Ends]:
    """What may end holds, by booking; under the empty name that of all."""
    ends: defaultdict[str, Ends] = defaultdict(Ends)
    for operation in history.operations:
        if not (operation.good or operation.doubtful):
            continue
        if operation.kind in ENDS_ALL:
            ends[""].add(operation)
        elif operation.kind in ENDS_ONE:
            ends[operation.asked.id or ""].add(operation)
    for each in ends.values():
        each.sort()
    return ends


def _one_place(id: str, states: Sequence[tuple[Operation, Booking]], verdict: Verdict) -> None:
    """A booking stays where it is, and costs what it cost."""
    told: dict[str, tuple[Operation, object]] = {}
    for operation, booking in sorted(states, key=lambda each: each[0].ended):
        for what in ("slot", "week", "end", "price"):
            if (value := getattr(booking, what)) is None:
                continue
            earlier, known = told.setdefault(what, (operation, value))
            if known != value:
                verdict.breaks(f"booking {id} has two values of its {what}: {known} and {value}", earlier, operation)
                return


def _one_end(id: str, states: Sequence[tuple[Operation, Booking]], clock_ms: float, verdict: Verdict) -> None:
    """A hold has one end, and another one once its checkout is opened. It is open until then, and not after."""
    ends: dict[str, tuple[float, Operation]] = {}
    last, least = None, -inf
    for (operation, booking), past in with_past(states, first):
        for earlier, seen in past:
            if seen.status in OPEN and (until := _surely_until(seen, clock_ms, opened=True)) > least:
                last, least = earlier, until
        if booking.status == "expired" and last is not None and operation.ended < least:
            verdict.breaks(f"booking {id} is expired before its hold is over", last, operation)
        if booking.status not in OPEN or booking.held is None:
            continue
        if operation.began > booking.held + clock_ms:
            verdict.breaks(f"booking {id} is {booking.status} after its hold, until {time_of(booking.held)}", operation)
        held, other = ends.setdefault(booking.status, (booking.held, operation))
        if held != booking.held:
            words = (
                f"the hold of booking {id} in {booking.status} ends at {time_of(held)} and at {time_of(booking.held)}"
            )
            verdict.breaks(words, other, operation)


def _surely_until(booking: Booking, clock_ms: float, *, opened: bool) -> float:
    """Until when an open hold lasts by every clock. One whose checkout may have been `opened` by a clock that is behind may
    end sooner than before."""
    return (booking.held or -inf) - clock_ms * (3 if opened and booking.status == "reserved" else 1)


def _held(id: str, seen: Seen, ends: Mapping[str, Ends] | None, clock_ms: float, *, opened: bool) -> Iterator[Held]:
    states = sorted(seen.states, key=lambda each: each[0].ended)
    troubled = any(each.issue or each.status in ("refunding", "refunded") for _, each in states)
    for operation, booking in states:
        if booking.status in HELD:
            yield Held(operation.began, operation.ended, id, True, (operation,))
    chain = list(_chain(states))
    for at, (operation, booking) in enumerate(chain):
        if booking.status not in HELD:
            continue
        after = chain[at + 1] if at + 1 < len(chain) else None
        paid = booking.status == "paid"
        end = seen.end - clock_ms if paid else _surely_until(booking, clock_ms, opened=opened)
        continuous = after is not None and after[1].status in HELD and (booking.status in OPEN or not troubled)
        if not continuous:
            end = min(end, _until(id, operation, after, ends))
        if after is not None:
            end = min(end, after[0].began)
        if end > operation.ended:
            proof = (operation, after[0]) if after is not None and continuous else (operation,)
            yield Held(operation.ended, end, id, False, proof)


def _chain(states: Sequence[tuple[Operation, Booking]]) -> Iterator[tuple[Operation, Booking]]:
    """Those of the states, sorted by their ends, of which each is after the one before."""
    ended = -inf
    for operation, booking in states:
        if operation.began > ended:
            yield operation, booking
            ended = operation.ended


def _until(
    id: str, operation: Operation, after: tuple[Operation, Booking] | None, ends: Mapping[str, Ends] | None
) -> float:
    """Until when a booking held its weeks after an answer, if no later one shows that it still has them."""
    if ends is None:
        return -inf
    end = min(ends[each].after(operation) if each in ends else inf for each in (id, ""))
    unexplained = after is not None and after[1].status not in (*HELD, "expired") and end > after[0].ended
    return -inf if unexplained else end


def _one_owner(where: str, held: list[Held], verdict: Verdict) -> None:
    """Compare each time with the longest one that began before it, of another booking."""
    best: Held | None = None
    other: Held | None = None
    told = set[tuple[str, str]]()
    for each in sorted(held, key=lambda span: (span.start, span.end)):
        rival = other if best is not None and best.booking == each.booking else best
        if rival is not None and _collide(rival, each) and (pair := (rival.booking, each.booking)) not in told:
            told.add(pair)
            verdict.breaks(
                f"{where} was held by booking {rival.booking} and by booking {each.booking} at the same time",
                *rival.proof,
                *each.proof,
            )
        if each.point:
            continue
        if best is None or each.booking == best.booking:
            best = each if best is None or each.end > best.end else best
        elif each.end > best.end:
            best, other = each, best
        elif other is None or each.end > other.end:
            other = each


def _collide(certain: Held, each: Held) -> bool:
    """Whether a booking held the weeks while another one certainly did: at some moment of a point, or for a time."""
    if each.point:
        return certain.start < each.start and each.end < certain.end
    return min(certain.end, each.end) > each.start
