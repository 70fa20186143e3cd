"""Submissions: entries and edits that accounts propose for the catalog. Their records, messages and answers. Pure.

`entry`, `base` and `current` are the canonical JSON of entries, as the catalog stores them.
"""

from dataclasses import dataclass
from enum import StrEnum

from actors.catalog.messages import EntryId, Kind
from actors.shared.credentials import fingerprint
from actors.values import AuditRecord, Refused


class SubmissionStatus(StrEnum):
    """The status of a submission. `ACCEPTED` and `DECLINED` are final."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DECLINED = "declined"


class Outdated(StrEnum):
    """Why a submission cannot be accepted any more: the catalog has changed since it was made."""

    TAKEN = "taken"
    CHANGED = "changed"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Submission:
    """A proposed entry of a list of the catalog. `base` is the entry that it edits, as it was when the edit was proposed;
    None for a new entry. `name` is the title or name of the entry. `note` is the administrator's, and `decided_ms` is when
    it was reviewed."""

    id: str
    tenant_id: str
    kind: Kind
    slug: str
    name: str
    entry: str
    created_ms: int
    base: str | None = None
    status: SubmissionStatus = SubmissionStatus.PENDING
    note: str | None = None
    decided_ms: int | None = None

    @property
    def entry_id(self) -> EntryId:
        return EntryId(self.kind, self.slug)

    @property
    def waits(self) -> bool:
        return self.status is SubmissionStatus.PENDING

    def outdated(self, current: str | None) -> Outdated | None:
        """Why it cannot be accepted while the catalog has the entry `current` under its slug; None if it can."""
        if self.base == current:
            return None
        if self.base is None:
            return Outdated.TAKEN
        return Outdated.RETIRED if current is None else Outdated.CHANGED

    def version(self, current: str | None) -> str:
        """A digest, in 16 characters, of what a reviewer sees: this submission, and the entry that the catalog has now."""
        return fingerprint(self.id, self.entry, self.base or "", current or "").hex()[:16]


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission as administrators see it: with the entry that the catalog has now under its slug, and the email of the
    account, which is None once the account has ended."""

    submission: Submission
    current: str | None
    email: str | None


@dataclass(frozen=True, slots=True)
class ProposeEntry:
    """Add a submission. `edit`: it is about an entry of the catalog, which becomes its base. `keyed`: its id follows from an
    idempotency key."""

    submission: Submission
    edit: bool
    keyed: bool
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class ReviewSubmission:
    """Accept or decline a submission. `seen` is the version that the administrator has read."""

    submission_id: str
    accept: bool
    note: str | None
    seen: str
    audit: AuditRecord


Message = ProposeEntry | ReviewSubmission


@dataclass(frozen=True, slots=True)
class SubmissionSaved:
    """Committed: the submission as it is now."""

    submission: Submission


Answer = SubmissionSaved | Refused
