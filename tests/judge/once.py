"""Promise 5: `recorded: true` is answered at most once for a booking, a kind, a visitor and a day. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf

from tests.judge.finding import Moments, Verdict, is_whole
from tests.judge.records import Event, History, Operation

Sent = tuple[Event, str, Operation]
Attempt = tuple[Operation, str]
"""An event that was sent, and its outcome."""


def check(history: History) -> Verdict:
    verdict, moments = Verdict(), Moments(history.header.clock_ms)
    sent: defaultdict[Event, list[Attempt]] = defaultdict(list)
    anyone: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for event, outcome, operation in events_of(history.operations):
        if event.visitor is not None and (may_count(outcome) or outcome == "duplicate"):
            sent[event].append((operation, outcome))
        elif event.visitor is None and may_count(outcome):
            anyone[event[:2]].append((operation, outcome))
            verdict.unjudged["the address of the visitor is not known"] += outcome == "recorded"
    all_sent = is_whole(history) and history.header.fresh
    for event, attempts in sent.items():
        recorded = [operation for operation, outcome in attempts if outcome == "recorded"]
        dropped = [operation for operation, outcome in attempts if outcome == "duplicate"]
        verdict.judged += len(recorded)
        if len(recorded) > 1:
            _one_a_day(event, recorded, moments, verdict)
        _recorded_later(event, recorded, dropped, moments, verdict)
        if all_sent:
            _duplicates(event, [*attempts, *anyone[event[:2]]], dropped, moments, verdict)
        elif dropped:
            verdict.unjudged["a duplicate may be of an event that is not in the history"] += len(dropped)
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


def days_of(operation: Operation, outcome: str, moments: Moments) -> Sequence[int | None]:
    """The days on which an event may count. Without an answer it may on any later one, which None stands for."""
    earliest, latest = moments.days(operation)
    return (None,) if outcome in ("unknown", "error") else range(earliest, latest + 1)


def _named(event: Event) -> str:
    return f"the {event.kind} of visitor {event.visitor} on booking {event.booking}"


def _one_a_day(event: Event, recorded: Sequence[Operation], moments: Moments, verdict: Verdict) -> None:
    """Give each operation a day of its own among those on which it may have been decided: the first free one, in the order
    of their last days, which finds days for all of them if there are any."""
    taken: dict[int, Operation] = {}
    for operation in sorted(recorded, key=lambda each: moments.days(each)[1]):
        earliest, latest = moments.days(operation)
        day = next((day for day in range(earliest, latest + 1) if day not in taken), None)
        if day is None:
            words = f"{_named(event)} was recorded twice in one day"
            verdict.breaks(words, *(taken[day] for day in range(earliest, latest + 1)), operation)
        else:
            taken[day] = operation


def _recorded_later(
    event: Event, recorded: Sequence[Operation], dropped: Sequence[Operation], moments: Moments, verdict: Verdict
) -> None:
    """A duplicate was recorded before, so that it is not recorded later on the same day."""
    earliest: dict[int | None, Operation] = {}
    for operation in sorted(dropped, key=lambda each: each.ended):
        earliest.setdefault(moments.day(operation), operation)
    for operation in recorded:
        day = moments.day(operation)
        if day is not None and day in earliest and earliest[day].ended < operation.began:
            words = f"{_named(event)} was dropped as a duplicate, and recorded later on the same day"
            verdict.breaks(words, earliest[day], operation)


def _duplicates(
    event: Event, attempts: Sequence[Attempt], dropped: Sequence[Operation], moments: Moments, verdict: Verdict
) -> None:
    """A duplicate of nothing: an event is dropped as counted before, and nothing that was sent could have counted it on that
    day."""
    verdict.judged += len(dropped)
    earliest: dict[int | None, float] = {}
    for operation, outcome in attempts if dropped else ():
        for day in days_of(operation, outcome, moments) if may_count(outcome) else ():
            earliest[day] = min(operation.began, earliest.get(day, inf))
    for operation in dropped:
        if all(earliest.get(day, inf) > operation.ended for day in (None, *days_of(operation, "", moments))):
            words = f"{_named(event)} was dropped as a duplicate, but it had not been sent before on that day"
            verdict.breaks(words, operation)
