"""The session store in memory."""

from collections.abc import Mapping, Sequence

from actors.sessions.messages import Session, SignedIn
from actors.sessions.second_factor import Passkey, PendingSignIn, SecondFactorRows
from actors.sessions.state import Decision, LockSet, Snapshot
from actors.sessions.store import Decide
from actors.times import CLOCKS_DIFFER_MS
from actors.values import BatchId
from tests.doubles.tables import Memory, picked


class MemorySessions:
    """Sign-ins, letters, links, sessions, accounts, the outbox and the audit."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await self._memory.decide_once(batch_id, lambda: self._snapshot(lock_set, now_ms), decide, self._write)

    async def resolve(self, token_hashes: Sequence[bytes]) -> Mapping[bytes, SignedIn]:
        await self._memory.before()
        locks, found = set(token_hashes), {}
        for session in self._memory.sessions.values():
            if session.token_hash in locks:
                account = self._memory.accounts[session.email]
                tenant = self._memory.tenants[account.tenant_id]
                admin = session.email in self._memory.administrators
                found[session.token_hash] = SignedIn(session, tenant.id, tenant.tier, admin, account.suspension_reason)
        return found

    async def of_email(self, email: str, now_ms: int) -> Sequence[Session]:
        await self._memory.before()
        live = (each for each in self._memory.sessions.values() if each.email == email and each.is_live(now_ms))
        return sorted(live, key=lambda session: (session.seen_ms, session.id), reverse=True)

    async def pending(self, token_hash: bytes) -> PendingSignIn | None:
        await self._memory.before()
        rows = self._memory.pending_sign_ins.values()
        return next((each for each in rows if each.token_hash == token_hash), None)

    async def passkeys_of(self, email: str) -> Sequence[Passkey]:
        await self._memory.before()
        own = (each for each in self._memory.passkeys.values() if each.email == email)
        return sorted(own, key=lambda passkey: (passkey.created_ms, passkey.id))

    def _snapshot(self, lock_set: LockSet, now_ms: int) -> Snapshot:
        tables = self._memory
        links = picked(tables.sign_in_links, lock_set.link_hashes)
        named, entering = set(lock_set.session_ids), {*lock_set.entering, *(link.email for link in links.values())}
        return Snapshot(
            picked(tables.sign_ins, lock_set.sign_ins),
            picked(tables.letters, lock_set.code_mail_ids),
            links,
            picked(tables.accounts, sorted(entering)),
            {
                each.id: each
                for each in tables.sessions.values()
                if each.id in named or (each.email in entering and each.is_live(now_ms - CLOCKS_DIFFER_MS))
            },
            SecondFactorRows(
                {
                    each.id: each
                    for each in tables.passkeys.values()
                    if each.email in entering or each.credential_id in lock_set.credential_ids
                },
                picked(tables.passkey_challenges, lock_set.holders),
                picked(tables.pending_sign_ins, lock_set.holders),
            ),
        )

    def _write(self, decision: Decision) -> None:
        tables, changed = self._memory, decision.changed
        tables.tenants.update((tenant.id, tenant) for tenant in decision.tenants)
        tables.accounts.update(changed.accounts)
        tables.accept(decision.terms)
        tables.sign_ins.update(changed.sign_ins)
        tables.letters.update(changed.letters)
        tables.sign_in_links.update(changed.links)
        tables.sessions.update(changed.sessions)
        second_factor = changed.second_factor
        tables.pending_sign_ins.update(second_factor.pending)
        tables.passkey_challenges.update(second_factor.challenges)
        tables.passkeys.update(second_factor.passkeys)
        for passkey_id in second_factor.removed:
            tables.passkeys.pop(passkey_id, None)
        tables.messages.update((message.id, message) for message in decision.outbox)
        tables.audits.extend(decision.audits)
