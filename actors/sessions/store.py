"""What the session keeper and the session reader need of a store. Two of them pass one contract."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from actors.sessions.messages import Session, SignedIn


class SessionStore(Protocol):
    """Sign-ins, sessions and the forms that were sent in them."""

    async def resolve(self, token_hashes: Sequence[bytes]) -> Mapping[bytes, SignedIn]:
        """The sessions that exist among `token_hashes`, live or not, with their account's tenant and membership."""
        ...

    async def of_email(self, email: str, now_ms: int) -> Sequence[Session]:
        """The live sessions of an account, the last used first (`seen_ms`, then `id`, descending)."""
        ...
