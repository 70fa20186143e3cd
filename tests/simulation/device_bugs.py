"""Bugs to plant in device logins, one at a time."""

from dataclasses import replace
from typing import Any

from actors.clock import SECOND_MS
from actors.devices import state
from actors.devices.messages import OPEN, Decide, Device, DeviceView, Guesses, Poll, Status, ViewDevice
from actors.devices.state import Decision
from actors.values import Refused
from tests.doubles import devices as device_tables
from tests.simulation.identity import LinkedDevices
from tests.simulation.planting import AnswersFirst, Bugs, ReadsOutside, replaced
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.PEOPLE)

_Batch: Any = state._Batch

# The pace.


@BUGS.around(_Batch, "_wait")
def slow_down_sticks(right: Any, unit: Any, device: Device) -> Refused:
    """Early polls count towards the interval, too."""
    refused: Refused = right(unit, device)
    stored = unit.decision.changed.devices[device.id]
    unit._save(replace(stored, polled_ms=unit._now_ms))
    return refused


@BUGS.around(_Batch, "_wait")
def slow_down_forgotten(right: Any, unit: Any, device: Device) -> Refused:
    """A raised interval is not stored."""
    refused: Refused = right(unit, device)
    stored = unit.decision.changed.devices[device.id]
    unit._save(replace(stored, interval_seconds=1))
    return refused


@BUGS.around(_Batch, "_wait")
def slow_down_at_first(right: Any, unit: Any, device: Device) -> Any:
    """The first poll may be too early."""
    polled_ms = device.created_ms if device.polled_ms is None else device.polled_ms
    return right(unit, replace(device, polled_ms=polled_ms))


@BUGS.around(_Batch, "_redeem")
def approved_has_to_wait(right: Any, unit: Any, device: Device, poll: Poll) -> Any:
    """An approved login is slowed down."""
    if device.polled_ms is not None and unit._now_ms - device.polled_ms < 1_000:
        return unit._wait(device)
    return right(unit, device, poll)


# Approval, denial, expiry.


@BUGS.around(_Batch, "_save")
def key_handed_out_twice(right: Any, unit: Any, device: Device) -> Device:
    """Each poll of an approved login gets a key."""
    stored = replace(device, status=Status.APPROVED) if device.status is Status.REDEEMED else device
    right(unit, stored)
    return device


@BUGS.around(_Batch, "_redeemed_before")
def key_handed_out_for_ever(right: Any, unit: Any, device: Device, poll: Poll) -> Any:
    """A device code returns its key as long as its row is there."""
    return right(unit, replace(device, polled_ms=unit._now_ms), poll)


@BUGS.function(_Batch, "_redeemed_before")
def lost_answer_lost(unit: Any, device: Device, poll: Poll) -> Any:
    """A poll whose answer was lost gets no key."""
    return state.unknown_code()


@BUGS.around(_Batch, "_save")
def approval_forgotten(right: Any, unit: Any, device: Device) -> Device:
    """An approval is answered and not stored."""
    if device.status is not Status.APPROVED:
        right(unit, device)
    return device


@BUGS.around(_Batch, "_as_of_now")
def denied_is_pending(right: Any, unit: Any, device_id: str) -> Device:
    """A denied login stays pending."""
    device: Device = right(unit, device_id)
    return replace(device, status=Status.PENDING) if device.status is Status.DENIED else device


def _never_expires(unit: Any, device_id: str) -> Device:
    device: Device = unit.decision.changed.devices.get(device_id) or unit._snapshot.devices[device_id]
    return device


@BUGS.around(_Batch, "_as_of_now")
def approval_never_expires(right: Any, unit: Any, device_id: str) -> Any:
    """An approved login does not expire."""
    device = _never_expires(unit, device_id)
    return device if device.status is Status.APPROVED else right(unit, device_id)


@BUGS.function(_Batch, "_as_of_now")
def expiry_taken_back(unit: Any, device_id: str) -> Device:
    """An expired login revives on another node."""
    device = _never_expires(unit, device_id)
    if device.status in OPEN and device.expires_ms <= unit._now_ms:
        return replace(device, status=Status.EXPIRED)
    return device


@BUGS.function(_Batch, "_decided_before")
def decision_of_anybody(unit: Any, decide: Decide, device: Device) -> Any:
    """Every session is answered that it decided."""
    return DeviceView(device)


@BUGS.function(_Batch, "_decided_before")
def decision_changed(unit: Any, decide: Decide, device: Device) -> Any:
    """The last decision counts."""
    if device.status in (Status.APPROVED, Status.DENIED):
        device = replace(device, status=Status.PENDING)
    return unit._decide(decide, device)


def _without_promises(right: Any, tables: Any, tenant_ids: Any, now_ms: int) -> Any:
    waiting, tables.devices = tables.devices, {}
    try:
        return right(tables, tenant_ids, now_ms)
    finally:
        tables.devices = waiting


