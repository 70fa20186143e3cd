"""What the accountant needs of a store. Two of them pass one contract: over Postgres and in memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actors.quota.state import Decision
from actors.values import BatchId, Tenant

Decide = Callable[[Mapping[str, Tenant]], Decision]


class QuotaStore(Protocol):
    """Tenants and their counters."""

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        """Lock the tenants in sorted order, decide, and keep what changed and the turn, in one transaction.

        A turn that was kept before is not decided again: its decision is returned. Raises `StorageUnavailable`,
        `Contended` or `OutcomeUnknown`.
        """
        ...

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        """What a tenant used on the days from `first` to `last`, days since the epoch; days without any use are left out.
        Raises `StorageUnavailable`."""
        ...
