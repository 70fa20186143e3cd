"""The key store over Postgres."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.credentials import Kind
from actors.keys.messages import Claim, Key, Resolved
from actors.keys.state import Decision, LockSet, Snapshot
from actors.keys.store import Decide
from actors.values import Account, BatchId, OutboxMessage, Scope, Tenant, Tier
from storage.journal import decide_once
from storage.pool import Connection, Database
from storage.postgres.audit import keep_audits
from storage.postgres.columns import columns
from storage.postgres.quota import SQL as QUOTA
from storage.postgres.quota import tenant_of
from storage.statements import statements

SQL = statements("keys")


class PostgresKeys:
    """Keys, claims, accounts, the outbox and the audit, in the tables of those names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        async def work(connection: Connection) -> Decision:
            decision = decide(await _snapshot(connection, locks, now_ms))
            await _keep(connection, decision)
            return decision

        return await decide_once(self._database, batch_id, work)

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.resolve, list(hashes)))
        return {row["hash"]: _resolved(row) for row in rows}

    async def resolve_prefix(self, prefix: str) -> Sequence[Resolved]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.resolve_prefix, prefix))
        return [_resolved(row) for row in rows]

    async def live_keys(self, tenant_id: str) -> Sequence[Key]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.live_keys, tenant_id))
        return [_key(row) for row in rows]

    async def keep_uses(self, uses: Mapping[str, int]) -> None:
        key_ids = sorted(uses)
        used = [uses[key_id] for key_id in key_ids]
        await self._database.transact(lambda connection: connection.execute(SQL.keep_uses, key_ids, used))

    async def uses_of(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.uses_of, list(key_ids)))
        return {row["key_id"]: row["used_ms"] for row in rows}

    async def count_administrators(self) -> int:
        return int(await self._database.read(lambda connection: connection.fetchval(SQL.count_administrators)))


async def _snapshot(connection: Connection, locks: LockSet, now_ms: int) -> Snapshot:
    """Lock what is wanted in the order of the contract: claims, accounts, administrators, keys, tenants, each sorted."""
    snapshot = Snapshot()
    if locks.token_hashes:
        for row in await connection.fetch(SQL.lock_claims, list(locks.token_hashes)):
            snapshot.claims[row["token_hash"]] = Claim(**row)
    if locks.emails:
        for row in await connection.fetch(SQL.lock_accounts, list(locks.emails)):
            snapshot.accounts[row["email"]] = Account(**row)
    if locks.membership:
        await connection.execute(SQL.take_turns_with_administrators)
        snapshot.administrator_count = await connection.fetchval(SQL.count_administrators)
    if locks.admin_emails:
        for row in await connection.fetch(SQL.lock_administrators, list(locks.admin_emails)):
            snapshot.administrators[row["email"]] = row["granted_ms"]
    key_ids = {*locks.key_ids, *(claim.key_id for claim in snapshot.claims.values())}
    if key_ids:
        for row in await connection.fetch(SQL.lock_keys, sorted(key_ids)):
            snapshot.keys[row["id"]] = _key(row)
    tenant_ids = {account.tenant_id for account in snapshot.accounts.values()}
    tenant_ids |= {key.tenant_id for key in snapshot.keys.values()}
    if tenant_ids:
        ordered = sorted(tenant_ids)
        for row in await connection.fetch(QUOTA.lock, ordered):
            snapshot.tenants[row["id"]] = tenant_of(row)
        for row in await connection.fetch(SQL.count_live, ordered, now_ms):
            snapshot.live_keys[row["tenant_id"], row["scoped"]] = row["live"]
    return snapshot


async def _keep(connection: Connection, decision: Decision) -> None:
    changed = decision.changed
    # A tenant that takes another in has to exist before the one that points to it.
    tenants = sorted(changed.tenants.values(), key=lambda tenant: tenant.id)
    for group in ([t for t in tenants if t.merged_into is None], [t for t in tenants if t.merged_into is not None]):
        if group:
            await connection.execute(SQL.keep_tenants, *columns(Tenant, group))
    merged = [tenant for tenant in tenants if tenant.merged_into is not None]
    if merged:
        await connection.execute(
            SQL.merge_days, [tenant.id for tenant in merged], [tenant.merged_into for tenant in merged]
        )
    if changed.accounts:
        await connection.execute(SQL.keep_accounts, *columns(Account, changed.accounts.values()))
    if decision.dismissed:
        await connection.execute(SQL.dismiss_administrators, sorted(decision.dismissed))
    if changed.administrators:
        await connection.execute(
            SQL.keep_administrators, list(changed.administrators), list(changed.administrators.values())
        )
    if changed.keys:
        await connection.execute(SQL.keep_keys, *_key_columns(sorted(changed.keys.values(), key=lambda key: key.id)))
    if changed.claims:
        claims = sorted(changed.claims.values(), key=lambda claim: claim.token_hash)
        await connection.execute(SQL.keep_claims, *columns(Claim, claims))
    if decision.outbox:
        await connection.execute(SQL.keep_messages, *columns(OutboxMessage, decision.outbox))
    await keep_audits(connection, decision.audits)
    topics = [f"key:{key_hash.hex()}" for key_hash in decision.touched_keys]
    topics += [f"tenant:{tenant_id}" for tenant_id in decision.touched_tenants]
    if topics:
        await connection.execute(SQL.announce, topics)


def _key_columns(keys: Sequence[Key]) -> list[list[Any]]:
    """As `columns`; scopes travel as one text a key, since arrays of arrays have to be rectangular."""
    return [
        [key.id for key in keys],
        [key.hash for key in keys],
        [key.prefix for key in keys],
        [key.kind for key in keys],
        [key.tenant_id for key in keys],
        [key.created_ms for key in keys],
        [None if key.scopes is None else " ".join(key.scopes) for key in keys],
        [key.name for key in keys],
        [key.expires_ms for key in keys],
        [key.revoked_ms for key in keys],
    ]


def _key(row: Mapping[str, Any]) -> Key:
    scopes = row["scopes"]
    return Key(
        id=row["id"],
        hash=row["hash"],
        prefix=row["prefix"],
        kind=Kind(row["kind"]),
        tenant_id=row["tenant_id"],
        created_ms=row["created_ms"],
        scopes=None if scopes is None else tuple(Scope(scope) for scope in scopes),
        name=row["name"],
        expires_ms=row["expires_ms"],
        revoked_ms=row["revoked_ms"],
    )


def _resolved(row: Mapping[str, Any]) -> Resolved:
    return Resolved(_key(row), Tier(row["tier"]), row["email"], row["admin"])
