"""The port of the device store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable
from typing import Protocol

from actors.devices.state import Decision, LockSet, Snapshot
from actors.values import BatchId

Decide = Callable[[Snapshot], Decision]


class DeviceStore(Protocol):
    """Device logins, wrong guesses at their codes, and the keys issued for them."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        """Lock the rows, decide, and commit all changes with the batch id in one transaction.

        Locks devices, accounts, sessions and tenants, in this order, each sorted. A batch id that is already in the
        journal is not decided again: its decision is returned. Raises `StorageUnavailable`, `Contended` (also if
        another node has taken a user code meanwhile) or `OutcomeUnknown`.
        """
        ...
