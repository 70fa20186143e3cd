"""The port of the key store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actors.keys.messages import Key, Resolved
from actors.keys.state import Decision, LockSet, Snapshot
from actors.values import BatchId, Steps

Decide = Callable[[Snapshot], Decision | Steps[Decision]]

ENDED_LISTED = 10
"""How many of the keys of an account that ended are listed after the live ones."""


class UseStore(Protocol):
    """The last uses of keys, as far as they were written."""

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        """Store the last uses by key id, in epoch milliseconds, unless a later use is stored. Raises
        `StorageUnavailable`, `Contended` or `OutcomeUnknown`; repeating it is harmless."""
        ...

    async def uses_of(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """The stored last uses of these keys. Raises `StorageUnavailable`."""
        ...


class KeyStore(UseStore, Protocol):
    """Keys with their uses, claims, accounts, tenants, the outbox and the audit."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        """Lock the rows, decide, and commit all changes with the batch id in one transaction.

        A decision in steps lets other tasks run in between, as statements of many rows do, which are several.

        Locks authorizations, claims, accounts, sessions, administrators, keys and tenants, in this order, each sorted;
        batches that change administrators run one at a time. A batch id that is already in the journal is not decided again:
        its decision is returned. Announces `touched_keys` and `touched_tenants` to all nodes with the commit. Raises
        `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        """The keys that exist among `hashes`, live or not, with their tenant's tier, account's email and membership."""
        ...

    async def resolve_prefix(self, prefix: str) -> Sequence[Resolved]:
        """The keys with this displayed prefix, at most 10, for the command line."""
        ...

    async def live_keys(self, tenant_id: str, now_ms: int) -> Sequence[Key]:
        """The live keys of a tenant, newest first (`created_ms`, then `id`, descending), and after them those of the last
        `ENDED_LISTED` ends that were neither revoked nor rotated, the last end first."""
        ...

    async def ending_keys(self, now_ms: int, limit: int) -> Sequence[tuple[str, str]]:
        """Ids of live keys of accounts whose `end_notice_ms` has passed, each with its owner's email, longest due first.
        Raises `StorageUnavailable`."""
        ...

    async def is_client_in_use(self, client_hash: bytes, since_ms: int) -> bool:
        """Whether a client got a code or token since then. Raises `StorageUnavailable`."""
        ...

    async def count_administrators(self) -> int:
        """The number of administrators."""
        ...
