"""The quota store in memory."""

from collections.abc import Mapping, Sequence

from actors.quota.state import Decision
from actors.quota.store import Decide
from actors.values import BatchId
from storage.memory.tables import Memory


class MemoryQuota:
    """Tenants and their counters."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        tables = self._memory

        def work() -> Decision:
            found = {key: tables.tenants[key] for key in sorted(tenant_ids) if key in tables.tenants}
            decision = decide(found)
            for tenant in decision.changed.values():
                tables.tenants[tenant.id] = tenant
                tables.usage_days[tenant.id, tenant.day] = tenant.day_used
            return decision

        return await tables.transact(batch_id, work)

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        await self._memory.before()
        days = self._memory.usage_days
        return {day: days[tenant_id, day] for day in range(first, last + 1) if days.get((tenant_id, day))}
