"""Promises 5 and 6: an event is recorded once a day, and counts are what was recorded."""

from tests.judge import counts, once
from tests.judge.finding import DAY_MS
from tests.judge.records import Day, Event, Operation
from tests.judge.small import MIDNIGHT, NOON, Case, event, history, holds, op, partial, seen

LATE = (MIDNIGHT - NOON) / 1_000
TODAY = MIDNIGHT - DAY_MS


def read(at: float, impressions: int, **facts: object) -> Operation:
    return seen(at, "b", "paid", impressions=impressions, clicks=0, **facts)


def days(at: float, *days: Day, by: str = "c") -> Operation:
    return op("getDelivery", at, id="b", days=days, by=by)


def batch(at: float, *outcomes: str) -> Operation:
    """A batch of one visitor's impressions."""
    return op("recordEvents", at, events=(Event("b", "impression", "v"),) * len(outcomes), outcomes=outcomes)


ONCE: dict[str, Case] = {
    "a duplicate of one whose visitor is not known": [event(0, None), event(1, "v", "duplicate")],
    "a duplicate": [event(0, "v"), event(1, "v", "duplicate")],
    "a duplicate of one without an answer": [event(0, "v", None), event(1, "v", "duplicate")],
    "recorded after one without an answer": [event(0, "v", None), event(1, "v")],
    "two visitors": [event(0, "v"), event(1, "w")],
    "an impression and a click": [event(0, "v"), event(1, "v", events=(Event("b", "click", "v"),))],
    "after midnight": [event(LATE - 5, "v"), event(LATE + 5, "v")],
    "at midnight by clocks that differ": [event(LATE - 0.9, "v"), event(LATE - 0.8, "v")],
    "three days": [event(LATE - 0.9, "v"), event(LATE + 0.5, "v"), event(2 * LATE + LATE - 0.5, "v")],
    "a duplicate of one under way": [event(0, "v", took=9), event(1, "v", "duplicate")],
    "a duplicate after midnight of one without an answer": [
        event(LATE - 5, "v", None),
        event(LATE + 5, "v", "duplicate"),
    ],
    "a duplicate, and recorded after midnight": [event(0, "v", None), event(1, "v", "duplicate"), event(LATE + 9, "v")],
    "a duplicate just after midnight": [event(LATE - 5, "v"), event(LATE + 0.5, "v", "duplicate")],
    "a duplicate of what nobody recorded": partial(event(0, "v", "duplicate")),
    "an unknown address": [event(0, None), event(1, None)],
    "a batch": [batch(0, "recorded", "duplicate", "error", "capped")],
}

TWICE: dict[str, tuple[Case, str]] = {
    "twice": ([event(0, "v"), event(1, "v")], "recorded twice in one day"),
    "twice at once": (partial(event(0, "v", took=5), event(1, "v")), "recorded twice in one day"),
    "twice in a batch": ([batch(0, "recorded", "recorded")], "recorded twice in one day"),
    "twice, from morning to evening": ([event(-40_000, "v"), event(LATE - 5, "v")], "recorded twice in one day"),
    "three times around midnight": ([event(LATE + n / 10, "v") for n in range(3)], "recorded twice in one day"),
    "a duplicate of nothing": ([event(0, "v", "duplicate")], "it had not been sent before"),
    "a duplicate of a later one": ([event(0, "v", "duplicate"), event(1, "v")], "it had not been sent before"),
    "a duplicate of the day before": ([event(LATE - 5, "v"), event(LATE + 5, "v", "duplicate")], "before on that day"),
    "a duplicate that is recorded later": (
        partial(event(0, "v", None), event(1, "v", "duplicate"), event(2, "v")),
        "recorded later on the same day",
    ),
    "a duplicate of a refused one": (
        [event(0, "v", status=429), event(1, "v", "duplicate")],
        "had not been sent before",
    ),
}


def test_an_event_is_recorded_once_a_day() -> None:
    holds(once.check, ONCE, TWICE)


