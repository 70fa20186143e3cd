"""The quota store over Postgres."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.quota.state import Decision
from actors.quota.store import Decide
from actors.values import BatchId, Tenant, Tier
from storage.journal import decide_once
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("quota")


class PostgresQuota:
    """Tenants and their counters in the `tenants` and `usage_days` tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        async def work(connection: Connection) -> Decision:
            rows = await connection.fetch(SQL.lock, sorted(tenant_ids))
            decision = decide({row["id"]: tenant_of(row) for row in rows})
            if decision.changed:
                changed = [decision.changed[tenant_id] for tenant_id in sorted(decision.changed)]
                await connection.execute(
                    SQL.keep,
                    [tenant.id for tenant in changed],
                    [tenant.lifetime_used for tenant in changed],
                    [tenant.usecase_reads for tenant in changed],
                    [tenant.month for tenant in changed],
                    [tenant.month_used for tenant in changed],
                    [tenant.day for tenant in changed],
                    [tenant.day_used for tenant in changed],
                )
            return decision

        return await decide_once(self._database, batch_id, work)

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.days, tenant_id, first, last))
        return {row["day"]: row["used"] for row in rows}


def tenant_of(row: Mapping[str, Any]) -> Tenant:
    """A tenant from a row of `tenants`."""
    return Tenant(
        id=row["id"],
        tier=Tier(row["tier"]),
        lifetime_used=row["lifetime_used"],
        usecase_reads=row["usecase_reads"],
        month=row["month"],
        month_used=row["month_used"],
        day=row["day"],
        day_used=row["day_used"],
        merged_into=row["merged_into"],
    )
