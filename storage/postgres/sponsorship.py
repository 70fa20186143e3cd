"""Reads of the sponsorship area over Postgres."""

from collections.abc import Mapping, Sequence
from functools import partial

from actors.bookings.invoices import Invoice
from actors.bookings.records import (
    OPEN,
    BillingDetails,
    Booking,
    BookingLine,
    BookingStatus,
    BookingView,
    CampaignStatus,
    CampaignView,
    DayDelivered,
    Slot,
    Sponsor,
)
from actors.bookings.reports import (
    ALL,
    LATE_DAYS,
    MAX_ENDED,
    BookingDelivered,
    BookingTotals,
    DayCounted,
    Days,
    MoneyOf,
    Only,
    Run,
    Sale,
    SharedReport,
    SlotReach,
    reach_of,
    totals_of,
)
from actors.bookings.store import (
    COUNTED,
    HELD,
    UNBOOKED,
    Before,
    BookingFilter,
    ListCounts,
    MonthRevenue,
    Overview,
    SoldPlacement,
    UnavailableWeek,
    Urgency,
    Waiting,
)
from actors.times import DAY_MS, week_of
from actors.values import AuditRecord
from storage.connection.pool import Connection, Row, Store
from storage.postgres.accounts import READ, tenants_named
from storage.postgres.catalog import SQL as CATALOG
from storage.postgres.files import booking_lines
from storage.postgres.ledger import ALWAYS, booking_view_of, campaign_view_of, days_counted
from storage.postgres.ledger import SQL as LEDGER
from storage.rows.columns import in_slices, record_of
from storage.rows.statements import Conditions, statements

SQL, AUDIT = statements("sponsorship"), statements("audit")
OVERSIGHT, REPORTS, INVOICES = statements("oversight"), statements("reports"), statements("invoices")

NEWEST = Before(2**63 - 1, "")
"""A place after every row, so that the first page uses the same statement and plan as the others."""

COVERING = """id = any (array(
    select covering.id from generate_series(0, 51) as before cross join lateral (
        select id from bookings where week_start_ms = {} - before * 604800000::bigint and weeks > before offset 0
    ) as covering
))"""
"""Bookings that cover a week: a booking of n weeks begins less than n weeks before it. The longest has 52. `offset 0` makes
Postgres look into the index for each of these weeks, instead of reading all bookings once."""

LINES = 100
"""Lines of a file that are made of rows at a time."""

REQUESTED = "(refund_requested_ms is not null and status = 'paid')"
HAS_ISSUE = "(payment_issue is not null and payment_issue <> 'dispute_lost' and status in ('paid', 'refunding'))"
IN_TROUBLE = f"(disputed or {HAS_ISSUE} or {REQUESTED})"

IN_REVIEW = "(status = 'pending' or (status in ('approved', 'paused') and pending is not null))"
"""Campaigns whose edit waits for review count as pending, too."""

OLDEST = Before(-1, "")
"""A place before every row, for lists that are oldest first."""


