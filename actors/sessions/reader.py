"""From a session's cookie to who is signed in: look-ups in batches, which remember nothing.

So a session that was revoked on any node, and a membership that ended, hold from the next request on.
"""

from collections.abc import Sequence

from actors.actor import Actor, ActorLimits
from actors.credentials import digest, is_session_token
from actors.sessions.messages import SignedIn
from actors.sessions.store import SessionStore
from actors.values import BatchId


class SessionReader(Actor[bytes, SignedIn | None]):
    """Asks the store about tokens."""

    def __init__(self, store: SessionStore, *, node: str, limits: ActorLimits) -> None:
        super().__init__("session_reader", node, limits)
        self._store = store

    async def resolve(self, token: str) -> SignedIn | None:
        """What a token stands for, ended sessions too; None where there is no such session. A text that is no token costs
        no look-up."""
        return await self.ask(digest(token)) if is_session_token(token) else None

    async def commit(self, batch_id: BatchId, messages: Sequence[bytes]) -> Sequence[SignedIn | None]:
        found = await self._store.resolve(sorted(set(messages)))
        return [found.get(token_hash) for token_hash in messages]
