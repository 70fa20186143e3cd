"""The device store in memory."""

from actors.devices.messages import WITH_KEY, FreshKey, Guesses, Status
from actors.devices.state import Decision, LockSet, Snapshot
from actors.devices.store import Decide
from actors.keys.messages import Key
from actors.shared.credentials import Kind
from actors.values import BatchId, Contended
from tests.doubles.keys import live_keys, made_today
from tests.doubles.tables import MemoryStore, picked


class MemoryDevices(MemoryStore):
    """Device logins, wrong guesses, and the keys issued to devices."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await self._memory.decide_once(batch_id, lambda: self._snapshot(lock_set, now_ms), decide, self._write)

    def _snapshot(self, lock_set: LockSet, now_ms: int) -> Snapshot:
        tables = self._memory
        devices = {
            device.id: device
            for device in tables.devices.values()
            if device.code_hash in lock_set.code_hashes
            or device.user_code in lock_set.user_codes
            or (device.status is Status.APPROVED and device.email in lock_set.approved_of)
        }
        approved = (device.email for device in devices.values() if device.status in WITH_KEY)
        emails = {*lock_set.emails, *approved}
        accounts = picked(tables.accounts, filter(None, emails))
        guesses = {
            session_id: tables.device_guesses.get(session_id) or Guesses(session_id)
            for session_id in lock_set.session_ids
            if session_id in tables.sessions
        }
        tenant_ids = {account.tenant_id for account in accounts.values()}
        live = live_keys(tables, tenant_ids, now_ms)
        full = {tenant_id: count for (tenant_id, scoped), count in live.items() if not scoped}
        return Snapshot(devices, guesses, accounts, full, made_today(tables, tenant_ids, now_ms))

    def _write(self, decision: Decision) -> None:
        tables, changed = self._memory, decision.changed
        taken = {device.user_code: device.id for device in tables.devices.values()}
        if any(taken.get(device.user_code, device.id) != device.id for device in changed.devices.values()):
            raise Contended("another device has this user code")
        tables.keys.update((key.id, _full_key(key)) for key in decision.keys)
        tables.devices.update(changed.devices)
        tables.device_guesses.update(changed.guesses)
        tables.messages.update((message.id, message) for message in decision.outbox)
        tables.audits.extend(decision.audits)


def _full_key(key: FreshKey) -> Key:
    return Key(key.id, key.hash, key.prefix, Kind.USER, key.tenant_id, key.created_ms, name=key.name, admin=key.admin)
