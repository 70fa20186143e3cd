"""The rules of device logins. Pure; source: RFC 8628, ADR 0009.

Takes a snapshot of locked rows and messages, returns changes and answers. Later messages of a batch see the changes of
earlier ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actors.devices.messages import (
    Answer,
    ApprovedEnded,
    Decide,
    Device,
    DeviceView,
    EndApproved,
    Guesses,
    Message,
    Poll,
    Redeemed,
    Start,
    Status,
    ViewDevice,
)
from actors.devices.unit_of_work import Decision, DeviceRules, Snapshot, UnitOfWork
from actors.shared.notices import Ending, with_facts
from actors.shared.records import too_many_today
from actors.times import SECOND_MS
from actors.values import Code, Refused, session_ended

__all__ = ["Decision", "DeviceRules", "LockSet", "Snapshot", "decide", "rows_to_lock", "unknown_code"]

EARLY_MS = SECOND_MS // 2
"""Tolerance for early polls, because timers and networks are not exact."""

SLOWER_SECONDS, SLOWEST_SECONDS = 5, 60
NAME_LENGTH = 64


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch needs. The store follows devices and emails to accounts, and these to tenants. `approved_of`
    are emails whose approved devices are locked."""

    code_hashes: tuple[bytes, ...] = ()
    user_codes: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    approved_of: tuple[str, ...] = ()


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    rows: defaultdict[str, set[Any]] = defaultdict(set)
    for message in messages:
        match message:
            case Start(user_codes=several):
                rows["user_codes"].update(several)
            case Poll(code_hash=code_hash):
                rows["code_hashes"].add(code_hash)
            case ViewDevice(user_code=user_code, session_id=session_id):
                rows["user_codes"].add(user_code)
                rows["session_ids"].add(session_id)
            case Decide(user_code=user_code, session_id=session_id, email=email):
                rows["user_codes"].add(user_code)
                rows["session_ids"].add(session_id)
                rows["emails"].add(email)
            case EndApproved(email=email):
                rows["approved_of"].add(email)
    return LockSet(**{name: tuple(sorted(ids)) for name, ids in rows.items()})


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: DeviceRules) -> Decision:
    """Answer `messages` in order against `snapshot`, whose rows are locked until the decision is committed."""
    batch = _Batch(snapshot, now_ms, rules)
    for message in messages:
        batch.decision.answers.append(batch.handle(message))
    return batch.decision


