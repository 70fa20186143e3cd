"""What was filtered: the reports say what websites were told, but for what a node had not written when it was killed.

A node writes what it has told so far, at most `PAUSE_SECONDS` after its last attempt. Each write holds what was told before
it began, by booking, UTC day and reason, and commits once. Only paid bookings have rows, on the days on which they can
have counts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from actors.clock import DAY_MS, day_of
from actors.values import Filtered
from tests.simulation.history import Heard, Operation
from tests.simulation.oracle.bookings import WEEK_MS
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.events import Rows
from tests.simulation.oracle.tally import Filtering, Flush

if TYPE_CHECKING:
    from tests.simulation.world import World

PAUSE_SECONDS = 0.5 + 0.05
LAST_ATTEMPTS = 5
"""Attempts of a node that stops."""

REASONS = ("duplicate", "crawler", "prefetch", "capped", "inactive")

Place = tuple[str, int | None, str]
"""A booking, a day, or None for all days, and a reason."""
Sums = dict[Place, int]


def judge(world: "World", batch_id: str, flush: Flush) -> Iterator[str]:
    """A write adds its rows to those of paid bookings, once, and nothing else adds any."""
    expected = world.tally.filtered
    for booking_id, day, filtered in flush.rows:
        booking = world.memory.bookings.get(booking_id)
        if booking is None or booking.paid_ms is None:
            continue
        first_ms, last_ms = booking.week_start_ms, booking.week_start_ms + booking.weeks * WEEK_MS
        if first_ms <= day * DAY_MS <= last_ms:
            known = expected.get((booking_id, day), (0,) * len(REASONS))
            expected[booking_id, day] = Filtered(*(one + more for one, more in zip(known, filtered, strict=True)))
    if flush.committed:
        yield f"{batch_id} was written again"
    if world.memory.filtered_days != expected:
        yield f"{batch_id} wrote {flush.rows}: there is {world.memory.filtered_days} instead of {expected}"


@dataclass(slots=True)
class Told:
    """What a node has told up to a tick: surely, and at most. Its reports are in the order in which they began."""

    case: Case
    reports: Sequence[Operation]
    by_end: Sequence[Operation]
    surely: Sums = field(default_factory=dict)
    at_most: Sums = field(default_factory=dict)
    _begun: int = 0
    _ended: int = 0

    def until(self, tick: int) -> None:
        """Add the reports that began, and those that ended, before a tick."""
        while self._begun < len(self.reports) and self.reports[self._begun].began < tick:
            for place in places(self.case, self.reports[self._begun], silent=True):
                self.at_most[place] = self.at_most.get(place, 0) + 1
            self._begun += 1
        while self._ended < len(self.by_end) and self.by_end[self._ended].ended < tick:
            for place in sure_places(self.case, self.by_end[self._ended]):
                self.surely[place] = self.surely.get(place, 0) + 1
            self._ended += 1


def places(case: Case, report: Operation, *, silent: bool = False) -> Iterator[Place]:
    """Where the events of a report may count, each on any day of the request. One without an answer may have had any."""
    days = {day_of(now_ms) for now_ms in case.span_ms(report)}
    heard = report.result
    answered = isinstance(heard, Heard) and heard.status < 500
    if answered:
        pairs = zip(report.about.post.events, heard.outcomes, strict=False)
        told = [(event.booking_id, outcome) for event, outcome in pairs if outcome in REASONS]
    else:
        told = [(event.booking_id, reason) for event in report.about.post.events for reason in REASONS if silent]
    for booking_id, reason in told:
        for day in (None, *sorted(days)):
            yield booking_id, day, reason


def sure_places(case: Case, report: Operation) -> list[Place]:
    """Where the events of an answered report count. The day is not sure if it turned during the request."""
    found = list(places(case, report))
    return found if len({day for _, day, _ in found}) <= 2 else [place for place in found if place[1] is None]


def websites_are_told_what_is_written(case: Case, rows: Rows) -> Iterator[str]:
    """Each write of a node, with those before it, has what the node had told by then, and no more."""
    if case.memory.filtered_days != case.world.tally.filtered:
        yield f"in the end there is {case.memory.filtered_days} instead of {case.world.tally.filtered}"
    for node, life in case.world.tally.filtering.items():
        reports = [each for each in case.of("report") if each.node == node]
        told, written = Told(case, reports, _by_end(reports)), Sums()
        for flush in life.flushes:
            told.until(flush.tick)
            _add(written, flush)
            for place in {**told.surely, **written}:
                least, most = told.surely.get(place, 0), told.at_most.get(place, 0)
                if not least <= written.get(place, 0) <= most:
                    yield f"{node} wrote {written.get(place, 0)} of {place}, and had told {least} to {most}"
        for flush in life.flushes[:-1]:
            if not flush.committed:
                yield f"{node} never committed a write, and went on: {flush.rows}"


def what_was_told_is_written_soon(case: Case, rows: Rows) -> Iterator[str]:
    """A node never waits longer than its pause while something is left to be written, and leaves nothing when it stops,
    unless its last attempts failed."""
    for node, life in case.world.tally.filtering.items():
        last = life.attempts[-LAST_ATTEMPTS:]
        gave_up = len(last) == LAST_ATTEMPTS and not any(attempt.good for attempt in last)
        for report, flush in _waiting(case, node, life):
            until = life.end if flush is None else flush.start
            if (waited := _longest_pause(life, report.end, until)) > PAUSE_SECONDS:
                yield f"{node} waited {waited:.3f} s after {report.end:.3f} before it wrote: {report}"
            written = flush is not None and flush.committed
            if life.stopped and not written and not gave_up:
                yield f"{node} stopped at {life.end:.3f} and had not written what it told at {report.end:.3f}"


def _waiting(case: Case, node: str, life: Filtering) -> Iterator[tuple[Operation, Flush | None]]:
    """The reports of which something is left to be written when they are answered, with the write that follows. The events
    of a batch may be counted, and written, some time before its answer."""
    told, written, begun = Sums(), Sums(), 0
    for report in _by_end(each for each in case.of("report") if each.node == node):
        while begun < len(life.flushes) and life.flushes[begun].tick < report.ended:
            _add(written, life.flushes[begun], all_days=True)
            begun += 1
        own = [place for place in sure_places(case, report) if place[1] is None]
        for place in own:
            told[place] = told.get(place, 0) + 1
        if any(told[place] > written.get(place, 0) for place in own):
            yield report, life.flushes[begun] if begun < len(life.flushes) else None


def _by_end(reports: Iterable[Operation]) -> list[Operation]:
    return sorted(reports, key=lambda report: report.ended)


def _add(sums: Sums, flush: Flush, *, all_days: bool = False) -> None:
    """Add the rows of a write, by day and for all days together, or only the latter."""
    for booking_id, day, filtered in flush.rows:
        for reason, count in zip(REASONS, filtered, strict=True):
            for at in (None,) if all_days else (day, None):
                place = booking_id, at, reason
                sums[place] = sums.get(place, 0) + count


def _longest_pause(life: Filtering, since: float, until: float) -> float:
    """The longest time without an attempt between two moments."""
    longest, free = 0.0, since
    for attempt in life.attempts:
        if attempt.start >= until:
            break
        if attempt.start > free:
            longest = max(longest, attempt.start - free)
        free = max(free, min(attempt.end, until))
    return max(longest, until - free)


def sights(case: Case) -> dict[str, int]:
    """Count the writes that failed, and what was lost with a node that was killed."""
    met = {"filtered events written again": 0, "filtered events lost with their node": 0}
    for node, life in case.world.tally.filtering.items():
        met["filtered events written again"] += sum(not attempt.good for attempt in life.attempts)
        lost = [flush for _, flush in _waiting(case, node, life) if flush is None or not flush.committed]
        met["filtered events lost with their node"] += 0 if life.stopped else len(lost)
    return met