class PostgresSponsorship(Store):
    """The tables of the booking ledger, and the audit. Counts are read by statements of their own, because on a distributed
    database they lie on other servers."""

    async def sponsor(self, tenant_id: str) -> Sponsor | None:
        row = await self._database.fetchrow(SQL.sponsor, tenant_id)
        return None if row is None else record_of(Sponsor, row)

    async def billing_details(self, tenant_id: str) -> BillingDetails | None:
        row = await self._database.fetchrow(SQL.billing_details, tenant_id)
        return None if row is None else record_of(BillingDetails, row)

    async def shared_reports(self, tenant_id: str) -> Sequence[SharedReport]:
        return [record_of(SharedReport, row) for row in await self._database.fetch(SQL.shared_reports, tenant_id)]

    async def shared_report(self, token_hash: bytes) -> SharedReport | None:
        row = await self._database.fetchrow(SQL.shared_report, token_hash)
        return None if row is None else record_of(SharedReport, row)

    async def sponsors(self, before: Before | None, limit: int, text: str | None = None) -> Sequence[Sponsor]:
        rows = await self._database.fetch(SQL.sponsors, *(before or NEWEST), READ if text else limit, limit, text)
        return await in_slices(partial(record_of, Sponsor), rows)

    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]:
        rows = await self._page(SQL.campaigns, SQL.campaigns_of, tenant_id, before, limit)
        return await in_slices(campaign_view_of, rows)

    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None:
        row = await self._database.fetchrow(SQL.campaign, campaign_id, tenant_id)
        return None if row is None else campaign_view_of(row)

    async def everybodys_campaigns(
        self,
        status: CampaignStatus | None,
        place: Before | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[CampaignView]:
        bounds = (*(place or (OLDEST if oldest else NEWEST)), READ if text else limit, limit)
        conditions = Conditions(*bounds, text, await self._named(text))
        if status is CampaignStatus.PENDING:
            conditions.add(IN_REVIEW)
        elif status is not None:
            conditions.add("status = {}", status.value)
        statement = SQL.everybodys_campaigns_oldest if oldest else SQL.everybodys_campaigns
        rows = await self._database.fetch(conditions.within(statement), *conditions.parameters)
        return await in_slices(campaign_view_of, rows)

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]:
        rows = await self._page(SQL.bookings, SQL.bookings_of, tenant_id, before, limit)
        return await self._with_sums(rows)

    async def present_bookings(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[BookingView]:
        bounds = (tenant_id, now_ms, limit, week_of(now_ms))
        return await self._with_sums(await self._database.fetch(SQL.present_bookings_of, *bounds))

    async def past_bookings(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[BookingView]:
        return await self._with_sums(await self._database.fetch(SQL.past_bookings_of, tenant_id, now_ms, limit))

    async def totals(self, tenant_id: str, most: int) -> BookingTotals:
        rows = await self._database.fetch(SQL.newest_of, tenant_id, most)
        counted = await self._database.fetchrow(SQL.delivered_by_all, [row["id"] for row in rows])
        assert counted is not None
        money = (MoneyOf(*(row[name] for name in MoneyOf._fields)) for row in rows)
        return totals_of(money, counted["impressions"], counted["clicks"])

    async def count_bookings(self, tenant_id: str, most: int) -> int:
        return int(await self._database.fetchval(SQL.count_of, tenant_id, most))

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        row = await self._database.fetchrow(SQL.booking, booking_id, tenant_id)
        return None if row is None else (await self._with_sums([row]))[0]

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        return [each.of_day for each in await self.counted([booking_id], Days(*ALWAYS))]

    async def invoices(self, tenant_id: str, before: Before | None, limit: int) -> Sequence[Invoice]:
        rows = await self._database.fetch(INVOICES.of_tenant, *(before or NEWEST), limit, tenant_id)
        return [record_of(Invoice, row) for row in rows]

    async def count_invoices(self, tenant_id: str, most: int) -> int:
        return int(await self._database.fetchval(INVOICES.count_of, tenant_id, most))

    async def invoices_of(self, tenant_id: str, booking_id: str, limit: int) -> Sequence[Invoice]:
        rows = await self._database.fetch(INVOICES.of_booking, booking_id, tenant_id, limit)
        return [record_of(Invoice, row) for row in rows]

    async def deliveries(
        self, tenant_id: str, days: Days, after: Before | None, limit: int, only: Only = ALL
    ) -> Sequence[BookingDelivered]:
        bounds = (*(after or OLDEST), limit, tenant_id, *_weeks_of(days), only.campaign_id, only.slot_id)
        rows = await self._database.fetch(REPORTS.bookings_delivered, *bounds)
        counted: dict[str, list[DayDelivered]] = {row["id"]: [] for row in rows}
        for each in await self.counted(list(counted), days):
            counted[each.booking_id].append(each.of_day)

        def made(row: Row) -> BookingDelivered:
            return BookingDelivered(record_of(Booking, row), row["campaign_name"], tuple(counted[row["id"]]))

        return await in_slices(made, rows)

    async def runs(self, tenant_id: str, days: Days, most: int) -> Sequence[Run]:
        rows = await self._database.fetch(REPORTS.runs, tenant_id, *_weeks_of(days), most)
        return await in_slices(lambda row: Run(**row), rows)

    async def counted(self, booking_ids: Sequence[str], days: Days) -> Sequence[DayCounted]:
        asked = booking_ids, days.first, days.last
        rows = await self._database.fetch(REPORTS.days_delivered, *asked)
        return await days_counted(rows, await self._database.fetch(LEDGER.filtered, *asked))

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        ended = await self._database.fetch(REPORTS.ended, ended_ms, mode, MAX_ENDED)
        counts = await self._database.fetch(LEDGER.delivered, [row["id"] for row in ended])
        sums = {row["booking_id"]: (row["impressions"], row["clicks"]) for row in counts}
        return reach_of((row["slot_id"], row["weeks"], *sums.get(row["id"], (0, 0))) for row in ended)

    async def slots(self) -> Sequence[Slot]:
        return await self._database.read(_slots)

    async def audit(
        self, before: Before | None, limit: int, target_id: str | None = None, actor_email: str | None = None
    ) -> Sequence[AuditRecord]:
        """Records strictly before a place, newest first. Postgres formats the JSON of `changes` in its own way."""
        filters = [value for value in (target_id, actor_email) if value is not None]
        match target_id, actor_email:
            case None, None:
                statement = AUDIT.page
            case _, None:
                statement = AUDIT.page_of
            case None, _:
                statement = AUDIT.page_by
            case _:
                statement = AUDIT.page_of_by
        rows = await self._database.fetch(statement, *(before or NEWEST), limit, *filters)
        return await in_slices(lambda row: AuditRecord(**row), rows)

    async def revision(self) -> int:
        return int((await self._database.together.row(CATALOG.revisions))["sponsorship"])

    async def ads_beside(self, slot_id: str, from_ms: int, until_ms: int, now_ms: int) -> Mapping[int, int]:
        rows = await self._database.fetch(SQL.ads_beside, slot_id, from_ms, until_ms, now_ms)
        return {row["week_ms"]: row["ads"] for row in rows}

    async def overview(self, from_week_ms: int) -> Overview:
        async def work(connection: Connection) -> Overview:
            await connection.execute(CATALOG.one_snapshot)
            revision = int(await connection.fetchval(SQL.revision))
            slots = [slot for slot in await _slots(connection) if slot.retired_ms is None]
            weeks = await connection.fetch(SQL.taken, from_week_ms)
            placements = await connection.fetch(SQL.placements, from_week_ms)
            unavailable = [UnavailableWeek(**row) for row in weeks]
            return Overview(revision, slots, unavailable, [record_of(SoldPlacement, row) for row in placements])

        return await self._database.transact(work)

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        return [row["id"] for row in await self._database.fetch(SQL.due_holds, now_ms, limit)]

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        return [record_of(Booking, row) for row in await self._database.fetch(SQL.due_refunds, now_ms, limit)]

    async def due_steps(self, now_ms: int, limit: int) -> Sequence[str]:
        return [row["id"] for row in await self._database.fetch(SQL.due_steps, now_ms, limit)]

    async def digest_is_due(self, before_ms: int) -> bool:
        return bool(await self._database.fetchval(SQL.digest_is_due, before_ms))

    async def waiting_refunds(self, limit: int) -> int:
        [row] = await self._database.fetch(SQL.waiting_refunds, limit)
        return int(row["waiting"])

    async def _page(
        self, of_all: str, of_one: str, tenant_id: str | None, before: Before | None, limit: int
    ) -> Sequence[Row]:
        """A page by one of two statements, because no single plan suits both."""
        bounds = (*(before or NEWEST), limit)
        if tenant_id is None:
            return await self._database.fetch(of_all, *bounds)
        return await self._database.fetch(of_one, *bounds, tenant_id)

    # Reads of administrators.

    async def filtered_bookings(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingView]:
        conditions = await self._conditions(wanted, now_ms, before, limit)
        rows = await self._database.fetch(conditions.within(OVERSIGHT.bookings), *conditions.parameters)
        return await self._with_sums(rows)

    async def booking_lines(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingLine]:
        conditions = await self._conditions(wanted, now_ms, before, limit)
        statement, parameters = conditions.within(OVERSIGHT.bookings), [*conditions.parameters, now_ms]
        rows = await self._database.fetch(booking_lines(statement, len(parameters)), *parameters)
        counts = await self._database.fetch(LEDGER.delivered, [row["id"] for row in rows])
        sums = {row["booking_id"]: (row["impressions"], row["clicks"]) for row in counts}
        return await in_slices(
            lambda row: BookingLine._make((*row.values(), *sums.get(row["id"], (0, 0)))), rows, LINES
        )

    async def _conditions(self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int) -> Conditions:
        conditions = Conditions(*(before or NEWEST), limit)
        if wanted.status is not None:
            conditions.add("status = {}", wanted.status.value)
        if wanted.status in OPEN:
            conditions.add("hold_ms > {}", now_ms)
        if wanted.week_ms is not None:
            conditions.add(COVERING, wanted.week_ms)
        if wanted.slot_id is not None:
            conditions.add("slot_id = {}", wanted.slot_id)
        if wanted.sponsor is not None:
            tenants = await self._database.fetch(OVERSIGHT.tenants_of, wanted.sponsor)
            conditions.add("tenant_id = any ({}::text[])", [row["tenant_id"] for row in tenants])
        if wanted.text is not None:
            await self._search(wanted.text, conditions)
        if wanted.trouble is not None:
            conditions.add(IN_TROUBLE if wanted.trouble else f"not {IN_TROUBLE}")
        if wanted.requested is not None:
            conditions.add(REQUESTED if wanted.requested else f"not {REQUESTED}")
        return conditions

    async def _search(self, text: str, conditions: Conditions) -> None:
        """Add the condition of a search: by an id, or by the names of the sponsor and of the slot."""
        found = [row["id"] for row in await self._database.fetch(OVERSIGHT.bookings_named, text)]
        if found or text.startswith("bok_"):
            conditions.add("id = any ({}::text[])", found)
            return
        slots = [slot.id for slot in await self.slots() if text.lower() in slot.name.lower()]
        tenants = await self._named(text)
        if slots:
            conditions.add("(tenant_id = any ({}::text[]) or slot_id = any ({}::text[]))", tenants, slots)
        else:
            conditions.add("tenant_id = any ({}::text[])", tenants)

    async def _named(self, text: str | None) -> Sequence[str]:
        """The tenants of the sponsors that a search names."""
        return [] if text is None else await tenants_named(self._database, text.lower())

    async def review_queue(
        self, now_ms: int, after: Urgency | None, limit: int, text: str | None = None
    ) -> Sequence[Waiting]:
        bounds = (now_ms, *(after or (-1, "")), limit, HELD, UNBOOKED)
        rows = await self._database.fetch(OVERSIGHT.review_queue, *bounds, text, await self._named(text))
        return [
            Waiting(
                campaign_view_of(row), row["email"], row["begins_ms"], row["paid"], row["approved"], row["rejected"]
            )
            for row in rows
        ]

    async def revenue(self, from_ms: int, until_ms: int) -> Sequence[MonthRevenue]:
        return [
            record_of(MonthRevenue, row) for row in await self._database.fetch(OVERSIGHT.revenue, from_ms, until_ms)
        ]

    async def sales(self, from_ms: int, until_ms: int, most: int) -> Sequence[Sale]:
        rows = await self._database.fetch(OVERSIGHT.sales, from_ms, until_ms, most)
        return await in_slices(lambda row: Sale(*row.values()), rows)

    async def list_counts(self, now_ms: int) -> ListCounts:
        bookings = await self._database.fetch(OVERSIGHT.booking_counts, now_ms, COUNTED)
        campaigns = await self._database.fetch(OVERSIGHT.campaign_counts, COUNTED)
        [others] = await self._database.fetch(OVERSIGHT.other_counts, COUNTED)
        return ListCounts(
            {BookingStatus(row["status"]): row["number"] for row in bookings},
            {CampaignStatus(row["status"]): row["number"] for row in campaigns},
            others["trouble"],
            others["requested"],
            others["sponsors"],
            others["submissions"],
        )

    async def refundable(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[Booking]:
        return [
            record_of(Booking, row)
            for row in await self._database.fetch(OVERSIGHT.refundable, tenant_id, now_ms, limit)
        ]

    async def _with_sums(self, rows: Sequence[Row]) -> list[BookingView]:
        if not rows:
            return []
        counts = await self._database.fetch(LEDGER.delivered, [row["id"] for row in rows])
        sums = {row["booking_id"]: row for row in counts}
        return await in_slices(lambda row: booking_view_of(row, sums.get(row["id"])), rows)


def _weeks_of(days: Days) -> tuple[int, int]:
    """Before which time runs begin that have counts on these days, and the first of their weeks."""
    return (days.last + 1) * DAY_MS, week_of((days.first - LATE_DAYS) * DAY_MS)


async def _slots(connection: Connection) -> list[Slot]:
    return [record_of(Slot, row) for row in await connection.fetch(SQL.slots)]
