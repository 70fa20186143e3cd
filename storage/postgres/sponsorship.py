"""Reads of the sponsorship area over Postgres."""

from collections.abc import Sequence

from actors.bookings.invoices import Invoice
from actors.bookings.records import (
    Booking,
    BookingView,
    CampaignStatus,
    CampaignView,
    DayDelivered,
    Slot,
    Sponsor,
)
from actors.bookings.reports import LATE_DAYS, MOST_ENDED, BookingDelivered, Days, SlotReach, reach_of
from actors.bookings.store import Before, Overview, SoldPlacement, UnavailableWeek
from actors.times import DAY_MS
from actors.values import AuditRecord
from storage.connection.pool import Connection, Row
from storage.postgres.admin_views import NEWEST, PostgresOversight
from storage.postgres.catalog import SQL as CATALOG
from storage.postgres.invoices import SQL as INVOICES
from storage.postgres.ledger import SQL as LEDGER
from storage.postgres.ledger import campaign_view_of
from storage.rows.columns import record_of
from storage.rows.statements import statements

SQL, AUDIT, REPORTS = statements("sponsorship"), statements("audit"), statements("reports")

OLDEST = Before(-1, "")
"""A place before every row, for lists that are oldest first."""


class PostgresSponsorship(PostgresOversight):
    """The tables of the booking ledger, and the audit. Counts are read by statements of their own, because on a distributed
    database they lie on other servers."""

    async def sponsor(self, tenant_id: str) -> Sponsor | None:
        row = await self._database.fetchrow(SQL.sponsor, tenant_id)
        return None if row is None else record_of(Sponsor, row)

    async def sponsors(self, before: Before | None, limit: int) -> Sequence[Sponsor]:
        rows = await self._database.fetch(SQL.sponsors, *(before or NEWEST), limit)
        return [record_of(Sponsor, row) for row in rows]

    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]:
        rows = await self._page(SQL.campaigns, SQL.campaigns_of, tenant_id, before, limit)
        return [campaign_view_of(row) for row in rows]

    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None:
        row = await self._database.fetchrow(SQL.campaign, campaign_id, tenant_id)
        return None if row is None else campaign_view_of(row)

    async def everybodys_campaigns(
        self, status: CampaignStatus | None, place: Before | None, limit: int, *, oldest: bool = False
    ) -> Sequence[CampaignView]:
        bounds = (*(place or (OLDEST if oldest else NEWEST)), limit)
        if status is None:
            rows = await self._database.fetch(SQL.campaigns_oldest if oldest else SQL.campaigns, *bounds)
        else:
            statement = SQL.campaigns_in_oldest if oldest else SQL.campaigns_in
            rows = await self._database.fetch(statement, *bounds, status.value)
        return [campaign_view_of(row) for row in rows]

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]:
        rows = await self._page(SQL.bookings, SQL.bookings_of, tenant_id, before, limit)
        return await self._with_sums(rows)

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        row = await self._database.fetchrow(SQL.booking, booking_id, tenant_id)
        return None if row is None else (await self._with_sums([row]))[0]

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        return [DayDelivered(**row) for row in await self._database.fetch(SQL.delivered, booking_id)]

    async def invoices(self, tenant_id: str, before: Before | None, limit: int) -> Sequence[Invoice]:
        rows = await self._database.fetch(INVOICES.of_tenant, *(before or NEWEST), limit, tenant_id)
        return [record_of(Invoice, row) for row in rows]

    async def invoices_of(self, tenant_id: str, booking_id: str, limit: int) -> Sequence[Invoice]:
        rows = await self._database.fetch(INVOICES.of_booking, booking_id, tenant_id, limit)
        return [record_of(Invoice, row) for row in rows]

    async def deliveries(
        self, tenant_id: str, days: Days, after: Before | None, limit: int
    ) -> Sequence[BookingDelivered]:
        starts_before_ms, ends_after_ms = (days.last + 1) * DAY_MS, (days.first - LATE_DAYS) * DAY_MS
        bounds = (*(after or OLDEST), limit, tenant_id, starts_before_ms, ends_after_ms)
        rows = await self._database.fetch(REPORTS.bookings_delivered, *bounds)
        counted: dict[str, list[DayDelivered]] = {row["id"]: [] for row in rows}
        for row in await self._database.fetch(REPORTS.days_delivered, list(counted), days.first, days.last):
            counted[row["booking_id"]].append(DayDelivered(row["day"], row["impressions"], row["clicks"]))
        return [
            BookingDelivered(record_of(Booking, row), row["campaign_name"], tuple(counted[row["id"]])) for row in rows
        ]

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        ended = await self._database.fetch(REPORTS.ended, ended_ms, mode, MOST_ENDED)
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
        return [AuditRecord(**row) for row in rows]

    async def revision(self) -> int:
        return int(await self._database.fetchval(SQL.revision))

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


async def _slots(connection: Connection) -> list[Slot]:
    return [record_of(Slot, row) for row in await connection.fetch(SQL.slots)]
