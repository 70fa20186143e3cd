"""The session store over Postgres."""

from collections.abc import Mapping, Sequence

from actors.sessions.messages import Session, SignedIn
from actors.values import Tier
from storage.pool import Database
from storage.statements import statements

SQL = statements("sessions")


class PostgresSessions:
    """Sign-ins, sessions and forms, in the tables of those names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, token_hashes: Sequence[bytes]) -> Mapping[bytes, SignedIn]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.resolve, list(token_hashes)))
        found = {}
        for row in rows:
            facts = dict(row)
            tenant_id, tier, admin = facts.pop("tenant_id"), Tier(facts.pop("tier")), facts.pop("admin")
            found[facts["token_hash"]] = SignedIn(Session(**facts), tenant_id, tier, admin)
        return found

    async def of_email(self, email: str, now_ms: int) -> Sequence[Session]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.of_email, email, now_ms))
        return [Session(**row) for row in rows]
