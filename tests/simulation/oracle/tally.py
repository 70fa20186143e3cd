"""The stored event rows of each transaction, the start of its batch, and the counts that follow from the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from actors.events.messages import FilteredRow, Kind, Row
from actors.values import BatchId, Filtered
from tests.doubles.tables import Memory

Counts = tuple[int, int]
"""Impressions and clicks."""
NONE: Counts = (0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Began:
    """The first attempt at a batch, which fixes everything that is decided once per batch."""

    tick: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One row that a node stored in the partition of `day`."""

    tick: int
    node: str
    began: Began
    day: int
    row: Row


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    events: Mapping[int, Mapping[bytes, Row]]


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt to write what was filtered. It lasts until its end is known; `good` once it is known to have committed."""

    start: float
    end: float = inf
    good: bool = False


@dataclass(slots=True, eq=False)
class Flush:
    """One write of what was filtered, over all its attempts."""

    tick: int
    start: float
    rows: Sequence[FilteredRow]
    committed: bool = False


@dataclass(slots=True, eq=False)
class Filtering:
    """What one life of a node wrote of what was filtered. `stopped` in order, or killed."""

    flushes: list[Flush] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    end: float = inf
    stopped: bool = False


@dataclass(slots=True, eq=False)
class Tally:
    """The rows and their sums.

    `counts` are by booking and day, `added` the same without the initial data, `sites` by website, too; `totals` by
    booking, with the tick at which each began. `filtered` is what follows from the committed `flushes`, which are by batch
    id; `filtering` is by the name of a node in one life. `secrets` has the last secret of each day, deleted ones too.
    """

    stored: list[Stored] = field(default_factory=list)
    counts: dict[tuple[str, int], Counts] = field(default_factory=dict)
    added: dict[tuple[str, int], Counts] = field(default_factory=dict)
    sites: dict[tuple[str, int, int], Counts] = field(default_factory=dict)
    totals: dict[str, list[tuple[int, Counts]]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    batch_ids: dict[tuple[str, int], Began] = field(default_factory=dict)
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    doubted: set[tuple[str, int]] = field(default_factory=set)
    filtered: dict[tuple[str, int], Filtered] = field(default_factory=dict)
    filtering: dict[str, Filtering] = field(default_factory=dict)
    flushes: dict[tuple[str, int], Flush] = field(default_factory=dict)
    secrets: dict[int, bytes] = field(default_factory=dict)

    def begin(self, memory: Memory) -> None:
        """Start from the initial data."""
        self.secrets |= memory.visitor_secrets
        for (booking_id, day), counts in memory.delivery_days.items():
            self.counts[booking_id, day] = counts
            self.totals[booking_id] = [(0, added(self.total(booking_id, 0), counts))]

    def attempted(self, batch_id: BatchId, tick: int, seconds: float) -> None:
        self.batch_ids.setdefault((batch_id.owner, batch_id.seq), Began(tick, seconds))

    def flushing(self, batch_id: BatchId, rows: Sequence[FilteredRow], tick: int, seconds: float) -> Attempt:
        """Begin an attempt to write what was filtered."""
        life, name = self.filtering[batch_id.owner.partition("/")[0]], (batch_id.owner, batch_id.seq)
        if name not in self.flushes:
            self.flushes[name] = Flush(tick, seconds, tuple(rows))
            life.flushes.append(self.flushes[name])
        life.attempts.append(Attempt(seconds))
        return life.attempts[-1]

    def picture(self, memory: Memory) -> Before:
        return Before({day: dict(rows) for day, rows in memory.events.items()})

    def note(self, memory: Memory, before: Before, batch_id: BatchId, tick: int) -> list[Stored]:
        """Record the new rows."""
        name = (batch_id.owner, batch_id.seq)
        self.committed[name] = tick
        fresh = [
            Stored(tick, batch_id.owner.partition("/")[0], self.batch_ids[name], day, row)
            for day, rows in memory.events.items()
            for key, row in rows.items()
            if before.events.get(day, {}).get(key) is not row
        ]
        for stored in fresh:
            one = (1, 0) if stored.row.kind is Kind.IMPRESSION else (0, 1)
            booking_id = stored.row.booking_id
            place = (booking_id, stored.day)
            self.counts[place] = added(self.counts.get(place, NONE), one)
            self.added[place] = added(self.added.get(place, NONE), one)
            if stored.row.site is not None:
                of_site = (*place, stored.row.site)
                self.sites[of_site] = added(self.sites.get(of_site, NONE), one)
            self.totals.setdefault(booking_id, []).append((tick, added(self.total(booking_id, tick), one)))
        self.stored.extend(fresh)
        return fresh

    def total(self, booking_id: str, tick: int) -> Counts:
        """Return the total of a booking at a tick."""
        return next((counts for since, counts in reversed(self.totals.get(booking_id, [])) if since <= tick), NONE)

    def totals_during(self, booking_id: str, began: int, ended: int) -> list[Counts]:
        """Return the totals of a booking during a span."""
        later = [counts for since, counts in self.totals.get(booking_id, []) if began < since <= ended]
        return [self.total(booking_id, began), *later]


def added(one: Counts, other: Counts) -> Counts:
    return one[0] + other[0], one[1] + other[1]
