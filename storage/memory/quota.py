"""The quota store in memory."""

from collections.abc import Mapping, Sequence

from actors.quota.state import Decision
from actors.quota.store import Decide
from actors.values import BatchId
from storage.memory.tables import Memory, picked


class MemoryQuota:
    """Tenants and their counters."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        tables = self._memory
        return await tables.decide_once(
            batch_id, lambda: picked(tables.tenants, sorted(tenant_ids)), decide, self._write
        )

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        await self._memory.before()
        days = self._memory.usage_days
        return {day: days[tenant_id, day] for day in range(first, last + 1) if days.get((tenant_id, day))}

    def _write(self, decision: Decision) -> None:
        for tenant in decision.changed.values():
            self._memory.tenants[tenant.id] = tenant
            self._memory.usage_days[tenant.id, tenant.day] = tenant.day_used
