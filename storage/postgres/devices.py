"""The device store over Postgres."""

from actors.devices.messages import WITH_KEY, Device, Guesses
from actors.devices.state import Decision, LockSet, Snapshot
from actors.devices.store import Decide
from actors.times import DAY_MS, day_of
from actors.values import Account, BatchId
from storage.connection.pool import Connection, Store
from storage.postgres.keys import SQL as KEYS
from storage.postgres.quota import SQL as QUOTA
from storage.rows.columns import record_of
from storage.rows.journal import decide_once
from storage.rows.statements import statements
from storage.rows.tables import AUDIT, DEVICES, FRESH_KEYS, GUESSES, OUTBOX

SQL = statements("devices")


class PostgresDevices(Store):
    """Device logins, wrong guesses, and the keys issued to devices, in their tables."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, lock_set, now_ms), decide, _write
        )


async def _snapshot(connection: Connection, lock_set: LockSet, now_ms: int) -> Snapshot:
    """Lock in the order of the contract: devices, accounts, sessions, tenants, each sorted."""
    snapshot = Snapshot()
    for row in await connection.fetch(
        SQL.lock_devices, *map(list, (lock_set.code_hashes, lock_set.user_codes, lock_set.approved_of))
    ):
        snapshot.devices[row["id"]] = record_of(Device, row)
    approved = (device for device in snapshot.devices.values() if device.status in WITH_KEY)
    emails = {*lock_set.emails, *(device.email for device in approved)}
    if emails:
        for row in await connection.fetch(KEYS.lock_accounts, sorted(filter(None, emails))):
            snapshot.accounts[row["email"]] = Account(**row)
    if lock_set.session_ids:
        for row in await connection.fetch(SQL.lock_sessions, list(lock_set.session_ids)):
            snapshot.guesses[row["id"]] = Guesses(row["id"])
        for row in await connection.fetch(SQL.guesses, list(snapshot.guesses)):
            snapshot.guesses[row["session_id"]] = Guesses(**row)
    if snapshot.accounts:
        tenant_ids = sorted(account.tenant_id for account in snapshot.accounts.values())
        await connection.fetch(QUOTA.lock, tenant_ids)
        for row in await connection.fetch(KEYS.count_live, tenant_ids, now_ms, day_of(now_ms) * DAY_MS):
            if not row["scoped"]:
                snapshot.live_keys[row["tenant_id"]] = row["live"]
                snapshot.made_today[row["tenant_id"]] = row["made"]
    return snapshot


async def _write(connection: Connection, before: Snapshot, decision: Decision) -> None:
    changed = decision.changed
    await FRESH_KEYS.insert(connection, decision.keys)
    await DEVICES.save(connection, changed.devices.values())
    await GUESSES.save(connection, changed.guesses.values())
    await OUTBOX.insert(connection, decision.outbox)
    await AUDIT.insert(connection, decision.audits)
