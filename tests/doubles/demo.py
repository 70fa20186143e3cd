"""The demo store in memory."""

from dataclasses import replace
from typing import Any

from actors.bookings.demo import DemoCounts, DemoData, DemoPlan, ExistingRows, audit_record, plan
from actors.bookings.messages import Origin
from actors.bookings.store import TOPIC
from actors.values import Account, Tenant, Tier
from tests.doubles.tables import MemoryStore


class MemoryDemo(MemoryStore):
    """Demo rows in the tables of the booking ledger."""

    async def is_untouched(self) -> bool:
        await self._memory.before()
        return self._is_untouched()

    async def replace_demo(
        self, data: DemoData | None, origin: Origin, now_ms: int, *, first: bool = False
    ) -> DemoCounts | None:
        await self._memory.before()
        counts = None
        if not first or self._is_untouched():
            planned = plan(self._ground(data or DemoData()), data)
            counts = planned.counts
            self._remove(planned, now_ms)
            self._write(planned, now_ms)
            self._memory.audits.append(audit_record(data, counts, origin, now_ms))
            self._memory.sponsorship_revision += 1
            self._memory.announce([TOPIC])
        await self._memory.after()
        return counts

    def _is_untouched(self) -> bool:
        tables = self._memory
        return not (tables.sponsorship_revision or tables.slots or tables.sponsors or tables.bookings)

    def _ground(self, data: DemoData) -> ExistingRows:
        tables = self._memory
        emails = {account.email for account in data.accounts}
        tenants = {email: account.tenant_id for email, account in tables.accounts.items() if email in emails}
        real = [booking for booking in tables.bookings.values() if not booking.demo]
        authored = {campaign.tenant_id for campaign in tables.campaigns.values() if not campaign.demo}
        return ExistingRows(
            tenants=tenants,
            sponsors=_found(tables.sponsors, set(tenants.values())),
            slots=_found(tables.slots, {row.id for row in data.slots}),
            campaigns=_found(tables.campaigns, {row.id for row in data.campaigns}),
            bookings=_found(tables.bookings, {row.id for row in data.bookings}),
            used_sponsors=authored | {booking.tenant_id for booking in real},
            used_slots={booking.slot_id for booking in real},
            used_campaigns={booking.campaign_id for booking in real},
            weeks={week for week, holder in tables.slot_weeks.items() if not tables.bookings[holder].demo},
        )

    def _remove(self, planned: DemoPlan, now_ms: int) -> None:
        tables, gone = self._memory, set(planned.bookings)
        _drop(tables.slot_weeks, [week for week, holder in tables.slot_weeks.items() if holder in gone])
        _drop(tables.booking_keys, [key for key, row in tables.booking_keys.items() if row.booking_id in gone])
        _drop(
            tables.payment_events, [event for event, (booking, _) in tables.payment_events.items() if booking in gone]
        )
        counted = planned.counted
        _drop(tables.delivery_days, [place for place in tables.delivery_days if place[0] in counted])
        _drop(tables.site_days, [place for place in tables.site_days if place[0] in counted])
        _drop(tables.filtered_days, [place for place in tables.filtered_days if place[0] in counted])
        _drop(tables.bookings, planned.bookings)
        _drop(tables.campaigns, planned.campaigns)
        _drop(tables.sponsors, planned.sponsors)
        _drop(tables.slots, planned.slots)
        for slot in [tables.slots[slot_id] for slot_id in planned.retired]:
            tables.slots[slot.id] = replace(slot, active=False, retired_ms=slot.retired_ms or now_ms)

    def _write(self, planned: DemoPlan, now_ms: int) -> None:
        tables, data = self._memory, planned.data
        for account in planned.accounts:
            tables.tenants[account.tenant_id] = Tenant(account.tenant_id, Tier.CLAIMED)
            tables.accounts[account.email] = Account(account.email, account.tenant_id, now_ms)
        tables.sponsors.update((row.tenant_id, row) for row in data.sponsors)
        tables.campaigns.update((row.id, row) for row in data.campaigns)
        tables.slots.update((row.id, row) for row in data.slots)
        tables.bookings.update((row.id, row) for row in data.bookings)
        tables.slot_weeks.update(data.weeks)
        tables.delivery_days.update(((row.booking_id, row.day), (row.impressions, row.clicks)) for row in data.days)


def _found(rows: dict[str, Any], named: set[str]) -> dict[str, bool]:
    """The ids of demo rows and of the named ones, each with whether it is a demo row."""
    return {row_id: row.demo for row_id, row in rows.items() if row.demo or row_id in named}


def _drop(rows: dict[Any, Any], keys: Any) -> None:
    for key in keys:
        del rows[key]
