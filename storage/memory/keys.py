"""The key store in memory."""

from collections.abc import Collection, Mapping, Sequence

from actors.devices.messages import Status
from actors.keys.messages import Key, Resolved
from actors.keys.standing import count_live
from actors.keys.state import Decision, LockSet, Snapshot
from actors.keys.store import Decide
from actors.values import BatchId, Contended
from storage.memory.tables import Memory


class MemoryKeys:
    """Keys, claims, accounts, the outbox and the audit."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        def work() -> Decision:
            decision = decide(self._snapshot(locks, now_ms))
            self._keep(decision)
            return decision

        return await self._memory.transact(batch_id, work)

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        await self._memory.before()
        locks = set(hashes)
        return {key.hash: self._resolved(key) for key in self._memory.keys.values() if key.hash in locks}

    async def resolve_prefix(self, prefix: str) -> Sequence[Resolved]:
        await self._memory.before()
        found = sorted((key for key in self._memory.keys.values() if key.prefix == prefix), key=lambda key: key.id)
        return [self._resolved(key) for key in found[:10]]

    async def live_keys(self, tenant_id: str) -> Sequence[Key]:
        await self._memory.before()
        live = (key for key in self._memory.keys.values() if key.tenant_id == tenant_id and key.revoked_ms is None)
        return sorted(live, key=lambda key: (key.created_ms, key.id), reverse=True)

    async def keep_uses(self, uses: Mapping[str, int]) -> None:
        await self._memory.before()
        kept = self._memory.key_uses
        kept.update((key_id, max(used_ms, kept.get(key_id, used_ms))) for key_id, used_ms in uses.items())
        await self._memory.after()

    async def uses_of(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        await self._memory.before()
        kept = self._memory.key_uses
        return {key_id: kept[key_id] for key_id in key_ids if key_id in kept}

    async def count_administrators(self) -> int:
        await self._memory.before()
        return len(self._memory.administrators)

    def _resolved(self, key: Key) -> Resolved:
        email = next((a.email for a in self._memory.accounts.values() if a.tenant_id == key.tenant_id), None)
        admin = email is not None and email in self._memory.administrators
        return Resolved(key, self._memory.tenants[key.tenant_id].tier, email, admin)

    def _snapshot(self, locks: LockSet, now_ms: int) -> Snapshot:
        tables = self._memory
        claims = {key: tables.claims[key] for key in locks.token_hashes if key in tables.claims}
        accounts = {email: tables.accounts[email] for email in locks.emails if email in tables.accounts}
        key_ids = sorted({*locks.key_ids, *(claim.key_id for claim in claims.values())})
        keys = {key_id: tables.keys[key_id] for key_id in key_ids if key_id in tables.keys}
        tenant_ids = sorted({*(a.tenant_id for a in accounts.values()), *(key.tenant_id for key in keys.values())})
        live = live_keys(tables, tenant_ids, now_ms)
        tenants = {tenant_id: tables.tenants[tenant_id] for tenant_id in tenant_ids}
        members = tables.administrators
        admins = {email: members[email] for email in locks.admin_emails if email in members}
        count = len(members) if locks.membership else 0
        return Snapshot(keys, claims, accounts, tenants, live, admins, count)

    def _keep(self, decision: Decision) -> None:
        tables, changed = self._memory, decision.changed
        if any(email in tables.accounts for email in changed.accounts):
            raise Contended("another node made the account first")
        for tenant in changed.tenants.values():
            tables.tenants[tenant.id] = tenant
            if tenant.merged_into is not None:
                self._merge_days(tenant.id, tenant.merged_into)
        tables.accounts.update(changed.accounts)
        for email in decision.dismissed:
            del tables.administrators[email]
        tables.administrators.update(changed.administrators)
        tables.keys.update(changed.keys)
        tables.claims.update(changed.claims)
        tables.messages.update((message.id, message) for message in decision.outbox)
        tables.audits.extend(decision.audits)
        tables.announce([f"key:{key_hash.hex()}" for key_hash in decision.touched_keys])
        tables.announce([f"tenant:{tenant_id}" for tenant_id in decision.touched_tenants])

    def _merge_days(self, source: str, target: str) -> None:
        days = self._memory.usage_days
        for tenant_id, day in [place for place in days if place[0] == source]:
            days[target, day] = days.get((target, day), 0) + days.pop((tenant_id, day))


def live_keys(tables: Memory, tenant_ids: Collection[str], now_ms: int) -> dict[tuple[str, bool], int]:
    """Live keys by (tenant id, scoped or not); approved devices that are still to get a full key count as having it."""
    live = dict(count_live((key for key in tables.keys.values() if key.tenant_id in tenant_ids), now_ms))
    for device in tables.devices.values():
        if device.status is Status.APPROVED and now_ms < device.expires_ms and device.email is not None:
            tenant_id = tables.accounts[device.email].tenant_id
            if tenant_id in tenant_ids:
                live[tenant_id, False] = live.get((tenant_id, False), 0) + 1
    return live