class _Batch(UnitOfWork):
    """Answers the messages of one batch."""

    def handle(self, message: Message) -> Answer:
        match message:
            case Start():
                return self._start(message)
            case Poll():
                return self._poll(message)
            case ViewDevice():
                found = self._guessed(message)
                return found if isinstance(found, Refused) else DeviceView(found)
            case Decide():
                found = self._guessed(message)
                return found if isinstance(found, Refused) else self._decide(message, found)
            case EndApproved():
                return self._end_approved(message)

    # Requests of the program.

    def _start(self, start: Start) -> Answer:
        free = next((code for code in start.user_codes if code not in self._by_user_code), None)
        if free is None:
            return Refused(Code.SERVICE_UNAVAILABLE, "No user code is available. Try again in a moment.", 1)
        device = replace(start.device, user_code=free)
        self._by_hash[device.code_hash] = self._by_user_code[free] = device.id
        return DeviceView(self._save(device))

    def _poll(self, poll: Poll) -> Answer:
        device_id = self._by_hash.get(poll.code_hash)
        device = None if device_id is None else self._as_of_now(device_id)
        if device is None:
            return unknown_code()
        match device.status:
            case Status.REDEEMED:
                return self._redeemed_before(device, poll)
            case Status.DENIED:
                return Refused(Code.ACCESS_DENIED, "The person denied the request.")
            case Status.EXPIRED:
                return _expired()
            case Status.APPROVED:
                return self._redeem(device, poll)
            case Status.PENDING:
                return self._wait(device)

    def _wait(self, device: Device) -> Refused:
        """Still pending. The pace is measured from the last poll that was not early."""
        waited_ms = None if device.polled_ms is None else self._now_ms - device.polled_ms
        # A last poll in the future came through a node whose clock is ahead; whether this one is early is unknown.
        if waited_ms is not None and 0 <= waited_ms < device.interval_seconds * SECOND_MS - EARLY_MS:
            slower = max(device.interval_seconds, min(SLOWEST_SECONDS, device.interval_seconds + SLOWER_SECONDS))
            self._save(replace(device, interval_seconds=slower))
            return Refused(Code.SLOW_DOWN, f"Polling too fast. Wait {slower} s between polls.", interval_seconds=slower)
        self._save(replace(device, polled_ms=self._now_ms))
        return Refused(Code.AUTHORIZATION_PENDING, "Not approved yet. Keep polling.")

    def _redeem(self, device: Device, poll: Poll) -> Answer:
        account = self._snapshot.accounts[device.email or ""]
        if self._live_keys[account.tenant_id] > self._rules.full_keys_per_account:
            # A node whose clock is ahead saw it expire, and another key has taken its place.
            self._expire(device)
            return _expired()
        name = device.agent[:NAME_LENGTH].strip() or None
        key = replace(poll.key, tenant_id=account.tenant_id, name=name, admin=device.admin)
        self._save(replace(device, status=Status.REDEEMED, key_id=key.id, polled_ms=self._now_ms))
        self.decision.keys.append(key)
        self._audit(poll, device, "key.issued", ("key", key.id), {"deviceId": device.id})
        how = "You approved it for a device, on the page that asks for a code."
        told = with_facts(poll.notice, Ending.KEY, key.id, key.prefix, how=how)
        self.decision.outbox += [replace(message, recipient=account.email) for message in told]
        return Redeemed(key)

    def _redeemed_before(self, device: Device, poll: Poll) -> Answer:
        """The same key again, because the answer may have been lost: for `repeat_ms` after the poll that created it. Another
        server secret derives another key, which is none."""
        account = self._snapshot.accounts.get(device.email or "")
        over_ms = (device.polled_ms or 0) + self._rules.repeat_ms
        if account is None or device.key_id != poll.key.id or self._now_ms >= over_ms:
            return unknown_code()
        return Redeemed(replace(poll.key, tenant_id=account.tenant_id))

    # Requests of the person.

    def _guessed(self, message: ViewDevice | Decide) -> Device | Refused:
        """The device with a user code. A wrong code is charged to the session in the transaction that compares it."""
        guesses = self._guesses(message.session_id)
        if guesses is None:
            return session_ended()
        if self._now_ms < guesses.locked_until_ms:
            return _locked(guesses.locked_until_ms - self._now_ms)
        device_id = self._by_user_code.get(message.user_code)
        if device_id is None:
            self._charge(guesses)
            return Refused(Code.INVALID_CODE, "No device is showing this code. Check the code on the device.")
        return self._as_of_now(device_id)

    def _charge(self, guesses: Guesses) -> None:
        wrong = guesses.wrong + 1
        if wrong < self._rules.wrong_codes:
            charged = Guesses(guesses.session_id, wrong)
        else:
            charged = Guesses(guesses.session_id, 0, self._now_ms + self._rules.lock_ms)
        self.decision.changed.guesses[guesses.session_id] = charged

    def _forgive(self, session_id: str) -> None:
        """Reset the count after a decision. Only a decision resets it, because a login can be decided once: looking at
        one's own login between guesses must not help."""
        fresh = Guesses(session_id)
        if self._guesses(session_id) != fresh:
            self.decision.changed.guesses[session_id] = fresh

    def _decide(self, decide: Decide, device: Device) -> Answer:
        if device.status is Status.EXPIRED:
            return _expired()
        if device.status is not Status.PENDING:
            return self._decided_before(decide, device)
        account = self._snapshot.accounts[decide.email]
        if decide.approve and account.suspended_ms is not None:
            return Refused(Code.FORBIDDEN, "This account is suspended, so it approves no devices.")
        if decide.approve:
            most = self._rules.full_keys_per_account
            if self._live_keys[account.tenant_id] >= most:
                return Refused(
                    Code.KEY_LIMIT, f"This account has {most} live full keys, the maximum. Revoke one first."
                )
            made = self._made_today[account.tenant_id]
            if refused := too_many_today(made, self._rules.keys_per_day, self._now_ms):
                return refused
            self._live_keys[account.tenant_id] += 1
            self._made_today[account.tenant_id] += 1
        device = self._save(
            replace(
                device,
                status=Status.APPROVED if decide.approve else Status.DENIED,
                email=decide.email,
                session_id=decide.session_id,
                decided_ms=self._now_ms,
                admin=decide.approve and decide.admin,
            )
        )
        self._forgive(decide.session_id)
        changes = {"agent": device.agent} | ({"admin": "true"} if device.admin else {})
        self._audit(decide, device, f"device.{device.status}", ("device", device.id), changes)
        return DeviceView(device)

    def _decided_before(self, decide: Decide, device: Device) -> Answer:
        """Repeating a decision changes nothing. A different one, or another account's, is refused."""
        approved = device.status is not Status.DENIED
        if device.email == decide.email and approved == decide.approve:
            return DeviceView(device)
        return Refused(Code.INVALID_STATE, f"This request was already {'approved' if approved else 'denied'}.")

    def _end_approved(self, order: EndApproved) -> ApprovedEnded:
        devices = self._snapshot.devices | self.decision.changed.devices
        approved = [each for each in devices.values() if each.email == order.email and each.status is Status.APPROVED]
        ended = [device for each in approved if (device := self._as_of_now(each.id)).status is Status.APPROVED]
        for device in ended:
            self._expire(device)
        return ApprovedEnded(len(ended))


def unknown_code() -> Refused:
    """For a device code that does not exist, or whose key was already returned."""
    return Refused(Code.INVALID_CODE, "The device code is unknown or has already been used.")


def _expired() -> Refused:
    return Refused(Code.EXPIRED_TOKEN, "The code has expired. Start again on the device.")


def _locked(wait_ms: int) -> Refused:
    seconds = -(-wait_ms // SECOND_MS)
    minutes = -(-seconds // 60)
    words = "a minute" if minutes == 1 else f"{minutes} minutes"
    return Refused(Code.RATE_LIMITED, f"Too many wrong codes. Try again in {words}.", seconds)
