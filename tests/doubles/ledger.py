"""The booking ledger in memory."""

from collections.abc import Iterator

from actors.bookings.campaigns import MAX_NAMED
from actors.bookings.decision import CampaignCounts, WaitingReviews
from actors.bookings.records import OPEN, Booking, CampaignView, DayDelivered
from actors.bookings.reports import Days
from actors.bookings.state import Decision, LockSet, Snapshot, Week
from actors.bookings.store import TOPIC, Decide
from actors.shared.code_mails import mailbox_of
from actors.times import WEEK_MS, day_of
from actors.values import BatchId, Contended
from tests.doubles.announcements import tell
from tests.doubles.invoices import issue
from tests.doubles.reports import counted as counted_by_day
from tests.doubles.reports import runs
from tests.doubles.tables import Memory, picked
from tests.doubles.webhooks import publish


class MemoryLedger:
    """Slots, sponsors, campaigns and bookings."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide) -> Decision:
        def work() -> Decision:
            snapshot = self._snapshot(lock_set)
            decision = decide(snapshot)
            self._write(snapshot, decision)
            return decision

        return await self._memory.transact(batch_id, work)

    def _snapshot(self, lock_set: LockSet) -> Snapshot:
        tables = self._memory
        remembered = picked(tables.booking_keys, lock_set.keys)
        named_ids = {*lock_set.booking_ids, *(known.booking_id for known in remembered.values())}
        named_ids |= {b.id for b in tables.bookings.values() if b.payment_id in lock_set.payment_ids}
        named = list(picked(tables.bookings, named_ids).values())
        campaign_ids = {*lock_set.campaign_ids, *(booking.campaign_id for booking in named)}
        campaigns = picked(tables.campaigns, campaign_ids)
        tenant_ids = {
            *lock_set.tenant_ids,
            *(tenant_id for tenant_id, _, _ in lock_set.keys),
            *(booking.tenant_id for booking in named),
            *(campaign.tenant_id for key, campaign in campaigns.items() if key in lock_set.campaign_ids),
        }
        slot_ids = {*lock_set.slot_ids, *(booking.slot_id for booking in named)}
        weeks = self._weeks(slot_ids, lock_set.from_week_ms, named)
        recent_ms = lock_set.recent_ms
        siblings = self._siblings(lock_set)
        together = tenant_ids.union(*siblings.values())
        counted = [
            booking
            for booking in tables.bookings.values()
            if booking.tenant_id in together
            and (booking.status in OPEN or (recent_ms is not None and booking.created_ms >= recent_ms))
        ]
        holders = [tables.bookings[booking_id] for booking_id in set(weeks.values())]
        return Snapshot(
            sponsors=picked(tables.sponsors, tenant_ids),
            billing=picked(tables.billing_details, tenant_ids),
            campaigns=campaigns,
            slots=picked(tables.slots, slot_ids),
            bookings={booking.id: booking for booking in (*named, *counted, *holders)},
            weeks=weeks,
            remembered=remembered,
            events={event_id for event_id in lock_set.event_ids if event_id in tables.payment_events},
            delivered=self._delivered({booking.id for booking in named}),
            audited={audit.id: audit.target_id for audit in tables.audits if audit.id in lock_set.audit_ids},
            reports={row.id: row for row in tables.payment_reports.values() if row.payment_id in lock_set.payment_ids},
            campaign_counts={
                each: self._campaigns(each)
                for tenant_id in lock_set.campaigns_of
                for each in {tenant_id} | siblings.get(tenant_id, frozenset())
            },
            siblings=siblings,
            shared={each: self._memory.shared_of(each) for each in lock_set.shared_of},
            suspended=frozenset(filter(tables.is_suspended, tenant_ids)),
            days={each: days for each in lock_set.followed_ids if (days := self._days(each))},
            last_week=dict(self._last_week(tenant_ids, lock_set.week_ms)) if lock_set.week_ms is not None else {},
            reviews=self._reviews() if lock_set.digest else WaitingReviews(),
        )

    def _siblings(self, lock_set: LockSet) -> dict[str, frozenset[str]]:
        """The other accounts of the mailbox of tenants that never paid."""
        tables, recent_ms = self._memory, lock_set.recent_ms
        limited = {*lock_set.campaigns_of, *(tenant_id for tenant_id, _, _ in lock_set.keys)}
        paid = {row.tenant_id for row in tables.bookings.values() if row.paid_ms is not None}
        busy = {
            row.tenant_id
            for row in tables.bookings.values()
            if row.status in OPEN or (recent_ms is not None and row.created_ms >= recent_ms)
        }
        busy |= {row.tenant_id for row in tables.campaigns.values() if row.waits} | limited
        mailboxes = {row.tenant_id: mailbox_of(row.email) for row in tables.accounts.values()}
        found = {
            tenant_id: frozenset(
                other
                for other in busy - paid - {tenant_id}
                if other in mailboxes and mailboxes[other] == mailboxes[tenant_id]
            )
            for tenant_id in limited - paid
            if tenant_id in mailboxes
        }
        return {tenant_id: others for tenant_id, others in found.items() if others}

    def _last_week(self, tenant_ids: set[str], week_ms: int) -> Iterator[tuple[str, tuple[int, int]]]:
        days = Days(day_of(week_ms - WEEK_MS), day_of(week_ms) - 1)
        for tenant_id in tenant_ids:
            ids = [run.booking_id for run in runs(self._memory, tenant_id, days, len(self._memory.bookings))]
            counts = counted_by_day(self._memory, ids, days)
            sums = sum(each.impressions for each in counts), sum(each.clicks for each in counts)
            if any(sums):
                yield tenant_id, sums

    def _campaigns(self, tenant_id: str) -> CampaignCounts:
        rows = [row for row in self._memory.campaigns.values() if row.tenant_id == tenant_id]
        return CampaignCounts(len(rows), sum(row.waits for row in rows))

    def _days(self, booking_id: str) -> list[DayDelivered]:
        return [each.of_day for each in counted_by_day(self._memory, [booking_id])]

    def _reviews(self) -> WaitingReviews:
        tables = self._memory
        rows = [row for row in tables.campaigns.values() if row.waits and not row.demo]
        newest_ms = max((row.submitted_ms or row.created_ms for row in rows), default=0)
        first = sorted(rows, key=lambda row: (row.submitted_ms or 0, row.id))[:MAX_NAMED]
        names = {row.tenant_id: row.name for row in tables.sponsors.values()}
        views = [CampaignView(row, names.get(row.tenant_id)) for row in first]
        return WaitingReviews(tables.digest_mailed_ms, len(rows), newest_ms, views)

    def _weeks(self, slot_ids: set[str], from_week_ms: int | None, named: list[Booking]) -> dict[Week, str]:
        """All weeks of the bookings that hold any week of these slots from the earliest on."""
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

    def _takes_another_payment(self, decision: Decision) -> bool:
        """Whether a booking gets the payment of another: what the unique index prevents in Postgres."""
        payers: dict[str | None, str] = {
            row.payment_id: row.id for row in self._memory.bookings.values() if row.payment_id is not None
        }
        return any(payers.get(row.payment_id, row.id) != row.id for row in decision.bookings.values())

    def _write(self, before: Snapshot, decision: Decision) -> None:
        """Write a whole decision, or raise `Contended` on what would violate a primary key in Postgres."""
        tables = self._memory
        freed = {week for week, held in decision.weeks_freed.items() if tables.slot_weeks.get(week) == held}
        new_campaigns = decision.campaigns.keys() - before.campaigns.keys()
        twice = (
            any(key in tables.sponsors for key in decision.sponsors.keys() - before.sponsors.keys())
            or any(key in tables.slots for key in decision.slots.keys() - before.slots.keys())
            or any(week in tables.slot_weeks for week in decision.weeks_reserved.keys() - freed)
            or any(
                (known.tenant_id, known.operation, known.key) in tables.booking_keys for known in decision.remembered
            )
            or any(event_id in tables.payment_events for event_id, _ in decision.events)
            or (
                bool(new_campaigns)
                and not {audit.id for audit in decision.audits}.isdisjoint(a.id for a in tables.audits)
            )
        )
        if twice or self._takes_another_payment(decision):
            raise Contended("another node has already written one of these rows")
        tables.sponsors.update(decision.sponsors)
        tables.billing_details.update(decision.billing)
        tables.shared_reports.update(decision.shared)
        for report_id in decision.unshared:
            tables.shared_reports.pop(report_id, None)
        tables.slots.update(decision.slots)
        tables.campaigns.update(decision.campaigns)
        tables.bookings.update(decision.bookings)
        for week in freed:
            del tables.slot_weeks[week]
        tables.slot_weeks.update(decision.weeks_reserved)
        tables.booking_keys.update(
            ((known.tenant_id, known.operation, known.key), known) for known in decision.remembered
        )
        tables.payment_events.update(
            (event_id, (booking_id, decision.decided_ms)) for event_id, booking_id in decision.events
        )
        tables.payment_reports.update(decision.reports)
        tell(tables, decision.mails)
        if decision.digest_ms is not None:
            tables.digest_mailed_ms = decision.digest_ms
        tables.audits.extend(decision.audits)
        publish(tables, decision.webhook_events)
        issue(tables, decision.invoices)
        if decision.visible:
            tables.sponsorship_revision += 1
            tables.announce([TOPIC])
