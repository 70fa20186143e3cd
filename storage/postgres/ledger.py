"""The booking ledger over Postgres.

No two nodes wait for each other. All take their locks in one order: sponsors, campaigns, slots, bookings, each kind with
one statement that is sorted. What is inserted under no lock (a sponsor or slot that is new, an event) comes after all
locks, in one order too, and is never waited for by a node that still takes locks. The revision, where all nodes meet,
comes last.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.bookings.records import Booking, IdempotencyRecord, Slot, Sponsor
from actors.bookings.state import Decision, LockSet, Snapshot, Week
from actors.bookings.store import Decide
from actors.values import BatchId, Contended
from storage.journal import decide_once
from storage.pool import Connection, Database
from storage.postgres.audit import keep_audits
from storage.postgres.columns import columns, columns_of
from storage.postgres.sponsorship_rows import (
    booking_of,
    campaign_columns,
    campaign_of,
    remembered_of,
    slot_of,
    sponsor_of,
)
from storage.statements import statements

SQL = statements("ledger")

_SPONSOR_CHANGES = ("tenant_id", "name", "website")
_SLOT_CHANGES = (
    "id",
    "name",
    "side",
    "week_price_cents",
    "active",
    "weeks",
    "coming_soon",
    "offer_ends_ms",
    "package_kind",
    "description",
    "retired_ms",
)


class PostgresLedger:
    """Slots, sponsors, campaigns and bookings, in the tables of those names and of what belongs to them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        async def work(connection: Connection) -> Decision:
            snapshot = await _snapshot(connection, locks)
            decision = decide(snapshot)
            await _keep(connection, snapshot, decision)
            return decision

        return await decide_once(self._database, batch_id, work)


@dataclass(slots=True)
class _Places:
    """Which rows follow from the bookings and campaigns that a batch names. None of this ever changes."""

    tenant_ids: set[str]
    campaign_ids: set[str]
    slot_ids: set[str]
    booking_ids: set[str] = field(default_factory=set)
    from_week_ms: int | None = None

    def add_booking(self, booking_id: str, row: Mapping[str, Any]) -> None:
        self.booking_ids.add(booking_id)
        self.tenant_ids.add(row["tenant_id"])
        self.campaign_ids.add(row["campaign_id"])
        self.slot_ids.add(row["slot_id"])
        if self.from_week_ms is None or row["week_start_ms"] < self.from_week_ms:
            self.from_week_ms = row["week_start_ms"]


async def _snapshot(connection: Connection, locks: LockSet) -> Snapshot:
    """Lock what is wanted and what follows from it; each kind is complete before the next begins."""
    snapshot = Snapshot()
    places = await _places(connection, locks)
    if places.tenant_ids:
        for row in await connection.fetch(SQL.lock_sponsors, sorted(places.tenant_ids)):
            snapshot.sponsors[row["tenant_id"]] = sponsor_of(row)
    await _recall(connection, locks, places, snapshot)
    if places.campaign_ids:
        for row in await connection.fetch(SQL.lock_campaigns, sorted(places.campaign_ids)):
            snapshot.campaigns[row["id"]] = campaign_of(row)
    if places.slot_ids:
        ordered = sorted(places.slot_ids)
        for row in await connection.fetch(SQL.lock_slots, ordered):
            snapshot.slots[row["id"]] = slot_of(row)
        if places.from_week_ms is not None:
            for row in await connection.fetch(SQL.held_weeks, ordered, places.from_week_ms):
                snapshot.weeks[row["slot_id"], row["week_ms"]] = row["booking_id"]
    booking_ids = places.booking_ids.union(snapshot.weeks.values())
    if booking_ids or places.tenant_ids:
        for row in await connection.fetch(SQL.lock_bookings, sorted(booking_ids), sorted(places.tenant_ids)):
            snapshot.bookings[row["id"]] = booking_of(row)
    await _no_new_sponsors(connection, locks, snapshot)
    if locks.event_ids:
        snapshot.events.update(row["id"] for row in await connection.fetch(SQL.handled, list(locks.event_ids)))
    if places.booking_ids:
        for row in await connection.fetch(SQL.delivered, sorted(places.booking_ids)):
            snapshot.delivered[row["booking_id"]] = (row["impressions"], row["clicks"])
    return snapshot


