"""The booking ledger in memory."""

from actors.bookings.records import OPEN, Booking
from actors.bookings.state import Decision, LockSet, Snapshot, Week
from actors.bookings.store import TOPIC, Decide
from actors.values import BatchId, Contended
from storage.memory.tables import Memory


class MemoryLedger:
    """Slots, sponsors, campaigns and bookings."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        def work() -> Decision:
            snapshot = self._snapshot(locks)
            decision = decide(snapshot)
            self._keep(snapshot, decision)
            return decision

        return await self._memory.transact(batch_id, work)

    def _snapshot(self, locks: LockSet) -> Snapshot:
        tables = self._memory
        remembered = {key: tables.booking_keys[key] for key in locks.keys if key in tables.booking_keys}
        named_ids = {*locks.booking_ids, *(known.booking_id for known in remembered.values())}
        named = [tables.bookings[booking_id] for booking_id in named_ids if booking_id in tables.bookings]
        campaign_ids = {*locks.campaign_ids, *(booking.campaign_id for booking in named)}
        campaigns = {key: tables.campaigns[key] for key in campaign_ids if key in tables.campaigns}
        tenant_ids = {
            *locks.tenant_ids,
            *(tenant_id for tenant_id, _, _ in locks.keys),
            *(booking.tenant_id for booking in named),
            *(campaign.tenant_id for key, campaign in campaigns.items() if key in locks.campaign_ids),
        }
        slot_ids = {*locks.slot_ids, *(booking.slot_id for booking in named)}
        weeks = self._weeks(slot_ids, locks.from_week_ms, named)
        opened = [b for b in tables.bookings.values() if b.tenant_id in tenant_ids and b.status in OPEN]
        holders = [tables.bookings[booking_id] for booking_id in set(weeks.values())]
        return Snapshot(
            sponsors={key: tables.sponsors[key] for key in tenant_ids if key in tables.sponsors},
            campaigns=campaigns,
            slots={key: tables.slots[key] for key in slot_ids if key in tables.slots},
            bookings={booking.id: booking for booking in (*named, *opened, *holders)},
            weeks=weeks,
            remembered=remembered,
            events={event_id for event_id in locks.event_ids if event_id in tables.payment_events},
            delivered=self._delivered({booking.id for booking in named}),
        )

    def _weeks(self, slot_ids: set[str], from_week_ms: int | None, named: list[Booking]) -> dict[Week, str]:
        """All weeks of the bookings that hold one of the slots in any week from the earliest on."""
        starts = [booking.week_start_ms for booking in named]
        if from_week_ms is not None:
            starts.append(from_week_ms)
        if not starts:
            return {}
        weeks = self._memory.slot_weeks
        earliest = min(starts)
        holders = {held for (slot_id, week_ms), held in weeks.items() if slot_id in slot_ids and week_ms >= earliest}
        return {week: held for week, held in weeks.items() if held in holders}

    def _delivered(self, booking_ids: set[str]) -> dict[str, tuple[int, int]]:
        sums: dict[str, tuple[int, int]] = {}
        for (booking_id, _), (impressions, clicks) in self._memory.delivery_days.items():
            if booking_id in booking_ids:
                before = sums.get(booking_id, (0, 0))
                sums[booking_id] = (before[0] + impressions, before[1] + clicks)
        return sums

    def _keep(self, before: Snapshot, decision: Decision) -> None:
        """Write a decision whole, or raise where a primary key of Postgres would refuse it."""
        tables = self._memory
        freed = {week for week, held in decision.weeks_freed.items() if tables.slot_weeks.get(week) == held}
        twice = (
            any(key in tables.sponsors for key in decision.sponsors.keys() - before.sponsors.keys())
            or any(key in tables.slots for key in decision.slots.keys() - before.slots.keys())
            or any(week in tables.slot_weeks for week in decision.weeks_taken.keys() - freed)
            or any(
                (known.tenant_id, known.operation, known.key) in tables.booking_keys for known in decision.remembered
            )
            or any(event_id in tables.payment_events for event_id, _ in decision.events)
        )
        if twice:
            raise Contended("another node was there first")
        tables.sponsors.update(decision.sponsors)
        tables.slots.update(decision.slots)
        tables.campaigns.update(decision.campaigns)
        tables.bookings.update(decision.bookings)
        for week in freed:
            del tables.slot_weeks[week]
        tables.slot_weeks.update(decision.weeks_taken)
        tables.booking_keys.update(
            ((known.tenant_id, known.operation, known.key), known) for known in decision.remembered
        )
        tables.payment_events.update(decision.events)
        tables.audits.extend(decision.audits)
        if decision.visible:
            tables.sponsorship_revision += 1
            tables.announce([TOPIC])
