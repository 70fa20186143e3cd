"""The port of the store of submissions. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable, Sequence
from typing import Protocol

from actors.catalog.submission_rules import Decision, LockSet, Snapshot
from actors.catalog.submissions import Submission, SubmissionStatus, SubmissionView
from actors.values import BatchId

Decide = Callable[[Snapshot], Decision]

Place = tuple[int, str]
"""A place in a list of submissions: when one was made, and its id."""


class SubmissionStore(Protocol):
    """Submissions, and the entries of the catalog that they become. Methods raise `StorageUnavailable`."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        """Lock the mailboxes of accounts, the submissions and, for reviews, the catalog; decide; and commit all changes with
        the batch id in one transaction: submissions, entries, mails and records.

        A batch id that is already in the journal is not decided again: its decision is returned. If an entry changed,
        increments the catalog's revision and announces it. Raises `Contended` or `OutcomeUnknown`, too.
        """
        ...

    async def submissions(self, tenant_id: str, before: Place | None, limit: int) -> Sequence[Submission]:
        """The submissions of an account, newest first, strictly before a place."""
        ...

    async def count_submissions(self, tenant_id: str, most: int) -> int:
        """How many submissions an account has, counted no further than `most`."""
        ...

    async def submission(self, tenant_id: str, submission_id: str) -> Submission | None:
        """A submission of an account."""
        ...

    async def for_review(
        self,
        status: SubmissionStatus | None,
        after: Place | None,
        limit: int,
        text: str | None = None,
        *,
        oldest: bool = False,
    ) -> Sequence[SubmissionView]:
        """Everybody's submissions, of one status or all, newest or oldest first, strictly after a place. A search finds
        those with this id, of the account with this email, or with the text in their slug or name."""
        ...
