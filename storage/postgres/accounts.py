"""The account store over Postgres."""

from collections.abc import Sequence

from actors.accounts.messages import Deletion, DeletionBlockers, Exported, MailChoices
from actors.accounts.state import SETTLED_MS, Decision, LockSet, Snapshot
from actors.accounts.store import (
    COUNTED,
    AccountDetails,
    AccountFilter,
    AccountLine,
    AccountList,
    AccountPosition,
    Decide,
)
from actors.bookings.records import Sponsor
from actors.times import CLOCKS_DIFFER_MS
from actors.values import Account, BatchId, Tier
from storage.connection.pool import Connection, Database, Row, Store
from storage.postgres.export import export
from storage.postgres.keys import SQL as KEYS
from storage.postgres.ledger import SQL as LEDGER
from storage.rows.columns import in_slices, record_of
from storage.rows.journal import decide_once
from storage.rows.statements import Conditions, statements
from storage.rows.tables import AUDIT, DELETIONS, MAIL_CHOICES, OUTBOX, SPONSORS

SQL, LISTS = statements("accounts"), statements("account_lists")

ERASING = (
    SQL.forget_in_audit,
    SQL.erase_mails,
    SQL.erase_claims,
    SQL.erase_keys,
    SQL.erase_days,
    SQL.erase_key_days,
    SQL.erase_terms,
    SQL.erase_idempotency_keys,
    SQL.erase_webhook_deliveries,
    SQL.erase_webhooks,
    SQL.erase_webhook_events,
    SQL.erase_submissions,
    SQL.erase_bookings,
    SQL.blank_bookings,
    SQL.blank_invoices,
    SQL.erase_billing_details,
    SQL.erase_shared_reports,
    SQL.erase_authorizations,
    SQL.forget_campaigns_in_audit,
    SQL.erase_campaigns,
    SQL.blank_campaigns,
)
"""In this order: the audit's targets are found by the account's rows, and foreign keys lead to later tables. What one step
reads of all campaigns, of which an account has some hundreds, comes when the tables that have more are done."""


NEWEST: AccountPosition = (2**63 - 1, "")
"""A place before every account."""

READ = 20_000
"""Accounts, and sponsors, that one search reads at most."""

NAMED = 1_000
"""Sponsors found by their name at most."""


