"""The session store over Postgres."""

from collections.abc import Mapping, Sequence

from actors.sessions.messages import Session, SignedIn, SignIn, SignInLink
from actors.sessions.second_factor import Challenge, Passkey, PendingSignIn, SecondFactorRows
from actors.sessions.state import Decision, LockSet, Snapshot
from actors.sessions.store import Decide
from actors.times import CLOCKS_DIFFER_MS
from actors.values import Account, BatchId, Tier
from storage.connection.pool import Connection, Row, Store
from storage.postgres.mail import lock_code_mails, save_code_mails
from storage.rows.columns import new_and_known, record_of, records_of
from storage.rows.journal import decide_once
from storage.rows.statements import statements
from storage.rows.tables import (
    ACCEPTED_TERMS,
    ACCOUNTS,
    AUDIT,
    CHALLENGES,
    OUTBOX,
    PASSKEYS,
    PENDING_SIGN_INS,
    SESSIONS,
    SIGN_IN_LINKS,
    SIGN_INS,
    TENANTS,
)

SQL = statements("sessions")


class PostgresSessions(Store):
    """Sign-ins, mails with a code, links, sessions, accounts, the outbox and the audit, in their tables."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, lock_set, now_ms), decide, _write
        )

    async def resolve(self, token_hashes: Sequence[bytes]) -> Mapping[bytes, SignedIn]:
        rows = await self._database.fetch(SQL.resolve, list(token_hashes))
        return {row["token_hash"]: _signed_in(row) for row in rows}

    async def of_email(self, email: str, now_ms: int) -> Sequence[Session]:
        return [Session(**row) for row in await self._database.fetch(SQL.of_email, email, now_ms)]

    async def pending(self, token_hash: bytes) -> PendingSignIn | None:
        rows = await self._database.fetch(SQL.pending, token_hash)
        return PendingSignIn(**rows[0]) if rows else None

    async def passkeys_of(self, email: str) -> Sequence[Passkey]:
        return [Passkey(**row) for row in await self._database.fetch(SQL.passkeys_of, email)]


def _signed_in(row: Row) -> SignedIn:
    session = record_of(Session, row)
    return SignedIn(session, row["tenant_id"], Tier(row["tier"]), row["admin"], row["suspension_reason"])


async def _snapshot(connection: Connection, lock_set: LockSet, now_ms: int) -> Snapshot:
    """Lock in the order of the contract: sign-ins, code mails, links, accounts, sessions, second factor."""
    snapshot = Snapshot()
    if lock_set.sign_ins:
        emails, browsers = (list(each) for each in zip(*lock_set.sign_ins, strict=True))
        for row in await connection.fetch(SQL.lock_sign_ins, emails, browsers):
            sign_in = SignIn(**row)
            snapshot.sign_ins[sign_in.key] = sign_in
    snapshot.letters = await lock_code_mails(connection, lock_set.code_mail_ids)
    if lock_set.link_hashes:
        for row in await connection.fetch(SQL.lock_links, list(lock_set.link_hashes)):
            snapshot.links[row["token_hash"]] = SignInLink(**row)
    entering = sorted({*lock_set.entering, *(link.email for link in snapshot.links.values())})
    if entering:
        for row in await connection.fetch(SQL.lock_accounts, entering):
            snapshot.accounts[row["email"]] = Account(**row)
    if entering or lock_set.session_ids:
        over_ms = now_ms - CLOCKS_DIFFER_MS
        rows = await connection.fetch(SQL.lock_sessions, list(lock_set.session_ids), entering, over_ms)
        snapshot.sessions |= {session.id: session for session in await records_of(Session, rows)}
    await _read_second_factor(connection, lock_set, entering, snapshot.second_factor)
    return snapshot


async def _read_second_factor(
    connection: Connection, lock_set: LockSet, emails: Sequence[str], found: SecondFactorRows
) -> None:
    """Lock pending sign-ins, challenges, and the passkeys of these emails."""
    if lock_set.holders:
        for row in await connection.fetch(SQL.lock_pending, list(lock_set.holders)):
            found.pending[row["id"]] = PendingSignIn(**row)
        for row in await connection.fetch(SQL.lock_challenges, list(lock_set.holders)):
            found.challenges[row["holder_id"]] = record_of(Challenge, row)
    if emails:
        rows = await connection.fetch(SQL.lock_passkeys, list(emails), list(lock_set.credential_ids))
        found.passkeys |= {row["id"]: Passkey(**row) for row in rows}


async def _write(connection: Connection, before: Snapshot, decision: Decision) -> None:
    changed = decision.changed
    await TENANTS.save(connection, decision.tenants)
    await ACCOUNTS.insert(connection, changed.accounts.values())
    await ACCEPTED_TERMS.save(connection, decision.terms)
    new, known = new_and_known(changed.sign_ins, before.sign_ins)
    await SIGN_INS.insert(connection, new)
    await SIGN_INS.update(connection, known)
    await save_code_mails(connection, before.letters, changed.letters)
    await SIGN_IN_LINKS.save(connection, changed.links.values())
    await SESSIONS.save(connection, changed.sessions.values())
    second_factor = changed.second_factor
    await PENDING_SIGN_INS.save(connection, second_factor.pending.values())
    await CHALLENGES.save(connection, second_factor.challenges.values())
    await PASSKEYS.save(connection, second_factor.passkeys.values())
    if second_factor.removed:
        await connection.execute(SQL.delete_passkeys, sorted(second_factor.removed))
    await OUTBOX.insert(connection, decision.outbox)
    await AUDIT.insert(connection, decision.audits)
