"""Bugs to plant in submissions and their reviews, one at a time."""

from collections import Counter
from dataclasses import replace
from typing import Any

from actors.catalog.submission_rules import _Batch
from actors.catalog.submissions import Submission, SubmissionSaved, SubmissionStatus
from actors.values import Refused
from tests.doubles.submissions import MemorySubmissions
from tests.simulation.planting import Bugs, ReadsOutside, replaced
from tests.simulation.rules import Scene
from tests.simulation.submissions import LinkedSubmissions

BUGS = Bugs(Scene.SUBMISSIONS)


@BUGS.around(_Batch, "_review")
def accepted_again_and_written_again(right: Any, batch: Any, message: Any) -> Any:
    """Accepting a submission that is accepted already writes its entry once more."""
    known = batch._submission(message.submission_id)
    if known is not None and known.status is SubmissionStatus.ACCEPTED and message.accept:
        batch._save_entry(known, message.audit)
        return SubmissionSaved(known)
    return right(batch, message)


@BUGS.function(_Batch, "_save_entry")
def accepted_without_its_entry(batch: Any, accepted: Any, audit: Any) -> None:
    """An accepted submission leaves the catalog as it was."""


@BUGS.function(_Batch, "_pending")
def limit_forgets_its_batch(batch: Any, tenant_id: str) -> int:
    """The limit does not count what the same batch lets in."""
    together = batch._snapshot.siblings.get(tenant_id, frozenset()) | {tenant_id}
    return sum(int(batch._snapshot.pending.get(each, 0)) for each in together)


@BUGS.around(_Batch, "_pending")
def limit_by_account(right: Any, batch: Any, tenant_id: str) -> int:
    """Accounts of one mailbox have a limit each."""
    siblings, batch._snapshot.siblings = batch._snapshot.siblings, {}
    try:
        return int(right(batch, tenant_id))
    finally:
        batch._snapshot.siblings = siblings


@BUGS.around(MemorySubmissions, "_snapshot")
def limit_counts_decided(right: Any, store: Any, locks: Any) -> Any:
    """Submissions that were decided count as if they waited."""
    snapshot = right(store, locks)
    snapshot.pending = Counter(row.tenant_id for row in store._memory.submissions.values())
    return snapshot


BUGS.add(
    "outdated-edit-accepted",
    "An edit of an entry that has changed since is accepted.",
    replaced(Submission, "outdated", lambda submission, current: None),
)


@BUGS.around(_Batch, "_review")
def decided_twice(right: Any, batch: Any, message: Any) -> Any:
    """A submission that was declined can still be accepted."""
    known = batch._submission(message.submission_id)
    if known is not None and known.status is SubmissionStatus.DECLINED:
        batch.decision.submissions[known.id] = replace(known, status=SubmissionStatus.PENDING)
        answer = right(batch, message)
        if isinstance(answer, Refused):
            batch.decision.submissions[known.id] = known
        return answer
    return right(batch, message)


@BUGS.around(_Batch, "_mail_administrators")
def hour_swallows_submissions(right: Any, batch: Any, audit: Any) -> None:
    """Administrators hear nothing of submissions that come soon after a mail."""
    if batch._now_ms >= batch._snapshot.mailed_ms + batch._rules.mail_every_ms:
        right(batch, audit)


@BUGS.part("submission_store")
class SubmissionsReadOutside(ReadsOutside, LinkedSubmissions):
    """Two nodes decide on the same rows, because they are read before they are locked."""
