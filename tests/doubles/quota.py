"""The quota store in memory."""

from collections.abc import Mapping, Sequence

from actors.quota.state import Decision
from actors.quota.store import Decide
from actors.values import BatchId
from tests.doubles.tables import MemoryStore, picked


class MemoryQuota(MemoryStore):
    """Tenants and their counters."""

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        tables = self._memory
        return await tables.decide_once(
            batch_id, lambda: picked(tables.tenants, sorted(tenant_ids)), decide, self._write
        )

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        await self._memory.before()
        days = self._memory.usage_days
        return {day: days[tenant_id, day] for day in range(first, last + 1) if days.get((tenant_id, day))}

    async def days_by_key(
        self, tenant_id: str, key_ids: Sequence[str], first: int, last: int
    ) -> Mapping[tuple[str | None, int], int]:
        await self._memory.before()
        found: dict[tuple[str | None, int], int] = {}
        for (owner, day), used in self._memory.usage_days.items():
            if owner == tenant_id and first <= day <= last and used > 0:
                found[None, day] = used
        for (owner, key_id, day), used in self._memory.key_usage_days.items():
            if owner == tenant_id and key_id in key_ids and first <= day <= last and used > 0:
                found[key_id, day] = used
        return found

    def _write(self, decision: Decision) -> None:
        for tenant in decision.changed.values():
            self._memory.tenants[tenant.id] = tenant
            self._memory.usage_days[tenant.id, tenant.day] = tenant.day_used
        days = self._memory.key_usage_days
        for place, step in decision.by_key.items():
            days[place] = days.get(place, 0) + step
