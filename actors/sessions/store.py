"""The port of the session store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actors.sessions.messages import Session, SignedIn
from actors.sessions.second_factor import Passkey, PendingSignIn
from actors.sessions.state import Decision, LockSet, Snapshot
from actors.values import BatchId

Decide = Callable[[Snapshot], Decision]


class SessionStore(Protocol):
    """Sign-ins, counts of mails with a code, links, sessions, passkeys, accounts, the outbox and the audit."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        """Lock the rows, decide, and commit all changes with the batch id in one transaction.

        Locks sign-ins, counts of mails, links, accounts, sessions, pending sign-ins, challenges and passkeys, in this
        order, each sorted. Links lead to accounts. A batch id that is already in the journal is not decided again: its
        decision is returned. Raises `StorageUnavailable`, `Contended` (also if another node has just registered a
        credential) or `OutcomeUnknown`."""
        ...

    async def resolve(self, token_hashes: Sequence[bytes]) -> Mapping[bytes, SignedIn]:
        """The sessions that exist among `token_hashes`, live or not, with their account's tenant and membership."""
        ...

    async def of_email(self, email: str, now_ms: int) -> Sequence[Session]:
        """The live sessions of an account, last used first (`seen_ms`, then `id`, descending)."""
        ...

    async def pending(self, token_hash: bytes) -> PendingSignIn | None:
        """The pending sign-in with this token, live or not."""
        ...

    async def passkeys_of(self, email: str) -> Sequence[Passkey]:
        """The passkeys of an account, oldest first (`created_ms`, then `id`)."""
        ...
