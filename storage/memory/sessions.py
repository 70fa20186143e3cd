"""The session store in memory."""

from collections.abc import Mapping, Sequence

from actors.sessions.messages import Session, SignedIn
from storage.memory.tables import Memory


class MemorySessions:
    """Sign-ins, sessions and forms."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def resolve(self, token_hashes: Sequence[bytes]) -> Mapping[bytes, SignedIn]:
        await self._memory.before()
        wanted, found = set(token_hashes), {}
        for session in self._memory.sessions.values():
            if session.token_hash in wanted:
                tenant = self._memory.tenants[self._memory.accounts[session.email].tenant_id]
                admin = session.email in self._memory.administrators
                found[session.token_hash] = SignedIn(session, tenant.id, tenant.tier, admin)
        return found

    async def of_email(self, email: str, now_ms: int) -> Sequence[Session]:
        await self._memory.before()
        live = (each for each in self._memory.sessions.values() if each.email == email and each.is_live(now_ms))
        return sorted(live, key=lambda session: (session.seen_ms, session.id), reverse=True)
