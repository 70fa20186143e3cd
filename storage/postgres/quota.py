"""The quota store over Postgres."""

from collections.abc import Mapping, Sequence

from actors.quota.state import Decision
from actors.quota.store import Decide
from actors.values import BatchId, Tenant
from storage.connection.pool import Connection, Store
from storage.rows.columns import arrays, record_of, write
from storage.rows.journal import decide_once
from storage.rows.statements import statements

SQL = statements("quota")

_COUNTERS = ("id", "lifetime_used", "usecase_reads", "month", "month_used", "day", "day_used")


class PostgresQuota(Store):
    """Tenants and their counters in the `tenants` and `usage_days` tables."""

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        async def read(connection: Connection) -> dict[str, Tenant]:
            rows = await connection.fetch(SQL.lock, sorted(tenant_ids))
            return {row["id"]: record_of(Tenant, row) for row in rows}

        return await decide_once(self._database, batch_id, read, decide, _write)

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        return {row["day"]: row["used"] for row in await self._database.fetch(SQL.days, tenant_id, first, last)}

    async def days_by_key(
        self, tenant_id: str, key_ids: Sequence[str], first: int, last: int
    ) -> Mapping[tuple[str | None, int], int]:
        rows = await self._database.fetch(SQL.days_by_key, tenant_id, list(key_ids), first, last)
        return {(row["key_id"], row["day"]): row["used"] for row in rows}


async def _write(connection: Connection, before: Mapping[str, Tenant], decision: Decision) -> None:
    changed = [decision.changed[tenant_id] for tenant_id in sorted(decision.changed)]
    steps = [[*place, step] for place, step in decision.by_key.items()]
    keyed = [list(column) for column in zip(*steps, strict=True)] or [[], [], [], []]
    await write(connection, SQL.save, [*arrays(_COUNTERS, changed), *keyed])
