"""The event store in memory."""

from collections.abc import Collection, Mapping, Sequence

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.bookings.reports import Days
from actors.events.messages import NEVER, FilteredRow, Kind, Row, Window
from actors.times import WEEK_MS
from actors.values import NOT_FILTERED, BatchId
from tests.doubles.conditions import touches
from tests.doubles.tables import MemoryStore


class MemoryEvents(MemoryStore):
    """Event keys by day, and delivery counts by booking and day."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        return await self._memory.transact(batch_id, lambda: self._add(day, rows))

    def _add(self, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        tables = self._memory
        known = tables.events.setdefault(day, {})
        added = [row for row in rows if row.key not in known]
        for row in added:
            known[row.key] = row
            impressions, clicks = tables.delivery_days.get((row.booking_id, day), (0, 0))
            if row.kind is Kind.IMPRESSION:
                impressions += 1
            else:
                clicks += 1
            tables.delivery_days[row.booking_id, day] = (impressions, clicks)
            if row.site is not None:
                place = row.booking_id, day, row.site
                seen, clicked = tables.site_days.get(place, (0, 0))
                one = row.kind is Kind.IMPRESSION
                tables.site_days[place] = (seen + one, clicked + (not one))
        return [row.key for row in added]

    async def add_filtered(self, batch_id: BatchId, rows: Sequence[FilteredRow]) -> None:
        await self._memory.transact(batch_id, lambda: self._filter(rows))

    def _filter(self, rows: Sequence[FilteredRow]) -> None:
        tables = self._memory
        for booking_id, day, filtered in rows:
            booking = tables.bookings.get(booking_id)
            if booking is not None and booking.paid_ms is not None and touches(Days(day, day), booking):
                before = tables.filtered_days.get((booking_id, day), NOT_FILTERED)
                tables.filtered_days[booking_id, day] = before.plus(filtered)

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        await self._memory.before()
        return {each: self._window(each) for each in booking_ids if each in self._memory.bookings}

    async def prepare(self, days: Sequence[int]) -> None:
        await self._memory.before()
        for day in days:
            self._memory.events.setdefault(day, {})

    async def drop_before(self, day: int) -> Sequence[int]:
        await self._memory.before()
        dropped = sorted(each for each in self._memory.events if each < day)
        for each in dropped:
            del self._memory.events[each]
        return dropped

    def _window(self, booking_id: str) -> Window:
        booking = self._memory.bookings[booking_id]
        held = sum(holder == booking_id for holder in self._memory.slot_weeks.values())
        approved = self._memory.campaigns[booking.campaign_id].status is CampaignStatus.APPROVED
        if booking.status is not BookingStatus.PAID or booking.disputed or not approved or held != booking.weeks:
            return NEVER
        if self._memory.is_suspended(booking.tenant_id):
            return NEVER
        return Window(booking.week_start_ms, booking.week_start_ms + booking.weeks * WEEK_MS)
