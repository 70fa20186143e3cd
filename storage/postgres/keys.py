"""The key store over Postgres."""

from collections.abc import Mapping, Sequence

from actors.keys.authorizations import Authorization
from actors.keys.messages import MAX_SIBLINGS, Claim, Key, Resolved
from actors.keys.state import Decision, LockSet, Snapshot
from actors.keys.store import ENDED_LISTED, Decide
from actors.times import CLOCKS_DIFFER_MS, DAY_MS, day_of
from actors.values import Account, BatchId, Tenant, Tier
from storage.connection.pool import Connection, Row, Store
from storage.postgres.ledger import SQL as LEDGER
from storage.postgres.mail import lock_code_mails, save_code_mails
from storage.postgres.quota import SQL as QUOTA
from storage.rows.columns import arrays, record_of, records_of, sliced, write
from storage.rows.journal import decide_once
from storage.rows.statements import statements
from storage.rows.tables import ACCEPTED_TERMS, ACCOUNTS, AUDIT, AUTHORIZATIONS, CLAIMS, KEYS, OUTBOX, TENANTS

SQL = statements("keys")


class PostgresKeys(Store):
    """Keys, claims, accounts, the outbox and the audit, in their tables."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, lock_set, now_ms), decide, _write
        )

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        rows = await self._database.fetch(SQL.resolve, list(hashes), MAX_SIBLINGS)
        return {row["hash"]: _resolved(row) for row in rows}

    async def resolve_prefix(self, prefix: str) -> Sequence[Resolved]:
        return [_resolved(row) for row in await self._database.fetch(SQL.resolve_prefix, prefix)]

    async def live_keys(self, tenant_id: str, now_ms: int) -> Sequence[Key]:
        async def work(connection: Connection) -> list[Key]:
            return await records_of(Key, await connection.fetch(SQL.live_keys, tenant_id, now_ms, ENDED_LISTED))

        return await self._database.read(work)

    async def ending_keys(self, now_ms: int, limit: int) -> Sequence[tuple[str, str]]:
        return [(row["id"], row["email"]) for row in await self._database.fetch(SQL.ending_keys, now_ms, limit)]

    async def is_client_in_use(self, client_hash: bytes, since_ms: int) -> bool:
        return bool(await self._database.fetchval(SQL.is_client_in_use, client_hash, since_ms))

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        key_ids = sorted(uses)
        used = [uses[key_id] for key_id in key_ids]
        await self._database.transact(lambda connection: connection.execute(SQL.save_uses, key_ids, used))

    async def uses_of(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        return {row["key_id"]: row["used_ms"] for row in await self._database.fetch(SQL.uses_of, list(key_ids))}

    async def count_administrators(self) -> int:
        return int(await self._database.fetchval(SQL.count_administrators))


async def _snapshot(connection: Connection, lock_set: LockSet, now_ms: int) -> Snapshot:
    """Lock in the order of the contract: authorizations, claims, code mails, accounts, sessions, administrators, keys,
    tenants, each sorted."""
    snapshot = Snapshot()
    lock_set = await _lock_authorizations(connection, lock_set, snapshot)
    if lock_set.token_hashes:
        for row in await connection.fetch(SQL.lock_claims, list(lock_set.token_hashes)):
            snapshot.claims[row["token_hash"]] = Claim(**row)
    snapshot.letters = await lock_code_mails(connection, lock_set.code_mail_ids)
    if lock_set.emails:
        for row in await connection.fetch(SQL.lock_accounts, list(lock_set.emails)):
            snapshot.accounts[row["email"]] = Account(**row)
    if lock_set.session_ids:
        live = await connection.fetch(SQL.lock_sessions, list(lock_set.session_ids), now_ms)
        snapshot.live_sessions = frozenset(row["id"] for row in live)
    if lock_set.claimants:
        guarded = await connection.fetch(SQL.guarded, list(lock_set.claimants))
        snapshot.guarded = frozenset(row["email"] for row in guarded)
    if lock_set.membership:
        await connection.execute(SQL.lock_membership)
        snapshot.administrator_count = await connection.fetchval(SQL.count_administrators)
    if lock_set.admin_emails:
        for row in await connection.fetch(SQL.lock_administrators, list(lock_set.admin_emails)):
            snapshot.administrators[row["email"]] = row["granted_ms"]
    if lock_set.code_emails:
        for row in await connection.fetch(SQL.open_codes, list(lock_set.code_emails), now_ms):
            snapshot.open_codes[row["email"]] = row["opened"]
    await _lock_keys(connection, lock_set, snapshot, now_ms)
    if lock_set.hashes:
        # Read after the keys are locked: a claim that moved one of them to an account is seen, and others wait.
        found = sorted(
            {snapshot.keys[key_id].tenant_id for key_id in snapshot.hashes.values() if key_id in snapshot.keys}
        )
        rows = await connection.fetch(SQL.owners, found)
        snapshot.owners = {row["tenant_id"]: row["email"] for row in rows}
    tenant_ids = {account.tenant_id for account in snapshot.accounts.values()}
    tenant_ids |= {key.tenant_id for key in snapshot.keys.values()}
    if tenant_ids:
        ordered = sorted(tenant_ids)
        for row in await connection.fetch(QUOTA.lock, ordered):
            snapshot.tenants[row["id"]] = record_of(Tenant, row)
        for row in await connection.fetch(SQL.count_live, ordered, now_ms, day_of(now_ms) * DAY_MS):
            place = (row["tenant_id"], row["scoped"])
            snapshot.live_keys[place], snapshot.keys_in_grace[place] = row["live"], row["in_grace"]
            if not row["scoped"]:
                snapshot.made_today[row["tenant_id"]] = row["made"]
    return snapshot


async def _lock_authorizations(connection: Connection, lock_set: LockSet, snapshot: Snapshot) -> LockSet:
    """Lock authorizations. Returns the set with what they lead to."""
    hashes, key_ids = (lock_set.code_hashes, lock_set.refresh_hashes), lock_set.authorized_keys
    places = [list(each) for each in (*hashes, key_ids, lock_set.authorization_ids)]
    if not any(places):
        return lock_set
    found = [record_of(Authorization, row) for row in await connection.fetch(SQL.lock_authorizations, *places)]
    snapshot.authorizations = {each.id: each for each in found}
    return lock_set.following(found)


async def _lock_keys(connection: Connection, lock_set: LockSet, snapshot: Snapshot, now_ms: int) -> None:
    """Lock the named keys, those of claims, those with hashes, and the live keys of owners and of the tenants of families and
    hashes, sorted. Repeated while it finds more, because a key that was made while it waited was not found."""
    if lock_set.hashes:
        rows = await connection.fetch(SQL.ids_of_hashes, list(lock_set.hashes))
        snapshot.hashes = {row["hash"]: row["id"] for row in rows}
    families = [*lock_set.families, *snapshot.hashes.values()]
    wanted = {*lock_set.key_ids, *families, *(claim.key_id for claim in snapshot.claims.values())}
    owners = [snapshot.accounts[email].tenant_id for email in lock_set.owners if email in snapshot.accounts]
    searching = bool(owners or families)
    while wanted or searching:
        if searching:
            rows = await connection.fetch(SQL.live_ids, owners, families, now_ms, now_ms - CLOCKS_DIFFER_MS)
            wanted |= {row["id"] for row in rows} - snapshot.keys.keys()
            searching = bool(wanted)
        if wanted:
            for key_ids in sliced(sorted(wanted)):
                rows = await connection.fetch(SQL.lock_keys, key_ids)
                snapshot.keys.update((row["id"], record_of(Key, row)) for row in rows)
        wanted = set()


async def _write(connection: Connection, before: Snapshot, decision: Decision) -> None:
    changed = decision.changed
    await _write_tenants(connection, sorted(changed.tenants.values(), key=lambda tenant: tenant.id))
    await ACCOUNTS.insert(connection, changed.accounts.values())
    await ACCOUNTS.update(connection, decision.suspensions.values())
    await ACCEPTED_TERMS.save(connection, decision.terms)
    if decision.dismissed:
        await connection.execute(SQL.delete_administrators, sorted(decision.dismissed))
    admins = changed.administrators
    await write(connection, SQL.insert_administrators, [list(admins), list(admins.values())])
    await KEYS.save(connection, changed.keys.values())
    await CLAIMS.save(connection, changed.claims.values())
    await AUTHORIZATIONS.save(connection, changed.authorizations.values())
    await save_code_mails(connection, before.letters, changed.letters)
    await OUTBOX.insert(connection, decision.outbox)
    await AUDIT.insert(connection, decision.audits)
    topics = [f"key:{key_hash.hex()}" for key_hash in decision.touched_keys]
    topics += [f"tenant:{tenant_id}" for tenant_id in decision.touched_tenants]
    for some in sliced(topics):
        await connection.execute(SQL.announce, some)
    if decision.suspensions:
        suspended = [each.tenant_id for each in decision.suspensions.values() if each.suspended_ms is not None]
        await connection.execute(SQL.end_shared_reports, suspended)
        await connection.execute(LEDGER.advance)


async def _write_tenants(connection: Connection, tenants: Sequence[Tenant]) -> None:
    """Write tenants before those that are merged into them, because of the foreign key."""
    merged = [tenant for tenant in tenants if tenant.merged_into is not None]
    for group in ([tenant for tenant in tenants if tenant.merged_into is None], merged):
        await TENANTS.save(connection, group)
    for statement in (SQL.merge_days, SQL.merge_key_days):
        await write(connection, statement, arrays(("id", "merged_into"), merged))


def _resolved(row: Row) -> Resolved:
    facts = Tier(row["tier"]), row["email"], row["administers"], row["suspended"], tuple(row["siblings"])
    return Resolved(record_of(Key, row), *facts)
