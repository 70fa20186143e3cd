"""The device store over Postgres."""

from collections.abc import Mapping
from typing import Any

from actors.devices.messages import Device, FreshKey, Guesses, Status
from actors.devices.state import Decision, LockSet, Snapshot
from actors.devices.store import Decide
from actors.values import Account, BatchId
from storage.journal import decide_once
from storage.pool import Connection, Database
from storage.postgres.audit import keep_audits
from storage.postgres.columns import columns
from storage.postgres.keys import SQL as KEYS
from storage.postgres.quota import SQL as QUOTA
from storage.statements import statements

SQL = statements("devices")


class PostgresDevices:
    """Device logins, guesses, and the keys that come of them, in the tables of those names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        async def work(connection: Connection) -> Decision:
            decision = decide(await _snapshot(connection, locks, now_ms))
            await _keep(connection, decision)
            return decision

        return await decide_once(self._database, batch_id, work)

    async def prune(self, before_ms: int, limit: int) -> int:
        async def work(connection: Connection) -> int:
            return int(await connection.fetchval(SQL.prune, before_ms, limit))

        return await self._database.transact(work)


async def _snapshot(connection: Connection, locks: LockSet, now_ms: int) -> Snapshot:
    """Lock what is wanted in the order of the contract: devices, accounts, sessions, tenants, each sorted."""
    snapshot = Snapshot()
    for row in await connection.fetch(SQL.lock_devices, list(locks.code_hashes), list(locks.user_codes)):
        snapshot.devices[row["id"]] = _device(row)
    approved = (device for device in snapshot.devices.values() if device.status is Status.APPROVED)
    emails = {*locks.emails, *(device.email for device in approved)}
    if emails:
        for row in await connection.fetch(KEYS.lock_accounts, sorted(filter(None, emails))):
            snapshot.accounts[row["email"]] = Account(**row)
    if locks.session_ids:
        for row in await connection.fetch(SQL.lock_sessions, list(locks.session_ids)):
            snapshot.guesses[row["id"]] = Guesses(row["id"])
        for row in await connection.fetch(SQL.guesses, list(snapshot.guesses)):
            snapshot.guesses[row["session_id"]] = Guesses(**row)
    if snapshot.accounts:
        tenant_ids = sorted(account.tenant_id for account in snapshot.accounts.values())
        await connection.fetch(QUOTA.lock, tenant_ids)
        for row in await connection.fetch(KEYS.count_live, tenant_ids, now_ms):
            if not row["scoped"]:
                snapshot.live_keys[row["tenant_id"]] = row["live"]
    return snapshot


async def _keep(connection: Connection, decision: Decision) -> None:
    changed = decision.changed
    if decision.keys:
        await connection.execute(SQL.keep_keys, *columns(FreshKey, decision.keys))
    if changed.devices:
        await connection.execute(SQL.keep_devices, *columns(Device, changed.devices.values()))
    if changed.guesses:
        await connection.execute(SQL.keep_guesses, *columns(Guesses, changed.guesses.values()))
    await keep_audits(connection, decision.audits)


def _device(row: Mapping[str, Any]) -> Device:
    return Device(**{**row, "status": Status(row["status"])})
