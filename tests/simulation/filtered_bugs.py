"""Bugs to plant in what tells of filtered events, one at a time: see `key_bugs`."""

from collections.abc import Sequence

from actors.clock import day_of
from actors.events.messages import Event, FilteredRow
from actors.events.router import EventOutcome, EventRouter
from actors.values import NOT_FILTERED, BatchId, OutcomeUnknown
from tests.simulation.faults import LinkedEvents
from tests.simulation.intake import CountedFiltered
from tests.simulation.planting import Bugs
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.WEBSITES)


@BUGS.part("filtered")
class FilteredLostWithAFailure(CountedFiltered):
    """What was filtered is forgotten if a write fails."""

    async def _round(self) -> None:
        try:
            await super()._round()
        finally:
            self._batch = None


@BUGS.part("filtered")
class FilteredWrittenUnderAnotherId(CountedFiltered):
    """A write with an unknown outcome is repeated under a new batch id."""

    async def _round(self) -> None:
        try:
            await super()._round()
        except OutcomeUnknown:
            if self._batch is not None:
                self._written += 1
                self._batch = BatchId(self._owner, self._written), self._batch[1]
            raise


@BUGS.part("filtered")
class FilteredOnTheFirstDay(CountedFiltered):
    """What is filtered counts on the day on which the node started."""

    def add(self, booking_id: str, reason: int, count: int = 1) -> None:
        day = self.__dict__.setdefault("_day", day_of(self._clock.now_ms()))
        self.sums.add(booking_id, day, reason, count)


@BUGS.part("filtered")
class FilteredOfTheLastBooking(CountedFiltered):
    """What is filtered counts for the booking of the event before it."""

    def add(self, booking_id: str, reason: int, count: int = 1) -> None:
        last: str = self.__dict__.get("_last", booking_id)
        self._last = booking_id
        super().add(last, reason, count)

    _last: str


@BUGS.part("filtered")
class FilteredLostAtTheStop(CountedFiltered):
    """A node that stops does not write what is left."""

    async def _finish(self) -> None:
        return


@BUGS.part("filtered")
class FilteredWrittenLate(CountedFiltered):
    """What was filtered is written every two seconds."""

    async def _round(self) -> float | None:
        await super()._round()
        return 2.0


@BUGS.part("event_store")
class FilteredAddedAgain(LinkedEvents):
    """A repeated write of what was filtered adds its rows again."""

    async def add_filtered(self, batch_id: BatchId, rows: Sequence[FilteredRow]) -> None:
        seen: set[tuple[str, int]] = self.__dict__.setdefault("_filtered", set())
        again = (batch_id.owner, batch_id.seq) in seen
        seen.add((batch_id.owner, batch_id.seq))
        await super().add_filtered(batch_id, rows)
        if again:
            self._filter(rows)


@BUGS.part("event_store")
class FilteredOfUnpaidBookings(LinkedEvents):
    """Bookings that were never paid have rows of what was filtered."""

    def _filter(self, rows: Sequence[FilteredRow]) -> None:
        for booking_id, day, filtered in rows:
            before = self._memory.filtered_days.get((booking_id, day), NOT_FILTERED)
            self._memory.filtered_days[booking_id, day] = before.plus(filtered)


@BUGS.function(EventRouter, "_counted")
def duplicates_of_batches_not_filtered(
    router: EventRouter, events: Sequence[Event], answers: Sequence[bool]
) -> list[EventOutcome]:
    """The duplicates of a relay are not told."""
    return [EventOutcome.RECORDED if answer else EventOutcome.DUPLICATE for answer in answers]
