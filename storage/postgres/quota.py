"""The quota store over Postgres."""

from collections.abc import Mapping, Sequence

from actors.quota.state import Decision
from actors.quota.store import Decide
from actors.values import BatchId, Tenant, Tier
from storage.journal import decide_once
from storage.pool import Connection, Database, Row
from storage.postgres.columns import columns_of, record_of
from storage.statements import statements

SQL = statements("quota")

_COUNTERS = ("id", "lifetime_used", "usecase_reads", "month", "month_used", "day", "day_used")


class PostgresQuota:
    """Tenants and their counters in the `tenants` and `usage_days` tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        async def read(connection: Connection) -> dict[str, Tenant]:
            rows = await connection.fetch(SQL.lock, sorted(tenant_ids))
            return {row["id"]: tenant_of(row) for row in rows}

        return await decide_once(self._database, batch_id, read, decide, _write)

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        return {row["day"]: row["used"] for row in await self._database.fetch(SQL.days, tenant_id, first, last)}


async def _write(connection: Connection, before: Mapping[str, Tenant], decision: Decision) -> None:
    if decision.changed:
        changed = [decision.changed[tenant_id] for tenant_id in sorted(decision.changed)]
        await connection.execute(SQL.save, *columns_of(_COUNTERS, changed))


def tenant_of(row: Row) -> Tenant:
    """A tenant from a row of `tenants`."""
    return record_of(Tenant, row, tier=Tier(row["tier"]))
