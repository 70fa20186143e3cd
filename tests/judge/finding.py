"""Verdicts of checks, and what they share: times, days, and orders of operations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from tests.judge.records import History, Operation

T = TypeVar("T")

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS

SHOWN = 20
"""The most broken promises of one check that are explained; the others are counted."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken promise in a sentence, and the few operations that prove it."""

    sentence: str
    proof: tuple[Operation, ...]


@dataclass(slots=True)
class Verdict:
    """The outcome of one check. `judged` counts what it judged, `unjudged` what it could not, by reason."""

    judged: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)
    found: int = 0

    def breaks(self, sentence: str, *proof: Operation) -> None:
        """Note a broken promise."""
        self.found += 1
        if len(self.broken) < SHOWN:
            self.broken.append(Broken(sentence, tuple({id(each): each for each in proof}.values())))


@dataclass(frozen=True, slots=True)
class Moments:
    """The days on which a node may have placed what it did within an operation."""

    clock_ms: float

    def day(self, operation: Operation) -> int | None:
        """The one day, or None if midnight may have come between."""
        first, last = self.days(operation)
        return first if first == last else None

    def days(self, operation: Operation) -> tuple[int, int]:
        """The first and the last day."""
        return day_of(operation.began - self.clock_ms), day_of(operation.ended + self.clock_ms)


def day_of(ms: float) -> int:
    """The UTC day, as a number since the epoch."""
    return int(ms // DAY_MS)


def month_of(day: int) -> int:
    """The calendar month of a day, as a number."""
    date = datetime.fromtimestamp(day * 86_400, UTC)
    return date.year * 12 + date.month - 1


def time_of(ms: float) -> str:
    """A time as RFC 3339 writes it, in UTC."""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_whole(history: History) -> bool:
    """Whether all that changes the service's state is in the history."""
    return history.header.whole and why_not_whole(history) is None


def why_not_whole(history: History) -> str | None:
    """The reason why a history is not whole, if any: its last line is torn, or nobody knows what a form of a page did."""
    if history.torn is not None:
        return "its last line is torn"
    page = next((each for each in history.operations if each.kind == "page" and not 400 <= each.status < 500), None)
    return None if page is None else f"what the request of {time_of(page.began)} to a page did is not known"


def with_past(
    items: Iterable[T], operation_of: Callable[[T], Operation], delay_ms: float = 0
) -> Iterator[tuple[T, list[T]]]:
    """Each item in the order of beginnings, with those that ended before its beginning and after that of the one before. An
    item is past once `delay_ms` are over after its end."""
    ended = sorted(items, key=lambda each: operation_of(each).ended)
    start = 0
    for item in sorted(ended, key=lambda each: operation_of(each).began):
        at, began = start, operation_of(item).began - delay_ms
        while at < len(ended) and operation_of(ended[at]).ended < began:
            at += 1
        yield item, ended[start:at]
        start = at


def itself(operation: Operation) -> Operation:
    return operation


def first(pair: tuple[Operation, object]) -> Operation:
    return pair[0]
