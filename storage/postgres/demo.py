"""The demo store over Postgres."""

from collections.abc import Iterable

from actors.bookings.demo import DeliveryDay, DemoCounts, DemoData, DemoPlan, ExistingRows, audit_record, plan
from actors.bookings.messages import Origin
from actors.values import Account, Tenant, Tier
from storage.connection.pool import Connection, Store
from storage.postgres.ledger import SQL as LEDGER
from storage.postgres.ledger import week_columns
from storage.rows.columns import columns
from storage.rows.statements import statements
from storage.rows.tables import ACCOUNTS, AUDIT, BOOKINGS, CAMPAIGNS, DEMO_SLOTS, SPONSORS, TENANTS

SQL = statements("demo")
LOCK = 7_206_341_119
"""The advisory lock that serializes replacements. An arbitrary number, next to that of the migrations."""


class PostgresDemo(Store):
    """Demo rows in the tables of the booking ledger."""

    async def is_untouched(self) -> bool:
        return bool(await self._database.fetchval(SQL.untouched))

    async def replace_demo(
        self, data: DemoData | None, origin: Origin, now_ms: int, *, first: bool = False
    ) -> DemoCounts | None:
        async def work(connection: Connection) -> DemoCounts | None:
            await connection.execute(SQL.lock_replacements, LOCK)
            if first and not await connection.fetchval(SQL.untouched):
                return None
            planned = plan(await _ground(connection, data or DemoData()), data)
            await _remove(connection, planned, now_ms)
            await _write(connection, planned, now_ms)
            await AUDIT.insert(connection, [audit_record(data, planned.counts, origin, now_ms)])
            await connection.execute(LEDGER.advance)
            return planned.counts

        return await self._database.transact(work)


async def _ground(connection: Connection, data: DemoData) -> ExistingRows:
    """Lock the existing rows in the order of the ledger: sponsors, campaigns, slots, bookings, each sorted."""
    accounts = await connection.fetch(SQL.accounts, [account.email for account in data.accounts])
    tenants = {row["email"]: row["tenant_id"] for row in accounts}

    async def lock(statement: str, ids: Iterable[str]) -> dict[str, bool]:
        return {row["id"]: row["demo"] for row in await connection.fetch(statement, sorted(ids))}

    async def of(statement: str, ids: Iterable[str]) -> set[str]:
        return {row[0] for row in await connection.fetch(statement, sorted(ids))}

    sponsors = await lock(SQL.lock_sponsors, tenants.values())
    campaigns = await lock(SQL.lock_campaigns, (row.id for row in data.campaigns))
    slots = await lock(SQL.lock_slots, (row.id for row in data.slots))
    bookings = await lock(SQL.lock_bookings, (row.id for row in data.bookings))
    weeks = await connection.fetch(SQL.real_weeks, sorted(slots))
    return ExistingRows(
        tenants=tenants,
        sponsors=sponsors,
        slots=slots,
        campaigns=campaigns,
        bookings=bookings,
        used_sponsors=await of(SQL.used_sponsors, sponsors),
        used_slots=await of(SQL.used_slots, slots),
        used_campaigns=await of(SQL.used_campaigns, campaigns),
        weeks={(row["slot_id"], row["week_ms"]) for row in weeks},
    )


async def _remove(connection: Connection, planned: DemoPlan, now_ms: int) -> None:
    for statement in (SQL.remove_weeks, SQL.remove_keys, SQL.remove_events, SQL.remove_bookings):
        await connection.execute(statement, planned.bookings)
    for statement in (SQL.remove_counts, SQL.remove_site_counts, SQL.remove_filtered):
        await connection.execute(statement, sorted(planned.counted))
    await connection.execute(SQL.remove_campaigns, planned.campaigns)
    await connection.execute(SQL.remove_sponsors, planned.sponsors)
    await connection.execute(SQL.remove_slots, planned.slots)
    await connection.execute(SQL.retire_slots, planned.retired, now_ms)


async def _write(connection: Connection, planned: DemoPlan, now_ms: int) -> None:
    data = planned.data
    tenants = [Tenant(account.tenant_id, Tier.CLAIMED) for account in planned.accounts]
    accounts = [Account(account.email, account.tenant_id, now_ms) for account in planned.accounts]
    await TENANTS.save(connection, tenants)
    await ACCOUNTS.insert(connection, accounts)
    await SPONSORS.insert(connection, data.sponsors)
    await CAMPAIGNS.save(connection, data.campaigns)
    await DEMO_SLOTS.save(connection, data.slots)
    await BOOKINGS.save(connection, data.bookings)
    if data.weeks:
        await connection.execute(LEDGER.reserve_weeks, *week_columns(data.weeks))
    if data.days:
        await connection.execute(SQL.insert_days, *columns(DeliveryDay, data.days))
