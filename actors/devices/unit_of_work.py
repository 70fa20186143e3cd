"""The locked rows of a batch, overlaid with the changes of the batch. Pure."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace

from actors.devices.messages import OPEN, Answer, Decide, Device, FreshKey, Guesses, Poll, Status
from actors.times import MINUTE_MS
from actors.values import Account, Agent, AuditRecord, OutboxMessage


@dataclass(frozen=True, slots=True)
class DeviceRules:
    """Limits of device logins; times in milliseconds unless the name says otherwise."""

    life_ms: int = 15 * MINUTE_MS
    interval_seconds: int = 5
    wrong_codes: int = 5
    lock_ms: int = 15 * MINUTE_MS
    repeat_ms: int = 2 * MINUTE_MS
    full_keys_per_account: int = 10
    keys_per_day: int = 200


@dataclass(slots=True)
class Snapshot:
    """The locked rows of a batch. The same class holds the changes of a decision.

    `guesses` has every session asked for that exists, also without guesses. `accounts` are those of the emails asked
    for and of devices that were approved. By tenant, `live_keys` counts full keys, and `made_today` all keys that were made
    since 00:00 UTC; both count approved devices without their key, too.
    """

    devices: dict[str, Device] = field(default_factory=dict)
    guesses: dict[str, Guesses] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    live_keys: dict[str, int] = field(default_factory=dict)
    made_today: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order."""

    changed: Snapshot = field(default_factory=Snapshot)
    keys: list[FreshKey] = field(default_factory=list)
    outbox: list[OutboxMessage] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


class UnitOfWork:
    """Reads see the changes of earlier messages of the batch; writes go into `decision`."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: DeviceRules) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._rules = rules
        self._by_hash = {device.code_hash: device.id for device in snapshot.devices.values()}
        self._by_user_code = {device.user_code: device.id for device in snapshot.devices.values()}
        self._live_keys = Counter(snapshot.live_keys)
        self._made_today = Counter(snapshot.made_today)
        self.decision = Decision()

    def _guesses(self, session_id: str) -> Guesses | None:
        return self.decision.changed.guesses.get(session_id) or self._snapshot.guesses.get(session_id)

    def _as_of_now(self, device_id: str) -> Device:
        """The device as of now. An overdue one is stored as expired, for nodes whose clocks are behind."""
        device = self.decision.changed.devices.get(device_id) or self._snapshot.devices[device_id]
        if device.status in OPEN and device.expires_ms <= self._now_ms:
            # An overdue approved device counts no more.
            return self._save(replace(device, status=Status.EXPIRED))
        return device

    def _expire(self, device: Device) -> None:
        account = self._snapshot.accounts[device.email or ""]
        self._live_keys[account.tenant_id] -= 1
        self._made_today[account.tenant_id] -= 1
        self._save(replace(device, status=Status.EXPIRED))

    def _save(self, device: Device) -> Device:
        self.decision.changed.devices[device.id] = device
        return device

    def _audit(
        self, message: Poll | Decide, device: Device, action: str, target: tuple[str, str], changes: dict[str, str]
    ) -> None:
        """Record a change in the name of the session that decided, including the key that follows from it."""
        assert device.session_id is not None, "nobody has decided"
        agent = Agent("session", device.session_id, device.email)
        record_id, facts = message.audit_id, json.dumps(changes)
        record = AuditRecord.by(agent, record_id, self._now_ms, action, target, message.request_id, facts)
        self.decision.audits.append(record)
