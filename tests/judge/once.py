"""Promise 5: `recorded: true` is answered at most once for a booking, a kind, a visitor and a day. Pure."""

from collections.abc import Iterable, Sequence
from math import inf

from tests.judge.finding import Moments, Verdict, is_whole
from tests.judge.records import Event, History, Operation

Sent = tuple[Event, str, Operation]


def check(history: History) -> Verdict:
    verdict, moments = Verdict(), Moments(history.header.clock_ms)
    first: dict[Event, Operation] = {}
    again: dict[Event, list[Operation]] = {}
    for event, outcome, operation in events_of(history.operations):
        if outcome != "recorded":
            continue
        if event.visitor is None:
            verdict.unjudged["the address of the visitor is not known"] += 1
            continue
        verdict.judged += 1
        if event in first:
            again.setdefault(event, [first[event]]).append(operation)
        else:
            first[event] = operation
    for event, operations in again.items():
        _one_a_day(event, operations, moments, verdict)
    _recorded_later(history, moments, verdict)
    _duplicates(history, moments, verdict, all_sent=is_whole(history) and history.header.fresh)
    return verdict


def events_of(operations: Iterable[Operation]) -> Iterable[Sent]:
    """Each event that was sent, with its outcome: that of the answer, `unknown` without one, or `refused`."""
    for operation in operations:
        events = operation.asked.events
        if not events:
            continue
        answer = operation.answer
        if answer is None or answer.status >= 500:
            yield from ((event, "unknown", operation) for event in events)
        elif answer.status != 200 or len(answer.outcomes) != len(events):
            outcome = "refused" if answer.status != 200 else "unknown"
            yield from ((event, outcome, operation) for event in events)
        else:
            yield from ((event, outcome, operation) for event, outcome in zip(events, answer.outcomes, strict=True))


def may_count(outcome: str) -> bool:
    """Whether an event with this outcome is counted, or may be."""
    return outcome in ("recorded", "unknown", "error")


def _one_a_day(event: Event, operations: list[Operation], moments: Moments, verdict: Verdict) -> None:
    """Give each operation a day of its own among those on which it may have been decided: the first free one, in the order
    of their last days, which finds days for all of them if there are any."""
    taken: dict[int, Operation] = {}
    for operation in sorted(operations, key=lambda each: moments.days(each)[1]):
        earliest, latest = moments.days(operation)
        day = next((day for day in range(earliest, latest + 1) if day not in taken), None)
        if day is None:
            verdict.breaks(
                f"the {event.kind} of visitor {event.visitor} on booking {event.booking} was recorded twice in one day",
                *(taken[day] for day in range(earliest, latest + 1)),
                operation,
            )
        else:
            taken[day] = operation


def _recorded_later(history: History, moments: Moments, verdict: Verdict) -> None:
    """A duplicate was recorded before, so that it is not recorded later on the same day."""
    dropped: dict[tuple[Event, int | None], Operation] = {}
    recorded: list[tuple[Event, int, Operation]] = []
    for event, outcome, operation in events_of(history.operations):
        day = moments.day(operation)
        if day is None or event.visitor is None:
            continue
        if outcome == "duplicate":
            dropped[event, day] = min(operation, dropped.get((event, day), operation), key=lambda each: each.ended)
        elif outcome == "recorded":
            recorded.append((event, day, operation))
    for event, day, operation in recorded:
        if (event, day) in dropped and dropped[event, day].ended < operation.began:
            verdict.breaks(
                f"the {event.kind} of visitor {event.visitor} on booking {event.booking} was dropped as a duplicate, and "
                "recorded later on the same day",
                dropped[event, day],
                operation,
            )


def _duplicates(history: History, moments: Moments, verdict: Verdict, *, all_sent: bool) -> None:
    """A duplicate of nothing: an event is dropped as counted before, and nothing that was sent could have counted it on that
    day."""
    earliest: dict[tuple[Event, int | None], float] = {}
    for event, outcome, operation in events_of(history.operations):
        if may_count(outcome):
            for day in days_of(operation, outcome, moments):
                earliest[event, day] = min(operation.began, earliest.get((event, day), operation.began))
    for event, outcome, operation in events_of(history.operations):
        if outcome != "duplicate" or event.visitor is None:
            continue
        if not all_sent:
            verdict.unjudged["a duplicate may be of an event that is not in the history"] += 1
            continue
        verdict.judged += 1
        if all(earliest.get((event, day), inf) > operation.ended for day in (None, *days_of(operation, "", moments))):
            verdict.breaks(
                f"the {event.kind} of visitor {event.visitor} on booking {event.booking} was dropped as a duplicate, "
                "but it had not been sent before on that day",
                operation,
            )


def days_of(operation: Operation, outcome: str, moments: Moments) -> Sequence[int | None]:
    """The days on which an event may count. Without an answer it may on any later one, which None stands for."""
    earliest, latest = moments.days(operation)
    return (None,) if outcome in ("unknown", "error") else range(earliest, latest + 1)
