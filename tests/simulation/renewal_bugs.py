"""Bugs to plant in rotations, ends and usage by key, one at a time: see `key_bugs`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actors.keys import issuing as key_issuing
from actors.keys import state as key_state
from actors.keys.messages import EditKey, RotateKey
from actors.quota.actor import QuotaAccountant
from actors.values import Refused, Tenant
from storage.memory.keys import MemoryKeys
from tests.simulation.planting import Bug, replaced, swapped

_BATCH = key_state._Batch
_rotate, _target, _edit = _BATCH._rotate, _BATCH._target, _BATCH._edit


def _a_longer_grace(unit: Any, rotate: RotateKey) -> Any:
    return _rotate(unit, replace(rotate, grace_ms=rotate.grace_ms and rotate.grace_ms + 2_000))


def _no_grace(unit: Any, rotate: RotateKey) -> Any:
    return _rotate(unit, replace(rotate, grace_ms=min(rotate.grace_ms, 1)))


def _rotated_again(unit: Any, rotate: RotateKey) -> Any:
    old = unit._key(rotate.key_id)
    if old is not None and old.successor_id is not None and old.revoked_ms is None:
        unit._save_key(replace(old, successor_id=None))
    return _rotate(unit, rotate)


def _end_forgotten(unit: Any, rotate: RotateKey) -> Any:
    answer = _rotate(unit, rotate)
    if not isinstance(answer, Refused):
        unit._save_key(replace(unit._key(rotate.key_id), expires_ms=None, revoked_ms=None))
    return answer


def _extends_itself(unit: Any, edit: EditKey, found: Any) -> None:
    return None


class _RefundsNoKey(QuotaAccountant):
    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> None:
        await super().refund(tenant, usecase=usecase)


class _ChargesNoKeyAgain(QuotaAccountant):
    async def charge(self, tenant_id: str, *, usecase: bool, key_id: str | None = None) -> Any:
        return await super().charge(tenant_id, usecase=usecase, key_id=None if usecase else key_id)


def _without_key_days(store: Any, source: str, target: str) -> None:
    kept = dict(store._memory.key_usage_days)
    _merge_days(store, source, target)
    store._memory.key_usage_days.clear()
    store._memory.key_usage_days.update(kept)


_merge_days = MemoryKeys._merge_days

BUGS: Mapping[str, Bug] = {
    "grace-too-long": Bug("A rotated key works longer than it may.", replaced(_BATCH, "_rotate", _a_longer_grace)),
    "grace-ignored": Bug("A rotated key ends at once.", replaced(_BATCH, "_rotate", _no_grace)),
    "rotated-twice": Bug("A key can be rotated again.", replaced(_BATCH, "_rotate", _rotated_again)),
    "rotated-without-end": Bug("A rotated key does not end.", replaced(_BATCH, "_rotate", _end_forgotten)),
    "key-extends-itself": Bug(
        "A key moves its own end to a later time.", replaced(_BATCH, "_refused_extension", _extends_itself)
    ),
    "successor-lives-on": Bug(
        "A key that a leaked one became by rotating itself outlives it.",
        replaced(key_issuing, "_rotated_from", lambda key, keys: iter(())),
    ),
    "refund-without-key": Bug("A refund does not count for its key.", swapped(accountant=_RefundsNoKey)),
    "charge-without-key": Bug("Reads of use cases count for no key.", swapped(accountant=_ChargesNoKeyAgain)),
    "key-days-not-merged": Bug(
        "The days of a claimed key stay with its old tenant.", replaced(MemoryKeys, "_merge_days", _without_key_days)
    ),
}
