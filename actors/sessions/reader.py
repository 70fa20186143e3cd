"""Resolves session cookies to who is signed in, with batched lookups and no cache.

A session revoked on any node, or a membership that ended, is therefore refused from the next request on.
"""

from collections.abc import Sequence

from actors.kernel.actor import Actor, ActorLimits
from actors.sessions.messages import SignedIn
from actors.sessions.store import SessionStore
from actors.shared.credentials import SESSION_TOKEN, digest
from actors.shared.known_credentials import KnownCredentials
from actors.values import BatchId


class SessionReader(Actor[bytes, SignedIn | None]):
    """Looks tokens up in the store."""

    def __init__(self, store: SessionStore, *, node: str, limits: ActorLimits) -> None:
        super().__init__("session_reader", node, limits)
        self._store = store
        self._seen_before = KnownCredentials()

    async def resolve(self, token: str) -> SignedIn | None:
        """The session of a token and its account, also if the session has ended; None if there is none. A text with the
        wrong format costs no lookup."""
        if not SESSION_TOKEN.matches(token):
            return None
        token_hash = digest(token)
        with self._seen_before.seeking(token_hash):
            return await self.ask(token_hash)

    def is_new(self, token: str) -> bool:
        """Whether the text looks like a token that this node has never looked up, so that it may be a guess."""
        return SESSION_TOKEN.matches(token) and digest(token) not in self._seen_before

    def is_being_looked_up(self, token: str) -> bool:
        """Whether the token is being looked up for another request."""
        return self._seen_before.is_being_looked_up(digest(token))

    def expect(self, token: str) -> None:
        """Note a token that was just created, so that its first use is no guess."""
        self._seen_before.add(digest(token))

    async def commit(self, batch_id: BatchId, messages: Sequence[bytes]) -> Sequence[SignedIn | None]:
        found = await self._store.resolve(sorted(set(messages)))
        for token_hash in found:
            self._seen_before.add(token_hash)
        return [found.get(token_hash) for token_hash in messages]
