"""The sponsorship area as administrators read it, over Postgres."""

from collections.abc import Sequence

from actors.bookings.admin_views import (
    APPROVALS,
    COUNTED,
    HELD,
    REJECTIONS,
    UNBOOKED,
    Before,
    BookingFilter,
    ListCounts,
    MonthRevenue,
    Urgency,
    Waiting,
)
from actors.bookings.records import OPEN, Booking, BookingStatus, BookingView, CampaignStatus
from actors.shared.weeks import WEEK_MS
from storage.connection.pool import Row, Store
from storage.postgres.accounts import tenants_named
from storage.postgres.ledger import SQL as LEDGER
from storage.postgres.ledger import booking_view_of, campaign_view_of
from storage.rows.columns import record_of
from storage.rows.statements import Conditions, statements

SQL = statements("oversight")

NEWEST = Before(2**63 - 1, "")
"""A place after every row, so that the first page uses the same statement and plan as the others."""

LONGEST_MS = 52 * WEEK_MS
"""The longest booking. Those that cover a week begin less than this before it."""

REQUESTED = "(refund_requested_ms is not null and status = 'paid')"
IN_TROUBLE = f"(disputed or (payment_issue is not null and status in ('paid', 'refunding')) or {REQUESTED})"


class PostgresOversight(Store):
    """Bookings, campaigns and the audit."""

    async def filtered_bookings(
        self, wanted: BookingFilter, now_ms: int, before: Before | None, limit: int
    ) -> Sequence[BookingView]:
        conditions = Conditions(*(before or NEWEST), limit)
        if wanted.status is not None:
            conditions.add("status = {}", wanted.status.value)
        if wanted.status in OPEN:
            conditions.add("hold_ms > {}", now_ms)
        if wanted.week_ms is not None:
            conditions.add("week_start_ms between {} and {}", wanted.week_ms - LONGEST_MS, wanted.week_ms)
            conditions.add("week_start_ms + weeks * 604800000::bigint > {}", wanted.week_ms)
        if wanted.slot_id is not None:
            conditions.add("slot_id = {}", wanted.slot_id)
        if wanted.sponsor is not None:
            tenants = await self._database.fetch(SQL.tenants_of, wanted.sponsor)
            conditions.add("tenant_id = any ({}::text[])", [row["tenant_id"] for row in tenants])
        if wanted.text is not None:
            await self._search(wanted.text, conditions)
        if wanted.trouble is not None:
            conditions.add(IN_TROUBLE if wanted.trouble else f"not {IN_TROUBLE}")
        if wanted.requested is not None:
            conditions.add(REQUESTED if wanted.requested else f"not {REQUESTED}")
        rows = await self._database.fetch(conditions.within(SQL.bookings), *conditions.parameters)
        return await self._with_sums(rows)

    async def _search(self, text: str, conditions: Conditions) -> None:
        """Add the condition of a search: by an id, or by the sponsor's name."""
        paid = [row["id"] for row in await self._database.fetch(SQL.booking_of_payment, text)]
        if paid or text.startswith("bok_"):
            conditions.add("id = any ({}::text[])", paid or [text])
        else:
            conditions.add("tenant_id = any ({}::text[])", await tenants_named(self._database, text.lower()))

    async def review_queue(self, now_ms: int, after: Urgency | None, limit: int) -> Sequence[Waiting]:
        place = after or (-1, "")
        rows = await self._database.fetch(
            SQL.review_queue, now_ms, *place, limit, HELD, UNBOOKED, APPROVALS, REJECTIONS
        )
        return [
            Waiting(
                campaign_view_of(row), row["email"], row["begins_ms"], row["paid"], row["approved"], row["rejected"]
            )
            for row in rows
        ]

    async def revenue(self, from_ms: int, until_ms: int) -> Sequence[MonthRevenue]:
        return [record_of(MonthRevenue, row) for row in await self._database.fetch(SQL.revenue, from_ms, until_ms)]

    async def list_counts(self, now_ms: int) -> ListCounts:
        bookings = await self._database.fetch(SQL.booking_counts, now_ms, COUNTED)
        campaigns = await self._database.fetch(SQL.campaign_counts, COUNTED)
        [others] = await self._database.fetch(SQL.other_counts, COUNTED)
        return ListCounts(
            {BookingStatus(row["status"]): row["number"] for row in bookings},
            {CampaignStatus(row["status"]): row["number"] for row in campaigns},
            others["trouble"],
            others["requested"],
            others["sponsors"],
        )

    async def refundable(self, tenant_id: str, now_ms: int, limit: int) -> Sequence[Booking]:
        return [record_of(Booking, row) for row in await self._database.fetch(SQL.refundable, tenant_id, now_ms, limit)]

    async def _with_sums(self, rows: Sequence[Row]) -> list[BookingView]:
        counts = await self._database.fetch(LEDGER.delivered, [row["id"] for row in rows])
        sums = {row["booking_id"]: row for row in counts}
        return [booking_view_of(row, sums.get(row["id"])) for row in rows]
