"""The store of submissions in memory, which writes accepted ones to a catalog in memory."""

from collections.abc import Sequence
from operator import gt, lt

from actors.catalog.submission_rules import Decision, LockSet, Snapshot
from actors.catalog.submission_store import Decide, Place
from actors.catalog.submissions import Submission, SubmissionStatus, SubmissionView
from actors.shared.code_mails import mailbox_of
from actors.values import BatchId
from tests.doubles.announcements import tell
from tests.doubles.catalog import read_entries, write_rounds
from tests.doubles.tables import Memory, MemoryStore, picked


class MemorySubmissions(MemoryStore):
    """Submissions, and the catalog that they are about."""

    def __init__(self, memory: Memory, catalog: Memory | None = None) -> None:
        """`catalog` has the tables of the catalog, if they are not in `memory`."""
        super().__init__(memory)
        self._catalog = catalog or memory

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        return await self._memory.decide_once(batch_id, lambda: self._snapshot(locks), decide, self._write)

    async def submissions(self, tenant_id: str, before: Place | None, limit: int) -> Sequence[Submission]:
        await self._memory.before()
        own = (row for row in self._memory.submissions.values() if row.tenant_id == tenant_id)
        return [row for row in sorted(own, key=_place, reverse=True) if before is None or _place(row) < before][:limit]

    async def count_submissions(self, tenant_id: str, most: int) -> int:
        return len(await self.submissions(tenant_id, None, most))

    async def submission(self, tenant_id: str, submission_id: str) -> Submission | None:
        await self._memory.before()
        row = self._memory.submissions.get(submission_id)
        return row if row is not None and row.tenant_id == tenant_id else None

    async def for_review(
        self,
        status: SubmissionStatus | None,
        after: Place | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[SubmissionView]:
        await self._memory.before()
        emails = {row.tenant_id: row.email for row in self._memory.accounts.values()}
        follows = gt if oldest else lt
        rows = [row for row in self._memory.submissions.values() if status in (None, row.status)]
        rows = [row for row in rows if after is None or follows(_place(row), after)]
        if text is not None:
            low = text.lower()
            rows = [
                row
                for row in rows
                if text == row.id or low == emails.get(row.tenant_id) or low in row.slug or low in row.name.lower()
            ]
        return [
            SubmissionView(row, self._current(row), emails.get(row.tenant_id))
            for row in sorted(rows, key=_place, reverse=not oldest)[:limit]
        ]

    # Rows.

    def _current(self, row: Submission) -> str | None:
        entry = self._catalog.catalog.entries.get(row.entry_id)
        return None if entry is None else entry.document.decode()

    def _snapshot(self, locks: LockSet) -> Snapshot:
        tables = self._memory
        submissions = picked(tables.submissions, locks.submission_ids)
        entry_ids = {*locks.entry_ids, *(row.entry_id for row in submissions.values())}
        waiting = [row.tenant_id for row in tables.submissions.values() if row.waits]
        return Snapshot(
            submissions,
            read_entries(self._catalog, sorted(entry_ids)),
            {tenant_id: waiting.count(tenant_id) for tenant_id in waiting},
            {tenant_id: self._siblings(tenant_id, {*locks.tenant_ids, *waiting}) for tenant_id in locks.tenant_ids},
            tables.submissions_mailed_ms,
        )

    def _siblings(self, tenant_id: str, counted: set[str]) -> frozenset[str]:
        tables = self._memory
        paid = {row.tenant_id for row in tables.bookings.values() if row.paid_ms is not None}
        mailboxes = {row.tenant_id: mailbox_of(row.email) for row in tables.accounts.values()}
        alike = {each for each in mailboxes if mailboxes[each] == mailboxes.get(tenant_id)} - {tenant_id}
        return frozenset() if tenant_id in paid else frozenset((alike & counted) - paid)

    def _write(self, decision: Decision) -> None:
        tables = self._memory
        tables.submissions.update(decision.submissions)
        write_rounds(self._catalog, decision.rounds, decision.decided_ms)
        tell(tables, decision.mails)
        if decision.mailed_ms is not None:
            tables.submissions_mailed_ms = decision.mailed_ms
        tables.audits.extend(decision.audits)


def _place(row: Submission) -> Place:
    return row.created_ms, row.id