RIGHT: dict[str, Case] = {
    "recorded": [event(0, "v"), event(1, "w"), read(2, 2)],
    "one without an answer counts": [event(0, "v", None), read(2, 1)],
    "one without an answer does not count": [event(0, "v", None), read(2, 0)],
    "one without an answer counts late": [event(0, "v", None), read(2, 0), read(3, 1)],
    "one is under way": [event(0, "v", took=9), read(1, 0, took=1), read(3, 1)],
    "one is under way for another reader": [event(0, "v", took=9), read(1, 1, by="d"), read(3, 0, by="e")],
    "an error in a batch": [batch(0, "error"), read(2, 1)],
    "counted before the history": history([read(0, 7), event(1, "v"), read(2, 8)], fresh=False),
    "counted by others": partial(read(0, 7), read(1, 9), event(2, "v"), read(3, 12)),
    "the same visitor on two days": [event(0, "v", None), event(LATE + 9, "v"), read(LATE + 20, 2)],
    "days": [event(0, "v"), event(LATE + 9, "v"), days(LATE + 20, Day(TODAY, 1, 0), Day(MIDNIGHT, 1, 0))],
    "a day by another clock": [event(LATE - 0.5, "v"), days(LATE + 20, Day(TODAY, 0, 0), Day(MIDNIGHT, 1, 0))],
    "a late effect on the next day": [event(0, "v", None), days(LATE + 20, Day(TODAY, 0, 0), Day(MIDNIGHT, 1, 0))],
    "a duplicate counts once": [event(0, "v"), event(1, "v", "duplicate"), event(2, "v", "duplicate"), read(3, 1)],
    "a duplicate that another clock may have recorded": [
        *(event(LATE + 0.5, "v"), event(LATE + 9, "v", "duplicate"), event(LATE - 5, "v", None), read(LATE + 20, 1)),
    ],
    "a duplicate of one from before the history": history(
        [read(0, 7), event(1, "v", "duplicate"), read(2, 7), event(3, "w"), read(4, 8)], fresh=False
    ),
    "a booking of the demo": [read(0, 7, demo=True), read(1, 3, demo=True)],
    "unknown addresses": [event(0, None), event(1, None), read(2, 2)],
}

WRONG: dict[str, tuple[Case, str]] = {
    "one is missing": ([event(0, "v"), event(1, "w"), read(2, 1)], "at least 2 were certainly recorded"),
    "one is missing in a partial history": (
        partial(read(0, 7), event(1, "v"), read(2, 7)),
        "at least 8 were certainly recorded",
    ),
    "one too many": ([event(0, "v"), read(2, 2)], "at most 1 were possibly recorded"),
    "one too many since a later read": (
        history([read(0, 9), event(1, "v"), read(2, 8)], fresh=False),
        "are 9, although at most 7 were possibly recorded",
    ),
    "a duplicate counted": ([event(0, "v"), event(1, "v", "duplicate"), read(2, 2)], "at most 1 were possibly"),
    "a retry counted twice": ([event(0, "v", None), event(1, "v"), read(2, 2)], "at most 1 were possibly recorded"),
    "counted before it was sent": ([read(0, 1), event(1, "v")], "at most 0 were possibly recorded"),
    "a duplicate is missing": (
        [event(0, "v", None), event(1, "v", "duplicate"), read(2, 0)],
        "at least 1 were certainly",
    ),
    "a duplicate is missing on one of two days": (
        [event(0, "v", None), event(1, "v", "duplicate"), event(LATE + 9, "v"), read(LATE + 20, 1)],
        "at least 2 were certainly",
    ),
    "a duplicate is missing on its day": (
        [event(0, "v", None), event(1, "v", "duplicate"), days(LATE + 20, Day(TODAY, 0, 0), Day(MIDNIGHT, 1, 0))],
        "on 2026-11-18 are 0, although at least 1",
    ),
    "fell for a reader": (partial(read(0, 7, by="d"), read(1, 6, by="d")), "fell from 7 to 6 for the reader d"),
    "fell while one is under way": (
        [event(0, "v", took=9), read(1, 1), read(3, 0)],
        "fell from 1 to 0 for the reader c",
    ),
    "on the day before": (
        [event(LATE + 9, "v"), days(LATE + 20, Day(TODAY, 1, 0), Day(MIDNIGHT, 0, 0))],
        "on 2026-11-18 are 1, although at most 0",
    ),
    "not on its day": ([event(0, "v"), days(LATE + 20, Day(TODAY, 0, 0))], "on 2026-11-18 are 0, although at least 1"),
}


def test_counts_are_what_was_recorded() -> None:
    holds(counts.check, RIGHT, WRONG)
