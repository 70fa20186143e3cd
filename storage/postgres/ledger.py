"""The booking ledger over Postgres.

Nodes never deadlock. All take their locks in one order: names, sponsors, campaigns, slots, bookings, each kind in one
sorted statement. Rows inserted without a lock (new sponsors and slots, payment events) come after all locks and in one order
too, so a node that still takes locks never waits for them. The rows of series of invoices come last but one, and the
revision row, which all nodes update, comes last.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import trio

from actors.bookings.campaigns import MAX_NAMED
from actors.bookings.decision import CampaignCounts, WaitingReviews
from actors.bookings.invoices import Invoice, issuable, needed, numbered
from actors.bookings.records import (
    BillingDetails,
    Booking,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    IdempotencyRecord,
    PaymentReport,
    Slot,
    Sponsor,
)
from actors.bookings.reports import DayCounted, SharedReport
from actors.bookings.state import Decision, LockSet, Snapshot, Week
from actors.bookings.store import Decide
from actors.times import WEEK_MS, day_of
from actors.values import NOT_FILTERED, BatchId, Contended, Filtered
from storage.connection.asyncio_border import pause
from storage.connection.pool import Connection, Row, Store
from storage.postgres.mail import insert_mails
from storage.postgres.webhooks import publish
from storage.rows.columns import Rest, in_slices, new_and_known, record_of, records_of
from storage.rows.journal import decide_once
from storage.rows.statements import statements
from storage.rows.tables import (
    AUDIT,
    BILLING_DETAILS,
    BOOKING_KEYS,
    BOOKINGS,
    CAMPAIGNS,
    INVOICES,
    PAYMENT_REPORTS,
    SHARED_REPORTS,
    SLOTS,
    SPONSORS,
    Table,
)

SQL, INVOICING = statements("ledger"), statements("invoices")

ALWAYS = 0, 2**31 - 1
"""The first and the last day of all."""


class PostgresLedger(Store):
    """Slots, sponsors, campaigns and bookings, in their tables."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide) -> Decision:
        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, lock_set), decide, _write
        )


@dataclass(slots=True)
class _Places:
    """The rows that the bookings and campaigns of a batch refer to. These references never change."""

    tenant_ids: set[str]
    campaign_ids: set[str]
    slot_ids: set[str]
    booking_ids: set[str] = field(default_factory=set)
    from_week_ms: int | None = None

    def add_booking(self, booking_id: str, row: Row) -> None:
        self.booking_ids.add(booking_id)
        self.tenant_ids.add(row["tenant_id"])
        self.campaign_ids.add(row["campaign_id"])
        self.slot_ids.add(row["slot_id"])
        if self.from_week_ms is None or row["week_start_ms"] < self.from_week_ms:
            self.from_week_ms = row["week_start_ms"]


