"""The session store over Postgres."""

from collections.abc import Mapping, Sequence

from actors.sessions.messages import Session, SignedIn, SignIn
from actors.sessions.state import Decision, LockSet, Snapshot
from actors.sessions.store import Decide
from actors.values import Account, BatchId, OutboxMessage, Tenant, Tier
from storage.journal import decide_once
from storage.pool import Connection, Database
from storage.postgres.audit import keep_audits
from storage.postgres.columns import columns
from storage.postgres.keys import SQL as KEYS
from storage.statements import statements

SQL = statements("sessions")


class PostgresSessions:
    """Sign-ins, sessions and forms, accounts, the outbox and the audit, in the tables of those names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        async def work(connection: Connection) -> Decision:
            snapshot = await _snapshot(connection, locks, now_ms)
            decision = decide(snapshot)
            await _keep(connection, snapshot, decision)
            return decision

        return await decide_once(self._database, batch_id, work)

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

    async def prune_sign_ins(self, before_ms: int, limit: int) -> int:
        return await self._prune(SQL.prune_sign_ins, before_ms, limit)

    async def prune_sessions(self, before_ms: int, limit: int) -> int:
        return await self._prune(SQL.prune_sessions, before_ms, limit)

    async def prune_forms(self, before_ms: int, limit: int) -> int:
        return await self._prune(SQL.prune_forms, before_ms, limit)

    async def _prune(self, statement: str, before_ms: int, limit: int) -> int:
        async def work(connection: Connection) -> int:
            return int(await connection.fetchval(statement, before_ms, limit))

        return await self._database.transact(work)


async def _snapshot(connection: Connection, locks: LockSet, now_ms: int) -> Snapshot:
    """Lock what is wanted in the order of the contract: sign-ins, accounts, sessions, each sorted."""
    snapshot = Snapshot()
    if locks.emails:
        for row in await connection.fetch(SQL.lock_sign_ins, list(locks.emails)):
            snapshot.sign_ins[row["email"]] = SignIn(**row)
    if locks.entering:
        for row in await connection.fetch(SQL.lock_accounts, list(locks.entering)):
            snapshot.accounts[row["email"]] = Account(**row)
    if locks.entering or locks.session_ids:
        rows = await connection.fetch(SQL.lock_sessions, list(locks.session_ids), list(locks.entering), now_ms)
        snapshot.sessions |= {row["id"]: Session(**row) for row in rows}
    if locks.forms:
        for row in await connection.fetch(SQL.sent_forms, *_pairs(locks.forms)):
            snapshot.forms[row["session_id"], row["id"]] = row["sent_ms"]
    return snapshot


async def _keep(connection: Connection, snapshot: Snapshot, decision: Decision) -> None:
    changed = decision.changed
    if decision.tenants:
        await connection.execute(KEYS.keep_tenants, *columns(Tenant, decision.tenants))
    if changed.accounts:
        await connection.execute(KEYS.keep_accounts, *columns(Account, changed.accounts.values()))
    made = [row for email, row in changed.sign_ins.items() if email not in snapshot.sign_ins]
    if made:
        await connection.execute(SQL.make_sign_ins, *columns(SignIn, made))
    known = [row for email, row in changed.sign_ins.items() if email in snapshot.sign_ins]
    if known:
        await connection.execute(SQL.keep_sign_ins, *columns(SignIn, known))
    if changed.sessions:
        await connection.execute(SQL.keep_sessions, *columns(Session, changed.sessions.values()))
    if decision.released_forms:
        await connection.execute(SQL.give_back_forms, *_pairs(sorted(decision.released_forms)))
    if changed.forms:
        await connection.execute(SQL.keep_forms, *_pairs(list(changed.forms)), list(changed.forms.values()))
    if decision.outbox:
        await connection.execute(KEYS.keep_messages, *columns(OutboxMessage, decision.outbox))
    await keep_audits(connection, decision.audits)


def _pairs(places: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Sessions and forms as two arrays."""
    return [[session_id for session_id, _ in places], [form_id for _, form_id in places]]