class PostgresAccounts(Store):
    """Deletions in the `account_deletions` table, choices in `mail_choices`, and the rows of one account in all tables."""

    async def transact(self, batch_id: BatchId, lock_set: LockSet, decide: Decide) -> Decision:
        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, lock_set), decide, _write
        )

    async def account(self, email: str) -> Account | None:
        row = await self._database.fetchrow(SQL.account, email)
        return None if row is None else Account(**row)

    async def deletion(self, tenant_id: str) -> Deletion | None:
        row = await self._database.fetchrow(SQL.deletion, tenant_id)
        return None if row is None else Deletion(**row)

    async def mail_choices(self, email: str) -> MailChoices:
        row = await self._database.fetchrow(SQL.mail_choices, [email])
        return MailChoices(email) if row is None else MailChoices(**row)

    async def due(self, now_ms: int, limit: int) -> Sequence[Deletion]:
        return [Deletion(**row) for row in await self._database.fetch(SQL.due, now_ms, limit)]

    async def erase(self, deletion: Deletion, limit: int) -> bool:
        return await self._database.transact(lambda connection: _erase(connection, deletion, limit))

    async def export(self, account: Account, table: str, after: str, limit: int) -> Sequence[Exported]:
        return await export(self._database, account, table, after, limit)

    # Lists of administrators.

    async def accounts(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        place = after or NEWEST
        of_suspended = wanted.suspended is True
        scans = wanted.scans or wanted.suspended is False
        conditions = Conditions(*place, READ if scans else limit + 1, limit + 1)
        if wanted.suspended is False:
            conditions.add("suspended_ms is null")
        if wanted.text is not None:
            named = await tenants_named(self._database, wanted.text)
            conditions.add(
                "(position({0} in email) > 0 or tenant_id = {0} or tenant_id = any ({1}::text[]))", wanted.text, named
            )
        if wanted.tier is not None:
            conditions.add("(select tier from tenants where id = tenant_id) = {}", wanted.tier.value)
        page = conditions.within(LISTS.page_of_suspended if of_suspended else LISTS.page)
        rows = await self._database.fetch(page, *conditions.parameters)
        lines = await in_slices(_line, rows[:limit])
        if len(rows) > limit:
            return AccountList(lines, lines[-1].spot)
        if not scans:
            return AccountList(lines, None)
        last = await self._database.fetchrow(
            LISTS.last_suspended_read if of_suspended else LISTS.last_read, *place, READ
        )
        return AccountList(lines, None if last is None else (last["created_ms"], last["tenant_id"]))

    async def count_accounts(self, *, suspended: bool | None) -> int:
        if suspended:
            return int(await self._database.fetchval(LISTS.count_suspended, COUNTED))
        every = int(await self._database.fetchval(LISTS.count, COUNTED))
        return every if suspended is None else every - await self.count_accounts(suspended=True)

    async def details(self, tenant_id: str, now_ms: int) -> AccountDetails | None:
        row = await self._database.fetchrow(LISTS.line, tenant_id, now_ms)
        if row is None:
            return None
        bookings = await self._database.fetch(LISTS.bookings, tenant_id, now_ms, COUNTED)
        by_status = {each["status"]: each["number"] for each in bookings}
        return AccountDetails(_line(row), row["keys"], row["sessions"], row["campaigns"], by_status)


async def _snapshot(connection: Connection, lock_set: LockSet) -> Snapshot:
    """Lock in the order of the contract: sign-ins, links, devices, accounts, administrators, deletions, each sorted."""
    snapshot, ending = Snapshot(), list(lock_set.ending)
    if ending:
        await connection.fetch(SQL.lock_sign_ins, ending)
        await connection.fetch(SQL.lock_links, ending)
        await connection.fetch(SQL.lock_devices, ending)
    for row in await connection.fetch(KEYS.lock_accounts, list(lock_set.emails)):
        snapshot.accounts[row["email"]] = Account(**row)
    if ending:
        await connection.execute(KEYS.lock_membership)
    for row in await connection.fetch(SQL.lock_deletions, list(lock_set.emails)):
        snapshot.deletions[row["email"]] = Deletion(**row)
    for row in await connection.fetch(SQL.blockers, list(lock_set.emails)):
        snapshot.blockers[row["email"]] = record_of(DeletionBlockers, row)
    for row in await connection.fetch(SQL.mail_choices, list(lock_set.emails)):
        snapshot.choices[row["email"]] = MailChoices(**row)
    return snapshot


async def _write(connection: Connection, before: Snapshot, decision: Decision) -> None:
    if decision.ended:
        await _end(connection, decision)
    await DELETIONS.save(connection, decision.deletions.values())
    await MAIL_CHOICES.save(connection, decision.choices.values())
    await OUTBOX.insert(connection, decision.outbox)
    await AUDIT.insert(connection, decision.audits)


async def _end(connection: Connection, decision: Decision) -> None:
    """Delete accounts with all that lets a caller in."""
    emails = [account.email for account in decision.ended]
    tenant_ids = [account.tenant_id for account in decision.ended]
    [ended_ms] = {
        row.begun_ms for row in decision.deletions.values() if row.email in emails and row.begun_ms is not None
    }
    over_ms = ended_ms - CLOCKS_DIFFER_MS
    await connection.execute(SQL.end_sign_ins, emails)
    await connection.execute(SQL.end_devices, emails)
    await connection.execute(SQL.end_sessions, emails)
    await connection.execute(KEYS.delete_administrators, emails)
    await connection.execute(SQL.end_accounts, emails)
    await connection.execute(SQL.end_keys, tenant_ids, ended_ms, over_ms)
    await connection.execute(KEYS.announce, [f"tenant:{tenant_id}" for tenant_id in tenant_ids])


async def _erase(connection: Connection, deletion: Deletion, limit: int) -> bool:
    tenant_id, begun_ms = deletion.tenant_id, deletion.begun_ms
    if begun_ms is None or await connection.fetchval(SQL.lock_erasure, tenant_id) is None:
        return False
    for statement in ERASING:
        until_ms = begun_ms if statement == SQL.erase_mails else begun_ms + SETTLED_MS
        erased = await connection.fetchval(statement, tenant_id, deletion.email, until_ms, limit)
        if erased >= limit:
            return True
    remains = await connection.fetchrow(SQL.remains, tenant_id)
    if remains["holds"]:
        return False
    if remains["bookings"]:
        sponsors = await connection.fetch(LEDGER.lock_sponsors, [tenant_id])
        await SPONSORS.update(connection, [record_of(Sponsor, row).erased for row in sponsors])
        await connection.execute(SQL.reset_tenant, tenant_id)
    else:
        await connection.execute(SQL.erase_sponsor, tenant_id)
        await connection.execute(SQL.erase_tenant, tenant_id)
    await connection.execute(SQL.finish, tenant_id)
    await connection.execute(LEDGER.advance)
    return False


async def tenants_named(database: Database, text: str) -> Sequence[str]:
    """The tenants of sponsors whose name has `text`, in lower case."""
    return [row["tenant_id"] for row in await database.fetch(LISTS.sponsors_named, text, READ, NAMED)]


def _line(row: Row) -> AccountLine:
    return AccountLine(record_of(Account, row), Tier(row["tier"]), row["admin"], row["sponsor_name"])
