"""What the key keeper and the directory need of a store. Two of them pass one contract."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actors.keys.messages import Key, Resolved
from actors.keys.state import Decision, LockSet, Snapshot
from actors.values import BatchId

Decide = Callable[[Snapshot], Decision]


class UseStore(Protocol):
    """When keys were last used, as far as it was written down."""

    async def keep_uses(self, uses: Mapping[str, int]) -> None:
        """Keep when keys were used, by their ids in epoch milliseconds, unless a later use is kept. Raises
        `StorageUnavailable`, `Contended` or `OutcomeUnknown`; keeping the same again is harmless."""
        ...

    async def uses_of(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """The last uses that are kept of these keys. Raises `StorageUnavailable`."""
        ...


class KeyStore(UseStore, Protocol):
    """Keys with their uses, claims, accounts, their tenants, the outbox and the audit."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        """Lock the wanted rows, decide, keep all changes and the turn.

        Locks are taken on claims, accounts, administrators, keys and tenants, in this order, each sorted; batches that
        change who is an administrator take turns before they look. One transaction. A turn that was kept before is not
        decided again: its decision is returned. Announces `touched_keys` and `touched_tenants` to all nodes with the
        commit. Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        """The keys that exist among `hashes`, live or not, with their tenant's tier, account's email and membership."""
        ...

    async def resolve_prefix(self, prefix: str) -> Sequence[Resolved]:
        """The keys whose displayed prefix is `prefix`, at most 10: for the command line."""
        ...

    async def live_keys(self, tenant_id: str) -> Sequence[Key]:
        """The keys of a tenant that are not revoked, the newest first (`created_ms`, then `id`, descending)."""
        ...

    async def count_administrators(self) -> int:
        """How many administrators there are."""
        ...
