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
        """The usage of a tenant by day (since the epoch), `first` to `last`, unless unused. Raises `StorageUnavailable`."""
        ...

    async def days_by_key(
        self, tenant_id: str, key_ids: Sequence[str], first: int, last: int
    ) -> Mapping[tuple[str | None, int], int]:
        """The usage of a tenant by key and day, for the keys `key_ids`, and under None for the whole tenant, unless unused.
        Both are of one moment. Raises `StorageUnavailable`."""
        ...
