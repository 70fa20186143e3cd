"""Small histories for the tests of the checks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.judge.finding import DAY_MS, WEEK_MS, Verdict
from tests.judge.records import VERSION, Answer, Asked, Booking, Event, Header, History, Operation

NOON = 1_795_003_200_000
"""Wednesday, 18 November 2026, 12:00 UTC."""
MIDNIGHT = NOON + DAY_MS // 2
WEEK = NOON - NOON % DAY_MS - 2 * DAY_MS + WEEK_MS
"""The next Monday."""
HOLD = NOON + 1_800_000

ASKED = frozenset(Asked._fields)


def op(kind: str, at: float, took: float = 0.1, *, by: str = "c", status: int | None = 200, **facts: Any) -> Operation:
    """An operation that begins `at` seconds after noon. Facts are those of the request by their names, and others of the
    answer; `gives` is the cursor of the answer. Without a status there is no answer."""
    gives = facts.pop("gives", None)
    asked = {name: facts.pop(name) for name in tuple(facts) if name in ASKED}
    answer = None if status is None else Answer(status, cursor=gives, **facts)
    began = NOON + at * 1_000
    return Operation(by, "n", kind, began, began + took * 1_000, Asked(**asked), answer)


def seen(at: float, id: str, status: str, **facts: Any) -> Operation:
    """A read of a booking of the next week of the slot `left`, held until half an hour after noon."""
    own = {name: facts.pop(name) for name in tuple(facts) if name in Booking._fields}
    if status in ("reserved", "checkout"):
        own.setdefault("held", HOLD)
    booking = Booking(id, status, **{"slot": "left", "week": WEEK, "end": WEEK + WEEK_MS, **own})
    return op(facts.pop("kind", "getBooking"), at, bookings=(booking,), id=id, **facts)


def event(at: float, visitor: str | None, outcome: str | None = "recorded", **facts: Any) -> Operation:
    """An impression of a visitor on the booking `b`; without an outcome, one without an answer."""
    told: dict[str, Any] = {"status": None} if outcome is None else {"outcomes": (outcome,)}
    return op("recordEvent", at, **{"events": (Event("b", "impression", visitor),), **told, **facts})


def history(operations: Sequence[Operation], *, whole: bool = True, fresh: bool = True) -> History:
    return History(Header(VERSION, "a test", whole, fresh, single=True), tuple(operations))


def partial(*operations: Operation) -> History:
    return history(operations, whole=False, fresh=False)


Case = History | Sequence[Operation]


def holds(
    check: Callable[[History], Verdict], clean: Mapping[str, Case], broken: Mapping[str, tuple[Case, str]]
) -> None:
    """Nothing may be found in clean histories, and in broken ones a sentence with these words must be, whatever the order of
    their lines. The cases of a check are one test, because each takes less time than a test."""
    assert len(clean) >= 5
    assert len(broken) >= 5
    cases = [*((name, case, "") for name, case in clean.items()), *((name, *case) for name, case in broken.items())]
    for name, case, words in cases:
        judged = case if isinstance(case, History) else history(case)
        for operations in (judged.operations, tuple(reversed(judged.operations))):
            verdict = check(judged._replace(operations=operations))
            sentences = [each.sentence for each in verdict.broken]
            assert verdict.judged + verdict.unjudged.total() > 0, name
            assert any(words in each for each in sentences) if words else not sentences, (name, sentences)
            assert all(each.proof for each in verdict.broken), name
