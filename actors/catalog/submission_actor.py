"""The actor of submissions: takes proposals and their reviews, one transaction per batch."""

from collections.abc import Sequence

from actors.catalog.messages import EntryId
from actors.catalog.submission_rules import Decision, Snapshot, SubmissionRules, decide, rows_to_lock
from actors.catalog.submission_store import Place, SubmissionStore
from actors.catalog.submissions import (
    Answer,
    Message,
    ProposeEntry,
    ReviewSubmission,
    Submission,
    SubmissionSaved,
    SubmissionStatus,
    SubmissionView,
)
from actors.shared.credentials import fingerprint, new_id
from actors.shared.records import RecordingActor
from actors.values import Agent, BatchId, Refused


class SubmissionActor(RecordingActor[Message, Answer, SubmissionStore, SubmissionRules]):
    """Owns the submissions of accounts."""

    name = "submissions"

    # Intents.

    async def propose(
        self,
        tenant_id: str,
        entry_id: EntryId,
        name: str,
        entry: str,
        agent: Agent,
        *,
        edit: bool = False,
        idempotency_key: str | None = None,
    ) -> SubmissionSaved | Refused:
        """Propose an entry, or with `edit` other content for an entry that exists. `entry` is its canonical document with
        `addedAt` 0, `name` its title or name. Each `idempotency_key` of an account makes one submission."""
        key = None if idempotency_key is None else fingerprint(tenant_id, "submission", idempotency_key)
        submission_id = self._id("sub") if key is None else new_id("sub", key)
        new = Submission(submission_id, tenant_id, *entry_id, name, entry, self._clock.now_ms())
        # Without the texts, which go with the account; the audit stays.
        changes = {**entry_id._asdict(), "edit": edit}
        audit = self._audit(agent, "submission.created", "submission", submission_id, changes)
        return await self.ask_for(ProposeEntry(new, edit, key is not None, audit), SubmissionSaved, Refused)

    async def review(
        self, submission_id: str, agent: Agent, *, accept: bool, note: str | None, seen: str
    ) -> SubmissionSaved | Refused:
        """Accept or decline a submission. Accepting writes its entry in the same transaction."""
        action = "submission.accepted" if accept else "submission.declined"
        audit = self._audit(agent, action, "submission", submission_id)
        return await self.ask_for(ReviewSubmission(submission_id, accept, note, seen, audit), SubmissionSaved, Refused)

    async def submissions(self, tenant_id: str, before: Place | None, limit: int) -> Sequence[Submission]:
        """The submissions of an account, newest first. Raises `StorageUnavailable`."""
        return await self._store.submissions(tenant_id, before, limit)

    async def count_submissions(self, tenant_id: str, most: int) -> int:
        """The number of submissions of an account, no further than `most`. Raises `StorageUnavailable`."""
        return await self._store.count_submissions(tenant_id, most)

    async def submission(self, tenant_id: str, submission_id: str) -> Submission | None:
        """A submission of an account. Raises `StorageUnavailable`."""
        return await self._store.submission(tenant_id, submission_id)

    async def for_review(
        self,
        status: SubmissionStatus | None,
        after: Place | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[SubmissionView]:
        """Everybody's submissions. Raises `StorageUnavailable`."""
        return await self._store.for_review(status, after, limit, text, oldest=oldest)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        return (await self._store.transact(batch_id, rows_to_lock(messages), on)).answers
