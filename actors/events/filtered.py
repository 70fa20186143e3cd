"""Counts the filtered events of each booking and day in memory, and writes the sums twice a second.

Every process has one. A killed process loses what it has added up since its last write. Source: ADR 0101.
"""

import trio

from actors.clock import Clock, day_of
from actors.events.messages import FilteredRow
from actors.events.store import EventStore
from actors.kernel.periodic import PeriodicTask
from actors.values import BatchId, Filtered

WRITE_SECONDS = 0.5
"""The pause between two writes. It leaves half a second for the write itself."""

CAPACITY = 10_000
"""Bookings and days that are added up between two writes, about 300 bytes each."""

LAST_WRITES, LAST_PAUSE_SECONDS = 5, 0.2
"""The attempts of each last write when the process stops while the store fails."""


class FilteredSums:
    """The sums since the last `take`, by booking and day. Beyond `capacity` of these, events only count in `left_out`."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self.left_out = 0
        self._sums: dict[tuple[str, int], list[int]] = {}

    def add(self, booking_id: str, day: int, reason: int, count: int = 1) -> None:
        """Add events. `reason` is the position of a field of `Filtered`."""
        sums = self._sums.get((booking_id, day))
        if sums is None:
            if len(self._sums) >= self.capacity:
                self.left_out += count
                return
            sums = self._sums[booking_id, day] = [0] * len(Filtered._fields)
        sums[reason] += count

    def take(self) -> list[FilteredRow]:
        """The sums, which begin again from nothing. Sorted, so that nodes that write the same rows do not deadlock."""
        sums, self._sums, self.left_out = self._sums, {}, 0
        return [FilteredRow(booking_id, day, Filtered(*counts)) for (booking_id, day), counts in sorted(sums.items())]

    def __len__(self) -> int:
        return len(self._sums)


class FilteredCounts(PeriodicTask):
    """Writes the sums, each round as one batch. A batch that failed keeps its id until it is written, so that one whose
    outcome is unknown does not count twice; what is filtered meanwhile waits for the next one."""

    name = "filtered_counts"

    def __init__(self, store: EventStore, clock: Clock, *, node: str, capacity: int = CAPACITY) -> None:
        super().__init__(WRITE_SECONDS)
        self.sums = FilteredSums(capacity)
        self._store = store
        self._clock = clock
        self._owner = f"{node}/filtered"
        self._written = 0
        self._batch: tuple[BatchId, list[FilteredRow]] | None = None

    def add(self, booking_id: str, reason: int, count: int = 1) -> None:
        """Add events of today. Costs less than a microsecond."""
        self.sums.add(booking_id, day_of(self._clock.now_ms()), reason, count)

    async def _round(self) -> float | None:
        batch = self._batch or self._next_batch()
        if batch is not None:
            await self._store.add_filtered(*batch)
            self._batch = None
        return None

    def _next_batch(self) -> tuple[BatchId, list[FilteredRow]] | None:
        if self.sums.left_out:
            self._log.warning(
                "%d filtered events are missing in the reports: more than %d bookings and days had some since the last write",
                self.sums.left_out,
                self.sums.capacity,
            )
        if self.sums:
            self._written += 1
            self._batch = BatchId(self._owner, self._written), self.sums.take()
        return self._batch

    async def _finish(self) -> None:
        failures = 0
        while (self._batch or self.sums) and failures < LAST_WRITES:
            if failures:
                await trio.sleep(LAST_PAUSE_SECONDS)
            await self._attempt()
            # Sums that came after a failed batch are a batch of their own, with as many attempts.
            failures = failures + 1 if self._batch else 0