@BUGS.around(device_tables, "live_keys")
def promise_uncounted(right: Any, tables: Any, tenant_ids: Any, now_ms: int) -> Any:
    """A promised key does not count towards the limit."""
    return _without_promises(right, tables, tenant_ids, now_ms)


@BUGS.around(device_tables, "made_today")
def promise_not_of_the_day(right: Any, tables: Any, tenant_ids: Any, now_ms: int) -> Any:
    """A promised key does not count for the day of its account."""
    return _without_promises(right, tables, tenant_ids, now_ms)


@BUGS.around(_Batch, "_decide")
def approval_uncapped(right: Any, unit: Any, decide: Decide, device: Device) -> Any:
    """An account with the most keys may approve."""
    unit._live_keys.clear()
    return right(unit, decide, device)


@BUGS.around(_Batch, "_redeem")
def redemption_uncapped(right: Any, unit: Any, device: Device, poll: Poll) -> Any:
    """A lapsed promise yields a key too many."""
    unit._live_keys.clear()
    return right(unit, device, poll)


@BUGS.around(_Batch, "_audit")
def device_key_unrecorded(right: Any, unit: Any, message: Any, device: Device, action: str, *rest: Any) -> None:
    """A device's key is not audited."""
    if action != "key.issued":
        right(unit, message, device, action, *rest)


# The lock.


@BUGS.around(_Batch, "_guessed")
def lock_reset_by_looking(right: Any, unit: Any, message: ViewDevice | Decide) -> Any:
    """Looking at a right code resets the guesses."""
    found = right(unit, message)
    if isinstance(found, Device):
        unit._forgive(message.session_id)
    return found


@BUGS.around(_Batch, "_charge")
def lock_forgotten(right: Any, unit: Any, guesses: Guesses) -> None:
    """Guesses at user codes are unlimited."""
    right(unit, guesses)
    stored = unit.decision.changed.guesses[guesses.session_id]
    unit.decision.changed.guesses[guesses.session_id] = replace(stored, locked_until_ms=0)


@BUGS.around(_Batch, "_charge")
def lock_at_once(right: Any, unit: Any, guesses: Guesses) -> None:
    """One wrong user code locks."""
    right(unit, guesses)
    stored = unit.decision.changed.guesses[guesses.session_id]
    unit.decision.changed.guesses[guesses.session_id] = replace(stored, locked_until_ms=unit._now_ms + 2_500)


@BUGS.around(state, "_locked")
def lock_reported_too_short(right: Any, wait_ms: int) -> Any:
    """The reported waiting time is too short."""
    return right(wait_ms - SECOND_MS)


@BUGS.around(_Batch, "_guessed")
def lock_for_wrong_codes(right: Any, unit: Any, message: ViewDevice | Decide) -> Any:
    """Right codes pass a lock."""
    device_id = unit._by_user_code.get(message.user_code)
    return right(unit, message) if device_id is None else unit._as_of_now(device_id)


@BUGS.function(_Batch, "_guesses")
def lock_counts_batches(unit: Any, session_id: str) -> Guesses | None:
    """Guesses of one batch count once."""
    found: Guesses | None = unit._snapshot.guesses.get(session_id)
    return found


@BUGS.function(_Batch, "_forgive")
def lock_never_forgiven(unit: Any, session_id: str) -> None:
    """A decision does not reset the guesses."""


@BUGS.part("device_store")
class LockRolledBack(LinkedDevices):
    """A refusal rolls back its charge."""

    def _write(self, decision: Decision) -> None:
        if all(isinstance(answer, Refused) for answer in decision.answers):
            decision.changed.guesses.clear()
        super()._write(decision)


# The store.


@BUGS.part("device_store")
class DevicesReadOutside(ReadsOutside, LinkedDevices):
    """Rows are read before they are locked."""


@BUGS.part("device_store")
class DevicesAnsweredEarly(AnswersFirst, LinkedDevices):
    """Callers are answered before the commit."""


@BUGS.part("device_store")
class DeviceKeyOfAnybody(LinkedDevices):
    """A key is issued to another account."""

    def _write(self, decision: Decision) -> None:
        first = next(iter(self._memory.accounts.values()), None)
        if first is not None:
            decision.keys[:] = [replace(key, tenant_id=first.tenant_id) for key in decision.keys]
        super()._write(decision)


@BUGS.part("device_store")
class DeviceKeyLost(LinkedDevices):
    """An issued key is not stored."""

    def _write(self, decision: Decision) -> None:
        super()._write(replace(decision, keys=[]))


BUGS.add("slow-down-beyond-bound", "An interval grows beyond a minute.", replaced(state, "SLOWEST_SECONDS", 600))
BUGS.add("slow-down-too-little", "An interval grows by a second.", replaced(state, "SLOWER_SECONDS", 1))
BUGS.add("no-grace-for-timers", "Polls have no grace period.", replaced(state, "EARLY_MS", 0))
BUGS.add("login-never-expires", "A login does not expire.", replaced(_Batch, "_as_of_now", _never_expires))