async def _places(connection: Connection, locks: LockSet) -> _Places:
    """Where the named bookings and campaigns are. What is not there yet is not there for this batch at all."""
    tenant_ids = {*locks.tenant_ids, *(tenant_id for tenant_id, _, _ in locks.keys)}
    places = _Places(tenant_ids, set(), set(locks.slot_ids), from_week_ms=locks.from_week_ms)
    if locks.booking_ids:
        for row in await connection.fetch(SQL.booking_places, list(locks.booking_ids)):
            places.add_booking(row["id"], row)
    if locks.campaign_ids:
        for row in await connection.fetch(SQL.campaign_owners, list(locks.campaign_ids)):
            places.campaign_ids.add(row["id"])
            places.tenant_ids.add(row["tenant_id"])
    return places


async def _recall(connection: Connection, locks: LockSet, places: _Places, snapshot: Snapshot) -> None:
    """What the idempotency keys have led to. Their sponsors are locked, so no other node adds to them."""
    if not locks.keys:
        return
    tenants, operations, keys = map(list, zip(*locks.keys, strict=True))
    for row in await connection.fetch(SQL.recall, tenants, operations, keys):
        snapshot.remembered[row["tenant_id"], row["operation"], row["key"]] = remembered_of(row)
        places.add_booking(row["booking_id"], row)


async def _no_new_sponsors(connection: Connection, locks: LockSet, snapshot: Snapshot) -> None:
    """Begin again where another node has made a sponsor who was not there to be locked.

    Its idempotency keys were looked up too early then: a repeated request would find its weeks taken, by itself.
    """
    absent = {tenant_id for tenant_id, _, _ in locks.keys} - snapshot.sponsors.keys()
    if absent and await connection.fetch(SQL.new_sponsors, sorted(absent)):
        raise Contended("another node has just made this sponsor")


async def _keep(connection: Connection, before: Snapshot, decision: Decision) -> None:
    """Write a decision: what others refer to first, the revision last."""
    await _keep_sponsors(connection, before, decision.sponsors)
    await _keep_slots(connection, before, decision.slots)
    if decision.campaigns:
        await connection.execute(SQL.keep_campaigns, *campaign_columns(decision.campaigns.values()))
    if decision.bookings:
        await connection.execute(SQL.keep_bookings, *columns(Booking, decision.bookings.values()))
    if decision.weeks_freed:
        await connection.execute(SQL.free_weeks, *week_columns(decision.weeks_freed))
    if decision.weeks_taken:
        await connection.execute(SQL.take_weeks, *week_columns(decision.weeks_taken))
    if decision.remembered:
        await connection.execute(SQL.remember, *columns(IdempotencyRecord, decision.remembered))
    if decision.events:
        await connection.execute(SQL.keep_events, *map(list, zip(*decision.events, strict=True)))
    await keep_audits(connection, decision.audits)
    if decision.visible:
        await connection.execute(SQL.advance)


async def _keep_sponsors(connection: Connection, before: Snapshot, sponsors: Mapping[str, Sponsor]) -> None:
    """New ones are inserted and known ones changed: an upsert would write over what another node has just made."""
    made, changed = _parted(sponsors, before.sponsors)
    if made:
        await connection.execute(SQL.make_sponsors, *columns(Sponsor, made))
    if changed:
        await connection.execute(SQL.change_sponsors, *columns_of(_SPONSOR_CHANGES, changed))


async def _keep_slots(connection: Connection, before: Snapshot, slots: Mapping[str, Slot]) -> None:
    """As with sponsors: the id of a slot may be an administrator's, and another's as well."""
    made, changed = _parted(slots, before.slots)
    if made:
        await connection.execute(SQL.make_slots, *columns(Slot, made))
    if changed:
        await connection.execute(SQL.change_slots, *columns_of(_SLOT_CHANGES, changed))


def _parted(rows: Mapping[str, Any], known: Iterable[str]) -> tuple[list[Any], list[Any]]:
    """New rows and known ones."""
    made = [row for key, row in rows.items() if key not in known]
    return made, [row for key, row in rows.items() if key in known]


def week_columns(weeks: Mapping[Week, str]) -> list[list[Any]]:
    """Slots, weeks and bookings; at least one."""
    slots, starts = map(list, zip(*weeks, strict=True))
    return [slots, starts, list(weeks.values())]
