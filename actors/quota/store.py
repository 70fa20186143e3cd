"""The port of the quota store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actors.quota.state import Decision
from actors.values import BatchId, Tenant

Decide = Callable[[Mapping[str, Tenant]], Decision]


class QuotaStore(Protocol):
    """Tenants and their counters."""

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Decision:
        """Lock the tenants in sorted order, decide, and commit the changes with the batch id in one transaction.

        A batch id that is already in the journal is not decided again: its decision is returned. Raises
        `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def days(self, tenant_id: str, first: int, last: int) -> Mapping[int, int]:
        """The usage of a tenant by day (since the epoch), from `first` to `last`, without unused days. Raises
        `StorageUnavailable`."""
        ...
