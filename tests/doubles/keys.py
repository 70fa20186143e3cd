"""The key store in memory."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from actors.bookings.store import TOPIC
from actors.devices.messages import Status
from actors.keys.messages import MAX_SIBLINGS, Key, Resolved
from actors.keys.state import Decision, LockSet, Snapshot
from actors.keys.store import ENDED_LISTED, Decide
from actors.keys.validity import is_live
from actors.shared.code_mails import mailbox_of
from actors.times import CLOCKS_DIFFER_MS, day_of
from actors.values import Account, BatchId, Contended, Tier
from tests.doubles.conditions import count_in_grace, count_live
from tests.doubles.tables import Memory, MemoryStore, picked


class MemoryKeys(MemoryStore):
    """Keys, claims, accounts, the outbox and the audit."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await self._memory.decide_once(batch_id, lambda: self._snapshot(lock_set, now_ms), decide, self._write)

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        await self._memory.before()
        locks = set(hashes)
        return {key.hash: self._resolved(key) for key in self._memory.keys.values() if key.hash in locks}

    async def resolve_prefix(self, prefix: str) -> Sequence[Resolved]:
        await self._memory.before()
        found = sorted((key for key in self._memory.keys.values() if key.prefix == prefix), key=lambda key: key.id)
        return [self._resolved(key) for key in found[:10]]

    async def live_keys(self, tenant_id: str, now_ms: int) -> Sequence[Key]:
        await self._memory.before()
        unrevoked = [key for key in self._memory.keys.values() if key.tenant_id == tenant_id and key.revoked_ms is None]
        live = [key for key in unrevoked if is_live(key, now_ms)]
        ended = [key for key in _last_ended(unrevoked, now_ms)[:ENDED_LISTED] if key.successor_id is None]
        return sorted(live, key=lambda key: (key.created_ms, key.id), reverse=True) + ended

    async def ending_keys(self, now_ms: int, limit: int) -> Sequence[tuple[str, str]]:
        await self._memory.before()
        owners = {account.tenant_id: account.email for account in self._memory.accounts.values()}
        due = sorted(
            (key.end_notice_ms, key.id, owners[key.tenant_id])
            for key in self._memory.keys.values()
            if key.end_notice_ms is not None
            and key.end_notice_ms <= now_ms
            and key.revoked_ms is None
            and key.tenant_id in owners
        )
        return [(key_id, email) for _, key_id, email in due[:limit]]

    async def is_client_in_use(self, client_hash: bytes, since_ms: int) -> bool:
        await self._memory.before()
        rows = self._memory.authorizations.values()
        return any(row.client_hash == client_hash and row.used_ms >= since_ms for row in rows)

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        await self._memory.before()
        rows = self._memory.key_uses
        rows.update((key_id, max(used_ms, rows.get(key_id, used_ms))) for key_id, used_ms in uses.items())
        await self._memory.after()

    async def uses_of(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        await self._memory.before()
        return picked(self._memory.key_uses, key_ids)

    async def count_administrators(self) -> int:
        await self._memory.before()
        return len(self._memory.administrators)

    def _resolved(self, key: Key) -> Resolved:
        account = next((a for a in self._memory.accounts.values() if a.tenant_id == key.tenant_id), None)
        tier = self._memory.tenants[key.tenant_id].tier
        if account is None:
            return Resolved(key, tier, None)
        admin = account.email in self._memory.administrators
        return Resolved(key, tier, account.email, admin, account.suspended_ms is not None, self._siblings(account))

    def _siblings(self, account: Account) -> tuple[str, ...]:
        """The other accounts of a mailbox, if none of them has paid."""
        tables, mailbox = self._memory, mailbox_of(account.email)
        paid = {row.tenant_id for row in tables.bookings.values() if row.paid_ms is not None}
        same = [row.tenant_id for row in tables.accounts.values() if mailbox_of(row.email) == mailbox]
        unpaid = [
            tables.tenants[each] for each in same if each not in paid and tables.tenants[each].tier is Tier.CLAIMED
        ]
        if account.tenant_id not in {tenant.id for tenant in unpaid}:
            return ()
        others = [tenant for tenant in unpaid if tenant.id != account.tenant_id]
        others.sort(key=lambda tenant: (-tenant.month, -tenant.month_used, tenant.id))
        return tuple(sorted(tenant.id for tenant in others[:MAX_SIBLINGS]))

    def _snapshot(self, lock_set: LockSet, now_ms: int) -> Snapshot:
        tables = self._memory
        authorizations = {
            each.id: each
            for each in tables.authorizations.values()
            if each.code_hash in lock_set.code_hashes
            or each.refresh_hash in lock_set.refresh_hashes
            or each.key_id in lock_set.authorized_keys
            or each.id in lock_set.authorization_ids
        }
        lock_set = lock_set.following(authorizations.values())
        claims = picked(tables.claims, lock_set.token_hashes)
        accounts = picked(tables.accounts, lock_set.emails)
        hashes = {key.hash: key.id for key in tables.keys.values() if key.hash in lock_set.hashes}
        family_ids = [*lock_set.families, *hashes.values()]
        named = {*lock_set.key_ids, *family_ids, *(claim.key_id for claim in claims.values())}
        owners = {accounts[email].tenant_id for email in lock_set.owners if email in accounts}
        families = {key.tenant_id for key in picked(tables.keys, family_ids).values()}
        over_ms = now_ms - CLOCKS_DIFFER_MS
        keys = {
            key.id: key
            for key in sorted(tables.keys.values(), key=lambda key: key.id)
            if key.id in named
            or (key.tenant_id in owners | families and key.revoked_ms is None and is_live(key, over_ms))
        }
        tenant_ids = sorted({*(a.tenant_id for a in accounts.values()), *(key.tenant_id for key in keys.values())})
        live = live_keys(tables, tenant_ids, now_ms)
        tenants = picked(tables.tenants, tenant_ids)
        admins = picked(tables.administrators, lock_set.admin_emails)
        count = len(tables.administrators) if lock_set.membership else 0
        letters = picked(tables.letters, lock_set.code_mail_ids)
        sessions = picked(tables.sessions, lock_set.session_ids).values()
        live_sessions = frozenset(each.id for each in sessions if each.revoked_ms is None and each.expires_ms > now_ms)
        guarded = frozenset(lock_set.claimants) & {passkey.email for passkey in tables.passkeys.values()}
        in_grace = dict(count_in_grace((key for key in tables.keys.values() if key.tenant_id in tenant_ids), now_ms))
        made = made_today(tables, tenant_ids, now_ms)
        known = {account.tenant_id: account.email for account in tables.accounts.values()}
        found = picked(known, [keys[key_id].tenant_id for key_id in hashes.values()])
        waiting = (row for row in tables.authorizations.values() if row.key_id is None and row.expires_ms > now_ms)
        opened = dict(Counter(row.email for row in waiting if row.email in lock_set.code_emails))
        facts = live_sessions, guarded, in_grace, made, hashes, found, authorizations, opened
        return Snapshot(keys, claims, accounts, tenants, live, admins, count, letters, *facts)

    def _write(self, decision: Decision) -> None:
        tables, changed = self._memory, decision.changed
        if any(email in tables.accounts for email in changed.accounts):
            raise Contended("another node has already created the account")
        for tenant in changed.tenants.values():
            tables.tenants[tenant.id] = tenant
            if tenant.merged_into is not None:
                self._merge_days(tenant.id, tenant.merged_into)
        tables.accounts.update(changed.accounts)
        tables.accounts.update(decision.suspensions)
        tables.accept(decision.terms)
        for email in decision.dismissed:
            del tables.administrators[email]
        tables.administrators.update(changed.administrators)
        tables.keys.update(changed.keys)
        tables.claims.update(changed.claims)
        tables.authorizations.update(changed.authorizations)
        tables.letters.update(changed.letters)
        tables.messages.update((message.id, message) for message in decision.outbox)
        tables.audits.extend(decision.audits)
        tables.announce([f"key:{key_hash.hex()}" for key_hash in decision.touched_keys])
        tables.announce([f"tenant:{tenant_id}" for tenant_id in decision.touched_tenants])
        suspended = [row.tenant_id for row in decision.suspensions.values() if row.suspended_ms is not None]
        for report in [row for tenant_id in suspended for row in tables.shared_of(tenant_id)]:
            del tables.shared_reports[report.id]
        if decision.suspensions:
            tables.sponsorship_revision += 1
            tables.announce([TOPIC])

    def _merge_days(self, source: str, target: str) -> None:
        days = self._memory.usage_days
        for tenant_id, day in [place for place in days if place[0] == source]:
            days[target, day] = days.get((target, day), 0) + days.pop((tenant_id, day))
        keyed = self._memory.key_usage_days
        for place in [place for place in keyed if place[0] == source]:
            moved = (target, *place[1:])
            keyed[moved] = keyed.get(moved, 0) + keyed.pop(place)


def _last_ended(keys: Iterable[Key], now_ms: int) -> list[Key]:
    """The keys that are not live, the last end first."""
    ended = [key for key in keys if not is_live(key, now_ms)]
    return sorted(ended, key=lambda key: (key.expires_ms or 0, key.id), reverse=True)


def made_today(tables: Memory, tenant_ids: Collection[str], now_ms: int) -> dict[str, int]:
    """The keys that tenants made since 00:00 UTC, and approved devices without their key yet."""
    today = (key.tenant_id for key in tables.keys.values() if day_of(key.created_ms) >= day_of(now_ms))
    return dict(Counter(each for each in (*today, *_approved(tables, now_ms)) if each in tenant_ids))


def live_keys(tables: Memory, tenant_ids: Collection[str], now_ms: int) -> dict[tuple[str, bool], int]:
    """Live keys that were not rotated, by tenant id and whether scoped. An approved device without its key yet counts as
    having a full one."""
    live = dict(count_live((key for key in tables.keys.values() if key.tenant_id in tenant_ids), now_ms))
    for tenant_id in _approved(tables, now_ms):
        if tenant_id in tenant_ids:
            live[tenant_id, False] = live.get((tenant_id, False), 0) + 1
    return live


def _approved(tables: Memory, now_ms: int) -> Iterator[str]:
    """The tenant of each approved device without its key yet."""
    for device in tables.devices.values():
        if device.status is Status.APPROVED and now_ms < device.expires_ms and device.email is not None:
            yield tables.accounts[device.email].tenant_id
