"""What the device authorizer needs of a store. Two of them pass one contract."""

from collections.abc import Callable
from typing import Protocol

from actors.devices.state import Decision, LockSet, Snapshot
from actors.values import BatchId

Decide = Callable[[Snapshot], Decision]


class DeviceStore(Protocol):
    """Device logins, the guesses at their codes, and the keys that come of them."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        """Lock the wanted rows, decide, keep all changes and the turn.

        Locks are taken on devices, accounts, sessions and tenants, in this order, each sorted. One transaction. A turn
        that was kept before is not decided again: its decision is returned. A user code that another node has taken
        meanwhile is `Contended`. Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def prune(self, before_ms: int, limit: int) -> int:
        """Forget at most `limit` device logins that ended before a moment; returns how many these were."""
        ...