async def _snapshot(connection: Connection, lock_set: LockSet) -> Snapshot:
    """Lock the named rows and those they refer to. Each kind is complete before the next begins."""
    snapshot = Snapshot()
    await _read_names(connection, lock_set, snapshot)
    if lock_set.audit_ids:
        rows = await connection.fetch(SQL.audited, list(lock_set.audit_ids))
        snapshot.audited.update((row["id"], row["target_id"]) for row in rows)
    places = await _places(connection, lock_set)
    if places.tenant_ids:
        for row in await connection.fetch(SQL.lock_sponsors, sorted(places.tenant_ids)):
            snapshot.sponsors[row["tenant_id"]] = record_of(Sponsor, row)
        for row in await connection.fetch(SQL.billing_details, sorted(places.tenant_ids)):
            snapshot.billing[row["tenant_id"]] = record_of(BillingDetails, row)
        suspended = await connection.fetch(SQL.suspended, sorted(places.tenant_ids))
        snapshot.suspended = frozenset(row["tenant_id"] for row in suspended)
    await _recall(connection, lock_set, places, snapshot)
    if places.campaign_ids:
        for row in await connection.fetch(SQL.lock_campaigns, sorted(places.campaign_ids)):
            snapshot.campaigns[row["id"]] = record_of(Campaign, row)
    if places.slot_ids:
        ordered = sorted(places.slot_ids)
        for row in await connection.fetch(SQL.lock_slots, ordered):
            snapshot.slots[row["id"]] = record_of(Slot, row)
        if places.from_week_ms is not None:
            for row in await connection.fetch(SQL.held_weeks, ordered, places.from_week_ms):
                snapshot.weeks[row["slot_id"], row["week_ms"]] = row["booking_id"]
    booking_ids = places.booking_ids.union(snapshot.weeks.values())
    tenant_ids = places.tenant_ids.union(*snapshot.siblings.values())
    if booking_ids or tenant_ids:
        rows = await connection.fetch(SQL.lock_bookings, sorted(booking_ids), sorted(tenant_ids), lock_set.recent_ms)
        snapshot.bookings |= {booking.id: booking for booking in await records_of(Booking, rows)}
    await _check_new_sponsors(connection, lock_set, snapshot)
    if lock_set.event_ids:
        snapshot.events.update(row["id"] for row in await connection.fetch(SQL.handled, list(lock_set.event_ids)))
    if places.booking_ids:
        for row in await connection.fetch(SQL.delivered, sorted(places.booking_ids)):
            snapshot.delivered[row["booking_id"]] = (row["impressions"], row["clicks"])
    if lock_set.followed_ids:
        rows = await connection.fetch(SQL.delivered_days, list(lock_set.followed_ids))
        filtered = await connection.fetch(SQL.filtered, list(lock_set.followed_ids), *ALWAYS)
        for each in await days_counted(rows, filtered, pause):
            snapshot.days.setdefault(each.booking_id, []).append(each.of_day)
    if lock_set.week_ms is not None:
        snapshot.last_week = await _last_week(connection, sorted(places.tenant_ids), lock_set.week_ms)
    if lock_set.digest:
        snapshot.reviews = await _reviews(connection)
    return snapshot


async def _last_week(connection: Connection, tenant_ids: Sequence[str], week_ms: int) -> dict[str, tuple[int, int]]:
    """The impressions and clicks of accounts in the week before `week_ms`."""
    owners = {row["id"]: row["tenant_id"] for row in await connection.fetch(SQL.ran, tenant_ids, week_ms)}
    days = day_of(week_ms - WEEK_MS), day_of(week_ms) - 1
    sums: dict[str, tuple[int, int]] = {}
    for row in await connection.fetch(SQL.delivered_between, list(owners), *days):
        seen, clicked = sums.get(owners[row["booking_id"]], (0, 0))
        sums[owners[row["booking_id"]]] = seen + row["impressions"], clicked + row["clicks"]
    return sums


async def _reviews(connection: Connection) -> WaitingReviews:
    mailed_ms = await connection.fetchval(SQL.digest)
    waiting = await connection.fetchrow(SQL.waiting)
    first = [campaign_view_of(row) for row in await connection.fetch(SQL.waiting_first, MAX_NAMED)]
    return WaitingReviews(mailed_ms, waiting["count"], waiting["newest_ms"] or 0, first)


