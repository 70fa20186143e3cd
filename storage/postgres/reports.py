"""Delivery reports over Postgres. Counts are read by statements of their own, because on a distributed database they lie on
other servers."""

from collections.abc import Sequence

from actors.bookings.records import Booking, DayDelivered
from actors.bookings.reports import LATE_DAYS, MOST_ENDED, BookingDelivered, Days, SlotReach, reach_of
from actors.bookings.store import Before
from actors.times import DAY_MS
from storage.connection.pool import Database
from storage.postgres.ledger import SQL as LEDGER
from storage.rows.columns import record_of
from storage.rows.statements import statements

SQL = statements("reports")

OLDEST = Before(-1, "")


async def deliveries(
    database: Database, tenant_id: str, days: Days, after: Before | None, limit: int
) -> Sequence[BookingDelivered]:
    starts_before_ms, ends_after_ms = (days.last + 1) * DAY_MS, (days.first - LATE_DAYS) * DAY_MS
    bounds = (*(after or OLDEST), limit, tenant_id, starts_before_ms, ends_after_ms)
    rows = await database.fetch(SQL.bookings_delivered, *bounds)
    counted: dict[str, list[DayDelivered]] = {row["id"]: [] for row in rows}
    for row in await database.fetch(SQL.days_delivered, list(counted), days.first, days.last):
        counted[row["booking_id"]].append(DayDelivered(row["day"], row["impressions"], row["clicks"]))
    return [BookingDelivered(record_of(Booking, row), row["campaign_name"], tuple(counted[row["id"]])) for row in rows]


async def reach(database: Database, ended_ms: int, mode: str) -> Sequence[SlotReach]:
    ended = await database.fetch(SQL.ended, ended_ms, mode, MOST_ENDED)
    counts = await database.fetch(LEDGER.delivered, [row["id"] for row in ended])
    sums = {row["booking_id"]: (row["impressions"], row["clicks"]) for row in counts}
    return reach_of((row["slot_id"], row["weeks"], *sums.get(row["id"], (0, 0))) for row in ended)
