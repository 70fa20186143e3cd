"""Bugs to plant in device logins, one at a time."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import trio

from actors.clock import SECOND_MS
from actors.devices import state
from actors.devices.messages import OPEN, Decide, Device, DeviceView, Guesses, Poll, Status, ViewDevice
from actors.devices.state import Decision, LockSet
from actors.devices.store import Decide as Deciding
from actors.values import BatchId, Contended, OutcomeUnknown, Refused, StorageUnavailable
from tests.doubles import devices as device_tables
from tests.doubles.keys import live_keys
from tests.simulation.faults import Link, SimulatedBug
from tests.simulation.planting import Bug, Plant, replaced, swapped
from tests.simulation.reception import LinkedDevices
from tests.simulation.rules import Scene

_Batch: Any = state._Batch
_wait, _keep, _as_of_now, _guessed = _Batch._wait, _Batch._save, _Batch._as_of_now, _Batch._guessed
_redeem, _decide, _charge, _audit = _Batch._redeem, _Batch._decide, _Batch._charge, _Batch._audit
_live_keys, _locked = live_keys, state._locked


# The pace.


def _held_against_all(unit: Any, device: Device) -> Refused:
    """Count early polls, too, so that a device that is slowed down once is slowed down for ever."""
    refused: Refused = _wait(unit, device)
    kept = unit.decision.changed.devices[device.id]
    unit._keep(replace(kept, polled_ms=unit._now_ms))
    return refused


def _afresh_each_time(unit: Any, device: Device) -> Refused:
    """Report the raised interval without storing it."""
    refused: Refused = _wait(unit, device)
    kept = unit.decision.changed.devices[device.id]
    unit._keep(replace(kept, interval_seconds=1))
    return refused


def _first_is_early(unit: Any, device: Device) -> Refused:
    polled_ms = device.created_ms if device.polled_ms is None else device.polled_ms
    refused: Refused = _wait(unit, replace(device, polled_ms=polled_ms))
    return refused


def _redeemed_on_time(unit: Any, device: Device, poll: Poll) -> Any:
    """Make an approved login wait for its interval as well."""
    if device.polled_ms is not None and unit._now_ms - device.polled_ms < 1_000:
        return _wait(unit, device)
    return _redeem(unit, device, poll)


# Approval, denial, expiry.


def _not_redeemed(unit: Any, device: Device) -> Device:
    kept = replace(device, status=Status.APPROVED) if device.status is Status.REDEEMED else device
    _keep(unit, kept)
    return device


def _approval_forgotten(unit: Any, device: Device) -> Device:
    if device.status is not Status.APPROVED:
        _keep(unit, device)
    return device


def _denied_is_pending(unit: Any, device_id: str) -> Device:
    device: Device = _as_of_now(unit, device_id)
    return replace(device, status=Status.PENDING) if device.status is Status.DENIED else device


def _never_expires(unit: Any, device_id: str) -> Device:
    device: Device = unit.decision.changed.devices.get(device_id) or unit._snapshot.devices[device_id]
    return device


def _approved_lives_on(unit: Any, device_id: str) -> Device:
    device = _never_expires(unit, device_id)
    return device if device.status is Status.APPROVED else _as_of_now(unit, device_id)


def _expiry_unwritten(unit: Any, device_id: str) -> Device:
    """Let each node decide expiry by its own clock."""
    device = _never_expires(unit, device_id)
    if device.status in OPEN and device.expires_ms <= unit._now_ms:
        return replace(device, status=Status.EXPIRED)
    return device


def _anybody_repeats(unit: Any, decide: Decide, device: Device) -> Any:
    return DeviceView(device)


def _last_word(unit: Any, decide: Decide, device: Device) -> Any:
    if device.status in (Status.APPROVED, Status.DENIED):
        device = replace(device, status=Status.PENDING)
    return _decide(unit, decide, device)


def _keys_alone(tables: Any, tenant_ids: Any, now_ms: int) -> Any:
    """Ignore approved devices that have not fetched their key yet."""
    waiting, tables.devices = tables.devices, {}
    try:
        return _live_keys(tables, tenant_ids, now_ms)
    finally:
        tables.devices = waiting


def _cap_forgotten(unit: Any, decide: Decide, device: Device) -> Any:
    unit._live_keys.clear()
    return _decide(unit, decide, device)


def _redeem_uncapped(unit: Any, device: Device, poll: Poll) -> Any:
    unit._live_keys.clear()
    return _redeem(unit, device, poll)


def _unrecorded(unit: Any, message: Any, device: Device, action: str, *rest: Any) -> None:
    """Leave the issued key out of the audit."""
    if action != "key.issued":
        _audit(unit, message, device, action, *rest)


# The lock.


def _forgiven_by_looking(unit: Any, message: ViewDevice | Decide) -> Any:
    found = _guessed(unit, message)
    if isinstance(found, Device):
        unit._forgive(message.session_id)
    return found


def _never_locked(unit: Any, guesses: Guesses) -> None:
    _charge(unit, guesses)
    kept = unit.decision.changed.guesses[guesses.session_id]
    unit.decision.changed.guesses[guesses.session_id] = replace(kept, locked_until_ms=0)


def _locked_for_ever(unit: Any, guesses: Guesses) -> None:
    """Lock after any wrong code."""
    _charge(unit, guesses)
    kept = unit.decision.changed.guesses[guesses.session_id]
    unit.decision.changed.guesses[guesses.session_id] = replace(kept, locked_until_ms=unit._now_ms + 2_500)


def _told_too_early(wait_ms: int) -> Refused:
    return _locked(wait_ms - SECOND_MS)


def _right_codes_pass(unit: Any, message: ViewDevice | Decide) -> Any:
    device_id = unit._by_user_code.get(message.user_code)
    return _guessed(unit, message) if device_id is None else unit._as_of_now(device_id)


def _guesses_before_the_batch(unit: Any, session_id: str) -> Guesses | None:
    found: Guesses | None = unit._snapshot.guesses.get(session_id)
    return found


def _never_forgiven(unit: Any, session_id: str) -> None:
    pass


class _GuessesOfRefused(LinkedDevices):
    """Rolls back the charged guesses when every message is refused."""

    def _write(self, decision: Decision) -> None:
        if all(isinstance(answer, Refused) for answer in decision.answers):
            decision.changed.guesses.clear()
        super()._write(decision)


# The store.


class _Unlocked(LinkedDevices):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Deciding, now_ms: int) -> Decision:
        found = self._snapshot(locks, now_ms)
        return await super().transact(batch_id, locks, lambda locked: decide(found), now_ms)


class _Eager(LinkedDevices):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Deciding, now_ms: int) -> Decision:
        link, commit = self._memory, super().transact
        assert isinstance(link, Link)

        one_by_one: trio.Lock = self.__dict__.setdefault("_one_by_one", trio.Lock())

        async def later() -> None:
            with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug):
                async with one_by_one:
                    await commit(batch_id, locks, decide, now_ms)

        link.node.server.start_soon(later)
        decided = decide(self._snapshot(locks, now_ms))
        await trio.lowlevel.checkpoint()
        return decided


class _KeyOfAnybody(LinkedDevices):
    """Gives the key to the oldest account."""

    def _write(self, decision: Decision) -> None:
        first = next(iter(self._memory.accounts.values()), None)
        if first is not None:
            decision.keys[:] = [replace(key, tenant_id=first.tenant_id) for key in decision.keys]
        super()._write(decision)


class _WithoutKey(LinkedDevices):
    """Hands out a key without storing it."""

    def _write(self, decision: Decision) -> None:
        super()._write(replace(decision, keys=[]))


def _in_batch(name: str, wrong: Callable[..., Any]) -> Plant:
    return replaced(_Batch, name, wrong)


def _bug(sentence: str, plant: Plant) -> Bug:
    return Bug(sentence, plant, Scene.PEOPLE)


BUGS: Mapping[str, Bug] = {
    "slow-down-sticks": _bug("Early polls count towards the interval, too.", _in_batch("_wait", _held_against_all)),
    "slow-down-forgotten": _bug("A raised interval is not stored.", _in_batch("_wait", _afresh_each_time)),
    "slow-down-beyond-bound": _bug("An interval grows beyond a minute.", replaced(state, "SLOWEST_SECONDS", 600)),
    "slow-down-too-little": _bug("An interval grows by a second.", replaced(state, "SLOWER_SECONDS", 1)),
    "slow-down-at-first": _bug("The first poll may be too early.", _in_batch("_wait", _first_is_early)),
    "no-grace-for-timers": _bug("Polls have no grace period.", replaced(state, "EARLY_MS", 0)),
    "approved-has-to-wait": _bug("An approved login is slowed down.", _in_batch("_redeem", _redeemed_on_time)),
    "key-handed-out-twice": _bug("Each poll of an approved login gets a key.", _in_batch("_save", _not_redeemed)),
    "approval-forgotten": _bug("An approval is answered and not stored.", _in_batch("_save", _approval_forgotten)),
    "denied-is-pending": _bug("A denied login stays pending.", _in_batch("_as_of_now", _denied_is_pending)),
    "login-never-expires": _bug("A login does not expire.", _in_batch("_as_of_now", _never_expires)),
    "approval-never-expires": _bug("An approved login does not expire.", _in_batch("_as_of_now", _approved_lives_on)),
    "expiry-taken-back": _bug("An expired login revives on another node.", _in_batch("_as_of_now", _expiry_unwritten)),
    "decision-of-anybody": _bug(
        "Every session is told that it decided.", _in_batch("_decided_before", _anybody_repeats)
    ),
    "decision-changed": _bug("The last decision counts.", _in_batch("_decided_before", _last_word)),
    "promise-uncounted": _bug(
        "A promised key does not count towards the limit.", replaced(device_tables, "live_keys", _keys_alone)
    ),
    "approval-uncapped": _bug("An account with the most keys may approve.", _in_batch("_decide", _cap_forgotten)),
    "redemption-uncapped": _bug("A lapsed promise yields a key too many.", _in_batch("_redeem", _redeem_uncapped)),
    "device-key-unrecorded": _bug("A device's key is not audited.", _in_batch("_audit", _unrecorded)),
    "device-key-of-anybody": _bug("A key is issued to another account.", swapped(device_store=_KeyOfAnybody)),
    "device-key-lost": _bug("An issued key is not stored.", swapped(device_store=_WithoutKey)),
    "lock-reset-by-looking": _bug(
        "Looking at a right code resets the guesses.", _in_batch("_guessed", _forgiven_by_looking)
    ),
    "lock-forgotten": _bug("Guesses at user codes are unlimited.", _in_batch("_charge", _never_locked)),
    "lock-at-once": _bug("One wrong user code locks.", _in_batch("_charge", _locked_for_ever)),
    "lock-for-wrong-codes": _bug("Right codes pass a lock.", _in_batch("_guessed", _right_codes_pass)),
    "lock-told-too-short": _bug("The reported waiting time is too short.", replaced(state, "_locked", _told_too_early)),
    "lock-counts-batches": _bug("Guesses of one batch count once.", _in_batch("_guesses", _guesses_before_the_batch)),
    "lock-never-forgiven": _bug("A decision does not reset the guesses.", _in_batch("_forgive", _never_forgiven)),
    "lock-rolled-back": _bug("A refusal rolls back its charge.", swapped(device_store=_GuessesOfRefused)),
    "devices-read-outside": _bug("Rows are read before they are locked.", swapped(device_store=_Unlocked)),
    "devices-answered-early": _bug("Callers are answered before the commit.", swapped(device_store=_Eager)),
}