async def _read_names(connection: Connection, lock_set: LockSet, snapshot: Snapshot) -> None:
    """Lock payments, accounts and mailboxes by name, and read what depends on these locks."""
    payment_ids, tenant_ids = list(lock_set.payment_ids), set(lock_set.campaigns_of)
    names = [f"payment {each}" for each in payment_ids] + [f"campaigns {each}" for each in tenant_ids]
    names += [f"shared reports {each}" for each in lock_set.shared_of]
    limited = sorted(tenant_ids.union(tenant_id for tenant_id, _, _ in lock_set.keys))
    if names or limited:
        await connection.execute(SQL.lock_names, names, limited)
    if limited:
        siblings = defaultdict(set)
        for row in await connection.fetch(SQL.siblings, limited, lock_set.recent_ms):
            siblings[row["tenant_id"]].add(row["sibling_id"])
        snapshot.siblings = {tenant_id: frozenset(others) for tenant_id, others in siblings.items()}
    if lock_set.shared_of:
        for row in await connection.fetch(SQL.shared, list(lock_set.shared_of)):
            snapshot.shared.setdefault(row["tenant_id"], []).append(record_of(SharedReport, row))
    if payment_ids:
        for row in await connection.fetch(SQL.reports, payment_ids):
            snapshot.reports[row["id"]] = record_of(PaymentReport, row)
    if tenant_ids:
        counted = tenant_ids.union(*(snapshot.siblings.get(tenant_id, ()) for tenant_id in tenant_ids))
        for row in await connection.fetch(SQL.campaign_counts, sorted(counted)):
            snapshot.campaign_counts[row["tenant_id"]] = CampaignCounts(row["total"], row["pending"])


async def _places(connection: Connection, lock_set: LockSet) -> _Places:
    """Find the rows that the named bookings and campaigns refer to. Rows that do not exist yet stay absent for this batch."""
    tenant_ids = {*lock_set.tenant_ids, *(tenant_id for tenant_id, _, _ in lock_set.keys)}
    places = _Places(tenant_ids, set(), set(lock_set.slot_ids), from_week_ms=lock_set.from_week_ms)
    if lock_set.booking_ids:
        for row in await connection.fetch(SQL.booking_places, list(lock_set.booking_ids)):
            places.add_booking(row["id"], row)
    if lock_set.payment_ids:
        for row in await connection.fetch(SQL.paid_with, list(lock_set.payment_ids)):
            places.add_booking(row["id"], row)
    if lock_set.campaign_ids:
        for row in await connection.fetch(SQL.campaign_owners, list(lock_set.campaign_ids)):
            places.campaign_ids.add(row["id"])
            places.tenant_ids.add(row["tenant_id"])
    return places


async def _recall(connection: Connection, lock_set: LockSet, places: _Places, snapshot: Snapshot) -> None:
    """Read the bookings made under the idempotency keys. The sponsors are locked, so no other node adds to them."""
    if not lock_set.keys:
        return
    tenants, operations, keys = map(list, zip(*lock_set.keys, strict=True))
    for row in await connection.fetch(SQL.recall, tenants, operations, keys):
        snapshot.remembered[row["tenant_id"], row["operation"], row["key"]] = record_of(IdempotencyRecord, row)
        places.add_booking(row["booking_id"], row)


async def _check_new_sponsors(connection: Connection, lock_set: LockSet, snapshot: Snapshot) -> None:
    """Raise `Contended` if another node has inserted a sponsor that did not exist when its row was to be locked.

    The idempotency keys were then read too early: a repeated request would find its weeks reserved by its first attempt.
    """
    absent = {tenant_id for tenant_id, _, _ in lock_set.keys} - snapshot.sponsors.keys()
    if absent and await connection.fetch(SQL.new_sponsors, sorted(absent)):
        raise Contended("another node has just created this sponsor")


