"""Promise 6: the counts of a booking lie between what was certainly and what was possibly recorded, and never fall for one
reader. Pure."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from tests.judge.finding import DAY_MS, Moments, Verdict, day_of, first, is_whole, time_of, with_past
from tests.judge.once import Attempt, days_of, events_of, may_count
from tests.judge.records import Event, History, Operation

Place = tuple[str, str, int | None]
"""A booking, a kind of event, and a day, or None for the sum of all days."""
Read = tuple[Operation, int]


@dataclass(slots=True)
class Tally:
    """The events that were sent for a place: times at which events were certainly recorded, at which those began, at which
    duplicates show that others had been, and at which one more may have been."""

    recorded: list[float] = field(default_factory=list)
    began: list[float] = field(default_factory=list)
    known: list[float] = field(default_factory=list)
    possible: list[float] = field(default_factory=list)

    def sort(self) -> None:
        for times in (self.recorded, self.began, self.known, self.possible):
            times.sort()


def check(history: History) -> Verdict:
    verdict, demo = Verdict(), set[str]()
    reads: defaultdict[Place, list[Read]] = defaultdict(list)
    for operation in history.operations:
        demo |= {each.id for each in operation.said.bookings if each.demo}
        for place, value in _values(operation):
            reads[place].append((operation, value))
    tallies = _tallies(history, reads.keys())
    whole, fresh = is_whole(history), history.header.fresh
    for place, found in reads.items():
        if place[0] in demo:
            verdict.unjudged["bookings of the demo have counts of their own"] += len(found)
            continue
        verdict.judged += len(found)
        if not whole:
            verdict.unjudged["upper bounds need a whole history"] += len(found)
        tally = tallies.get(place) or Tally()
        tally.sort()
        _least(place, found, tally, verdict)
        _never_falls(place, found, verdict)
        if whole:
            _most(place, found, tally, verdict, fresh=fresh)
    return verdict


def _values(operation: Operation) -> Iterator[tuple[Place, int]]:
    for booking in operation.said.bookings:
        if booking.impressions is not None and booking.clicks is not None:
            yield (booking.id, "impression", None), booking.impressions
            yield (booking.id, "click", None), booking.clicks
    for day in operation.said.days:
        number = day.day // DAY_MS
        yield (operation.asked.id or "", "impression", number), day.impressions
        yield (operation.asked.id or "", "click", number), day.clicks


def _tallies(history: History, places: Iterable[Place]) -> dict[Place, Tally]:
    """The events that were sent for each place that was read."""
    moments, tallies = Moments(history.header.clock_ms), defaultdict[Place, Tally](Tally)
    days: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    wanted = set[tuple[str, str]]()
    for booking, kind, day in places:
        wanted.add((booking, kind))
        if day is not None:
            days[booking, kind].append(day)
    attempts: defaultdict[Event, list[Attempt]] = defaultdict(list)
    anyone = set[tuple[str, str]]()
    for event, outcome, operation in events_of(history.operations):
        if event[:2] not in wanted or not (may_count(outcome) or (outcome == "duplicate" and event.visitor)):
            continue
        attempts[event].append((operation, outcome))
        if outcome == "recorded":
            _note_recorded(tallies, event, operation, moments)
        if event.visitor is None:
            anyone.add(event[:2])
            tallies[event.booking, event.kind, None].possible.append(operation.began)
    for event, sent in attempts.items():
        # A duplicate may be of an event whose visitor is not known, which counts already.
        if event[:2] not in anyone:
            _note_known(tallies, event, sent, moments)
        if made := [each for each in sent if may_count(each[1])]:
            _note_possible(tallies, event, made, days.get(event[:2], []), moments)
    return tallies


def _note_recorded(tallies: dict[Place, Tally], event: Event, operation: Operation, moments: Moments) -> None:
    for day in {None, moments.day(operation)} if moments.day(operation) is not None else {None}:
        tally = tallies[event.booking, event.kind, day]
        tally.recorded.append(operation.ended)
        tally.began.append(operation.began)
    if moments.day(operation) is None:
        for number in range(moments.days(operation)[0], moments.days(operation)[1] + 1):
            tallies[event.booking, event.kind, number].began.append(operation.began)


def _note_known(tallies: dict[Place, Tally], event: Event, sent: list[Attempt], moments: Moments) -> None:
    """A duplicate was recorded before on its day: if not by an answer that says so, by an attempt without one."""
    taken = {day for each, outcome in sent if outcome == "recorded" for day in days_of(each, outcome, moments)}
    known: dict[int, float] = {}
    for operation, outcome in sent:
        day = moments.day(operation)
        if outcome == "duplicate" and day is not None and day not in taken:
            known[day] = min(operation.ended, known.get(day, inf))
    for day, moment in known.items():
        for place in (day, None):
            tallies[event.booking, event.kind, place].known.append(moment)


def _note_possible(
    tallies: dict[Place, Tally], event: Event, sent: list[Attempt], days: list[int], moments: Moments
) -> None:
    """A visitor counts once a day, so n attempts count at most as often as there were days since the first one."""
    sent.sort(key=lambda each: each[0].began)
    clock, begin = moments.clock_ms, day_of(sent[0][0].began - moments.clock_ms)
    if event.visitor is not None:
        total = tallies[event.booking, event.kind, None].possible
        total += [max(each.began, (begin + n) * DAY_MS - clock if n else 0) for n, (each, _) in enumerate(sent)]
    for day in days:
        may = [
            max(op.began, day * DAY_MS - clock)
            for op, outcome in sent
            if day in (of := days_of(op, outcome, moments)) or (None in of and moments.days(op)[0] <= day)
        ]
        tallies[event.booking, event.kind, day].possible += may if event.visitor is None else may[:1]


# The checks of a place.


def _named(place: Place) -> str:
    booking, kind, day = place
    return f"the {kind}s of booking {booking}" + ("" if day is None else f" on {time_of(day * DAY_MS)[:10]}")


def _least(place: Place, reads: list[Read], tally: Tally, verdict: Verdict) -> None:
    """A read shows all that was recorded before it, and what an earlier read shows."""
    others, witness = 0, list[Operation]()
    for (operation, value), past in with_past(reads, first):
        for earlier, seen in past:
            # Earlier events, and those of others: counts never fall.
            base = seen - bisect_right(tally.began, earlier.ended) - len(tally.known)
            if base > others:
                others, witness = base, [earlier]
        least = others + bisect_left(tally.recorded, operation.began) + bisect_left(tally.known, operation.began)
        if value < least:
            verdict.breaks(
                f"{_named(place)} are {value}, although at least {least} were certainly recorded before",
                *witness,
                operation,
            )
            return


def _most(place: Place, reads: list[Read], tally: Tally, verdict: Verdict, *, fresh: bool) -> None:
    """A read shows no more than what was there at the beginning and was possibly recorded since."""
    base: float = 0 if fresh else inf
    witness: list[Operation] = []
    for operation, value in reads:
        before = max(0, value - bisect_left(tally.recorded, operation.began))
        if before < base:
            base, witness = before, [operation]
    for operation, value in reads:
        most = base + bisect_right(tally.possible, operation.ended)
        if value > most:
            verdict.breaks(
                f"{_named(place)} are {value}, although at most {most:.0f} were possibly recorded",
                *witness,
                operation,
            )
            return


def _never_falls(place: Place, reads: list[Read], verdict: Verdict) -> None:
    readers: defaultdict[str, list[Read]] = defaultdict(list)
    for read in reads:
        readers[read[0].client].append(read)
    for client, own in readers.items():
        witness, most = own[0][0], -1
        for (operation, value), past in with_past(own, first):
            for earlier, seen in past:
                if seen > most:
                    witness, most = earlier, seen
            if value < most:
                verdict.breaks(
                    f"{_named(place)} fell from {most} to {value} for the reader {client}", witness, operation
                )
