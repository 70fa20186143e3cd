"""The device store in memory."""

from actors.credentials import Kind
from actors.devices.messages import FreshKey, Guesses, Status
from actors.devices.state import Decision, LockSet, Snapshot
from actors.devices.store import Decide
from actors.keys.messages import Key
from actors.values import BatchId, Contended
from storage.memory.keys import live_keys
from storage.memory.tables import Memory


class MemoryDevices:
    """Device logins, guesses, and the keys that come of them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        def work() -> Decision:
            decision = decide(self._snapshot(locks, now_ms))
            self._keep(decision)
            return decision

        return await self._memory.transact(batch_id, work)

    async def prune(self, before_ms: int, limit: int) -> int:
        await self._memory.before()
        devices = self._memory.devices
        ended = sorted((device.expires_ms, device.id) for device in devices.values() if device.expires_ms < before_ms)
        for _, device_id in ended[:limit]:
            del devices[device_id]
        return len(ended[:limit])

    def _snapshot(self, locks: LockSet, now_ms: int) -> Snapshot:
        tables = self._memory
        devices = {
            device.id: device
            for device in tables.devices.values()
            if device.code_hash in locks.code_hashes or device.user_code in locks.user_codes
        }
        approved = (device.email for device in devices.values() if device.status is Status.APPROVED)
        emails = {*locks.emails, *approved}
        accounts = {email: account for email, account in tables.accounts.items() if email in emails}
        guesses = {
            session_id: tables.device_guesses.get(session_id) or Guesses(session_id)
            for session_id in locks.session_ids
            if session_id in tables.sessions
        }
        live = live_keys(tables, {account.tenant_id for account in accounts.values()}, now_ms)
        full = {tenant_id: count for (tenant_id, scoped), count in live.items() if not scoped}
        return Snapshot(devices, guesses, accounts, full)

    def _keep(self, decision: Decision) -> None:
        tables, changed = self._memory, decision.changed
        taken = {device.user_code: device.id for device in tables.devices.values()}
        if any(taken.get(device.user_code, device.id) != device.id for device in changed.devices.values()):
            raise Contended("another device has this user code")
        tables.keys.update((key.id, _full_key(key)) for key in decision.keys)
        tables.devices.update(changed.devices)
        tables.device_guesses.update(changed.guesses)
        tables.audits.extend(decision.audits)


def _full_key(key: FreshKey) -> Key:
    return Key(key.id, key.hash, key.prefix, Kind.USER, key.tenant_id, key.created_ms, name=key.name)