async def _write(connection: Connection, before: Snapshot, decision: Decision) -> None:
    """Write a decision: referenced rows first, the revision last."""
    await _add_or_update(SPONSORS, connection, decision.sponsors, before.sponsors)
    await BILLING_DETAILS.save(connection, decision.billing.values())
    await _add_or_update(SLOTS, connection, decision.slots, before.slots)
    await CAMPAIGNS.save(connection, decision.campaigns.values())
    await BOOKINGS.save(connection, decision.bookings.values())
    if decision.weeks_freed:
        await connection.execute(SQL.free_weeks, *week_columns(decision.weeks_freed))
    if decision.weeks_reserved:
        await connection.execute(SQL.reserve_weeks, *week_columns(decision.weeks_reserved))
    await BOOKING_KEYS.insert(connection, decision.remembered)
    if decision.events:
        await connection.execute(SQL.insert_events, *map(list, zip(*decision.events, strict=True)), decision.decided_ms)
    if decision.unshared:
        await connection.execute(SQL.unshare, decision.unshared)
    await SHARED_REPORTS.insert(connection, decision.shared.values())
    await PAYMENT_REPORTS.save(connection, decision.reports.values())
    await insert_mails(connection, decision.mails)
    if decision.digest_ms is not None:
        await connection.execute(SQL.mailed, decision.digest_ms)
    await AUDIT.insert(connection, decision.audits)
    await publish(connection, decision.webhook_events)
    await _issue(connection, decision.invoices)
    if decision.visible:
        await connection.execute(SQL.advance)


async def _add_or_update(
    table: Table, connection: Connection, records: Mapping[str, Any], before: Mapping[str, Any]
) -> None:
    """Insert new rows and update known ones. An upsert could overwrite what another node has just inserted."""
    new, known = new_and_known(records, before)
    await table.insert(connection, new)
    await table.update(connection, known)


def week_columns(weeks: Mapping[Week, str]) -> list[list[Any]]:
    """Slots, weeks and bookings, as three arrays. `weeks` is not empty."""
    slots, starts = map(list, zip(*weeks, strict=True))
    return [slots, starts, list(weeks.values())]


def campaign_view_of(row: Row) -> CampaignView:
    """A campaign with the name of its sponsor."""
    return CampaignView(record_of(Campaign, row), row["sponsor_name"])


async def days_counted(
    counted: Sequence[Row], filtered: Sequence[Row], rest: Rest = trio.lowlevel.checkpoint
) -> list[DayCounted]:
    """The counts of bookings by day with what was filtered, which some days have alone. In order, as both are given. Within
    a transaction, `rest` has to be `pause`."""
    values = await in_slices(_values, filtered, rest=rest)
    sums = {(booking_id, day): Filtered(*reasons) for booking_id, day, *reasons in values}

    def made(row: Row) -> DayCounted:
        booking_id, day, impressions, clicks = row.values()
        return DayCounted(booking_id, day, impressions, clicks, sums.pop((booking_id, day), NOT_FILTERED))

    days = await in_slices(made, counted, rest=rest)
    if sums:
        days += [DayCounted(*place, 0, 0, each) for place, each in sums.items()]
        days.sort()
    return days


def _values(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


def booking_view_of(row: Row, delivered: Row | None) -> BookingView:
    """A booking with its delivery sums. `delivered` is None if no event was ever counted."""
    impressions, clicks = (0, 0) if delivered is None else (delivered["impressions"], delivered["clicks"])
    status = CampaignStatus(row["campaign_status"])
    booking = record_of(Booking, row)
    return BookingView(booking, row["campaign_name"], row["sponsor_name"], impressions, clicks, status)


async def _issue(connection: Connection, decided: Sequence[Invoice]) -> None:
    """Number documents and insert them. The rows of their series stay locked until the transaction ends, so this comes after
    all else but the revision."""
    if not decided:
        return
    booking_ids = sorted({invoice.booking_id for invoice in decided})
    known = [record_of(Invoice, row) for row in await connection.fetch(INVOICING.known, booking_ids)]
    invoices = issuable(decided, known)
    series = needed(invoices)
    if not series:
        return
    tenant_ids = sorted({invoice.tenant_id for invoice in invoices})
    emails = {row["tenant_id"]: row["email"] for row in await connection.fetch(INVOICING.emails, tenant_ids)}
    numbers = await connection.fetch(INVOICING.advance_series, list(series), list(series.values()))
    last = {row["series"]: row["last"] for row in numbers}
    await INVOICES.insert(connection, numbered(invoices, last, known, emails))
