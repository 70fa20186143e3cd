"""Bugs to plant in rotations, ends and usage by key, one at a time: see `key_bugs`."""

from dataclasses import replace
from typing import Any

from actors.keys import state as key_state
from actors.keys.messages import EditKey, RotateKey
from actors.keys.unit_of_work import KeyTree
from actors.quota.actor import QuotaAccountant
from actors.values import Refused, Steps, Tenant
from tests.doubles.keys import MemoryKeys
from tests.simulation.planting import Bugs, replaced

BUGS = Bugs()

_BATCH = key_state._Batch


@BUGS.around(_BATCH, "_rotate")
def grace_too_long(right: Any, unit: Any, rotate: RotateKey) -> Any:
    """A rotated key works longer than it may."""
    return right(unit, replace(rotate, grace_ms=rotate.grace_ms and rotate.grace_ms + 2_000))


@BUGS.around(_BATCH, "_rotate")
def grace_ignored(right: Any, unit: Any, rotate: RotateKey) -> Any:
    """A rotated key ends at once."""
    return right(unit, replace(rotate, grace_ms=min(rotate.grace_ms, 1)))


@BUGS.around(_BATCH, "_rotate")
def rotated_twice(right: Any, unit: Any, rotate: RotateKey) -> Any:
    """A key can be rotated again."""
    old = unit._key(rotate.key_id)
    if old is not None and old.successor_id is not None and old.revoked_ms is None:
        unit._save_key(replace(old, successor_id=None))
    return right(unit, rotate)


@BUGS.around(_BATCH, "_rotate")
def rotated_without_end(right: Any, unit: Any, rotate: RotateKey) -> Steps[Any]:
    """A rotated key does not end."""
    answer = yield from right(unit, rotate)
    if not isinstance(answer, Refused):
        unit._save_key(replace(unit._key(rotate.key_id), expires_ms=None, revoked_ms=None))
    return answer


@BUGS.function(_BATCH, "_refused_extension")
def key_extends_itself(unit: Any, edit: EditKey, found: Any) -> None:
    """A key moves its own end to a later time."""
    return


@BUGS.part("quota")
class RefundWithoutKey(QuotaAccountant):
    """A refund does not count for its key."""

    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> None:
        await super().refund(tenant, usecase=usecase)


@BUGS.part("quota")
class ChargeWithoutKey(QuotaAccountant):
    """Reads of use cases count for no key."""

    async def charge(
        self, tenant_id: str, *, usecase: bool, key_id: str | None = None, siblings: tuple[str, ...] = ()
    ) -> Any:
        return await super().charge(tenant_id, usecase=usecase, key_id=None if usecase else key_id, siblings=siblings)


@BUGS.around(MemoryKeys, "_merge_days")
def key_days_not_merged(right: Any, store: Any, source: str, target: str) -> None:
    """The days of a claimed key stay with its old tenant."""
    days = dict(store._memory.key_usage_days)
    right(store, source, target)
    store._memory.key_usage_days.clear()
    store._memory.key_usage_days.update(days)


BUGS.add(
    "successor-lives-on",
    "A key that a leaked one became by rotating itself outlives it.",
    replaced(KeyTree, "rotated_from", lambda tree, key: []),
)
