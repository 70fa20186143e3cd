"""Reading the sponsorship area over Postgres."""

from collections.abc import Sequence

from actors.bookings.records import Booking, BookingView, CampaignStatus, CampaignView, Side, Slot, Sponsor
from actors.bookings.store import Before, DayDelivered, Overview, SoldPlacement, TakenWeek
from actors.values import AuditRecord
from storage.pool import Connection, Database
from storage.postgres.audit import read_audits
from storage.postgres.catalog import SQL as CATALOG
from storage.postgres.ledger import SQL as LEDGER
from storage.postgres.sponsorship_rows import (
    Row,
    booking_of,
    booking_view_of,
    campaign_view_of,
    content_of,
    slot_of,
    sponsor_of,
)
from storage.statements import statements

SQL = statements("sponsorship")

NEWEST = Before(2**63 - 1, "")
"""A place before which everything is: a page without a place is the same statement, with the same plan."""

OLDEST = Before(-1, "")
"""The same for lists that show the oldest first."""


class PostgresSponsorship:
    """What the ledger keeps, and the audit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sponsor(self, tenant_id: str) -> Sponsor | None:
        row = await self._database.read(lambda connection: connection.fetchrow(SQL.sponsor, tenant_id))
        return None if row is None else sponsor_of(row)

    async def sponsors(self, before: Before | None, limit: int) -> Sequence[Sponsor]:
        place = before or NEWEST
        rows = await self._database.read(lambda connection: connection.fetch(SQL.sponsors, *place, limit))
        return [sponsor_of(row) for row in rows]

    async def campaigns(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[CampaignView]:
        rows = await self._page(SQL.campaigns, SQL.campaigns_of, tenant_id, before, limit)
        return [campaign_view_of(row) for row in rows]

    async def campaign(self, tenant_id: str | None, campaign_id: str) -> CampaignView | None:
        row = await self._database.read(lambda connection: connection.fetchrow(SQL.campaign, campaign_id, tenant_id))
        return None if row is None else campaign_view_of(row)

    async def everybodys_campaigns(
        self, status: CampaignStatus | None, place: Before | None, limit: int, *, oldest: bool = False
    ) -> Sequence[CampaignView]:
        bounds = (*(place or (OLDEST if oldest else NEWEST)), limit)

        async def work(connection: Connection) -> Sequence[Row]:
            rows: Sequence[Row]
            if status is None:
                rows = await connection.fetch(SQL.campaigns_oldest if oldest else SQL.campaigns, *bounds)
            else:
                statement = SQL.campaigns_in_oldest if oldest else SQL.campaigns_in
                rows = await connection.fetch(statement, *bounds, status.value)
            return rows

        return [campaign_view_of(row) for row in await self._database.read(work)]

    async def bookings(self, tenant_id: str | None, before: Before | None, limit: int) -> Sequence[BookingView]:
        rows = await self._page(SQL.bookings, SQL.bookings_of, tenant_id, before, limit)
        return await self._with_sums(rows)

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        row = await self._database.read(lambda connection: connection.fetchrow(SQL.booking, booking_id, tenant_id))
        return None if row is None else (await self._with_sums([row]))[0]

    async def delivered(self, booking_id: str) -> Sequence[DayDelivered]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.delivered, booking_id))
        return [DayDelivered(**row) for row in rows]

    async def slots(self) -> Sequence[Slot]:
        return await self._database.read(_slots)

    async def audit(self, before: Before | None, limit: int, target_id: str | None = None) -> Sequence[AuditRecord]:
        place = before or NEWEST
        return await self._database.read(lambda connection: read_audits(connection, *place, limit, target_id))

    async def revision(self) -> int:
        return await self._database.read(_revision)

    async def overview(self, from_week_ms: int) -> Overview:
        async def work(connection: Connection) -> Overview:
            await connection.execute(CATALOG.one_snapshot)
            revision = await _revision(connection)
            slots = [slot for slot in await _slots(connection) if slot.retired_ms is None]
            taken = await connection.fetch(SQL.taken, from_week_ms)
            placements = await connection.fetch(SQL.placements, from_week_ms)
            return Overview(
                revision, slots, [TakenWeek(**row) for row in taken], [_placement(row) for row in placements]
            )

        return await self._database.transact(work)

    async def due_holds(self, now_ms: int, limit: int) -> Sequence[str]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.due_holds, now_ms, limit))
        return [row["id"] for row in rows]

    async def due_refunds(self, now_ms: int, limit: int) -> Sequence[Booking]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.due_refunds, now_ms, limit))
        return [booking_of(row) for row in rows]

    async def _with_sums(self, rows: Sequence[Row]) -> list[BookingView]:
        ids = [row["id"] for row in rows]
        found = await self._database.read(lambda connection: connection.fetch(LEDGER.delivered, ids))
        sums = {row["booking_id"]: row for row in found}
        return [booking_view_of(row, sums.get(row["id"])) for row in rows]

    async def _page(
        self, everybodys: str, somebodys: str, tenant_id: str | None, before: Before | None, limit: int
    ) -> Sequence[Row]:
        """A page by one of two statements: one plan cannot suit both."""
        place = before or NEWEST

        async def work(connection: Connection) -> Sequence[Row]:
            if tenant_id is None:
                rows: Sequence[Row] = await connection.fetch(everybodys, *place, limit)
            else:
                rows = await connection.fetch(somebodys, *place, limit, tenant_id)
            return rows

        return await self._database.read(work)


async def _slots(connection: Connection) -> list[Slot]:
    return [slot_of(row) for row in await connection.fetch(SQL.slots)]


async def _revision(connection: Connection) -> int:
    return int(await connection.fetchval(SQL.revision))


def _placement(row: Row) -> SoldPlacement:
    return SoldPlacement(
        booking_id=row["booking_id"],
        side=Side(row["side"]),
        content=content_of(row),
        sponsor_name=row["sponsor_name"],
        week_start_ms=row["week_start_ms"],
        week_end_ms=row["week_end_ms"],
        demo=row["demo"],
    )
