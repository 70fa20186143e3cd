"""The store of submissions over Postgres, which writes accepted ones to the catalog.

Nodes lock in one order: mailboxes, submissions, the revision of the catalog, the row of the mails.
"""

from collections import defaultdict
from collections.abc import Sequence

from actors.catalog.submission_rules import Decision, LockSet, Snapshot
from actors.catalog.submission_store import Decide, Place
from actors.catalog.submissions import Submission, SubmissionStatus, SubmissionView
from actors.values import BatchId
from storage.connection.pool import Connection, Store
from storage.postgres.accounts import READ
from storage.postgres.catalog import SQL as CATALOG
from storage.postgres.catalog import read_entries, write_rounds
from storage.postgres.mail import insert_mails
from storage.rows.columns import new_and_known, record_of
from storage.rows.journal import decide_once
from storage.rows.statements import Conditions, statements
from storage.rows.tables import AUDIT, SUBMISSIONS

SQL = statements("submissions")

NEWEST: Place = (2**63 - 1, "")
OLDEST: Place = (-1, "")


class PostgresSubmissions(Store):
    """Rows of `catalog_submissions`."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, locks), decide, _write
        )

    async def submissions(self, tenant_id: str, before: Place | None, limit: int) -> Sequence[Submission]:
        rows = await self._database.fetch(SQL.of_account, *(before or NEWEST), limit, tenant_id)
        return [record_of(Submission, row) for row in rows]

    async def count_submissions(self, tenant_id: str, most: int) -> int:
        return int(await self._database.fetchval(SQL.count_of, tenant_id, most))

    async def submission(self, tenant_id: str, submission_id: str) -> Submission | None:
        row = await self._database.fetchrow(SQL.one, submission_id, tenant_id)
        return None if row is None else record_of(Submission, row)

    async def for_review(
        self,
        status: SubmissionStatus | None,
        after: Place | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[SubmissionView]:
        conditions = Conditions(*(after or (OLDEST if oldest else NEWEST)), READ if text else limit, limit, text)
        if status is not None:
            conditions.add("status = {}", status.value)
        page = conditions.within(SQL.oldest if oldest else SQL.newest)
        rows = await self._database.fetch(page, *conditions.parameters)
        return [
            SubmissionView(record_of(Submission, row), row["current"] and row["current"].decode(), row["email"])
            for row in rows
        ]


async def _snapshot(connection: Connection, locks: LockSet) -> Snapshot:
    snapshot, tenant_ids = Snapshot(), list(locks.tenant_ids)
    if tenant_ids:
        await connection.execute(SQL.lock_mailboxes, tenant_ids)
        siblings = defaultdict(set)
        for row in await connection.fetch(SQL.siblings, tenant_ids):
            siblings[row["tenant_id"]].add(row["sibling_id"])
        snapshot.siblings = {tenant_id: frozenset(others) for tenant_id, others in siblings.items()}
        counted = {*tenant_ids, *(each for others in siblings.values() for each in others)}
        rows = await connection.fetch(SQL.waiting, sorted(counted))
        snapshot.pending = {row["tenant_id"]: row["number"] for row in rows}
    for row in await connection.fetch(SQL.lock, list(locks.submission_ids)):
        snapshot.submissions[row["id"]] = record_of(Submission, row)
    if locks.reviews:
        await connection.execute(CATALOG.lock_revision)
    entry_ids = {*locks.entry_ids, *(each.entry_id for each in snapshot.submissions.values())}
    snapshot.catalog = await read_entries(connection, sorted(entry_ids))
    if tenant_ids:
        snapshot.mailed_ms = await connection.fetchval(SQL.lock_mails)
    return snapshot


async def _write(connection: Connection, before: Snapshot, decision: Decision) -> None:
    """Write a decision. The revision of the catalog is locked if an entry changes."""
    new, known = new_and_known(decision.submissions, before.submissions)
    await SUBMISSIONS.insert(connection, new)
    await SUBMISSIONS.update(connection, known)
    await write_rounds(connection, decision.rounds, decision.decided_ms)
    await insert_mails(connection, decision.mails)
    if decision.mailed_ms is not None:
        await connection.execute(SQL.mailed, decision.mailed_ms)
    await AUDIT.insert(connection, decision.audits)
